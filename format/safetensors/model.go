package safetensors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// Files reads files by name; the names of an index are relative to it, with "/"
// between elements. Implementations must be safe for concurrent use.
type Files interface {
	// ReadAt fills p from the offset off, or fails.
	ReadAt(ctx context.Context, name string, p []byte, off int64) error
	// Size returns the length of a file in bytes. A file that does not exist is
	// errs.NotFound.
	Size(ctx context.Context, name string) (int64, error)
}

// FromReader returns Files of which every name is the one file r of size bytes.
func FromReader(r io.ReaderAt, size int64) Files { return oneFile{r, size} }

type oneFile struct {
	r    io.ReaderAt
	size int64
}

func (f oneFile) Size(context.Context, string) (int64, error) { return f.size, nil }

func (f oneFile) ReadAt(_ context.Context, name string, p []byte, off int64) error {
	n, err := f.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return corrupt(name, "", fmt.Sprintf("a file that ends at byte %d", off+int64(n)), fmt.Sprintf("%d bytes", f.size))
	}
	return errs.Wrap("safetensors", name, err)
}

// Options tune reading. The zero value reads what the reference library reads.
type Options struct {
	// Strict refuses what the library takes although the specification does not
	// have it: duplicate tensors and metadata, white space before the header's
	// first brace, lists and objects in place of objects and strings.
	Strict bool
	// MaxGap is how many unwanted bytes ReadBox reads at most to save a read
	// call; 0: DefaultMaxGap, < 0: none.
	MaxGap int64
	// OverRead, when not 0, takes the place of MaxGap: for how many bytes that one
	// call of ReadBox reads at most one is wanted; 1 is for none that are not.
	OverRead float64
	// MaxRead bounds what is read in one call; 0: what lies together.
	MaxRead int64
}

// DefaultMaxGap is the value of Options.MaxGap: what a disk delivers in about
// the time that a call takes.
const DefaultMaxGap = 64 << 10

func (o Options) withDefaults() Options {
	switch {
	case o.MaxGap == 0:
		o.MaxGap = DefaultMaxGap // what a disk delivers in about the time that a call takes
	case o.MaxGap < 0:
		o.MaxGap = 0 // no gap is read
	}
	return o
}

// Entry is a tensor of a model and where it lies.
type Entry struct {
	Info
	File   string
	Offset int64 // of the first byte in the file
}

// Part is a file of a model.
type Part struct {
	File   string
	Header *Header
}

// Model is the tensors of one file or of several. It keeps no data and no file
// open, never changes and is safe for concurrent use.
type Model struct {
	files   Files
	options Options
	parts   []Part
	owner   map[string]int // tensor → part
}

// Open reads the header of one file.
func Open(ctx context.Context, files Files, name string, o Options) (*Model, error) {
	m := &Model{files: files, options: o.withDefaults(), owner: map[string]int{}}
	if err := m.add(ctx, name); err != nil {
		return nil, err
	}
	return m, nil
}

// add reads the header of one more file.
func (m *Model) add(ctx context.Context, name string) error {
	h, err := readHeader(ctx, m.files, name, &m.options)
	if err != nil {
		return err
	}
	for i := range h.Tensors {
		t := h.Tensors[i].Name
		if other, twice := m.owner[t]; twice {
			return &errs.Error{Kind: errs.Mismatch, Op: "safetensors", Subject: t,
				Want: "a tensor in one file", Got: m.parts[other].File + " and " + name}
		}
		m.owner[t] = len(m.parts)
	}
	m.parts = append(m.parts, Part{name, h})
	return nil
}

func readHeader(ctx context.Context, files Files, name string, o *Options) (*Header, error) {
	size, err := files.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	first := make([]byte, min(lengthBytes, max(0, size)))
	if err := files.ReadAt(ctx, name, first, 0); err != nil {
		return nil, err
	}
	n, err := headerLength(first, size, name)
	if err != nil {
		return nil, err
	}
	json := make([]byte, n)
	if err := files.ReadAt(ctx, name, json, lengthBytes); err != nil {
		return nil, err
	}
	return ParseHeader(json, size, name, o)
}

// Parts returns the files in the order of their names. The headers are shared.
func (m *Model) Parts() []Part { return slices.Clone(m.parts) }

// Entries returns all tensors by file and offset: the order in which a reader of
// all of them has no seeks.
func (m *Model) Entries() []Entry {
	all := make([]Entry, 0, len(m.owner))
	for _, p := range m.parts {
		for _, t := range p.Header.Tensors {
			all = append(all, Entry{t, p.File, p.Header.DataStart + t.Begin})
		}
	}
	return all
}

// Lookup returns the tensor with that name, or errs.NotFound.
func (m *Model) Lookup(name string) (Entry, error) {
	i, ok := m.owner[name]
	if !ok {
		return Entry{}, &errs.Error{Kind: errs.NotFound, Op: "safetensors", Subject: name, Got: "no tensor of that name"}
	}
	p := m.parts[i]
	t, _ := p.Header.Lookup(name)
	return Entry{t, p.File, p.Header.DataStart + t.Begin}, nil
}

// The names that the Hugging Face libraries give to the files of a model.
const (
	SingleName = "model.safetensors"
	IndexName  = "model.safetensors.index.json"
)

