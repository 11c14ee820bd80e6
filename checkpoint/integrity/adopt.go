package integrity

import (
	"context"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// AdoptOptions modify Adopt; nil is the zero value.
type AdoptOptions struct {
	// Store holds the checkpoint; nil is the local file system.
	Store store.Store
	// Progress, when not nil, receives how many bytes of how many were read, one call at a time and
	// from other goroutines.
	Progress func(done, total int64)
}

// adoptPiece is the number of bytes of an array that are checksummed at a time.
const adoptPiece = 4 << 20

// Adopt gives a checkpoint that Orbax wrote a manifest, so that every byte is covered from then on:
// Verify calls the checkpoint sound, and loads compare what they read with the manifest. No other
// file changes, and Orbax ignores the manifest. Adopt verifies the checkpoint before, and once more
// against the manifest after. The manifest covers the bytes that Adopt read between these two
// looks. A checkpoint that another process replaces meanwhile is errs.Busy. The report describes
// the second look.
//
// Errors: Corrupt if damage is found; Exists if there is a manifest; Unsupported for leaves that
// this build cannot read and for layouts that are not of Orbax; Mismatch for databases that were
// never merged.
func Adopt(ctx context.Context, path string, o *AdoptOptions) (*Report, error) {
	const op = "integrity.Adopt"
	if o == nil {
		o = &AdoptOptions{}
	}
	r, err := Verify(ctx, path, &VerifyOptions{Store: o.Store, Progress: o.Progress})
	switch {
	case err != nil:
		return r, errs.Wrap(op, path, err)
	case !r.OK():
		return r, errs.Wrap(op, path, r.Problems[0])
	case r.Manifest:
		return r, &errs.Error{Kind: errs.Exists, Op: op, Subject: path, Got: "a checkpoint with a manifest"}
	case len(r.Orbax) > 0:
		return r, errs.Wrap(op, path, r.Orbax[0])
	}
	open, st, name, err := plan.Open(ctx, path, options.Options{}, o.Store)
	if err != nil {
		return r, errs.Wrap(op, path, err)
	}
	old, err := store.Pin(ctx, st, name)
	if errs.KindOf(err) == errs.Invalid {
		err = &errs.Error{Kind: errs.Unsupported, Want: "a layout of Orbax", Got: "a single file",
			Remedy: "bivouac convert writes a copy with a manifest"}
	}
	if err != nil {
		return r, errs.Wrap(op, path, err)
	}
	defer old.Close() //nolint:errcheck // nothing was written
	var m manifest.Manifest
	err = open.Read(ctx, st, name, func(c *layout.Checkpoint) error {
		if !strings.HasPrefix(c.Layout, "orbax") {
			return &errs.Error{Kind: errs.Unsupported, Want: "a layout of Orbax", Got: c.Layout,
				Remedy: "bivouac convert writes a copy with a manifest"}
		}
		return adoptAll(ctx, c, &m)
	})
	if err != nil {
		return r, errs.Wrap(op, path, err)
	}
	file := name + "/" + manifest.Name
	err = store.Overtaken(ctx, st, old, name)
	if err == nil {
		err = st.Put(ctx, file, m.Append(nil), store.PutOptions{IfAbsent: true})
	}
	if err != nil {
		return r, errs.Wrap(op, path, err)
	}
	r, err = Verify(ctx, path, &VerifyOptions{Store: o.Store, Progress: o.Progress})
	if err == nil && !r.OK() {
		err = r.Problems[0]
	}
	if err == nil {
		err = store.Overtaken(ctx, st, old, name)
	}
	if err != nil {
		if rerr := st.RemoveTree(context.WithoutCancel(ctx), file); rerr != nil {
			return r, errs.Wrap(op, path, &errs.Error{Kind: errs.KindOf(err), Subject: file,
				Got: "a wrong manifest that could not be removed: " + rerr.Error(), Err: err})
		}
		return r, errs.Wrap(op, path, err)
	}
	return r, nil
}

// adoptAll records every file and every array of a checkpoint.
func adoptAll(ctx context.Context, c *layout.Checkpoint, m *manifest.Manifest) error {
	files, err := c.Files(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		r, err := c.OpenFile(ctx, f.Name)
		if err != nil {
			return err
		}
		record := manifest.File{Name: f.Name, Size: r.Size()}
		buf := make([]byte, min(r.Size(), adoptPiece))
		for off := int64(0); off < record.Size && err == nil; off += int64(len(buf)) {
			p := buf[:min(int64(len(buf)), record.Size-off)]
			if err = r.ReadAt(ctx, p, off); err == nil {
				record.CRC = crc.Update(record.CRC, p)
			}
		}
		r.Close() //nolint:errcheck // nothing was written
		if err != nil {
			return err
		}
		m.Files = append(m.Files, record)
	}
	items, err := c.Items(ctx)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.Kind == layout.Tree {
			if err := adoptTree(ctx, c, it.Name, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptTree records the arrays of a tree, each as a whole.
func adoptTree(ctx context.Context, c *layout.Checkpoint, item string, m *manifest.Manifest) error {
	t, err := c.Tree(ctx, item)
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing was written
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if !l.HasArray() {
			continue
		}
		record := manifest.Leaf{Item: item, Param: l.Param, Size: int64(l.Bytes())}
		for box := range layout.Pieces(zarr.WholeBox(l.Shape), l.DType.Size(), adoptPiece) {
			b := make([]byte, box.Len()*l.DType.Size())
			if err := l.ReadBox(ctx, box, b); err != nil {
				return err
			}
			record.CRC = crc.Update(record.CRC, b)
		}
		m.Leaves = append(m.Leaves, record)
	}
	return nil
}
