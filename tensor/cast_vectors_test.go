package tensor

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// castCount is how many elements types of four bytes and more have in
// testdata/cast/gen_cast.py; types of less have all.
const castCount = 4096

func splitmix(i uint64) uint64 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// castInteger is integer of gen_cast.py.
func castInteger(i uint64, bits int) uint64 {
	r := splitmix(i)
	v := uint64(1)<<(r%uint64(bits)) + r>>8%5 - 2
	if r>>16&1 == 0 {
		v = -v
	}
	if r>>20%3 == 0 {
		v += r >> 24
	}
	return v
}

// castReal is real of gen_cast.py.
func castReal(i uint64, exponent, mantissa int) uint64 {
	r, m := splitmix(2*i), splitmix(2*i+1)
	if i%8 == 0 {
		return r & (1<<(exponent+mantissa+1) - 1)
	}
	e := 1<<(exponent-1) - 1 + r>>1%96 - 48
	m &= 1<<mantissa - 1
	clear := r >> 16 % uint64(mantissa)
	m = m >> clear << clear
	if r>>24&7 == 0 {
		m |= 1
	}
	return r&1<<(exponent+mantissa) | e<<mantissa | m
}

// castElements returns the elements of a type that the vectors have.
func castElements(d DType) []byte {
	var out []byte
	switch {
	case d.Size() == 1:
		n := 256
		if d == Bool {
			n = 2
		} else if d.Bits() < 8 {
			n = 1 << d.Bits()
		}
		for i := range n {
			out = append(out, byte(i))
		}
	case d.Size() == 2:
		for i := range 1 << 16 {
			out = binary.LittleEndian.AppendUint16(out, uint16(i))
		}
	case d == Float32 || d == Complex64:
		for i := range uint64(castCount * d.Size() / 4) {
			out = binary.LittleEndian.AppendUint32(out, uint32(castReal(i, 8, 23)))
		}
	case d == Float64 || d == Complex128:
		for i := range uint64(castCount * d.Size() / 8) {
			out = binary.LittleEndian.AppendUint64(out, castReal(i, 11, 52))
		}
	case d.Size() == 4:
		for i := range uint64(castCount) {
			out = binary.LittleEndian.AppendUint32(out, uint32(castInteger(i, 32)))
		}
	default:
		for i := range uint64(castCount) {
			out = binary.LittleEndian.AppendUint64(out, castInteger(i, 64))
		}
	}
	return out
}

// castLeftOut says which results gen_cast.py leaves out.
func castLeftOut(from, to DType, v float64) bool {
	switch [2]DType{from, to} {
	case [2]DType{Float16, Float64}, [2]DType{Float16, Complex128}, [2]DType{BFloat16, Float16}:
		return v != v
	case [2]DType{BFloat16, Float8E8M0FNU}:
		return v != v || math.Abs(v) < 0x1p-126
	}
	inside := v > -(1<<31)-1 && v < 1<<32
	return to == Uint32 && (from.IsFloat() || from.IsComplex()) && !inside
}

// castResult casts the elements, without the cases that are undefined in numpy.
func castResult(t *testing.T, from, to DType) []byte {
	t.Helper()
	in := castElements(from)
	n := len(in) / from.Size()
	out := make([]byte, n*to.Size())
	if err := CastInto(to, out, from, in); err != nil {
		t.Fatal(err)
	}
	values := make([]byte, n*8)
	if err := CastInto(Float64, values, from, in); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if v := math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:])); castLeftOut(from, to, v) {
			clear(out[i*to.Size() : (i+1)*to.Size()])
		}
	}
	if to.Bits() < 8 {
		for i := range out {
			out[i] &= 1<<to.Bits() - 1
		}
	}
	return out
}

func TestCastAsNumpy(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "cast", "cast.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Pairs []struct{ From, To, First, Sum string }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Pairs) < 850 {
		t.Fatalf("%d pairs", len(doc.Pairs))
	}
	for _, p := range doc.Pairs {
		from, err := ParseDType(p.From)
		if err != nil {
			t.Fatal(err)
		}
		to, err := ParseDType(p.To)
		if err != nil {
			t.Fatal(err)
		}
		got := castResult(t, from, to)
		first, err := hex.DecodeString(p.First)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[:len(first)], first) {
			t.Errorf("%s to %s: got %x, want %x", from, to, got[:len(first)], first)
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:8]) != p.Sum {
			t.Errorf("%s to %s: the hash of all %d bytes differs", from, to, len(got))
		}
	}
}
