package zarr

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// fillValue reads a fill value of type t: an integer in range, true or false, a
// number, "NaN", "Infinity", "-Infinity", the bits of a float as "0x…", or for a
// complex type a list of two floats. Zero is returned as nil.
func (d *document) fillValue(v any, t tensor.DType) []byte {
	b, ok := parseFill(v, t)
	if !ok {
		d.corrupt("fill_value %v is no value of %v", v, t)
		return nil
	}
	for _, x := range b {
		if x != 0 {
			return b
		}
	}
	return nil
}

func parseFill(v any, t tensor.DType) ([]byte, bool) {
	size := t.Size()
	switch {
	case t == tensor.Bool:
		b, ok := v.(bool)
		if b {
			return []byte{1}, ok
		}
		return []byte{0}, ok
	case t.IsComplex():
		list, ok := v.([]any)
		if !ok || len(list) != 2 {
			return nil, false
		}
		part := floatOfSize(size / 2)
		re, ok1 := parseFloat(list[0], part)
		im, ok2 := parseFloat(list[1], part)
		return append(re, im...), ok1 && ok2
	case t.IsInteger():
		n, ok := v.(json.Number)
		if !ok {
			return nil, false
		}
		if t.IsSigned() {
			i, err := strconv.ParseInt(string(n), 10, t.Bits())
			return littleEndian(uint64(i), size), err == nil
		}
		u, err := strconv.ParseUint(string(n), 10, t.Bits())
		return littleEndian(u, size), err == nil
	}
	if !t.IsFloat() {
		return nil, false
	}
	return parseFloat(v, t)
}

func parseFloat(v any, t tensor.DType) ([]byte, bool) {
	size := t.Size()
	switch v := v.(type) {
	case json.Number:
		x, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return nil, false
		}
		bits, ok := t.EncodeFloat(x)
		return littleEndian(bits, size), ok
	case string:
		if hex, ok := strings.CutPrefix(v, "0x"); ok {
			bits, err := strconv.ParseUint(hex, 16, 64)
			return littleEndian(bits, size), err == nil && len(hex) == 2*size
		}
		special, ok := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[v]
		if !ok {
			return nil, false
		}
		bits, ok := t.EncodeFloat(special)
		return littleEndian(bits, size), ok
	}
	return nil, false
}

func littleEndian(bits uint64, size int) []byte {
	return binary.LittleEndian.AppendUint64(nil, bits)[:size]
}

func fromLittleEndian(b []byte) uint64 {
	var p [8]byte
	copy(p[:], b)
	return binary.LittleEndian.Uint64(p[:])
}

// fillJSON is the inverse of fillValue.
func fillJSON(fill []byte, t tensor.DType) any {
	size := t.Size()
	if fill == nil {
		fill = make([]byte, size)
	}
	switch {
	case t == tensor.Bool:
		return fill[0] != 0
	case t.IsComplex():
		half := size / 2
		f := floatOfSize(half)
		return []any{floatJSON(f, fromLittleEndian(fill[:half])), floatJSON(f, fromLittleEndian(fill[half:]))}
	case t.IsSigned() && t.IsInteger():
		shift := 64 - 8*size
		return int64(fromLittleEndian(fill)<<shift) >> shift
	case t.IsInteger():
		return fromLittleEndian(fill)
	}
	return floatJSON(t, fromLittleEndian(fill))
}

func floatOfSize(size int) tensor.DType {
	if size == 4 {
		return tensor.Float32
	}
	return tensor.Float64
}

// floatJSON writes the value as TensorStore does: a NaN that is not the usual
// one as its bits.
func floatJSON(t tensor.DType, bits uint64) any {
	size := t.Size()
	x := t.DecodeFloat(bits)
	nan, _ := t.EncodeFloat(math.NaN())
	switch {
	case math.IsNaN(x) && bits != nan:
		return fmt.Sprintf("0x%0*x", 2*size, bits)
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	width := 64
	if size == 4 {
		width = 32
	}
	s := strconv.FormatFloat(x, 'g', -1, width)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.Number(s)
}
