// Package caffe reads the records of Caffe's and Caffe2's data sets.
//
// Both are messages of protocol buffers, the values of an LMDB: Caffe's a [Datum], which is an
// image and a label, and Caffe2's a list of [Tensor]. Parsing copies nothing but numbers: bytes are
// views of the record.
package caffe

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// Datum is a record of Caffe.
type Datum struct {
	Channels, Height, Width int32
	Data                    []byte // an encoded file, or pixels plane by plane
	Label                   int32
	HasLabel                bool
	Floats                  []float32 // pixels, instead of Data
	Encoded                 bool
	HasEncoded              bool // the record says whether Data is a file
}

// ParseDatum reads a record of Caffe. Fields that it does not know are skipped.
func ParseDatum(b []byte) (d Datum, err error) {
	err = fields(b, "Datum", func(f field) error {
		switch f.number {
		case 1, 2, 3, 5, 7:
			if err := f.want(0, "Datum"); err != nil {
				return err
			}
		}
		switch f.number {
		case 1:
			d.Channels = int32(f.value)
		case 2:
			d.Height = int32(f.value)
		case 3:
			d.Width = int32(f.value)
		case 4:
			d.Data = f.data
			return f.want(2, "Datum")
		case 5:
			d.Label, d.HasLabel = int32(f.value), true
		case 6:
			d.Floats, err = f.floats(d.Floats, "Datum")
			return err
		case 7:
			d.Encoded, d.HasEncoded = f.value != 0, true
		}
		return nil
	})
	return d, err
}

// Type is the type of the elements of a Tensor.
type Type int32

// The types of elements.
const (
	Float  Type = 1
	Int32  Type = 2
	Byte   Type = 3
	String Type = 4
)

// Tensor is a part of a record of Caffe2.
type Tensor struct {
	Dims    []int64
	Type    Type // 1, Float, where the record does not say
	Floats  []float32
	Ints    []int32
	Bytes   []byte
	Strings [][]byte
}

// ParseTensors appends the tensors of a record of Caffe2 to list, whose memory it uses.
func ParseTensors(b []byte, list []Tensor) ([]Tensor, error) {
	err := fields(b, "TensorProtos", func(f field) error {
		if f.number != 1 {
			return nil
		}
		if err := f.want(2, "TensorProtos"); err != nil {
			return err
		}
		if len(list) < cap(list) {
			list = list[:len(list)+1]
		} else {
			list = append(list, Tensor{})
		}
		t := &list[len(list)-1]
		*t = Tensor{Type: Float, Dims: t.Dims[:0], Floats: t.Floats[:0], Ints: t.Ints[:0], Strings: t.Strings[:0]}
		if err := t.parse(f.data); err != nil {
			return errs.Wrap("", fmt.Sprintf("tensor %d", len(list)-1), err)
		}
		return nil
	})
	return list, err
}

func (t *Tensor) parse(b []byte) error {
	const message = "TensorProto"
	return fields(b, message, func(f field) (err error) {
		switch f.number {
		case 1:
			return f.numbers(message, func(v uint64) { t.Dims = append(t.Dims, int64(v)) })
		case 2:
			t.Type = Type(f.value)
			return f.want(0, message)
		case 3:
			t.Floats, err = f.floats(t.Floats, message)
			return err
		case 4:
			return f.numbers(message, func(v uint64) { t.Ints = append(t.Ints, int32(v)) })
		case 5:
			t.Bytes = f.data
			return f.want(2, message)
		case 6:
			t.Strings = append(t.Strings, f.data)
			return f.want(2, message)
		}
		return nil
	})
}

// number appends a field with a number.
func number(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), v)
}

// block appends a field with bytes.
func block(b []byte, field int, v []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|2), uint64(len(v)))
	return append(b, v...)
}

// packed appends a field with floats.
func packed(b []byte, field int, list []float32) []byte {
	if len(list) == 0 {
		return b
	}
	var v []byte
	for _, x := range list {
		v = binary.LittleEndian.AppendUint32(v, math.Float32bits(x))
	}
	return block(b, field, v)
}

