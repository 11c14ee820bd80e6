package arrow

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/arrowipc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// view reads values of a batch.
type view struct {
	ctx    context.Context
	s      *source
	file   int
	batch  *arrowipc.Batch
	places map[*arrowipc.Field]arrowipc.Place
	parts  map[int64][]*arrowipc.Batch // the dictionaries
	limit  int64
	// out returns the memory of a value.
	out func(shape tensor.Shape) []byte
}

func corrupt(c *column, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: fmt.Sprintf("column %q", c.name), Want: want, Got: got,
		Remedy: "the file is damaged; write it again"}
}

// get returns n bytes of a buffer. They lie in p if they are read for this call alone, and in the
// cache otherwise.
func (v *view) get(c *column, b arrowipc.Buffer, off, n int64, p []byte) ([]byte, error) {
	const small = 256 << 10
	if n == 0 {
		return nil, nil
	}
	whole := v.batch.Compressed || b.Length <= small
	length := b.Length
	var kept []byte
	if whole {
		var err error
		kept, err = v.s.buffers.Get(v.ctx, place{v.file, b.Offset}, func(ctx context.Context) ([]byte, int64, error) {
			raw := make([]byte, b.Length)
			if err := v.s.set.ReadAt(ctx, v.file, raw, b.Offset); err != nil {
				return nil, 0, err
			}
			out, err := v.batch.Expand(raw, v.limit)
			return out, int64(len(out)), err
		})
		if err != nil {
			return nil, err
		}
		length = int64(len(kept))
	}
	if off < 0 || n < 0 || off > length || n > length-off {
		return nil, corrupt(c, fmt.Sprintf("%d bytes at %d of a buffer", n, off),
			fmt.Sprintf("a buffer of %d bytes", length))
	}
	if whole {
		return kept[off : off+n], nil
	}
	if int64(len(p)) != n {
		p = make([]byte, n)
	}
	return p, v.s.set.ReadAt(v.ctx, v.file, p, b.Offset+off)
}

// nulls returns which of the values from..to of a field are null. It is nil if none is.
func (v *view) nulls(c *column, f *arrowipc.Field, from, to int64) ([]bool, error) {
	p := v.places[f]
	if from < 0 || to > p.Length {
		return nil, corrupt(c, fmt.Sprintf("values below %d", p.Length), fmt.Sprintf("values %d to %d", from, to))
	}
	if p.Nulls == 0 || from == to || f.Kind == arrowipc.Null || p.Buffers[0].Length == 0 {
		return nil, nil
	}
	b, err := v.get(c, p.Buffers[0], from/8, (to+7)/8-from/8, nil)
	if err != nil {
		return nil, err
	}
	var list []bool
	for i := from; i < to; i++ {
		if b[i/8-from/8]>>(i%8)&1 == 0 {
			if list == nil {
				list = make([]bool, to-from)
			}
			list[i-from] = true
		}
	}
	return list, nil
}

// null returns the error of a null, or nil if nulls have a value.
func (v *view) null(c *column, where string) error {
	if v.s.fill != nil {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("column %q", c.name), Want: "a value",
		Got:    where + "null",
		Remedy: "set nulls to the number that stands for null, or leave the column out"}
}

// read reads the value of a column in a row.
func (v *view) read(c *column, row int64) error {
	for _, f := range c.parents {
		if list, err := v.nulls(c, f, row, row+1); err != nil || list != nil {
			if err == nil {
				err = v.null(c, "a struct that is ")
			}
			if err != nil {
				return err
			}
			return v.empty(c)
		}
	}
	from, to := row, row+1
	var room [8]int
	shape := tensor.Shape(room[:0])
	for k, f := range c.levels {
		list, err := v.nulls(c, f, from, to)
		if err != nil {
			return err
		}
		if list != nil {
			where := ""
			if k > 0 {
				where = "a list that is "
			}
			if err := v.null(c, where); err != nil {
				return err
			}
			if k == 0 {
				return v.empty(c)
			}
		}
		n := int64(f.Width)
		if n > 0 && to > math.MaxInt64/n {
			return corrupt(c, "lists within the file", fmt.Sprintf("lists up to %d of %d values", to, n))
		}
		if f.Kind == arrowipc.FixedList {
			from, to = from*n, to*n
		} else if from, to, n, err = v.elements(c, f, from, to); err != nil {
			return err
		}
		shape = append(shape, int(n))
	}
	return v.leaf(c, from, to, shape)
}

