package wav

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// Format says how samples lie in a file that is written.
type Format struct {
	Rate     uint32 // frames per second
	Channels int    // 1 to 65,535
	Bits     int    // of a sample: 16, 24 or 32
	Floats   bool   // of 32 bits
}

// HeaderSize is the size of a Header.
const HeaderSize = 44

// Header returns what stands before the samples in a file, where size bytes of samples follow, in
// little-endian order. Header fails with errs.Invalid for a Format that WAV does not have, for a
// size that is not whole frames, and for more than 4 GiB.
func (f Format) Header(size int64) ([]byte, error) {
	return f.AppendHeader(make([]byte, 0, HeaderSize), size)
}

// AppendHeader appends the Header to b.
func (f Format) AppendHeader(b []byte, size int64) ([]byte, error) {
	frame := int64(f.Channels) * int64(f.Bits/8)
	switch {
	case f.Channels < 1 || f.Channels > math.MaxUint16:
		return b, wrong("1 to 65,535 channels", fmt.Sprint(f.Channels))
	case f.Bits != 16 && f.Bits != 24 && f.Bits != 32 || f.Floats && f.Bits != 32:
		return b, wrong("16, 24 or 32 bits, or floats of 32", fmt.Sprint(f.Bits))
	case frame > math.MaxUint16 || frame*int64(f.Rate) > math.MaxUint32:
		return b, wrong("frames of at most 65,535 bytes and 4 GiB a second",
			fmt.Sprintf("%d bytes, %d a second", frame, f.Rate))
	case size < 0 || size%frame != 0 || size%2 != 0:
		return b, wrong(fmt.Sprintf("whole frames of %d bytes, an even size in all", frame), fmt.Sprintf("%d bytes", size))
	case size > math.MaxUint32-HeaderSize:
		return b, wrong("at most 4 GiB of samples", fmt.Sprintf("%d bytes", size))
	}
	kind := uint16(encodedPCM)
	if f.Floats {
		kind = encodedFloat
	}
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, "RIFF"...), uint32(size)+HeaderSize-8)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, kind), uint16(f.Channels))
	b = le.AppendUint32(le.AppendUint32(b, f.Rate), uint32(frame)*f.Rate)
	b = le.AppendUint16(le.AppendUint16(b, uint16(frame)), uint16(f.Bits))
	return le.AppendUint32(append(b, "data"...), uint32(size)), nil
}

func wrong(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "wav", Subject: "format", Want: want, Got: got}
}
