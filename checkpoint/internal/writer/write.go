package writer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// commitText is what Orbax writes into commit_success.txt, but for the path:
// a checkpoint may be moved.
const commitText = "Checkpoint commit was successful"

// Commit writes the image through the transaction and commits it; the
// transaction is over when it returns. The time is the one recorded as that of
// the commit.
//
// Arrays of which there is no snapshot are read from the caller's memory, which
// must not change before Released.
func (im *Image) Commit(ctx context.Context, txn store.Txn) (time.Time, error) {
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	defer im.release()
	start := time.Now()
	now := im.opts.Now()
	im.base = im.opts.Dedup.openBase(ctx)
	guard := im.guard(txn)
	if guard != nil {
		txn = guard
	}
	if err := im.pack(ctx, txn); err != nil {
		return now, err
	}
	var small []store.Blob
	for i := range im.items {
		files, err := im.documents(ctx, i, now)
		if err != nil {
			return now, err
		}
		small = append(small, files...)
	}
	if err := im.persist(ctx, txn); err != nil {
		return now, err
	}
	m := &manifest.Manifest{}
	if im.signed() {
		m.Label = im.opts.Label
	}
	if err := im.sums(m); err != nil {
		return now, err
	}
	if err := im.handled(ctx, txn, m); err != nil {
		return now, err
	}
	im.status.handled(im)
	im.base.tell(&im.stats)
	im.stats.Persist = time.Since(start)
	start = time.Now()
	small = append(append(append(small, im.root(now)...), im.annotations()...), im.opts.Extra...)
	if guest := guard != nil && im.opts.Guest != ""; guest {
		if err := im.finishParity(ctx, guard, m); err != nil {
			return now, err
		}
		guard = nil
	}
	small, bare, err := im.join(ctx, txn, small, m)
	if err != nil {
		return now, err
	}
	for _, f := range small {
		if err := txn.Put(ctx, f.Name, f.Data); err != nil {
			return now, err
		}
		im.small(m, f.Name, f.Data)
	}
	im.status.documents(im)
	markers := im.markers()
	for _, b := range markers {
		im.small(m, b.Name, b.Data)
	}
	if guard != nil && !bare {
		if err := im.addParity(ctx, guard, m, markers); err != nil {
			return now, err
		}
	}
	last := store.Blob{Name: im.manifestName(), Data: manifest.Sign(m.Append(nil), im.opts.Signing)}
	im.sum = sha256.Sum256(last.Data)
	if last.Name == "" || bare {
		last, markers = markers[0], markers[1:]
	}
	err = txn.Commit(ctx, last, markers...)
	im.stats.Commit = time.Since(start)
	im.stats.TxnStats = txn.Stats()
	return now, err
}

// ManifestSum returns the SHA-256 of the manifest, in hexadecimal digits, when Commit has
// returned.
func (im *Image) ManifestSum() string { return hex.EncodeToString(im.sum[:]) }

// manifestName is where the manifest lies: of a part beside its database, where
// a finalization by Orbax keeps it apart from those of other parts. A part
// without a database has none.
func (im *Image) manifestName() string {
	if im.opts.Style != Pending {
		return manifest.Name
	}
	for i, t := range im.trees {
		if t != nil {
			return path.Join(im.items[i].Name, im.opts.Process, manifest.Name)
		}
	}
	return ""
}

// documents are the small files of an item. The data files grow by what the
// database wants of them.
func (im *Image) documents(ctx context.Context, i int, now time.Time) ([]store.Blob, error) {
	it, t := im.items[i], im.trees[i]
	var files []store.Blob
	if it.Commit == nil {
		files = []store.Blob{{Name: path.Join(it.Name, it.File), Data: it.JSON}}
	}
	if t != nil {
		var err error
		if files, err = t.finish(ctx, im.uuids[i], now); err != nil {
			return nil, err
		}
	}
	if im.opts.Style == Step && im.opts.Layout != Safetensors {
		files = append(files, store.Blob{Name: path.Join(it.Name, orbax.CommitFile), Data: []byte(commitText)})
	}
	return files, nil
}

// root are the small files at the root.
func (im *Image) root(now time.Time) []store.Blob {
	if im.opts.Layout == Safetensors {
		return nil
	}
	var small []store.Blob
	if im.opts.Style != Step {
		small = append(small, store.Blob{Name: orbax.MarkerFile, Data: nil})
	}
	handlers := make(map[string]string, len(im.items))
	for _, it := range im.items {
		handlers[it.Name] = it.Handler
	}
	doc := orbax.Checkpoint{Handlers: handlers, Init: im.began.UnixNano(), Commit: now.UnixNano(), Custom: im.opts.Custom}
	im.opts.Custom = nil // the document has it
	return append(small, store.Blob{Name: orbax.CheckpointFile, Data: doc.Append(nil)})
}

// annotations lie at the root, or beside the manifest of a part: two parts of one
// checkpoint have files of other names.
func (im *Image) annotations() []store.Blob {
	if len(im.opts.Annotations) == 0 {
		return nil
	}
	return []store.Blob{{Name: path.Join(path.Dir(im.manifestName()), orbax.AnnotationsFile), Data: im.opts.Annotations.Append(nil)}}
}

// markers are the files that say that a checkpoint is whole.
func (im *Image) markers() []store.Blob {
	if im.opts.Layout == Safetensors {
		return nil
	}
	return []store.Blob{{Name: orbax.CommitFile, Data: []byte(commitText)}}
}

// sums lists the arrays and data files, which were written, with their checksums.
func (im *Image) sums(m *manifest.Manifest) error {
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, a := range t.arrays {
			if t.layout.ocdbt() && a.inNode() || a.absent() {
				continue
			}
			l := a.leaf(t.item)
			if err := a.unchanged(l); err != nil {
				return err
			}
			m.Leaves = append(m.Leaves, l)
		}
		for _, f := range t.files {
			m.Files = append(m.Files, manifest.File{Name: path.Join(t.data, f.name), Size: f.size, CRC: f.sum(), Hash: f.hash(), Age: f.age, Runs: f.runs()})
		}
		for _, f := range t.files {
			if f.head != nil {
				m.Heads = append(m.Heads, manifest.File{Name: path.Join(t.data, f.name), Size: int64(len(f.head)), CRC: crc.Sum(f.head)})
			}
		}
		if t.nodes != nil {
			m.Nodes = append(m.Nodes, t.nodes.lastPart(path.Join(t.data, t.nodes.name)))
		}
	}
	return nil
}
