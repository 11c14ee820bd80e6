package store

import (
	"io/fs"

	"github.com/bivouac-ml/bivouac/errs"
)

// Permitter is a Store whose directories and files have permissions.
type Permitter interface {
	// WithPermissions returns the same store with permission bits for new objects: mode, less the
	// umask of the process. New directories, missing parents among them, get these bits; new files get
	// them without the bits for execution. mode must have the owner's bits. Linked objects keep their
	// permissions.
	WithPermissions(mode fs.FileMode) Store
}

// WithPermissions returns st with mode for new objects. It fails with errs.Unsupported if st is not
// a Permitter. With mode 0 it returns st itself.
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
