package ocdbt

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
)

// files reads objects and values.
type files struct{ Files }

// readObject reads length bytes, which must lie inside the file.
func (f files) readObject(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if err := f.checkExtent(ctx, name, offset, length); err != nil {
		return nil, err
	}
	b := make([]byte, length)
	if err := f.ReadAt(ctx, name, b, offset); err != nil {
		return nil, errs.Wrap("ocdbt", name, err)
	}
	return b, nil
}

func (f files) checkExtent(ctx context.Context, name string, offset, length int64) error {
	size, err := f.Size(ctx, name)
	if err != nil {
		if errors.Is(err, errs.NotFound) {
			return &errs.Error{Kind: errs.Corrupt, Op: "ocdbt", Subject: name,
				Got: "the database refers to a data file that does not exist", Err: err}
		}
		return errs.Wrap("ocdbt", name, err)
	}
	if offset < 0 || length < 0 || offset > size || length > size-offset {
		return location{name, offset}.corrupt("%d bytes wanted, the file has %d in all", length, size)
	}
	return nil
}

func (f files) readValue(ctx context.Context, ref Ref, p []byte) ([]byte, error) {
	if ref.IsInline() {
		return ref.Inline, nil
	}
	if int64(cap(p)) < ref.Length {
		return f.readObject(ctx, ref.File.Path(), ref.Offset, ref.Length)
	}
	p = p[:ref.Length]
	return p, f.readValueAt(ctx, ref, p, 0)
}

// scatter fills pieces of memory by one request, if the files can.
func (f files) scatter(ctx context.Context, name string, off int64, into [][]byte) (ok bool, err error) {
	s, ok := f.Files.(Scatterer)
	if !ok {
		return false, nil
	}
	return s.Scatter(ctx, name, off, into...)
}

// within returns an error unless a value has n bytes from off on.
func (r Ref) within(off, n int64) error {
	if off < 0 || off > r.Length || n > r.Length-off {
		return &errs.Error{Kind: errs.Invalid, Op: "ocdbt.ReadValueAt",
			Want: "a range inside of " + utoa(uint64(r.Length)) + " bytes", Got: utoa(uint64(n)) + " bytes at " + utoa(uint64(off))}
	}
	return nil
}

func (f files) readValueAt(ctx context.Context, ref Ref, p []byte, off int64) error {
	if err := ref.within(off, int64(len(p))); err != nil {
		return err
	}
	if ref.IsInline() {
		copy(p, ref.Inline[off:])
		return nil
	}
	name := ref.File.Path()
	if err := f.checkExtent(ctx, name, ref.Offset+off, int64(len(p))); err != nil {
		return err
	}
	return errs.Wrap("ocdbt.ReadValueAt", name, f.ReadAt(ctx, name, p, ref.Offset+off))
}

// ReadValue returns the bytes of a value, read into p if that is large enough.
// What is returned for an inline value belongs to the database.
func (db *DB) ReadValue(ctx context.Context, ref Ref, p []byte) ([]byte, error) {
	return db.files.readValue(ctx, ref, p)
}

// ReadValueAt fills p with the bytes of a value from off on, or fails. A range
// outside of the value is errs.Invalid.
func (db *DB) ReadValueAt(ctx context.Context, ref Ref, p []byte, off int64) error {
	return db.files.readValueAt(ctx, ref, p, off)
}

// Values gives access to values by key, as readers of arrays want it. It is
// safe for concurrent use.
type Values struct {
	files files
	get   func(ctx context.Context, key string) (Ref, bool, error)
}

// Values returns the values of the database by key.
func (db *DB) Values() Values { return Values{db.files, db.Get} }

func (v Values) find(ctx context.Context, key string) (Ref, error) {
	ref, ok, err := v.get(ctx, key)
	if err == nil && !ok {
		err = &errs.Error{Kind: errs.NotFound, Op: "ocdbt", Subject: "key " + key}
	}
	return ref, err
}

// Get returns the whole value of key, which must not be changed. A key that is
// not there is errs.NotFound.
func (v Values) Get(ctx context.Context, key string) ([]byte, error) {
	ref, err := v.find(ctx, key)
	if err != nil {
		return nil, err
	}
	return v.files.readValue(ctx, ref, nil)
}

// ReadAt fills p with the bytes of the value of key from off on, or fails.
func (v Values) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	ref, err := v.find(ctx, key)
	if err != nil {
		return err
	}
	return v.files.readValueAt(ctx, ref, p, off)
}

// Scatter fills the pieces, in their order, with the bytes of the value of key from off on, if the
// files can do that by one request. Otherwise ok is false, and ReadAt has to be called.
func (v Values) Scatter(ctx context.Context, key string, off int64, into ...[]byte) (ok bool, err error) {
	ref, err := v.find(ctx, key)
	if err != nil || ref.IsInline() {
		return false, err
	}
	n := int64(0)
	for _, p := range into {
		n += int64(len(p))
	}
	if err := ref.within(off, n); err != nil {
		return false, err
	}
	name := ref.File.Path()
	if err := v.files.checkExtent(ctx, name, ref.Offset+off, n); err != nil {
		return false, err
	}
	ok, err = v.files.scatter(ctx, name, ref.Offset+off, into)
	return ok, errs.Wrap("ocdbt.Scatter", name, err)
}

// Size returns the length of the value of key.
func (v Values) Size(ctx context.Context, key string) (int64, error) {
	ref, err := v.find(ctx, key)
	return ref.Length, err
}

// Look is Size, and returns a value that lies in its node too. It must not be
// changed.
func (v Values) Look(ctx context.Context, key string) (size int64, value []byte, err error) {
	ref, err := v.find(ctx, key)
	return ref.Length, ref.Inline, err
}
