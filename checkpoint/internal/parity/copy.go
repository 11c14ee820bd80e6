package parity

import (
	"context"
	"path"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// CopyName is the file with a copy of the manifest. The copy leaves out two things: the record of
// this file, which follows from the bytes of the file, and the signature, which is over a document
// that lists this file.
const CopyName = Prefix + "manifest"

// Copy writes the copy of a complete manifest, and lists the copy in the manifest.
func (t *Txn) Copy(ctx context.Context, m *manifest.Manifest) error {
	doc := m.Append(nil)
	f := copyRecord(doc, t.o.Signed)
	if err := writeWhole(ctx, t.Txn, f, doc); err != nil {
		return err
	}
	m.Files = append(m.Files, f)
	return nil
}

// copyRecord returns the record of the copy doc.
func copyRecord(doc []byte, signed bool) manifest.File {
	one := manifest.Manifest{}
	one.Add(CopyName, doc)
	if signed {
		one.Files[0].Runs = manifest.Runs(doc, 0)
	}
	return one.Files[0]
}

// writeWhole writes a file from memory.
func writeWhole(ctx context.Context, to files, f manifest.File, b []byte) error {
	w := &gathered{ctx: ctx, to: to, f: f}
	err := w.write(b)
	if err == nil {
		err = w.write(nil)
	}
	if err != nil {
		w.abort()
	}
	return err
}

// remakeCopy writes the copy of the manifest again.
func (x *examination) remakeCopy(ctx context.Context, to files, f manifest.File) error {
	m := *x.m
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f manifest.File) bool { return f.Name == CopyName })
	doc := m.Append(nil)
	if err := same(copyRecord(doc, false), f); err != nil {
		return err
	}
	return writeWhole(ctx, to, f, doc)
}

// Manifest restores the manifest of the checkpoint name from its copy. raw has the readable bytes
// of the damaged manifest, which include the signature. The error is errs.Corrupt, or the reason
// why the files could not be read.
func Manifest(ctx context.Context, st store.Store, name string, raw []byte) ([]byte, error) {
	doc, err := store.ReadAll(ctx, st, path.Join(name, CopyName))
	if err != nil {
		if lost(err) {
			err = &errs.Error{Kind: errs.Corrupt, Op: "parity", Subject: manifest.Name, Got: "no readable copy of the manifest",
				Err: err}
		}
		return nil, err
	}
	m, err := manifest.Parse(doc)
	if err != nil {
		return nil, errs.Wrap("parity", CopyName, err)
	}
	signed := slices.ContainsFunc(m.Files, func(f manifest.File) bool { return len(f.Runs) > 0 })
	m.Files = append(m.Files, copyRecord(doc, signed))
	doc = m.Append(nil)
	if !signed {
		return doc, nil
	}
	line, ok := manifest.SignatureLine(raw)
	if !ok {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "parity", Subject: manifest.Name,
			Want: "the signature, which has no copy", Got: "a damaged or missing signature",
			Remedy: "load another step; or load this one without a key, and save and sign it again"}
	}
	return append(doc, line...), nil
}
