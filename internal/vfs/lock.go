package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Held is the error of FS.Lock if another holder has the lock.
type Held struct {
	Name string
	Note []byte // note of the holder; empty or cut while a new holder writes it
}

// Error implements error.
func (h *Held) Error() string { return "lock " + h.Name + ": held" }

// noteLimit bounds how many bytes of a note are read.
const noteLimit = 4 << 10

// Lock implements FS.
func (osFS) Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|openNoFollow, perm)
	if err != nil {
		return nil, err
	}
	taken, err := flock(f)
	if err != nil || !taken {
		if err == nil {
			held := &Held{Name: name, Note: make([]byte, noteLimit)}
			n, e := f.ReadAt(held.Note, 0)
			if held.Note, err = held.Note[:n], held; e != nil && !errors.Is(e, io.EOF) {
				err = errors.Join(held, e)
			}
		}
		f.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	// The note is for people. The lock is valid even if the disk has no room for the note.
	if f.Truncate(0) == nil {
		f.WriteAt(note, 0) //nolint:errcheck // see above
	}
	return f, nil
}