// AppendDatum appends a record of Caffe to b.
func AppendDatum(b []byte, d Datum) []byte {
	for i, v := range []int32{d.Channels, d.Height, d.Width} {
		if v != 0 {
			b = number(b, i+1, uint64(int64(v)))
		}
	}
	if d.Data != nil {
		b = block(b, 4, d.Data)
	}
	if d.HasLabel {
		b = number(b, 5, uint64(int64(d.Label)))
	}
	b = packed(b, 6, d.Floats)
	if d.HasEncoded {
		encoded := uint64(0)
		if d.Encoded {
			encoded = 1
		}
		b = number(b, 7, encoded)
	}
	return b
}

// AppendTensors appends a record of Caffe2 to b.
func AppendTensors(b []byte, list ...Tensor) []byte {
	for _, t := range list {
		var m []byte
		for _, d := range t.Dims {
			m = number(m, 1, uint64(d))
		}
		m = packed(number(m, 2, uint64(t.Type)), 3, t.Floats)
		if len(t.Ints) > 0 {
			var v []byte
			for _, x := range t.Ints {
				v = binary.AppendUvarint(v, uint64(int64(x)))
			}
			m = block(m, 4, v)
		}
		if t.Bytes != nil {
			m = block(m, 5, t.Bytes)
		}
		for _, s := range t.Strings {
			m = block(m, 6, s)
		}
		b = block(b, 1, m)
	}
	return b
}

// field is a field of a message.
type field struct {
	number uint64
	wire   int
	offset int
	value  uint64 // of a number
	data   []byte // of bytes
}

// fields calls f for each field of a message.
func fields(b []byte, message string, f func(field) error) error {
	for at := 0; at < len(b); {
		x := field{offset: at}
		tag, n := binary.Uvarint(b[at:])
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return damaged(message, at, "the number of a field", "other bytes")
		}
		at += n
		x.number, x.wire = tag>>3, int(tag&7)
		switch x.wire {
		case 0:
			if x.value, n = binary.Uvarint(b[at:]); n <= 0 {
				return damaged(message, at, fmt.Sprintf("a number of field %d", x.number), "other bytes")
			}
		case 1, 5:
			if n = 8; x.wire == 5 {
				n = 4
			}
			if len(b)-at < n {
				return damaged(message, at, fmt.Sprintf("%d bytes of field %d", n, x.number), fmt.Sprint(len(b)-at))
			}
			x.data = b[at : at+n]
		case 2:
			size, k := binary.Uvarint(b[at:])
			if k <= 0 || size > uint64(len(b)-at-k) {
				return damaged(message, at, fmt.Sprintf("the bytes of field %d", x.number),
					fmt.Sprintf("a length of %d where %d are left", size, len(b)-at))
			}
			x.data = b[at+k : at+k+int(size) : at+k+int(size)]
			n = k + int(size)
		default:
			return damaged(message, at, "a field of a known kind", fmt.Sprintf("kind %d of field %d", x.wire, x.number))
		}
		at += n
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// want checks how the field is written.
func (f field) want(wire int, message string) error {
	if f.wire == wire {
		return nil
	}
	return damaged(message, f.offset, fmt.Sprintf("field %d of kind %d", f.number, wire), fmt.Sprintf("kind %d", f.wire))
}

// numbers calls f for each number of a repeated field, whether they are packed or not.
func (f field) numbers(message string, add func(uint64)) error {
	if f.wire == 0 {
		add(f.value)
		return nil
	}
	if err := f.want(2, message); err != nil {
		return err
	}
	for at := 0; at < len(f.data); {
		v, n := binary.Uvarint(f.data[at:])
		if n <= 0 {
			return damaged(message, f.offset, fmt.Sprintf("numbers of field %d", f.number), "other bytes")
		}
		add(v)
		at += n
	}
	return nil
}

// floats appends the numbers of a repeated field, whether they are packed or not.
func (f field) floats(list []float32, message string) ([]float32, error) {
	if f.wire != 5 {
		if err := f.want(2, message); err != nil {
			return list, err
		}
	}
	if len(f.data)%4 != 0 {
		return list, damaged(message, f.offset, fmt.Sprintf("floats of field %d", f.number),
			fmt.Sprintf("%d bytes", len(f.data)))
	}
	for at := 0; at < len(f.data); at += 4 {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(f.data[at:])))
	}
	return list, nil
}

func damaged(message string, offset int, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "caffe", Subject: fmt.Sprintf("%s, offset %d", message, offset),
		Want: want, Got: got}
}
