package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func compareInfo(a, b *Info) int {
	return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), strings.Compare(a.Name, b.Name))
}

// headerLength reads the length of the header from the first bytes of a file of
// size bytes.
func headerLength(first []byte, size int64, file string) (int64, error) {
	if len(first) < lengthBytes {
		return 0, corrupt(file, "", fmt.Sprintf("%d bytes", len(first)), "8 bytes of header length")
	}
	n := binary.LittleEndian.Uint64(first)
	if n > MaxHeader {
		return 0, corrupt(file, "", fmt.Sprintf("a header of %d bytes", n), fmt.Sprintf("at most %d", MaxHeader))
	}
	if int64(n) > size-lengthBytes {
		return 0, corrupt(file, "", fmt.Sprintf("a header of %d bytes in a file of %d", n, size), "")
	}
	return int64(n), nil
}

// shortestTensor is about the length of the shortest entry of a tensor:
// "a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},
const shortestTensor = 48

// ParseHeader parses the JSON of the header of a file of size bytes. file is for
// errors, which are errs.Corrupt, or errs.Unsupported for an element type that
// the format did not have when this was written.
func ParseHeader(json []byte, size int64, file string, o *Options) (*Header, error) {
	if !utf8.Valid(json) {
		return nil, corrupt(file, "", "a header that is not UTF-8", "")
	}
	p := headerParser{scanner: scanner{b: json}, strict: o != nil && o.Strict}
	tensors := min(bytes.Count(json, []byte(`"data_offsets"`)), len(json)/shortestTensor)
	h := &Header{DataStart: lengthBytes + int64(len(json)), Tensors: make([]Info, 0, tensors), index: make(map[string]int, tensors)}
	p.header(h)
	if p.err != nil {
		kind := errs.Corrupt
		if p.unknown {
			kind = errs.Unsupported
		}
		return nil, &errs.Error{Kind: kind, Op: "safetensors", Subject: file, Got: "header " + p.err.Error()}
	}
	h.arrange()
	if err := h.validate(size, file); err != nil {
		return nil, err
	}
	return h, nil
}

// headerParser reads the header object.
type headerParser struct {
	scanner
	strict  bool
	unknown bool // the fault is an unknown type
}

func (p *headerParser) header(h *Header) {
	if p.strict && (len(p.b) == 0 || p.b[0] != '{') {
		p.fail("want '{' as the first byte")
	}
	twice := map[string]bool{}
	metadata := false
	p.object(func(name string) {
		if name == metadataKey {
			if metadata {
				p.fail("duplicate %s", metadataKey)
			}
			metadata = true
			h.Metadata = p.metadata()
			return
		}
		t := p.tensor(name)
		i, known := h.index[name]
		if !known {
			h.index[name] = len(h.Tensors)
			h.Tensors = append(h.Tensors, t)
			return
		}
		if p.strict {
			p.fail("duplicate tensor %s", brief(name))
		}
		h.Tensors[i] = t
		if !twice[name] {
			twice[name] = true
			h.Duplicates = append(h.Duplicates, name)
		}
	})
	p.end()
}

// metadata reads the free text of a header; null counts as no text.
func (p *headerParser) metadata() map[string]string {
	if p.null() {
		return nil
	}
	m := map[string]string{}
	p.object(func(key string) {
		if _, twice := m[key]; twice && p.strict {
			p.fail("duplicate member %s of %s", brief(key), metadataKey)
		}
		m[key] = p.text()
	})
	return m
}

// fields are the members of a tensor, in the order of the list that may stand in
// place of the object.
var fields = [...]string{"dtype", "shape", "data_offsets"}

