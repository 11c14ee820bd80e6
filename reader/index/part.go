package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// createPart makes the file that becomes the index at path. While the writer lives, the file is
// locked until unlock is called, so that no other process takes its writer for dead.
func createPart(path string) (f *os.File, unlock func(), err error) {
	for {
		f, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
		if err != nil {
			return nil, nil, err
		}
		unlock, err = lockPart(f.Name(), true)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist): // the file system has no locks: no part is removed there
			return f, func() {}, nil
		case err == nil && isAt(f, f.Name()):
			return f, unlock, nil
		case err == nil:
			unlock()
		}
		f.Close() // another process removed the file before it was locked
	}
}

// isAt reports whether a path still names an open file.
func isAt(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(have, now)
}

// partName matches the ends of the names that createPart gives.
var partName = regexp.MustCompile(`^\.[0-9]+\.part$`)

// removeParts removes what killed writers of the index at path left. It leaves a file that a writer
// has locked.
func removeParts(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fileError("index.Make", filepath.Dir(path), err)
	}
	for _, e := range entries {
		base := filepath.Base(path)
		if len(e.Name()) <= len(base) || e.Name()[:len(base)] != base || !partName.MatchString(e.Name()[len(base):]) ||
			!e.Type().IsRegular() {
			continue
		}
		part := filepath.Join(filepath.Dir(path), e.Name())
		unlock, err := lockPart(part, false)
		if err != nil {
			continue // it is being written, was renamed since, or cannot be locked
		}
		err = os.Remove(part)
		unlock()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError("index.Make", part, err)
		}
	}
	return nil
}
