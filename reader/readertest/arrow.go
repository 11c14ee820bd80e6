package readertest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader/arrow" // readers.arrow
)

// Arrow makes a data set of n rows in dir: a number, a text and a list of numbers, in a stream with
// 5 rows a batch.
func Arrow(dir string, n int) (name string, args op.Args, err error) {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "row %d, %0*d", i, 1+i%50, i)
	}
	path := filepath.Join(dir, "data.arrow")
	return "readers.arrow", op.Args{"paths": []string{path}}, os.WriteFile(path, ArrowOf(5, texts), 0o666)
}

// ArrowOf returns a stream of texts with their numbers and lists of 0 to 3 numbers.
func ArrowOf(perBatch int, texts [][]byte) []byte {
	i32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	i64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	integer := func(bits uint32) flatTable { return flatTable{i32(bits), []byte{1}} }
	field := func(name string, typ byte, of flatTable, children ...any) flatTable {
		return flatTable{name, nil, []byte{typ}, of, nil, flatList(children)}
	}
	fields := flatList{field("id", 2, integer(64)), field("text", 5, flatTable{}),
		field("list", 12, flatTable{}, field("item", 2, integer(16)))}
	message := func(kind byte, header flatTable, body []byte) []byte {
		b := appendFlat(flatTable{[]byte{4, 0}, []byte{kind}, header, i64(uint64(len(body)))})
		return append(append(append(i32(0xffffffff), i32(uint32(len(b)))...), b...), body...)
	}
	out := message(1, flatTable{nil, fields}, nil)
	for first := 0; first < len(texts); first += perBatch {
		rows := texts[first:min(first+perBatch, len(texts))]
		var id, text, values []byte
		textEnds, listEnds := i32(0), i32(0)
		for j := range rows {
			at := first + j
			id = append(id, i64(uint64(at))...)
			text = append(text, rows[j]...)
			for k := range at % 4 {
				values = binary.LittleEndian.AppendUint16(values, uint16(100*at+k))
			}
			textEnds, listEnds = append(textEnds, i32(uint32(len(text)))...), append(listEnds,
				i32(uint32(len(values)/2))...)
		}
		var body, nodes, buffers []byte
		add := func(b []byte) {
			buffers = append(append(buffers, i64(uint64(len(body)))...), i64(uint64(len(b)))...)
			body = append(body, b...)
			for len(body)%8 != 0 {
				body = append(body, 0)
			}
		}
		for _, b := range [][]byte{nil, id, nil, textEnds, text, nil, listEnds, nil, values} {
			add(b)
		}
		for _, n := range []int{len(rows), len(rows), len(rows), len(values) / 2} {
			nodes = append(append(nodes, i64(uint64(n))...), i64(0)...)
		}
		out = append(out, message(3, flatTable{i64(uint64(len(rows))), flatStructs{16, nodes},
			flatStructs{16, buffers}}, body)...)
	}
	return append(out, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}

// flatTable is a table of FlatBuffers: each field is nil, the bytes of a number, a string, another
// table, or a list.
type flatTable []any

// flatList is a list of tables.
type flatList []any

// flatStructs is a list of structs of a size.
type flatStructs struct {
	size int
	data []byte
}

// appendFlat writes a table and what it points to, padded to 8 bytes.
func appendFlat(t flatTable) []byte {
	b := make([]byte, 4)
	b = flatAt(b, 0, t)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// flatAt appends v and makes the offset at a place point to it.
func flatAt(b []byte, place int, v any) []byte {
	le := binary.LittleEndian
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	point := func(to int) { le.PutUint32(b[place:], uint32(to-place)) }
	switch v := v.(type) {
	case string:
		point(len(b))
		return append(append(le.AppendUint32(b, uint32(len(v))), v...), 0)
	case flatStructs:
		b = append(b, 0, 0, 0, 0) // the structs begin at a multiple of 8
		point(len(b))
		return append(le.AppendUint32(b, uint32(len(v.data)/v.size)), v.data...)
	case flatList:
		point(len(b))
		b = le.AppendUint32(b, uint32(len(v)))
		at := len(b)
		b = append(b, make([]byte, 4*len(v))...)
		for i := range v {
			b = flatAt(b, at+4*i, v[i])
		}
		return b
	}
	t := v.(flatTable)
	vtable := len(b)
	b = append(b, make([]byte, (4+2*len(t)+7)/8*8)...)
	table := len(b)
	point(table)
	le.PutUint16(b[vtable:], uint16(4+2*len(t)))
	b = le.AppendUint32(b, uint32(table-vtable))
	var later []int
	for i, f := range t {
		n := 4
		if raw, ok := f.([]byte); ok {
			n = len(raw)
		}
		if f == nil {
			continue
		}
		for (len(b)-table)%n != 0 {
			b = append(b, 0)
		}
		le.PutUint16(b[vtable+4+2*i:], uint16(len(b)-table))
		if raw, ok := f.([]byte); ok {
			b = append(b, raw...)
			continue
		}
		later = append(later, i, len(b))
		b = append(b, 0, 0, 0, 0)
	}
	le.PutUint16(b[vtable+2:], uint16(len(b)-table))
	for i := 0; i < len(later); i += 2 {
		b = flatAt(b, later[i+1], t[later[i]])
	}
	return b
}
