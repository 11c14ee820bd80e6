package libstdcxx

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// String returns the state as C++ writes it: one decimal number.
func (g MinstdRand0) String() string { return strconv.FormatUint(uint64(g.x), 10) }

// MarshalText returns the same as String.
func (g MinstdRand0) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText restores a state that MarshalText wrote. It fails with errs.Invalid for other
// texts; then g is unchanged.
func (g *MinstdRand0) UnmarshalText(text []byte) error {
	x, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil || x < 1 || x >= minstdModulus {
		return badText("MinstdRand0", "a number from 1 to 2147483646", text)
	}
	g.x = uint32(x)
	return nil
}

// MarshalBinary returns four bytes, the state as a little-endian number.
func (g MinstdRand0) MarshalBinary() ([]byte, error) {
	return binary.LittleEndian.AppendUint32(nil, g.x), nil
}

// UnmarshalBinary restores a state that MarshalBinary wrote. It fails with errs.Corrupt for other
// bytes; then g is unchanged.
func (g *MinstdRand0) UnmarshalBinary(b []byte) error {
	if len(b) != 4 {
		return badBinary("MinstdRand0", "4 bytes", b)
	}
	x := binary.LittleEndian.Uint32(b)
	if x < 1 || x >= minstdModulus {
		return badBinary("MinstdRand0", "a number from 1 to 2147483646", b)
	}
	g.x = x
	return nil
}

// String returns the state as C++ writes it: 624 words and the index of the next
// one, decimal, with blanks between.
func (g MT19937) String() string { return twisterText(g.x[:], g.p) }

// MarshalText returns the same as String.
func (g MT19937) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText restores a state that MarshalText wrote. It fails with errs.Invalid for other
// texts; then g is unchanged.
func (g *MT19937) UnmarshalText(text []byte) error {
	var next MT19937
	var ok bool
	if next.p, ok = parseTwister(next.x[:], 32, text); !ok {
		return badText("MT19937", "624 numbers below 2^32 and an index up to 624", text)
	}
	*g = next
	return nil
}

// MarshalBinary returns the 624 words and the index, each in four bytes,
// little-endian.
func (g MT19937) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 4*(len(g.x)+1))
	for _, w := range g.x {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(g.p)), nil
}

// UnmarshalBinary restores a state that MarshalBinary wrote. It fails with errs.Corrupt for other
// bytes; then g is unchanged.
func (g *MT19937) UnmarshalBinary(b []byte) error {
	n := len(g.x)
	if len(b) != 4*(n+1) || binary.LittleEndian.Uint32(b[4*n:]) > uint32(n) {
		return badBinary("MT19937", "2500 bytes that end in an index up to 624", b)
	}
	for i := range g.x {
		g.x[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	g.p = int(binary.LittleEndian.Uint32(b[4*n:]))
	return nil
}

// String returns the state as C++ writes it: 312 words and the index of the next
// one, decimal, with blanks between.
func (g MT19937x64) String() string { return twisterText(g.x[:], g.p) }

// MarshalText returns the same as String.
func (g MT19937x64) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText restores a state that MarshalText wrote. It fails with errs.Invalid for other
// texts; then g is unchanged.
func (g *MT19937x64) UnmarshalText(text []byte) error {
	var next MT19937x64
	var ok bool
	if next.p, ok = parseTwister(next.x[:], 64, text); !ok {
		return badText("MT19937x64", "312 numbers below 2^64 and an index up to 312", text)
	}
	*g = next
	return nil
}

// MarshalBinary returns the 312 words and the index, each in eight bytes,
// little-endian.
func (g MT19937x64) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 8*(len(g.x)+1))
	for _, w := range g.x {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return binary.LittleEndian.AppendUint64(b, uint64(g.p)), nil
}

// UnmarshalBinary restores a state that MarshalBinary wrote. It fails with errs.Corrupt for other
// bytes; then g is unchanged.
func (g *MT19937x64) UnmarshalBinary(b []byte) error {
	n := len(g.x)
	if len(b) != 8*(n+1) || binary.LittleEndian.Uint64(b[8*n:]) > uint64(n) {
		return badBinary("MT19937x64", "2504 bytes that end in an index up to 312", b)
	}
	for i := range g.x {
		g.x[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	g.p = int(binary.LittleEndian.Uint64(b[8*n:]))
	return nil
}

func twisterText[W uint32 | uint64](x []W, p int) string {
	var b strings.Builder
	var digits [20]byte
	for _, w := range x {
		b.Write(strconv.AppendUint(digits[:0], uint64(w), 10))
		b.WriteByte(' ')
	}
	b.WriteString(strconv.Itoa(p))
	return b.String()
}

func parseTwister[W uint32 | uint64](x []W, bits int, text []byte) (p int, ok bool) {
	fields := strings.Split(string(text), " ")
	if len(fields) != len(x)+1 {
		return 0, false
	}
	for i := range x {
		w, err := strconv.ParseUint(fields[i], 10, bits)
		if err != nil {
			return 0, false
		}
		x[i] = W(w)
	}
	index, err := strconv.ParseUint(fields[len(x)], 10, 16)
	return int(index), err == nil && index <= uint64(len(x))
}

func badText(engine, want string, got []byte) error {
	return &errs.Error{Kind: errs.Invalid, Op: "libstdcxx." + engine, Want: want, Got: strconv.Quote(string(got[:min(len(got), 40)]))}
}

func badBinary(engine, want string, got []byte) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "libstdcxx." + engine, Want: want, Got: strconv.Itoa(len(got)) + " bytes"}
}
