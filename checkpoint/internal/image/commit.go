package image

import (
	"context"
	"errors"
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
func (im *Image) Commit(ctx context.Context, txn store.Txn) (time.Time, error) {
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	m := &manifest.Manifest{}
	now := im.opts.Now()
	var small []smallFile
	handlers := map[string]string{}
	for i, it := range im.items {
		handlers[it.Name] = it.Handler
		files, err := im.writeItem(ctx, txn, i, now, m)
		if err != nil {
			return now, err
		}
		small = append(small, files...)
		if im.opts.Style == Step {
			small = append(small, smallFile{path.Join(it.Name, orbax.CommitFile), []byte(commitText)})
		}
	}
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
	return now, txn.Commit(ctx, store.Blob{Name: manifest.Name, Data: m.Append(nil)}, marker)
}

// writeItem writes the large files of an item and returns its small ones.
func (im *Image) writeItem(ctx context.Context, txn store.Txn, i int, now time.Time, m *manifest.Manifest) ([]smallFile, error) {
	it, t := im.items[i], im.trees[i]
	if t == nil {
		return []smallFile{{path.Join(it.Name, it.File), it.JSON}}, nil
	}
	small, tails, err := t.finish(im.uuids[i], now)
	if err != nil {
		return nil, err
	}
	for _, a := range t.arrays {
		l := a.leaf
		l.Item = it.Name
		m.Leaves = append(m.Leaves, l)
	}
	for k, f := range t.files {
		name := path.Join(it.Name, f.name)
		size := f.size + int64(len(tails[k]))
		sum := crc.Combine(t.sum(k), crc.Sum(tails[k]), int64(len(tails[k])))
		if err := writeFile(ctx, txn, name, size, f.image, tails[k]); err != nil {
			return nil, err
		}
		m.Files = append(m.Files, manifest.File{Name: name, Size: size, CRC: sum})
	}
	return small, nil
}

// writeBytes is what one write hands to the system; between writes a save can
// be cancelled.
const writeBytes = 4 << 20

// writeFile writes the parts of a file one behind the other and seals it. There
// is one writer a file: more gain nothing, as the system lets one in at a time,
// and take the processors from whoever trains meanwhile.
func writeFile(ctx context.Context, txn store.Txn, name string, size int64, parts ...[]byte) error {
	w, err := txn.Create(ctx, name, size)
	if err != nil {
		return err
	}
	off := int64(0)
	for _, p := range parts {
		for len(p) > 0 {
			n := min(len(p), writeBytes)
			if err := w.WriteAt(ctx, p[:n], off); err != nil {
				return errors.Join(err, w.Abort())
			}
			p, off = p[n:], off+int64(n)
		}
	}
	return w.Seal(ctx)
}
