package arrowipc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/pierrec/lz4/v4"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Batch is a record batch, or the values of a dictionary.
type Batch struct {
	Rows       int64
	Compressed bool // each buffer that is not empty

	nodes    []node
	buffers  []Buffer
	variadic []int64
	codec    int8
}

// node is the number of values and of nulls of a field.
type node struct{ length, nulls int64 }

// Buffer is where a buffer lies in the file.
type Buffer struct{ Offset, Length int64 }

// Place is what a batch has for a field.
type Place struct {
	Length, Nulls int64
	First         int // its first buffer
	Buffers       []Buffer
}

// parseBatch reads a record batch whose body of size bytes begins at an offset of the file.
func parseBatch(t table, body, size int64) (*Batch, error) {
	b := &Batch{Rows: t.i64(0), codec: -1}
	if t.has(3) {
		c := t.table(3)
		b.codec, b.Compressed = int8(c.u8(0)), true
		if c.u8(1) != 0 || b.codec != 0 && b.codec != 1 {
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "buffers compressed with lz4 or zstd",
				Got: fmt.Sprintf("codec %d, method %d", b.codec, c.u8(1))}
		}
	}
	at, n := t.vector(1, 16)
	for i := range n {
		v := node{t.f.i64(at + 16*i), t.f.i64(at + 16*i + 8)}
		if v.length < 0 || v.nulls < 0 || v.nulls > v.length {
			return nil, corrupt("at most as many nulls as values",
				fmt.Sprintf("%d nulls of %d values", v.nulls, v.length))
		}
		b.nodes = append(b.nodes, v)
	}
	at, n = t.vector(2, 16)
	for i := range n {
		v := Buffer{t.f.i64(at + 16*i), t.f.i64(at + 16*i + 8)}
		if v.Offset < 0 || v.Length < 0 || v.Offset > size || v.Length > size-v.Offset {
			return nil, corrupt(fmt.Sprintf("a buffer within a body of %d bytes", size),
				fmt.Sprintf("%d bytes at %d", v.Length, v.Offset))
		}
		v.Offset += body
		b.buffers = append(b.buffers, v)
	}
	at, n = t.vector(4, 8)
	for i := range n {
		b.variadic = append(b.variadic, t.f.i64(at+8*i))
	}
	if b.Rows < 0 {
		return nil, corrupt("a number of rows", fmt.Sprint(b.Rows))
	}
	return b, t.f.err
}

// walker goes through the fields in the order of their nodes and buffers.
type walker struct {
	b                      *Batch
	node, buffer, variadic int
	places                 map[*Field]Place
}

// Places returns what the batch has for each field, children included. Fails with errs.Corrupt for
// a batch that has other fields.
func (b *Batch) Places(fields []*Field) (map[*Field]Place, error) {
	w := &walker{b: b, places: map[*Field]Place{}}
	for _, f := range fields {
		if err := w.walk(f); err != nil {
			return nil, err
		}
		if p := w.places[f]; p.Length != b.Rows {
			return nil, corrupt(fmt.Sprintf("%d values of field %q, as many as rows", b.Rows, f.Name),
				fmt.Sprint(p.Length))
		}
	}
	if w.node != len(b.nodes) || w.buffer != len(b.buffers) {
		return nil, corrupt(fmt.Sprintf("a batch of %d nodes and %d buffers, as the schema says", w.node, w.buffer),
			fmt.Sprintf("%d and %d", len(b.nodes), len(b.buffers)))
	}
	return w.places, nil
}

func (w *walker) walk(f *Field) error {
	n := f.buffers
	if f.Kind == BytesView {
		if w.variadic >= len(w.b.variadic) || w.b.variadic[w.variadic] < 0 ||
			w.b.variadic[w.variadic] > int64(len(w.b.buffers)) {
			return corrupt("the number of buffers of field "+f.Name, "none")
		}
		n += int(w.b.variadic[w.variadic])
		w.variadic++
	}
	if w.node >= len(w.b.nodes) || n > len(w.b.buffers)-w.buffer {
		return corrupt(fmt.Sprintf("%d buffers of field %q", n, f.Name),
			fmt.Sprintf("%d nodes and %d buffers in the batch", len(w.b.nodes), len(w.b.buffers)))
	}
	v := w.b.nodes[w.node]
	w.places[f] = Place{Length: v.length, Nulls: v.nulls, First: w.buffer, Buffers: w.b.buffers[w.buffer : w.buffer+n]}
	w.node, w.buffer = w.node+1, w.buffer+n
	for _, c := range f.Children {
		if err := w.walk(c); err != nil {
			return err
		}
	}
	return nil
}

// Expand returns what a buffer of a compressed batch holds. Fails with errs.Exhausted above limit
// bytes.
func (b *Batch) Expand(p []byte, limit int64) ([]byte, error) {
	if !b.Compressed || len(p) == 0 {
		return p, nil
	}
	if len(p) < 8 {
		return nil, corrupt("a compressed buffer of at least 8 bytes", fmt.Sprint(len(p)))
	}
	size := int64(binary.LittleEndian.Uint64(p))
	p = p[8:]
	if size == -1 { // not compressed, because it would not get smaller
		return p, nil
	}
	if size < 0 || size > math.MaxInt32*int64(1<<8) {
		return nil, corrupt("the size of a buffer", fmt.Sprint(size))
	}
	if size > limit {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("a buffer of at most %d bytes", limit),
			Got: fmt.Sprint(size)}
	}
	var out []byte
	var err error
	if b.codec == 1 {
		out, err = zframe.DecodeFrames(nil, p, int(size)+1)
	} else {
		// The buffer grows with what comes: the size is not believed before.
		w := bytes.NewBuffer(make([]byte, 0, min(size, 8*int64(len(p))+512)))
		_, err = io.Copy(w, io.LimitReader(lz4.NewReader(bytes.NewReader(p)), size+1))
		out = w.Bytes()
	}
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("%d bytes", len(out))
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("a compressed buffer of %d bytes", size),
			Err: err}
	}
	return out, nil
}

// Bytes returns the bytes of all buffers in the file.
func (b *Batch) Bytes() (n int64) {
	for _, v := range b.buffers {
		n += v.Length
	}
	return n
}
