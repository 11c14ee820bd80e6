package npy

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const suffix = ".npy"

// Limits of what deflated bytes become: deflate itself makes at most 1032 bytes
// of one, and Options.Budget comes on top of plausible.
const (
	maxRatio  = 1032
	plausible = 64
)

// DefaultBudget is the value of Options.Budget.
const DefaultBudget = 256 << 20

// Options tune OpenArchive. The zero value works.
type Options struct {
	// Budget is how many bytes a deflated array may take beyond 64 for each byte
	// that it has in the file; 0: DefaultBudget, < 0: none.
	Budget int64
}

// Archive is an npz file, open for reading. It is safe for concurrent use where
// the reader is.
type Archive struct {
	names   []string
	members map[string]*zip.File
	budget  int64
}

// OpenArchive reads the directory of an archive of size bytes. What is no zip
// archive from its first byte on is errs.Corrupt.
func OpenArchive(r io.ReaderAt, size int64, o *Options) (*Archive, error) {
	var first [4]byte
	n, err := r.ReadAt(first[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errs.Wrap("npz", "", err)
	}
	if s := string(first[:n]); s != "PK\x03\x04" && s != "PK\x05\x06" {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "npz", Want: "a zip archive", Got: fmt.Sprintf("% x …", s)}
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are keys here, never paths
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "npz", Err: err}
	}
	a := &Archive{members: make(map[string]*zip.File, len(z.File)), budget: DefaultBudget}
	if o != nil && o.Budget != 0 {
		a.budget = max(0, o.Budget)
	}
	// As in numpy, the last of several members with one name counts, and the
	// name of a member comes before the name of an array.
	for _, f := range z.File {
		key := strings.TrimSuffix(f.Name, suffix)
		if a.members[key] == nil {
			a.names = append(a.names, key)
		}
		a.members[key] = f
	}
	for _, f := range z.File {
		a.members[f.Name] = f
	}
	return a, nil
}

// Names returns the names of the arrays in the order of the archive, without
// ".npy". The slice is shared.
func (a *Archive) Names() []string { return a.names }

// Header reads the header of an array.
func (a *Archive) Header(name string) (Header, error) {
	r, f, err := a.open(name)
	if err != nil {
		return Header{}, err
	}
	h, err := ReadHeader(r, int64(f.UncompressedSize64))
	return h, errs.Wrap("npz", name, err)
}

// Read reads an array and verifies the checksum of its member. A name that is
// not there is errs.NotFound; a member that is no npy file errs.Corrupt; one
// that would grow beyond Options.Budget errs.Exhausted.
func (a *Archive) Read(name string) (tensor.Tensor, error) {
	r, f, err := a.open(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t, err := Read(r, int64(f.UncompressedSize64))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err == nil {
		err = r.verify(f)
	}
	if err != nil {
		return tensor.Tensor{}, memberError(name, err)
	}
	return t, nil
}

// open returns the content of a member, bounded by the size that the archive
// has it with.
func (a *Archive) open(name string) (*member, *zip.File, error) {
	f := a.members[name]
	if f == nil {
		return nil, nil, &errs.Error{Kind: errs.NotFound, Op: "npz", Subject: name, Got: "no array of that name"}
	}
	stored, size := f.CompressedSize64, f.UncompressedSize64
	const most = 1 << 62
	raw, err := f.OpenRaw()
	switch {
	case err != nil:
		return nil, nil, memberError(name, err)
	case f.Flags&1 != 0:
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: "npz", Subject: name, Got: "an encrypted member"}
	case stored > most || size > most:
		return nil, nil, memberError(name, fmt.Errorf("a member of %d bytes", max(stored, size)))
	}
	m := &member{sum: crc32.NewIEEE()}
	switch f.Method {
	case zip.Store:
		if stored != size {
			return nil, nil, memberError(name, fmt.Errorf("%d bytes stored as %d", size, stored))
		}
		m.Reader = raw
	case zip.Deflate:
		if stored < most/maxRatio && size > maxRatio*(stored+1) {
			return nil, nil, memberError(name, fmt.Errorf("%d bytes deflated to %d", size, stored))
		}
		if bound := plausible*min(stored, most/plausible) + uint64(a.budget); size > bound {
			return nil, nil, &errs.Error{Kind: errs.Exhausted, Op: "npz", Subject: name,
				Want: fmt.Sprintf("at most %d bytes", bound), Got: fmt.Sprint(size), Remedy: "raise Options.Budget"}
		}
		m.Reader = flate.NewReader(raw)
	default:
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: "npz", Subject: name,
			Want: "a stored or deflated member", Got: fmt.Sprintf("compression method %d", f.Method)}
	}
	m.Reader = io.LimitReader(m.Reader, int64(size))
	return m, f, nil
}

// member is the content of a member and its checksum so far.
type member struct {
	io.Reader
	sum hash.Hash32
	n   uint64
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.sum.Write(p[:n])
	m.n += uint64(n)
	return n, err
}

func (m *member) verify(f *zip.File) error {
	if m.n != f.UncompressedSize64 {
		return fmt.Errorf("%d bytes, not the %d of the directory", m.n, f.UncompressedSize64)
	}
	if sum := m.sum.Sum32(); sum != f.CRC32 {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("CRC-32 %08x", f.CRC32), Got: fmt.Sprintf("%08x", sum)}
	}
	return nil
}

// memberError is err with the name of the member, errs.Corrupt unless it has a
// kind.
func memberError(name string, err error) error {
	e := &errs.Error{Op: "npz", Subject: name, Err: err}
	var known *errs.Error
	if !errors.As(err, &known) {
		e.Kind = errs.Corrupt
	}
	return e
}

// ArchiveWriter writes an npz file.
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

// Write adds an array. Errors are those of Write; a name that is there already
// is errs.Exists, and one that is empty, has a NUL or is longer than a zip
// archive can hold errs.Invalid.
func (a *ArchiveWriter) Write(name string, t tensor.Tensor) error {
	if name == "" || strings.ContainsRune(name, 0) || len(name) > 1<<16-1-len(suffix) {
		return &errs.Error{Kind: errs.Invalid, Op: "npz", Subject: name, Got: "a name that an archive cannot have"}
	}
	if a.names[name] {
		return &errs.Error{Kind: errs.Exists, Op: "npz", Subject: name}
	}
	// What cannot be written is found before the member is begun.
	if _, err := (Header{DType: t.DType, Shape: t.Shape}).Append(nil); err != nil {
		return errs.Wrap("npz", name, err)
	}
	if err := t.Check(); err != nil {
		return errs.Wrap("npz", name, err)
	}
	a.names[name] = true
	h := &zip.FileHeader{Name: name + suffix, Method: zip.Store}
	if a.deflate {
		h.Method = zip.Deflate
	}
	w, err := a.zip.CreateHeader(h)
	if err != nil {
		return errs.Wrap("npz", name, err)
	}
	return errs.Wrap("npz", name, Write(w, t, nil))
}

// Close writes the directory. It does not close the writer underneath.
func (a *ArchiveWriter) Close() error { return a.zip.Close() }

// DecodeArchive reads all arrays of an npz file in memory, with default options.
func DecodeArchive(b []byte) (map[string]tensor.Tensor, error) {
	a, err := OpenArchive(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return nil, err
	}
	all := make(map[string]tensor.Tensor, len(a.names))
	for _, name := range a.names {
		if all[name], err = a.Read(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