// PartName returns the name of file i, counted from 0, of n:
// "model-00001-of-00002.safetensors", and SingleName when there is one only.
func PartName(i, n int) string {
	if n == 1 {
		return SingleName
	}
	return fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)
}

// Index says in which file each tensor of a model is.
type Index struct {
	TotalSize int64             // of the data; 0 where the index does not say
	Metadata  json.RawMessage   // "metadata" as it was read; nil: only total_size is written
	Files     map[string]string // tensor → file
}

// JSON returns the index as the Hugging Face libraries write it: sorted, with
// two blanks of indentation.
func (x *Index) JSON() []byte {
	dst := []byte("{\n  \"metadata\": ")
	if x.Metadata != nil {
		dst = append(dst, x.Metadata...)
	} else {
		dst = fmt.Appendf(dst, "{\n    \"total_size\": %d\n  }", x.TotalSize)
	}
	dst = append(dst, ",\n  \"weight_map\": {"...)
	sep := "\n    "
	for _, name := range sortedNames(x.Files) {
		dst = append(dst, sep...)
		dst = append(appendString(dst, name), ": "...)
		dst = appendString(dst, x.Files[name])
		sep = ",\n    "
	}
	if len(x.Files) > 0 {
		dst = append(dst, "\n  "...)
	}
	return append(dst, "}\n}\n"...)
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ParseIndex parses an index. file is for errors, which are errs.Corrupt. A
// tensor that is listed twice, and a file name that is not a plain relative
// path, is an error.
func ParseIndex(b []byte, file string) (*Index, error) {
	if !utf8.Valid(b) {
		return nil, corrupt(file, "", "an index that is not UTF-8", "")
	}
	s := &scanner{b: b}
	x := &Index{}
	s.object(func(name string) {
		switch {
		case name == "metadata" && x.Metadata == nil:
			x.metadata(s)
		case name == "weight_map" && x.Files == nil:
			x.weights(s)
		case name == "metadata" || name == "weight_map":
			s.fail("duplicate %s", name)
		default:
			s.skip()
		}
	})
	s.end()
	if s.err == nil && x.Files == nil {
		s.fail("no weight_map")
	}
	if s.err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "safetensors", Subject: file, Got: "index " + s.err.Error()}
	}
	return x, nil
}

// metadata keeps the member and looks for total_size in it, which some writers
// leave out and some give as a fraction.
func (x *Index) metadata(s *scanner) {
	s.peek()
	start := s.i
	if s.peek() != '{' {
		s.skip()
	} else {
		s.object(func(name string) {
			s.peek()
			from := s.i
			s.skip()
			if name == "total_size" && s.err == nil {
				if n := (&scanner{b: s.b[from:s.i]}).total(); n > 0 {
					x.TotalSize = n
				}
			}
		})
	}
	if s.err == nil {
		x.Metadata = append(json.RawMessage{}, s.b[start:s.i]...)
	}
}

// total returns the integer that s consists of, or 0 if s is not an integer.
func (s *scanner) total() int64 {
	n := s.uint()
	if s.end(); s.err != nil || n > 1<<62 {
		return 0
	}
	return int64(n)
}

func (x *Index) weights(s *scanner) {
	x.Files = map[string]string{}
	s.object(func(tensor string) {
		name := s.text()
		if s.err != nil {
			return
		}
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
			s.fail("file name %s leaves the directory", brief(name))
		}
		if _, twice := x.Files[tensor]; twice {
			s.fail("duplicate tensor %s", brief(tensor))
		}
		x.Files[tensor] = name
	})
}

// OpenIndex reads an index and the headers of all files that it lists. name may
// have directories; the files are looked for beside it. The error is
// errs.Mismatch when index and headers disagree on where a tensor is.
func OpenIndex(ctx context.Context, files Files, name string, o Options) (*Model, error) {
	size, err := files.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	if size > MaxHeader {
		return nil, corrupt(name, "", fmt.Sprintf("an index of %d bytes", size), fmt.Sprintf("at most %d", MaxHeader))
	}
	b := make([]byte, max(0, size))
	if err := files.ReadAt(ctx, name, b, 0); err != nil {
		return nil, err
	}
	x, err := ParseIndex(b, name)
	if err != nil {
		return nil, err
	}
	dir := name[:strings.LastIndexByte(name, '/')+1]
	m := &Model{files: files, options: o.withDefaults(), owner: make(map[string]int, len(x.Files))}
	for _, f := range slices.Compact(slices.Sorted(maps.Values(x.Files))) {
		if err := m.add(ctx, dir+f); err != nil {
			return nil, errs.Wrap("", name, err)
		}
	}
	for _, t := range sortedNames(x.Files) {
		if i, ok := m.owner[t]; !ok || m.parts[i].File != dir+x.Files[t] {
			return nil, &errs.Error{Kind: errs.Mismatch, Op: "safetensors", Subject: name + ": " + t,
				Want: "the tensor in " + x.Files[t], Got: m.where(t)}
		}
	}
	for _, e := range m.Entries() {
		if _, ok := x.Files[e.Name]; !ok {
			return nil, &errs.Error{Kind: errs.Mismatch, Op: "safetensors", Subject: name + ": " + e.Name,
				Want: "an entry of the index", Got: "a tensor in " + e.File + " alone"}
		}
	}
	return m, nil
}

func (m *Model) where(tensor string) string {
	if i, ok := m.owner[tensor]; ok {
		return m.parts[i].File
	}
	return "no such tensor"
}
