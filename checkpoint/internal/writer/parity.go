package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/store"
)

// withParity wraps the transaction in one that makes parity files; it returns nil when the
// options ask for no parity. Parts of a session have no parity: Finalize makes it for the whole
// checkpoint.
func (w *Writer) withParity(txn store.Txn) *parity.Txn {
	o := w.opts
	if o.Parity <= 0 || o.Style == Pending {
		return nil
	}
	p := parity.Options{Percent: o.Parity, Signed: w.signed(), Store: o.Linked, Bases: o.ParityBases, Tag: o.Guest}
	if o.Dedup != nil {
		p.Large, p.Store = parity.LargeLinked, o.Dedup.Store
		w.base.keepGuarded(&p)
	}
	return parity.Wrap(txn, p)
}

// addParity lists the parity files in a manifest that is otherwise complete, and makes the copy of
// the manifest.
func (w *Writer) addParity(ctx context.Context, guard *parity.Txn, m *manifest.Manifest, markers []store.Blob) error {
	err := w.finishParity(ctx, guard, m, markers...)
	if err == nil {
		err = guard.Copy(ctx, m)
	}
	if err == nil {
		w.stats.ParityBytes += m.Files[len(m.Files)-1].Size
	}
	return err
}

// finishParity lists the parity files of the written files.
func (w *Writer) finishParity(ctx context.Context, guard *parity.Txn, m *manifest.Manifest,
	markers ...store.Blob) error {
	files, err := guard.Finish(ctx, markers...)
	for _, f := range files {
		w.stats.ParityBytes += f.Size
	}
	m.Files = append(m.Files, files...)
	return err
}

// keepGuarded keeps only the files of the base that have a parity file of their own there, which
// is linked with them. The other files are written anew.
func (b *base) keepGuarded(o *parity.Options) {
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
