package rng

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// stateSize is the size of the binary form: key, sequence, block, phase.
const stateSize = 8 + 8 + 8 + 1

// AppendBinary appends the state in 25 bytes: key, sequence and block in little-endian order, then
// the phase. It never fails.
func (p Philox) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, p.key)
	dst = binary.LittleEndian.AppendUint64(dst, p.seq)
	dst = binary.LittleEndian.AppendUint64(dst, p.block)
	return append(dst, p.phase), nil
}

// MarshalBinary returns what AppendBinary appends.
func (p Philox) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores a state that AppendBinary wrote. It fails with errs.Corrupt for other
// bytes; then p is unchanged.
func (p *Philox) UnmarshalBinary(b []byte) error {
	if len(b) != stateSize || b[stateSize-1] > 3 {
		return &errs.Error{Kind: errs.Corrupt, Op: "rng.Philox",
			Want: strconv.Itoa(stateSize) + " bytes with a phase of 0 to 3", Got: strconv.Itoa(len(b)) + " bytes"}
	}
	*p = Philox{
		key:   binary.LittleEndian.Uint64(b),
		seq:   binary.LittleEndian.Uint64(b[8:]),
		block: binary.LittleEndian.Uint64(b[16:]),
		phase: b[stateSize-1],
	}
	return nil
}

const textForm = "Philox_%016X_%016X:%016X_%d"

// String returns the state as DALI writes it: key, sequence, block and phase in
// "Philox_KKKKKKKKKKKKKKKK_SSSSSSSSSSSSSSSS:BBBBBBBBBBBBBBBB_P".
func (p Philox) String() string {
	return fmt.Sprintf(textForm, p.key, p.seq, p.block, p.phase)
}

// ParsePhilox restores a state that String wrote, with digits in upper or lower case. It fails with
// errs.Invalid for other texts.
func ParsePhilox(s string) (Philox, error) {
	const prefix, size = "Philox_", 59
	bad := &errs.Error{Kind: errs.Invalid, Op: "rng.ParsePhilox", Want: "a state such as " + Philox{}.String(), Got: strconv.Quote(s[:min(len(s), size)])}
	if len(s) != size || s[:7] != prefix || s[23] != '_' || s[40] != ':' || s[57] != '_' || s[58] < '0' || s[58] > '3' {
		return Philox{}, bad
	}
	p := Philox{phase: s[58] - '0'}
	for _, part := range []struct {
		text string
		dst  *uint64
	}{{s[7:23], &p.key}, {s[24:40], &p.seq}, {s[41:57], &p.block}} {
		v, err := strconv.ParseUint(part.text, 16, 64)
		if err != nil {
			return Philox{}, bad
		}
		*part.dst = v
	}
	return p, nil
}

// MarshalText returns the same as String.
func (p Philox) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText restores a state that MarshalText wrote. After an error p is unchanged.
func (p *Philox) UnmarshalText(text []byte) error {
	q, err := ParsePhilox(string(text))
	if err == nil {
		*p = q
	}
	return err
}