// elements returns which values the lists from..to have, and how many each.
func (v *view) elements(c *column, f *arrowipc.Field, from, to int64) (first, last, n int64, err error) {
	if from == to {
		return 0, 0, 0, nil
	}
	offsets, err := v.offsets(c, f, from, to)
	if err != nil {
		return 0, 0, 0, err
	}
	length := v.places[f.Children[0]].Length
	first, last = offsets[0], offsets[len(offsets)-1]
	n = offsets[1] - offsets[0]
	for i := 1; i < len(offsets); i++ {
		switch m := offsets[i] - offsets[i-1]; {
		case m < 0 || offsets[i-1] < 0 || offsets[i] > length:
			return 0, 0, 0, corrupt(c, fmt.Sprintf("lists within %d values", length),
				fmt.Sprintf("one from %d to %d", offsets[i-1], offsets[i]))
		case m != n:
			return 0, 0, 0, &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("column %q", c.name),
				Want: fmt.Sprintf("inner lists of one length, %d", n),
				Got: fmt.Sprintf("a list of %d",
					m), Remedy: "a row must be an array; pad the inner lists when the file is written"}
		}
	}
	return first, last, n, nil
}

// offsets returns the offsets of the values from..to of a field, and the offset of the end.
func (v *view) offsets(c *column, f *arrowipc.Field, from, to int64) ([]int64, error) {
	width := int64(4)
	if f.Kind == arrowipc.LargeList || f.Kind == arrowipc.LargeBytes {
		width = 8
	}
	b, err := v.get(c, v.places[f].Buffers[1], from*width, (to-from+1)*width, nil)
	if err != nil {
		return nil, err
	}
	list := make([]int64, to-from+1)
	for i := range list {
		if width == 4 {
			list[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			list[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	return list, nil
}

// empty writes the value that stands for null.
func (v *view) empty(c *column) error {
	shape := make(tensor.Shape, len(c.spec.Shape))
	for i, n := range c.spec.Shape {
		shape[i] = max(n, 0)
	}
	v.s.fill.Set(c.spec.DType, v.out(shape), nil)
	return nil
}

// leaf writes the values from..to of the innermost field.
func (v *view) leaf(c *column, from, to int64, shape tensor.Shape) error {
	f, n := c.leaf, to-from
	nulls, err := v.nulls(c, f, from, to)
	if err != nil {
		return err
	}
	if nulls != nil {
		where := ""
		if len(c.levels) > 0 {
			where = "a list with a "
		}
		if err := v.null(c, where); err != nil {
			return err
		}
		if len(c.levels) == 0 {
			return v.empty(c)
		}
	}
	if f.Values != nil {
		return v.lookUp(c, from)
	}
	p := v.places[f]
	switch f.Kind {
	case arrowipc.Fixed, arrowipc.FixedBytes:
		width := int64(f.Width)
		if f.Kind == arrowipc.FixedBytes {
			shape = append(shape, f.Width)
		} else {
			width = int64(f.DType.Size())
		}
		if to > math.MaxInt64>>21 || !v.batch.Compressed && (from+n)*width > p.Buffers[1].Length {
			return corrupt(c, fmt.Sprintf("values up to %d of %d bytes", from+n, width),
				fmt.Sprintf("a buffer of %d bytes", p.Buffers[1].Length))
		}
		var out []byte
		if !v.batch.Compressed { // otherwise the size is believed when the bytes are there
			out = v.out(shape)
		}
		b, err := v.get(c, p.Buffers[1], from*width, n*width, out)
		if err != nil {
			return err
		}
		if out == nil {
			out = v.out(shape)
		}
		if len(out) != len(b) {
			return corrupt(c, fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(len(out)))
		}
		if len(b) > 0 && &b[0] != &out[0] {
			copy(out, b)
		}
		if nulls != nil {
			v.s.fill.Set(c.spec.DType, out, nulls)
		}
	case arrowipc.Bits:
		b, err := v.get(c, p.Buffers[1], from/8, (to+7)/8-from/8, nil)
		if err != nil {
			return err
		}
		out := v.out(shape)
		for i := range out {
			at := from + int64(i)
			out[i] = b[at/8-from/8] >> (at % 8) & 1
		}
		if nulls != nil {
			v.s.fill.Set(tensor.Bool, out, nulls)
		}
	case arrowipc.BytesView:
		return v.byPlace(c, p, from)
	default:
		offsets, err := v.offsets(c, f, from, to)
		if err != nil {
			return err
		}
		return v.bytes(c, p.Buffers[2], offsets[0], offsets[1]-offsets[0])
	}
	return nil
}

// bytes writes a byte string.
func (v *view) bytes(c *column, b arrowipc.Buffer, off, n int64) error {
	if n < 0 || off < 0 || !v.batch.Compressed && n > b.Length {
		return corrupt(c, fmt.Sprintf("a string within %d bytes", b.Length), fmt.Sprintf("%d bytes at %d", n, off))
	}
	if v.batch.Compressed { // the length is believed when the bytes are there
		p, err := v.get(c, b, off, n, nil)
		if err == nil {
			copy(v.out(tensor.Shape{int(n)}), p)
		}
		return err
	}
	out := v.out(tensor.Shape{int(n)})
	p, err := v.get(c, b, off, n, out)
	if err == nil && n > 0 && &p[0] != &out[0] {
		copy(out, p)
	}
	return err
}

// byPlace writes a byte string that lies in the buffer of places, or in one that it names.
func (v *view) byPlace(c *column, p arrowipc.Place, at int64) error {
	b, err := v.get(c, p.Buffers[1], at*16, 16, nil)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	n := int64(int32(le.Uint32(b)))
	if n >= 0 && n <= 12 {
		copy(v.out(tensor.Shape{int(n)}), b[4:4+n])
		return nil
	}
	buffer, off := int64(int32(le.Uint32(b[8:]))), int64(int32(le.Uint32(b[12:])))
	if n < 0 || buffer < 0 || buffer >= int64(len(p.Buffers)-2) {
		return corrupt(c, fmt.Sprintf("one of %d buffers", len(p.Buffers)-2),
			fmt.Sprintf("%d bytes of buffer %d", n, buffer))
	}
	return v.bytes(c, p.Buffers[2+buffer], off, n)
}

// lookUp writes a value of a dictionary.
func (v *view) lookUp(c *column, at int64) error {
	width := int64(c.leaf.DType.Size())
	b, err := v.get(c, v.places[c.leaf].Buffers[1], at*width, width, nil)
	if err != nil {
		return err
	}
	var number [8]byte
	copy(number[:], b)
	if signed := c.leaf.DType.IsInteger() && c.leaf.DType.String()[0] == 'i'; signed && b[width-1] >= 0x80 {
		return corrupt(c, "an index of a dictionary", "a negative number")
	}
	index := int64(binary.LittleEndian.Uint64(number[:]))
	left := index
	for _, part := range v.parts[c.leaf.Dictionary] {
		if left >= 0 && left < part.Rows {
			inner := *v
			inner.batch = part
			if known, ok := v.s.values.Load(part); ok {
				inner.places = known.(map[*arrowipc.Field]arrowipc.Place)
			} else {
				var err error
				if inner.places, err = part.Places([]*arrowipc.Field{c.leaf.Values}); err != nil {
					return errs.Wrap("", fmt.Sprintf("column %q: its dictionary", c.name), err)
				}
				v.s.values.Store(part, inner.places)
			}
			return inner.read(c.values, left)
		}
		left -= part.Rows
	}
	return corrupt(c, "an index of dictionary "+fmt.Sprint(c.leaf.Dictionary), fmt.Sprint(index))
}
