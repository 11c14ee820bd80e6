package safetensors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

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

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	switch {
	case v.MaxGap == 0:
		v.MaxGap = DefaultMaxGap
	case v.MaxGap < 0:
		v.MaxGap = 0
	}
	return v
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

// Open reads the header of one file. nil options are the zero value.
func Open(ctx context.Context, files Files, name string, o *Options) (*Model, error) {
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
