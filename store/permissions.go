package store

import (
	"io/fs"

	"github.com/bivouac-ml/bivouac/errs"
)

// Permitter is a Store whose directories and files have permissions.
type Permitter interface {
	// WithPermissions returns the same store, where what is made through it has the
	// permission bits of mode, less the umask of the process: directories, parents
	// that are missing among them, as they are, and files without the bits for
	// execution. mode has those of the owner. What a transaction links keeps its own.
	WithPermissions(mode fs.FileMode) Store
}

// WithPermissions is that of st: errs.Unsupported where st is no Permitter. With
// mode 0 it is st, where what is made has the permissions of st.
func WithPermissions(st Store, mode fs.FileMode) (Store, error) {
	if mode == 0 {
		return st, nil
	}
	if p, ok := st.(Permitter); ok {
		return p.WithPermissions(mode), nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "store.WithPermissions", Subject: st.Properties().Name,
		Want: "a store of files with permissions", Remedy: "leave file.path_permission_mode out"}
}
