package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

const (
	magic     = "BIVINDX1"
	preamble  = 24
	maxHeader = 1 << 20 // the header does not grow with the data set
	version   = 1
)

// header is the JSON at the start of an index.
type header struct {
	Version int           `json:"version"`
	Format  string        `json:"format"`
	Columns []columnPlace `json:"columns"`
}

// columnPlace says where a column and its checksums lie in the file.
type columnPlace struct {
	Name   string `json:"name"`
	Width  int    `json:"width"` // bytes of an element: 1, 2, 4 or 8
	Count  int64  `json:"count"`
	Offset int64  `json:"offset"`
	Sums   int64  `json:"sums"` // offset of a CRC32C of 4 bytes for each block
}

// source is a column that is being written: its elements come from fill, one after the other, or
// from chunks of bytes.
type source struct {
	name  string
	width int
	count int64
	fill  func(put func(v uint64)) error
	bytes func(put func(p []byte)) error // for columns of bytes, instead of fill
}

func blocksOf(size int64) int64 { return (size + block - 1) / block }

func aligned(n int64) int64 { return (n + 7) &^ 7 }

// writeContainer writes an index. Memory does not grow with the columns.
func writeContainer(w io.Writer, h header, columns []source) error {
	h.Version, h.Columns = version, make([]columnPlace, len(columns))
	for i, c := range columns {
		h.Columns[i] = columnPlace{Name: c.name, Width: c.width, Count: c.count}
	}
	// The places depend on the length of the header, which depends on the places.
	var text []byte
	for size := int64(0); ; {
		at := aligned(preamble + size)
		for i := range h.Columns {
			p := &h.Columns[i]
			p.Offset, at = at, aligned(at+p.Count*int64(p.Width))
		}
		for i := range h.Columns {
			p := &h.Columns[i]
			p.Sums, at = at, at+4*blocksOf(p.Count*int64(p.Width))
		}
		text, _ = json.Marshal(h) // cannot fail: numbers and strings
		if int64(len(text)) <= size {
			text = append(text, bytes.Repeat([]byte{' '}, int(size)-len(text))...)
			break
		}
		size = int64(len(text)) + 16
	}
	head := append([]byte(magic), make([]byte, preamble-len(magic))...)
	binary.LittleEndian.PutUint64(head[8:], uint64(len(text)))
	binary.LittleEndian.PutUint32(head[16:], crc.Sum(text))
	out := &summed{w: w}
	out.write(append(head, text...))
	out.pad()
	var sums [][]uint32
	for _, c := range columns {
		list, err := out.column(c)
		if err != nil {
			return err
		}
		sums = append(sums, list)
	}
	for _, list := range sums {
		b := make([]byte, 0, 4*len(list))
		for _, s := range list {
			b = binary.LittleEndian.AppendUint32(b, s)
		}
		out.write(b)
	}
	return out.err
}

// summed writes and counts. After an error it does nothing.
type summed struct {
	w   io.Writer
	n   int64
	err error
}

func (s *summed) write(p []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
		s.n += int64(len(p))
	}
}

func (s *summed) pad() { s.write(make([]byte, aligned(s.n)-s.n)) }

// column writes a column and returns the checksums of its blocks.
func (s *summed) column(c source) (sums []uint32, err error) {
	buffer, written := make([]byte, 0, block+8), int64(0)
	flush := func() {
		sums = append(sums, crc.Sum(buffer))
		s.write(buffer)
		written += int64(len(buffer))
		buffer = buffer[:0]
	}
	if c.bytes != nil {
		err = c.bytes(func(p []byte) {
			for len(p) > 0 {
				n := min(len(p), block-len(buffer))
				buffer, p = append(buffer, p[:n]...), p[n:]
				if len(buffer) == block {
					flush()
				}
			}
		})
	} else {
		err = c.fill(func(v uint64) {
			if buffer = appendNumber(buffer, v, c.width); len(buffer) == block {
				flush()
			}
		})
	}
	if err != nil {
		return nil, err
	}
	if len(buffer) > 0 {
		flush()
	}
	if written != c.count*int64(c.width) {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "index.Write", Subject: "column " + c.name,
			Want: fmt.Sprintf("%d bytes", c.count*int64(c.width)), Got: fmt.Sprint(written)}
	}
	s.pad()
	return sums, s.err
}

// parse reads the header of an index and finds its columns. It does not read the columns.
func parse(data []byte, where string) (h header, columns map[string]*Column, err error) {
	bad := func(kind errs.Kind, want, got string) error {
		return &errs.Error{Kind: kind, Op: "index.Open", Subject: where, Want: want, Got: got,
			Remedy: "make the index again with bivouac index"}
	}
	if len(data) < preamble || string(data[:len(magic)]) != magic {
		return h, nil, bad(errs.Corrupt, "an index, which begins with "+magic,
			fmt.Sprintf("%q", data[:min(len(data), len(magic))]))
	}
	size := binary.LittleEndian.Uint64(data[8:])
	if size > maxHeader || size > uint64(len(data)-preamble) {
		return h, nil, bad(errs.Corrupt, "a header within the file",
			fmt.Sprintf("a header of %d bytes in a file of %d", size, len(data)))
	}
	text := data[preamble : preamble+size]
	if want, got := binary.LittleEndian.Uint32(data[16:]), crc.Sum(text); got != want {
		return h, nil, bad(errs.Corrupt, fmt.Sprintf("a header with checksum %08x", want), fmt.Sprintf("%08x", got))
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, nil, bad(errs.Corrupt, "a header in JSON", err.Error())
	}
	if h.Version != version {
		return h, nil, bad(errs.Unsupported, fmt.Sprintf("version %d of the index", version), fmt.Sprint(h.Version))
	}
	columns = map[string]*Column{}
	for _, p := range h.Columns {
		bytes := p.Count * int64(p.Width)
		switch {
		case !slices.Contains([]int{1, 2, 4, 8}, p.Width), p.Count < 0, p.Count > int64(len(data)),
			p.Offset < 0, p.Offset > int64(len(data)), bytes > int64(len(data))-p.Offset,
			p.Sums < 0, p.Sums > int64(len(data)), 4*blocksOf(bytes) > int64(len(data))-p.Sums:
			return h, nil, bad(errs.Corrupt, fmt.Sprintf("column %s within a file of %d bytes", p.Name, len(data)),
				fmt.Sprintf("%d numbers of %d bytes at %d", p.Count, p.Width, p.Offset))
		}
		n := blocksOf(bytes)
		columns[p.Name] = &Column{name: p.Name, width: p.Width, where: where,
			data: data[p.Offset : p.Offset+bytes : p.Offset+bytes],
			sums: data[p.Sums : p.Sums+4*n : p.Sums+4*n], seen: make([]atomic.Bool, n)}
	}
	return h, columns, nil
}
