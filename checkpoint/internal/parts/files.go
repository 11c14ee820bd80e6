package parts

import (
	"bytes"
	"context"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// storeFiles reads files of a store under other names, for package ocdbt. at maps the names; a name
// that it maps to "" does not exist.
type storeFiles struct {
	st store.Store
	at func(name string) string
}

func (f storeFiles) open(ctx context.Context, name string) (store.Reader, error) {
	at := f.at(name)
	if at == "" {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return f.st.Open(ctx, at)
}

// ReadFile implements ocdbt.Files.
func (f storeFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	at := f.at(name)
	if at == "" {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return store.ReadAll(ctx, f.st, at)
}

// ReadAt implements ocdbt.Files.
func (f storeFiles) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	r, err := f.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return r.ReadAt(ctx, p, off)
}

// Size implements ocdbt.Files.
func (f storeFiles) Size(ctx context.Context, name string) (int64, error) {
	r, err := f.open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return r.Size(), nil
}

// Files lists the files below dir, with names relative to dir, ascending in each directory. It
// leaves out a name for which skip returns true, with all that is below.
func Files(ctx context.Context, st store.Store, dir string, skip func(store.Info) bool) ([]string, error) {
	var out []string
	for e, err := range st.List(ctx, dir) {
		if err != nil {
			return nil, err
		}
		if skip != nil && skip(e) {
			continue
		}
		if !e.Dir {
			out = append(out, e.Name)
			continue
		}
		below, err := Files(ctx, st, path.Join(dir, e.Name), skip)
		if err != nil {
			return nil, err
		}
		for _, f := range below {
			out = append(out, path.Join(e.Name, f))
		}
	}
	return out, nil
}

// sameBytes compares two files piece by piece.
func sameBytes(ctx context.Context, st store.Store, a, b string) (bool, error) {
	x, err := st.Open(ctx, a)
	if err != nil {
		return false, err
	}
	defer x.Close() //nolint:errcheck // nothing was written
	y, err := st.Open(ctx, b)
	if err != nil {
		return false, err
	}
	defer y.Close() //nolint:errcheck // nothing was written
	if x.Size() != y.Size() {
		return false, nil
	}
	const piece = 1 << 20
	size := min(piece, x.Size())
	p, q := make([]byte, size), make([]byte, size)
	for off := int64(0); off < x.Size(); off += piece {
		n := min(piece, x.Size()-off)
		if err := x.ReadAt(ctx, p[:n], off); err != nil {
			return false, err
		}
		if err := y.ReadAt(ctx, q[:n], off); err != nil {
			return false, err
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// ParentOf returns the directory of a name in a store.
func ParentOf(name string) string {
	if d := path.Dir(name); d != "." {
		return d
	}
	return ""
}
