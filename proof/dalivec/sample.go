package dalivec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Sample describes a sample of an input: the bytes of a file of inputs/, a text,
// an array of inputs/, a literal or an array that is made.
type Sample struct {
	File, Text, Npy string
	Value           any
	Made            *Formula
	DType           string // of Value and Made, numpy's name
	Layout          string
}

// Formula describes an array whose element k is (k*Mul mod Mod + Add) / Over.
type Formula struct {
	Shape               tensor.Shape
	Mul, Mod, Add, Over int
	Odd                 map[string]string // number of an element → NaN or an infinity
}

// tensor computes the array.
func (f *Formula) tensor(dtype string) (tensor.Tensor, error) {
	d, err := tensor.ParseDType(dtype)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.Tensor{DType: d, Shape: f.Shape}
	for k := range f.Shape.Len() {
		text, odd := f.Odd[strconv.Itoa(k)]
		if n := k*f.Mul%f.Mod + f.Add; !odd && d.IsFloat() {
			text = strconv.FormatFloat(float64(n)/float64(f.Over), 'g', -1, 64)
		} else if !odd {
			text = strconv.Itoa(n / f.Over)
		}
		if t.Data, err = appendNumber(t.Data, d, text); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (s *Set) tensorOf(x Sample) (tensor.Tensor, error) {
	switch {
	case x.File != "":
		b, err := os.ReadFile(s.Path("inputs/" + x.File))
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}, err
	case x.Npy != "":
		return readArray(s.Path("inputs/" + x.Npy + ".npy"))
	case x.Made != nil:
		return x.Made.tensor(x.DType)
	case x.Value != nil:
		return Literal(x.Value, x.DType)
	}
	return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(x.Text)}, Data: []byte(x.Text)}, nil
}

func readArray(file string) (tensor.Tensor, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return npy.Decode(b)
}

// Literal returns nested lists of decoded JSON, or a single value, as an array of
// that dtype of numpy.
func Literal(v any, dtype string) (tensor.Tensor, error) {
	d, err := tensor.ParseDType(dtype)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.Tensor{DType: d, Shape: tensor.Shape{}}
	for inner := v; ; {
		list, ok := inner.([]any)
		if !ok {
			break
		}
		t.Shape = append(t.Shape, len(list))
		if len(list) == 0 {
			break
		}
		inner = list[0]
	}
	t.Data, err = appendNumbers(nil, d, v)
	if err == nil && len(t.Data) != t.Len()*d.Size() {
		err = fmt.Errorf("a ragged list: %d bytes for %v", len(t.Data), t)
	}
	return t, err
}

// appendNumbers appends the numbers of nested lists, row by row.
func appendNumbers(dst []byte, d tensor.DType, v any) ([]byte, error) {
	switch v := v.(type) {
	case []any:
		var err error
		for _, x := range v {
			if dst, err = appendNumbers(dst, d, x); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		if d.IsFloat() {
			n, _ = d.EncodeFloat(float64(n))
		}
		return appendBits(dst, n, d.Size()), nil
	case json.Number:
		return appendNumber(dst, d, v.String())
	case string: // NaN and infinities, see ReadJSON
		return appendNumber(dst, d, v)
	}
	return nil, fmt.Errorf("%v of type %T is no number", v, v)
}

func appendNumber(dst []byte, d tensor.DType, text string) ([]byte, error) {
	if !d.IsFloat() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return appendBits(dst, uint64(n), d.Size()), nil
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return appendBits(dst, n, d.Size()), err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, err
	}
	switch d {
	case tensor.Float32:
		return appendBits(dst, uint64(math.Float32bits(float32(f))), 4), nil
	case tensor.Float64:
		return appendBits(dst, math.Float64bits(f), 8), nil
	}
	n, _ := d.EncodeFloat(f)
	return appendBits(dst, n, d.Size()), nil
}

func appendBits(dst []byte, bits uint64, size int) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	return append(dst, b[:size]...)
}

// Value is an array that DALI gave: its values as numbers, as bits of floats, in
// a file or, where they are exact, as their hash alone.
type Value struct {
	DType         string // DALI's name
	Shape         tensor.Shape
	Layout        string
	Data          any
	F16, F32, F64 []string // hexadecimal bits
	Npy, SHA256   string
}

// Tensor returns the array; file names are relative to folder, one of the set. ok
// is false when only the hash is recorded: shape, dtype and layout are there still.
func (s *Set) Tensor(v *Value, folder string) (t tensor.Tensor, ok bool, err error) {
	d, known := tensor.FromDALI(v.DType)
	if !known {
		return t, false, fmt.Errorf("unknown dtype %q", v.DType)
	}
	t = tensor.Tensor{DType: d, Shape: v.Shape, Layout: v.Layout}
	switch {
	case v.Npy != "":
		a, err := readArray(s.Path(folder + "/" + v.Npy))
		t.Data = a.Data
		if err == nil && (a.DType != d || !a.Shape.Equal(v.Shape)) {
			err = fmt.Errorf("%s holds %v, not %v", v.Npy, a, t)
		}
		return t, true, err
	case v.F16 != nil || v.F32 != nil || v.F64 != nil:
		for _, h := range append(append(v.F16, v.F32...), v.F64...) {
			bits, err := strconv.ParseUint(h, 16, 64)
			if err != nil {
				return t, false, err
			}
			t.Data = appendBits(t.Data, bits, d.Size())
		}
	case v.Data != nil:
		if t.Data, err = appendNumbers(nil, d, v.Data); err != nil {
			return t, false, err
		}
	case v.Shape.Len() > 0:
		return t, false, nil
	}
	if len(t.Data) != t.Len()*d.Size() {
		return t, false, fmt.Errorf("%d bytes recorded for %v", len(t.Data), t)
	}
	return t, true, nil
}
