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
	"math"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const suffix = ".npy"

// Limits for the growth of deflated bytes. Deflate itself makes at most 1032 bytes from one. Growth
// up to the plausible ratio is free; growth beyond it counts against the budget.
const (
	maxRatio  = 1032
	plausible = 64
)

// DefaultBudget is the value of Options.Budget.
const DefaultBudget = 256 << 20

// Options tune OpenArchive. The zero value works.
type Options struct {
	// Budget is how many bytes a deflated array may take beyond 64 bytes for each byte in the file; 0
	// is DefaultBudget, and < 0 allows no such bytes.
	Budget int64
}

// Archive is an npz file, open for reading. It never changes, and is safe for concurrent use if the
// reader is.
type Archive struct {
	r       io.ReaderAt
	names   []string
	members map[string]zipEntry
	budget  uint64
}

// OpenArchive reads the directory of an archive of size bytes. Input that is not a zip archive from
// its first byte on is errs.Corrupt.
func OpenArchive(r io.ReaderAt, size int64, o Options) (*Archive, error) {
	var first [4]byte
	if size < int64(len(first)) {
		return nil, memberError("", errZip)
	}
	if err := readAll(r, first[:], 0); err != nil {
		return nil, memberError("", err)
	}
	if s := string(first[:]); s != "PK\x03\x04" && s != "PK\x05\x06" {
		return nil, memberError("", errZip)
	}
	entries, err := zipEntries(r, size)
	if err != nil {
		return nil, memberError("", err)
	}
	a := &Archive{r: r, members: make(map[string]zipEntry, len(entries)), budget: DefaultBudget}
	if o.Budget != 0 {
		a.budget = uint64(max(0, o.Budget))
	}
	// As in numpy, the last of several members with one name counts, and the
	// name of a member comes before the name of an array.
	for _, e := range entries {
		key := strings.TrimSuffix(e.name, suffix)
		if _, twice := a.members[key]; !twice {
			a.names = append(a.names, key)
		}
		a.members[key] = e
	}
	for _, e := range entries {
		a.members[e.name] = e
	}
	return a, nil
}

// Names returns the names of the arrays in the order of the archive, without
// ".npy". The slice is shared.
func (a *Archive) Names() []string { return a.names }

// Header reads the header of an array.
func (a *Archive) Header(name string) (Header, error) {
	m, err := a.open(name)
	if err != nil {
		return Header{}, memberError(name, err)
	}
	h, err := ReadHeader(m, m.limit)
	return h, memberError(name, err)
}

// Read reads an array and verifies the checksum of its member. An unknown name is errs.NotFound. A
// member that is not an npy file is errs.Corrupt. A member that would grow beyond Options.Budget is
// errs.Exhausted.
func (a *Archive) Read(name string) (tensor.Tensor, error) {
	m, err := a.open(name)
	if err != nil {
		return tensor.Tensor{}, memberError(name, err)
	}
	t, err := Read(m, m.limit)
	if err == nil {
		err = m.verify()
	}
	if err != nil {
		return tensor.Tensor{}, memberError(name, err)
	}
	return t, nil
}

// member is the content of a member and its checksum so far.
type member struct {
	r     io.Reader
	limit int64 // largest possible number of bytes
	sum   hash.Hash32
	want  uint32
}

func (a *Archive) open(name string) (*member, error) {
	e, ok := a.members[name]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Got: "no array of that name"}
	}
	raw, err := e.data(a.r)
	if err != nil {
		return nil, err
	}
	// A declared size that is too large does no harm; it is only a bound.
	var most uint64
	switch e.method {
	case methodStore:
		most = min(e.size, e.stored)
	case methodDeflate:
		raw = flate.NewReader(raw)
		most = min(e.size, min(e.stored, math.MaxInt64/maxRatio-1)*maxRatio+maxRatio)
		if bound := min(e.stored, math.MaxInt64/plausible)*plausible + a.budget; most > bound {
			return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("at most %d bytes", bound),
				Got: fmt.Sprintf("%d deflated to %d", most, e.stored), Remedy: "raise Options.Budget"}
		}
	default:
		return nil, unsupportedMember(fmt.Sprintf("compression method %d", e.method))
	}
	limit := int64(min(most, math.MaxInt64))
	return &member{io.LimitReader(raw, limit), limit, crc32.NewIEEE(), e.sum}, nil
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.sum.Write(p[:n])
	return n, err
}

// verify reads the rest of the member and compares it with its checksum.
func (m *member) verify() error {
	if _, err := io.Copy(io.Discard, m); err != nil {
		return err
	}
	return sameSum(m.want, m.sum.Sum32())
}

func unsupportedMember(got string) error {
	return &errs.Error{Kind: errs.Unsupported, Want: "a stored or deflated member", Got: got}
}

// memberError adds the name of the member to err. Faults of the container and of deflate have no
// kind of their own: they are errs.Corrupt.
func memberError(name string, err error) error {
	if err == nil {
		return nil
	}
	e := &errs.Error{Op: "npz", Subject: name, Err: err}
	var known *errs.Error
	var damage flate.CorruptInputError
	if !errors.As(err, &known) || errors.As(err, &damage) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Kind = errs.Corrupt
	}
	return e
}

// DecodeArchive reads all arrays of an npz file in memory, with default options.
func DecodeArchive(b []byte) (map[string]tensor.Tensor, error) {
	a, err := OpenArchive(bytes.NewReader(b), int64(len(b)), Options{})
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
	// A reader finds an array by either of its names.
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

// Stored is an array of an archive whose elements lie in the file as in a tensor: neither deflated,
// nor in Fortran order, nor big-endian. Parts of it can be read directly.
type Stored struct {
	Header
	Offset int64 // of the first element, in the archive

	head, sum uint32 // checksums of the bytes before the elements, and of the member
}

// Verify compares all elements with the checksum of the member. Parts of the elements have no
// checksum.
func (s Stored) Verify(elements []byte) error {
	return sameSum(s.sum, crc32.Update(s.head, crc32.IEEETable, elements))
}

// Stored says where the elements of an array lie; ok is false if only Read can return them. Errors
// are as in Header.
func (a *Archive) Stored(name string) (s Stored, ok bool, err error) {
	m, err := a.open(name)
	if err != nil {
		return s, false, memberError(name, err)
	}
	if s.Header, err = ReadHeader(m, m.limit); err != nil {
		return s, false, memberError(name, err)
	}
	e := a.members[name]
	if e.method != methodStore || !s.Plain() || uint64(s.DataStart+s.Size()) != e.stored || e.size != e.stored {
		return s, false, nil
	}
	start, err := e.start(a.r)
	if err != nil {
		return s, false, memberError(name, err)
	}
	s.Offset, s.head, s.sum = start+s.DataStart, m.sum.Sum32(), m.want
	return s, true, nil
}

// Check reads an array as Read does and compares it with the checksum of its member, using little
// memory.
func (a *Archive) Check(name string) error {
	m, err := a.open(name)
	if err != nil {
		return memberError(name, err)
	}
	h, err := ReadHeader(m, m.limit)
	if err == nil {
		_, err = io.CopyN(io.Discard, m, h.Size())
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = m.verify()
	}
	return memberError(name, err)
}

// Plain reports whether the data has the form of a tensor: C order and little-endian.
func (h Header) Plain() bool { return !h.BigEndian && (!h.Fortran || len(h.Shape) < 2) }

func sameSum(want, got uint32) error {
	if want == got {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("CRC-32 %08x", want), Got: fmt.Sprintf("%08x", got)}
}
