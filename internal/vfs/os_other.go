//go:build !linux

package vfs

import (
	"errors"
	"os"
	"runtime"
)

const openNoFollow = 0

func renameOS(oldname, newname string) error { return os.Rename(oldname, newname) }

func renameNoReplace(oldname, newname string) error {
	return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: errors.ErrUnsupported}
}

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}

// syncDir does nothing on Windows, which cannot sync a directory.
func syncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func allocate(*os.File, int64) error { return nil }

func setDirect(_ *os.File, on bool) error {
	if on {
		return errors.ErrUnsupported
	}
	return nil
}

func syncData(f *os.File) error { return f.Sync() }
