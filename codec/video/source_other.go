//go:build !linux

package video

import (
	"os"

	"github.com/bivouac-ml/bivouac/errs"
)

// held is the name of a temporary file, or empty.
type held = string

// hold puts the bytes of the video in a temporary file, which a process can open.
func (s *source) hold() error {
	if s.path != "" || s.held != "" {
		return nil
	}
	f, err := os.CreateTemp("", "bivouac-video-")
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: opName, Subject: "a temporary file", Err: err}
	}
	_, err = f.Write(s.data)
	if other := f.Close(); err == nil {
		err = other
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the error of the file is returned
		return &errs.Error{Kind: errs.IO, Op: opName, Subject: "a temporary file", Err: err}
	}
	s.held = f.Name()
	return nil
}

// argument returns the name that a process opens.
func (s *source) argument() (name string, inherit []*os.File) {
	if s.path != "" {
		return "file:" + s.path, nil
	}
	return "file:" + s.held, nil
}

func (s *source) release() {
	if s.held != "" {
		os.Remove(s.held) //nolint:errcheck // the system removes temporary files
		s.held = ""
	}
}
