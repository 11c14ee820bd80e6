package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/store"
)

// guard returns the transaction with parity, nil where none is asked for. Parts of a
// checkpoint that is still to be made have none: Finalize makes that of the whole.
func (im *Image) guard(txn store.Txn) *parity.Txn {
	o := im.opts
	if o.Parity <= 0 || o.Style == Pending {
		return nil
	}
	p := parity.Options{Percent: o.Parity, Signed: im.signed(), Store: o.Linked, Bases: o.ParityBases, Tag: o.Guest}
	if o.Dedup != nil {
		p.Large, p.Store = parity.LargeLinked, o.Dedup.Store
		im.base.guard(&p)
	}
	return parity.Wrap(txn, p)
}

// addParity lists the parity files in a manifest that lists all else, and makes its copy.
func (im *Image) addParity(ctx context.Context, guard *parity.Txn, m *manifest.Manifest, markers []store.Blob) error {
	err := im.finishParity(ctx, guard, m, markers...)
	if err == nil {
		err = guard.Copy(ctx, m)
	}
	if err == nil {
		im.stats.ParityBytes += m.Files[len(m.Files)-1].Size
	}
	return err
}

// finishParity lists the parity files of what was written.
func (im *Image) finishParity(ctx context.Context, guard *parity.Txn, m *manifest.Manifest, markers ...store.Blob) error {
	files, err := guard.Finish(ctx, markers...)
	for _, f := range files {
		im.stats.ParityBytes += f.Size
	}
	m.Files = append(m.Files, files...)
	return err
}

// guard has only such files taken over from the base as have a parity file of their own
// there, which is linked with them: the others are written anew.
func (b *base) guard(o *parity.Options) {
	if b.manifest == nil {
		return
	}
	from := parity.Base{Name: b.name, Manifest: b.manifest}
	o.Bases = append(o.Bases, from)
	for c, t := range b.files {
		f, ok := from.Twin(t.file, c.size, o.Percent)
		if c.size < o.Large || !ok || o.Signed && f.Runs == nil {
			delete(b.files, c)
		}
	}
	b.sizes = map[int64]bool{}
	for c := range b.files {
		b.sizes[c.size] = true
	}
}
