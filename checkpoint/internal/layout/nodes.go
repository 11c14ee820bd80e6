package layout

import (
	"context"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// nodes is the end of a data file, where the nodes of a database lie, as the
// manifest lists it: read at once, held against its hash, and kept. It may be
// used concurrently.
type nodes struct {
	name       string // of the file, below the item
	start, end int64  // in the file, which ends there
	hash       manifest.Hash

	mu sync.Mutex
	b  []byte // once they were read
}

// nodes returns what the manifest lists of a file of the item; nil is nothing.
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

// speakFor reports whether the manifest's nodes are those of the database: where
// its root is, the writer put the others.
func (f *files) speakFor(db *ocdbt.DB) bool {
	root := db.Version().Root
	return f.nodes(root.File.Path()).holds(root.Offset, root.Length)
}
