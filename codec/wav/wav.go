// Package wav reads WAV files of PCM samples: integers of 8, 16, 24 and 32 bits, and floats of 32
// bits.
package wav

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

const maxChannels = 1024

// Audio is a file of samples. It shares memory with the file.
type Audio struct {
	Channels int
	Rate     int // frames per second
	Bits     int // of a sample
	Float    bool
	data     []byte
}

var le = binary.LittleEndian

// Detect reports whether a file begins like a WAV file.
func Detect(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WAVE"
}

// Parse reads the headers of a file. Fails with errs.Corrupt for a file that is cut or contradicts
// itself, and with errs.Unsupported for other encodings. The size that the file gives for itself is
// not used: programs that write streams leave it open.
func Parse(b []byte) (*Audio, error) {
	if !Detect(b) {
		return nil, damaged("a file that begins with RIFF and WAVE", fmt.Sprintf("%q", b[:min(12, len(b))]))
	}
	var a *Audio
	for rest := b[12:]; ; {
		if len(rest) < 8 {
			if a == nil {
				return nil, damaged("a chunk fmt", "none")
			}
			return nil, damaged("a chunk data", "none")
		}
		id, size := string(rest[:4]), int64(le.Uint32(rest[4:]))
		rest = rest[8:]
		if size > int64(len(rest)) {
			return nil, damaged(fmt.Sprintf("%d bytes of chunk %q", size, id), fmt.Sprint(len(rest)))
		}
		chunk := rest[:size]
		switch id {
		case "fmt ":
			var err error
			if a, err = format(chunk); err != nil {
				return nil, err
			}
		case "data":
			if a == nil {
				return nil, damaged("a chunk fmt before the data", "none")
			}
			if frame := a.Channels * a.Bits / 8; len(chunk)%frame != 0 {
				return nil, damaged(fmt.Sprintf("frames of %d bytes", frame), fmt.Sprintf("%d bytes", len(chunk)))
			}
			a.data = chunk
			return a, nil
		}
		rest = rest[min(int64(len(rest)), size+size%2):]
	}
}

// extensible is the encoding whose real one comes at the end of the chunk, with this tail.
const extensible = 0xfffe

var guid = []byte{0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71}

// format reads a chunk fmt.
func format(b []byte) (*Audio, error) {
	if len(b) < 16 {
		return nil, damaged("a chunk fmt of at least 16 bytes", fmt.Sprint(len(b)))
	}
	a := &Audio{Channels: int(le.Uint16(b[2:])), Rate: int(le.Uint32(b[4:])), Bits: int(le.Uint16(b[14:]))}
	encoding := le.Uint16(b)
	if encoding == extensible && len(b) >= 40 && bytes.Equal(b[26:40], guid) {
		encoding = le.Uint16(b[24:])
	}
	a.Float = encoding == 3
	integers := encoding == 1 && (a.Bits == 8 || a.Bits == 16 || a.Bits == 24 || a.Bits == 32)
	if !integers && (!a.Float || a.Bits != 32) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "wav",
			Want: "PCM samples of 8, 16, 24 or 32 bits, or floats of 32",
			Got:  fmt.Sprintf("encoding %d with %d bits", encoding, a.Bits), Remedy: "convert the file"}
	}
	if a.Channels < 1 || a.Channels > maxChannels || a.Rate < 1 {
		return nil, damaged(fmt.Sprintf("1 to %d channels and a rate", maxChannels),
			fmt.Sprintf("%d channels, %d frames per second", a.Channels, a.Rate))
	}
	return a, nil
}

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "wav", Want: want, Got: got, Remedy: "the file is cut or damaged"}
}

// Frames returns the number of frames, each of a sample of every channel.
func (a *Audio) Frames() int { return len(a.data) / (a.Channels * a.Bits / 8) }

// Cut leaves n frames from a frame on. They must be there.
func (a *Audio) Cut(first, n int) {
	frame := a.Channels * a.Bits / 8
	a.data = a.data[first*frame : (first+n)*frame]
}

// Samples returns the number of samples of all channels.
func (a *Audio) Samples() int { return a.Frames() * a.Channels }

// integer returns sample i of integers, moved to the upper bits.
func (a *Audio) integer(i int) int32 {
	switch a.Bits {
	case 8:
		return int32(uint32(a.data[i]^0x80) << 24)
	case 16:
		return int32(uint32(le.Uint16(a.data[2*i:])) << 16)
	case 24:
		return int32(uint32(a.data[3*i])<<8 | uint32(a.data[3*i+1])<<16 | uint32(a.data[3*i+2])<<24)
	}
	return int32(le.Uint32(a.data[4*i:]))
}

// Float32 writes all samples as numbers from -1 to 1, channel by channel of each frame.
func (a *Audio) Float32(to []float32) {
	for i := range to[:a.Samples()] {
		if a.Float {
			to[i] = math.Float32frombits(le.Uint32(a.data[4*i:]))
		} else {
			to[i] = float32(float64(a.integer(i)) / (1 << 31))
		}
	}
}

// Int32 writes all samples of integers, moved to the upper bits.
func (a *Audio) Int32(to []int32) {
	for i := range to[:a.Samples()] {
		to[i] = a.integer(i)
	}
}

// Int16 writes the upper 16 bits of all samples of integers.
func (a *Audio) Int16(to []int16) {
	for i := range to[:a.Samples()] {
		to[i] = int16(a.integer(i) >> 16)
	}
}

// Mono writes the mean of the channels of each frame.
func (a *Audio) Mono(to []float32) {
	weight := 1 / float32(a.Channels)
	for f := range to[:a.Frames()] {
		sum := float32(0)
		for c := range a.Channels {
			i := f*a.Channels + c
			v := float32(0)
			if a.Float {
				v = math.Float32frombits(le.Uint32(a.data[4*i:]))
			} else {
				v = float32(float64(a.integer(i)) / (1 << 31))
			}
			sum += float32(v * weight)
		}
		to[f] = sum
	}
}