// tensor reads the description of a tensor: an object, or a list of its three
// values, which the reference library takes too.
func (p *headerParser) tensor(name string) Info {
	t := Info{Name: name}
	if p.peek() == '[' && !p.strict {
		n := 0
		p.list(func(i int) {
			p.field(&t, i)
			n++
		})
		if n < len(fields) {
			p.fail("want 3 values, got %d", n)
		}
		return t
	}
	var seen [len(fields)]bool
	p.object(func(member string) {
		i := slices.Index(fields[:], member)
		if i < 0 {
			p.skip()
			return
		}
		if seen[i] {
			p.fail("duplicate member %s of tensor %s", member, brief(name))
		}
		seen[i] = true
		p.field(&t, i)
	})
	if i := slices.Index(seen[:], false); i >= 0 {
		p.fail("tensor %s without %s", brief(name), fields[i])
	}
	return t
}

// field reads the value of a member by its place in fields.
func (p *headerParser) field(t *Info, i int) {
	switch i {
	case 0:
		t.DType = p.dtype()
	case 1:
		p.list(func(int) { t.Shape = append(t.Shape, p.uint()) })
	case 2:
		t.Begin, t.End = p.offsets()
	default:
		p.fail("want 3 values")
	}
}

// dtype reads the name of a type: a string, or as the reference library has it
// also {"F32":null}.
func (p *headerParser) dtype() tensor.DType {
	var name string
	if p.peek() == '{' && !p.strict {
		n := 0
		p.object(func(member string) {
			name = member
			if n++; !p.null() {
				p.fail("want a dtype")
			}
		})
		if n != 1 {
			p.fail("want a dtype")
		}
	} else {
		name = p.text()
	}
	d, ok := tensor.FromSafetensors(name)
	if !ok && p.err == nil {
		p.unknown = true
		p.fail("unknown dtype %s", brief(name))
	}
	return d
}

// offsets reads two integers. Those beyond 63 bits become the largest: as the
// end of some tensor must be the end of the file, they can be valid in no file.
func (p *headerParser) offsets() (begin, end int64) {
	n := 0
	p.list(func(i int) {
		v := int64(min(p.uint(), math.MaxInt64))
		switch n++; i {
		case 0:
			begin = v
		case 1:
			end = v
		default:
			p.fail("want two offsets")
		}
	})
	if n < 2 {
		p.fail("want two offsets, got %d", n)
	}
	return begin, end
}

// validate holds the tensors against the size of the file.
func (h *Header) validate(size int64, file string) error {
	var at int64
	for i := range h.Tensors {
		t := &h.Tensors[i]
		if t.Begin != at || t.End < t.Begin {
			return corrupt(file, t.Name, fmt.Sprintf("offsets [%d,%d]", t.Begin, t.End), fmt.Sprintf("a begin of %d: no gap, no overlap", at))
		}
		at = t.End
		n, ok := packedSize(t.DType, t.Shape)
		if !ok {
			return corrupt(file, t.Name, fmt.Sprintf("%s%d is more than 2^64 bits", t.DType, t.Shape), "")
		}
		if n%8 != 0 {
			return corrupt(file, t.Name, fmt.Sprintf("%s%d", t.DType, t.Shape), "elements that fill whole bytes")
		}
		if n/8 != uint64(t.Size()) {
			return corrupt(file, t.Name, fmt.Sprintf("%d bytes", t.Size()), fmt.Sprintf("%d of %s%d", n/8, t.DType, t.Shape))
		}
	}
	if h.FileSize() != size {
		return corrupt(file, "", fmt.Sprintf("a file of %d bytes", size), fmt.Sprintf("%d as the header has it", h.FileSize()))
	}
	return nil
}

// packedSize returns the bits of a tensor, multiplied in the reference library's
// order: a zero does not save what overflows before it.
func packedSize(d tensor.DType, shape []uint64) (uint64, bool) {
	n := uint64(1)
	multiply := func(by uint64) bool {
		high, low := bits.Mul64(n, by)
		n = low
		return high == 0
	}
	for _, extent := range shape {
		if !multiply(extent) {
			return 0, false
		}
	}
	ok := multiply(uint64(d.Bits()))
	return n, ok
}

// corrupt returns the error for a fault of a file, or of a tensor in it.
func corrupt(file, name, got, want string) error {
	if name != "" {
		file += ": " + name
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "safetensors", Subject: file, Want: want, Got: got}
}
