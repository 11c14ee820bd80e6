package video

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

// held is a file without a name, or nil.
type held = *os.File

// hold puts the bytes of the video in a file without a name, which a process can open.
func (s *source) hold() error {
	if s.path != "" || s.held != nil {
		return nil
	}
	fd, err := unix.MemfdCreate("video", unix.MFD_CLOEXEC)
	if err != nil {
		return &errs.Error{Kind: errs.Exhausted, Op: opName, Subject: "memory for the file",
			Err: os.NewSyscallError("memfd_create", err)}
	}
	f := os.NewFile(uintptr(fd), "video")
	if _, err := f.Write(s.data); err != nil {
		f.Close() //nolint:errcheck // the error of Write is returned
		return &errs.Error{Kind: errs.Exhausted, Op: opName, Subject: "memory for the file", Err: err}
	}
	s.held = f
	return nil
}

// argument returns the name that a process opens, and the file that it inherits as descriptor 3.
func (s *source) argument() (name string, inherit []*os.File) {
	if s.path != "" {
		return "file:" + s.path, nil
	}
	return "file:/proc/self/fd/3", []*os.File{s.held}
}

func (s *source) release() {
	if s.held != nil {
		s.held.Close() //nolint:errcheck // nothing is read from it
		s.held = nil
	}
}
