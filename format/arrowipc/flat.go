package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// flat reads FlatBuffers. After the first error it returns zeros.
type flat struct {
	b   []byte
	err error
}

func (f *flat) fail(want string, at int) {
	if f.err == nil {
		f.err = corrupt("metadata with "+want, fmt.Sprintf("none at byte %d of %d", at, len(f.b)))
	}
}

func corrupt(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got}
}

// bytes returns n bytes at a place.
func (f *flat) bytes(at, n int) []byte {
	if f.err != nil || at < 0 || n < 0 || at > len(f.b) || n > len(f.b)-at {
		f.fail(fmt.Sprintf("%d bytes", n), at)
		return make([]byte, min(max(n, 0), 8))
	}
	return f.b[at : at+n]
}

func (f *flat) u8(at int) byte   { return f.bytes(at, 1)[0] }
func (f *flat) i16(at int) int16 { return int16(binary.LittleEndian.Uint16(f.bytes(at, 2))) }
func (f *flat) i32(at int) int32 { return int32(binary.LittleEndian.Uint32(f.bytes(at, 4))) }
func (f *flat) i64(at int) int64 { return int64(binary.LittleEndian.Uint64(f.bytes(at, 8))) }

// table is a table of FlatBuffers. The zero table has no field.
type table struct {
	f      *flat
	at     int
	vtable int
	fields int // number of fields in the vtable
}

// root returns the table that metadata begin with.
func (f *flat) root() table { return f.table(0) }

// table returns the table to which the offset at a place points.
func (f *flat) table(at int) table {
	to := at + int(uint32(f.i32(at)))
	vtable := to - int(f.i32(to))
	size := int(uint16(f.i16(vtable)))
	if f.err != nil || size < 4 {
		f.fail("a table", to)
		return table{f: f}
	}
	f.bytes(vtable, size)
	return table{f, to, vtable, (size - 4) / 2}
}

// field returns the place of a field, or 0 if it has its default.
func (t table) field(i int) int {
	if i >= t.fields {
		return 0
	}
	offset := int(uint16(t.f.i16(t.vtable + 4 + 2*i)))
	if offset == 0 {
		return 0
	}
	return t.at + offset
}

func (t table) has(i int) bool { return t.field(i) != 0 }

func (t table) bool(i int) bool { at := t.field(i); return at != 0 && t.f.u8(at) != 0 }

func (t table) u8(i int) byte {
	if at := t.field(i); at != 0 {
		return t.f.u8(at)
	}
	return 0
}

func (t table) i16(i int, missing int16) int16 {
	if at := t.field(i); at != 0 {
		return t.f.i16(at)
	}
	return missing
}

func (t table) i32(i int, missing int32) int32 {
	if at := t.field(i); at != 0 {
		return t.f.i32(at)
	}
	return missing
}

func (t table) i64(i int) int64 {
	if at := t.field(i); at != 0 {
		return t.f.i64(at)
	}
	return 0
}

// table returns the table of a field, which may be the zero table.
func (t table) table(i int) table {
	if at := t.field(i); at != 0 {
		return t.f.table(at)
	}
	return table{f: t.f}
}

// vector returns the place of the first of n elements of a field.
func (t table) vector(i, size int) (at, n int) {
	at = t.field(i)
	if at == 0 {
		return 0, 0
	}
	at += int(uint32(t.f.i32(at)))
	n = int(uint32(t.f.i32(at)))
	if t.f.err != nil || n > len(t.f.b)/size {
		t.f.fail("a list", at)
		return 0, 0
	}
	t.f.bytes(at+4, n*size)
	return at + 4, n
}

func (t table) string(i int) string {
	at, n := t.vector(i, 1)
	if n == 0 || t.f.err != nil {
		return ""
	}
	return string(t.f.bytes(at, n))
}
