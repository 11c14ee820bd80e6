package npy

import (
	"archive/zip"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ArchiveWriter writes an npz file. The same arrays in the same order give the
// same bytes: members carry no time.
type ArchiveWriter struct {
	zip     *zip.Writer
	deflate bool
	names   map[string]bool
}

// NewArchiveWriter returns a writer of an archive to w. deflate compresses the
// members, as numpy.savez_compressed does.
func NewArchiveWriter(w io.Writer, deflate bool) *ArchiveWriter {
	return &ArchiveWriter{zip.NewWriter(w), deflate, map[string]bool{}}
}

// Write adds an array. It returns the errors of Write, errs.Exists for a name that is there
// already, and errs.Invalid for a name that is not UTF-8, has a NUL or is too long for a zip
// archive. After an error of w the archive is useless; after other errors it is unchanged.
func (a *ArchiveWriter) Write(name string, t tensor.Tensor) error {
	if strings.ContainsRune(name, 0) || !utf8.ValidString(name) || len(name) > maxComment-len(suffix) {
		return &errs.Error{Kind: errs.Invalid, Op: "npz", Subject: brief(name), Got: "a name that an archive cannot have"}
	}
	// A reader knows an array by both of its names.
	if a.names[name] || a.names[name+suffix] || a.names[strings.TrimSuffix(name, suffix)] {
		return &errs.Error{Kind: errs.Exists, Op: "npz", Subject: name}
	}
	if err := writable(t); err != nil {
		return errs.Wrap("npz", name, err)
	}
	a.names[name] = true
	h := &zip.FileHeader{Name: name + suffix, Method: zip.Store}
	if a.deflate {
		h.Method = zip.Deflate
	}
	w, err := a.zip.CreateHeader(h)
	if err == nil {
		err = Write(w, t, nil)
	}
	return errs.Wrap("npz", name, err)
}

// writable finds what cannot be written before a member is begun.
func writable(t tensor.Tensor) error {
	if err := t.Check(); err != nil {
		return err
	}
	_, err := Header{DType: t.DType, Shape: t.Shape}.Append(nil)
	return err
}

// Close writes the directory. It does not close the writer underneath.
func (a *ArchiveWriter) Close() error { return a.zip.Close() }
