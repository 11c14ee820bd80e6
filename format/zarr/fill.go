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
		re, ok1 := parseFloat(list[0], part, size/2)
		im, ok2 := parseFloat(list[1], part, size/2)
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
	f, ok := floatFormats[t]
	if !ok {
		return nil, false
	}
	return parseFloat(v, f, size)
}

func parseFloat(v any, f floatFormat, size int) ([]byte, bool) {
	switch v := v.(type) {
	case json.Number:
		x, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return nil, false
		}
		bits, ok := f.encode(x)
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
		bits, ok := f.encode(special)
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
		return []any{f.json(fromLittleEndian(fill[:half]), half), f.json(fromLittleEndian(fill[half:]), half)}
	case t.IsSigned() && t.IsInteger():
		shift := 64 - 8*size
		return int64(fromLittleEndian(fill)<<shift) >> shift
	case t.IsInteger():
		return fromLittleEndian(fill)
	}
	return floatFormats[t].json(fromLittleEndian(fill), size)
}

// floatFormat is a binary floating-point format of up to 64 bits.
type floatFormat struct {
	exponent, mantissa int // bits
	bias               int
	nan                uint64 // the usual NaN; 0: there is none
	inf                uint64 // positive infinity; 0: there is none
	unsigned           bool
}

// floatFormats has the formats of IEEE 754 and of ml_dtypes.
var floatFormats = map[tensor.DType]floatFormat{
	tensor.Float64:           {exponent: 11, mantissa: 52, bias: 1023, nan: 0x7ff8 << 48, inf: 0x7ff0 << 48},
	tensor.Float32:           {exponent: 8, mantissa: 23, bias: 127, nan: 0x7fc0 << 16, inf: 0x7f80 << 16},
	tensor.BFloat16:          {exponent: 8, mantissa: 7, bias: 127, nan: 0x7fc0, inf: 0x7f80},
	tensor.Float16:           {exponent: 5, mantissa: 10, bias: 15, nan: 0x7e00, inf: 0x7c00},
	tensor.Float8E3M4:        {exponent: 3, mantissa: 4, bias: 3, nan: 0x78, inf: 0x70},
	tensor.Float8E4M3:        {exponent: 4, mantissa: 3, bias: 7, nan: 0x7c, inf: 0x78},
	tensor.Float8E4M3FN:      {exponent: 4, mantissa: 3, bias: 7, nan: 0x7f},
	tensor.Float8E4M3FNUZ:    {exponent: 4, mantissa: 3, bias: 8, nan: 0x80},
	tensor.Float8E4M3B11FNUZ: {exponent: 4, mantissa: 3, bias: 11, nan: 0x80},
	tensor.Float8E5M2:        {exponent: 5, mantissa: 2, bias: 15, nan: 0x7e, inf: 0x7c},
	tensor.Float8E5M2FNUZ:    {exponent: 5, mantissa: 2, bias: 16, nan: 0x80},
	tensor.Float8E8M0FNU:     {exponent: 8, mantissa: 0, bias: 127, nan: 0xff, unsigned: true},
	tensor.Float4E2M1FN:      {exponent: 2, mantissa: 1, bias: 1},
	tensor.Float6E2M3FN:      {exponent: 2, mantissa: 3, bias: 1},
	tensor.Float6E3M2FN:      {exponent: 3, mantissa: 2, bias: 3},
}

func floatOfSize(size int) floatFormat {
	if size == 4 {
		return floatFormats[tensor.Float32]
	}
	return floatFormats[tensor.Float64]
}

func (f floatFormat) width() int { return f.exponent + f.mantissa }

// decode returns the value of the bits.
func (f floatFormat) decode(bits uint64) float64 {
	sign := 1.0
	magnitude := bits
	if !f.unsigned {
		magnitude &= 1<<f.width() - 1
		if bits>>f.width()&1 != 0 {
			sign = -1
		}
	}
	switch {
	case f.inf != 0 && magnitude == f.inf:
		return math.Inf(int(sign))
	case f.inf != 0 && magnitude > f.inf, f.nan != 0 && (magnitude == f.nan || bits == f.nan):
		return math.NaN()
	}
	exponent := int(magnitude >> f.mantissa)
	fraction := float64(magnitude & (1<<f.mantissa - 1))
	if exponent == 0 && !f.unsigned {
		return sign * math.Ldexp(fraction, 1-f.bias-f.mantissa)
	}
	return sign * math.Ldexp(fraction+math.Ldexp(1, f.mantissa), exponent-f.bias-f.mantissa)
}

// encode returns the bits of the value nearest to x, ties to even; ok is false
// where x is out of range, or a special value that the format lacks.
func (f floatFormat) encode(x float64) (bits uint64, ok bool) {
	switch {
	case math.IsNaN(x):
		return f.nan, f.nan != 0
	case math.IsInf(x, 0):
		bits, ok = f.inf, f.inf != 0
	default:
		bits, ok = f.nearest(math.Abs(x))
	}
	if math.Signbit(x) {
		switch {
		case f.unsigned:
			return 0, false
		case bits == 0 && f.nan == 1<<f.width(): // its place is taken by NaN
		default:
			bits |= 1 << f.width()
		}
	}
	return bits, ok
}

// nearest searches the finite magnitudes, which grow with their bits.
func (f floatFormat) nearest(x float64) (uint64, bool) {
	low, high := uint64(0), uint64(1)<<f.width()-1 // decode(low) ≤ x
	switch {
	case f.inf != 0:
		high = f.inf - 1
	case f.nan != 0 && f.nan <= high:
		high = f.nan - 1
	}
	if x > f.decode(high) {
		return 0, false
	}
	for low < high {
		mid := high - (high-low)/2
		if f.decode(mid) <= x {
			low = mid
		} else {
			high = mid - 1
		}
	}
	below := x - f.decode(low)
	if below <= 0 {
		return low, true
	}
	above := f.decode(low+1) - x
	if above < below || above == below && low&1 == 1 {
		low++
	}
	return low, true
}

// json writes the value as TensorStore does.
func (f floatFormat) json(bits uint64, size int) any {
	x := f.decode(bits)
	switch {
	case math.IsNaN(x) && bits != f.nan:
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
