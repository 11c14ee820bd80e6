package layout

import (
	"context"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
)

// nodes is the end of a data file, where the manifest lists the nodes of a database. It is read at
// once, compared with its hash, and kept. It may be used concurrently.
type nodes struct {
	name       string // of the file, relative to the item
	start, end int64  // range in the file; end is the end of the file
	hash       manifest.Hash

	mu sync.Mutex
	b  []byte // the nodes, after they were read
}

// nodes returns the nodes that the manifest lists for a file of the item, or nil.
func (f *files) nodes(name string) *nodes {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.ends[name]
	if known || f.c.Manifest == nil || len(f.c.Manifest.Nodes) == 0 {
		return n
	}
	full := path.Join(f.item, name)
	file, listed := f.c.Manifest.File(full)
	if end, ok := f.c.Manifest.NodesOf(full); ok && listed && end.Size <= file.Size {
		n = &nodes{name: name, start: file.Size - end.Size, end: file.Size, hash: end.Hash}
	}
	f.ends[name] = n
	return n
}

// holds reports whether a range of the file lies among the nodes.
func (n *nodes) holds(off, length int64) bool {
	return n != nil && off >= n.start && off <= n.end && length <= n.end-off
}

// readAt reads bytes of the file r that the nodes hold.
func (n *nodes) readAt(ctx context.Context, r store.Reader, p []byte, off int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.b == nil {
		b := make([]byte, n.end-n.start)
		if err := r.ReadAt(ctx, b, n.start); err != nil {
			return err
		}
		if got := manifest.HashOf(b); got != n.hash {
			return manifest.HashError("the nodes at the end of "+n.name, n.hash, got)
		}
		n.b = b
	}
	copy(p, n.b[off-n.start:])
	return nil
}

// speakFor reports whether the nodes in the manifest belong to the database. The writer puts all
// nodes beside the root.
func (f *files) speakFor(db *ocdbt.DB) bool {
	root := db.Version().Root
	return f.nodes(root.File.Path()).holds(root.Offset, root.Length)
}

// admit returns an error for a node that lies outside the nodes in the manifest.
func (f *files) admit(n ocdbt.Node) error {
	if name := n.File.Path(); !f.nodes(name).holds(n.Offset, n.Length) {
		return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint",
			Subject: name + " at offset " + strconv.FormatInt(n.Offset, 10),
			Want:    "a node among those that the manifest lists",
			Got:     strconv.FormatInt(n.Length, 10) + " bytes outside of them"}
	}
	return nil
}

// salvageValues works like openValues for a tree whose database is damaged; why is the damage. It
// reads each node by itself and compares it with its own CRC-32C, because the hash of all nodes
// does not match. Keys below a damaged node are errs.Corrupt.
//
// A CRC-32C proves nothing against a forger. So with a key nothing is salvaged, and why is
// returned. The same happens if each node matches its own CRC-32C: then these are not the nodes
// that were written, and nobody knows who wrote them.
func (t *OpenTree) salvageValues(ctx context.Context, why error) (zarr.KV, error) {
	switch {
	case !isDamage(why):
		return nil, why
	case t.files.c.opts.Key != nil:
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: t.files.c.path(t.files.item),
			Got: "a database other than the signed one", Err: why,
			Remedy: "with a key Salvage does not trust the CRC-32C of single nodes, which proves nothing against a forger; " +
				"load without the key if you trust the checkpoint"}
	}
	x, err := t.salvageIndex(ctx)
	if err == nil && len(x.Lost()) == 0 {
		err = why
	}
	if isDamage(err) {
		x, err = t.listedNodes(ctx, why)
	}
	if err != nil {
		return nil, err
	}
	return x.Values(), nil
}

// listedNodes finds the keys of a database without its document, manifest.ocdbt. The manifest lists
// where the nodes are, and has a hash of all of them. If the hash does not match, listedNodes
// returns why.
func (t *OpenTree) listedNodes(ctx context.Context, why error) (*ocdbt.Index, error) {
	t.files.apart = false
	var found *nodes
	if m := t.files.c.Manifest; m != nil {
		for _, f := range m.Nodes {
			name, below := strings.CutPrefix(f.Name, t.files.item+"/")
			if t.files.item == "" {
				name, below = f.Name, true
			}
			if below && found != nil {
				return nil, why
			}
			if below {
				found = t.files.nodes(name)
			}
		}
	}
	if found == nil {
		return nil, why
	}
	db, err := ocdbt.OpenNodes(ctx, t.files, ocdbt.File{Name: found.name}, found.start, found.end, ocdbt.Options{})
	if err == nil {
		var x *ocdbt.Index
		if x, err = db.Index(ctx); err == nil {
			t.bound, t.db = true, db
			return x, nil
		}
	}
	if isDamage(err) {
		err = why
	}
	return nil, err
}

// isDamage reports whether an error is about what was read, and not about reading.
func isDamage(err error) bool {
	kind := errs.KindOf(err)
	return kind == errs.Corrupt || kind == errs.NotFound
}

// salvageIndex finds the keys in all nodes that match their own CRC-32C.
func (t *OpenTree) salvageIndex(ctx context.Context) (*ocdbt.Index, error) {
	db, err := ocdbt.Open(ctx, t.files, ocdbt.Options{})
	if errs.KindOf(err) == errs.NotFound {
		dirs, derr := t.processes(ctx)
		switch {
		case derr != nil:
			return nil, derr
		case len(dirs) > 0:
			return ocdbt.SalvageUnion(ctx, t.files, dirs, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	var admit func(ocdbt.Node) error
	if t.bound = t.files.speakFor(db); t.bound {
		admit = t.files.admit
	}
	t.db, t.files.apart = db, true
	return db.Salvage(ctx, admit)
}
