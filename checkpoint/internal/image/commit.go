package image

import (
	"context"
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
	m := &manifest.Manifest{}
	now := im.opts.Now()
	var small []smallFile
	handlers := map[string]string{}
	for i, it := range im.items {
		handlers[it.Name] = it.Handler
		files, err := im.documents(i, now)
		if err != nil {
			return now, err
		}
		small = append(small, files...)
		if im.opts.Style == Step {
			small = append(small, smallFile{path.Join(it.Name, orbax.CommitFile), []byte(commitText)})
		}
	}
	if err := im.persist(ctx, txn); err != nil {
		return now, err
	}
	if err := im.sums(m); err != nil {
		return now, err
	}
	im.stats.Persist = time.Since(start)
	start = time.Now()
	if im.opts.Style == V1 {
		small = append(small, smallFile{orbax.MarkerFile, nil})
	}
	doc := orbax.Checkpoint{Handlers: handlers, Init: im.began.UnixNano(), Commit: now.UnixNano(), Custom: im.opts.Custom}
	small = append(small, smallFile{orbax.CheckpointFile, doc.Append(nil)})
	for _, f := range small {
		if err := txn.Put(ctx, f.name, f.data); err != nil {
			return now, err
		}
		m.Files = append(m.Files, manifest.File{Name: f.name, Size: int64(len(f.data)), CRC: crc.Sum(f.data)})
	}
	marker := store.Blob{Name: orbax.CommitFile, Data: []byte(commitText)}
	m.Files = append(m.Files, manifest.File{Name: marker.Name, Size: int64(len(marker.Data)), CRC: crc.Sum(marker.Data)})
	err := txn.Commit(ctx, store.Blob{Name: manifest.Name, Data: m.Append(nil)}, marker)
	im.stats.Commit = time.Since(start)
	im.stats.TxnStats = txn.Stats()
	return now, err
}

// documents are the small files of an item. The data files grow by what the
// database wants of them.
func (im *Image) documents(i int, now time.Time) ([]smallFile, error) {
	it, t := im.items[i], im.trees[i]
	if t == nil {
		return []smallFile{{path.Join(it.Name, it.File), it.JSON}}, nil
	}
	return t.finish(im.uuids[i], now)
}

// sums lists the arrays and data files, which were written, with their checksums.
func (im *Image) sums(m *manifest.Manifest) error {
	for i, t := range im.trees {
		if t == nil {
			continue
		}
		name := im.items[i].Name
		for _, a := range t.arrays {
			l := a.leaf(name)
			if err := a.unchanged(l); err != nil {
				return err
			}
			m.Leaves = append(m.Leaves, l)
		}
		for _, f := range t.files {
			m.Files = append(m.Files, manifest.File{Name: path.Join(name, f.name), Size: f.size, CRC: f.sum()})
		}
	}
	return nil
}
