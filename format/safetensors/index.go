package safetensors

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

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
func OpenIndex(ctx context.Context, files Files, name string, o *Options) (*Model, error) {
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
