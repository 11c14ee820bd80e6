package main

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// What the system has against a file is told with a remedy.
func TestUnwritable(t *testing.T) {
	for cause, want := range map[error]errs.Kind{
		syscall.ENOSPC: errs.Exhausted, syscall.EDQUOT: errs.Exhausted, syscall.EACCES: errs.Permission, syscall.EROFS: errs.Permission,
		syscall.ENOENT: errs.NotFound, syscall.EIO: errs.IO,
	} {
		err := unwritable("dir/x.npz", &fs.PathError{Op: "write", Path: "dir/.x.npz.1", Err: cause})
		if errs.KindOf(err) != want || !strings.Contains(err.Error(), "dir/x.npz") {
			t.Errorf("%v: %v", cause, err)
		}
		if remedy := strings.HasSuffix(err.Error(), ")"); remedy != (want != errs.IO) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
