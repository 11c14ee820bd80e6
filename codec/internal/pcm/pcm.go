// Package pcm converts uncompressed samples of sound between types.
package pcm

import (
	"encoding/binary"
	"math"
)

// Kind is how numbers are stored.
type Kind uint8

// The kinds.
const (
	Signed   Kind = iota
	Unsigned      // of 8 bits
	Float
)

// Audio is a file of samples. It implements audio.Sound.
type Audio struct {
	channels, rate int
	bits           int // of a sample
	kind           Kind
	big            bool
	order          binary.ByteOrder
	data           []byte
}

// New returns samples. data has whole frames.
func New(channels, rate, bits int, kind Kind, order binary.ByteOrder, data []byte) *Audio {
	return &Audio{channels: channels, rate: rate, bits: bits, kind: kind, order: order, big: order == binary.BigEndian,
		data: data}
}

// Channels returns the number of channels.
func (a *Audio) Channels() int { return a.channels }

// Rate returns the frames per second.
func (a *Audio) Rate() int { return a.rate }

// Floats reports whether samples are floats.
func (a *Audio) Floats() bool { return a.kind == Float }

// Frames returns the number of frames, each of a sample of every channel.
func (a *Audio) Frames() int { return len(a.data) / (a.channels * a.bits / 8) }

// Cut leaves n frames from a frame on. They must be there.
func (a *Audio) Cut(first, n int) {
	frame := a.channels * a.bits / 8
	a.data = a.data[first*frame : (first+n)*frame]
}

// integer returns sample i of integers, moved to the upper bits.
func (a *Audio) integer(i int) int32 {
	switch {
	case a.kind == Unsigned:
		return int32(uint32(a.data[i]^0x80) << 24)
	case a.bits == 8:
		return int32(uint32(a.data[i]) << 24)
	case a.bits == 16:
		return int32(uint32(a.order.Uint16(a.data[2*i:])) << 16)
	case a.bits == 24 && a.big:
		return int32(uint32(a.data[3*i+2])<<8 | uint32(a.data[3*i+1])<<16 | uint32(a.data[3*i])<<24)
	case a.bits == 24:
		return int32(uint32(a.data[3*i])<<8 | uint32(a.data[3*i+1])<<16 | uint32(a.data[3*i+2])<<24)
	}
	return int32(a.order.Uint32(a.data[4*i:]))
}

// float returns sample i of floats.
func (a *Audio) float(i int) float64 {
	if a.bits == 64 {
		return math.Float64frombits(a.order.Uint64(a.data[8*i:]))
	}
	return float64(math.Float32frombits(a.order.Uint32(a.data[4*i:])))
}

// Float32 implements audio.Sound.
func (a *Audio) Float32(to []float32) {
	to = to[:a.Frames()*a.channels]
	switch {
	case a.kind == Float:
		for i := range to {
			to[i] = float32(a.float(i))
		}
	case a.bits == 16 && !a.big:
		data := a.data[:2*len(to)]
		for i := range to {
			to[i] = float32(int16(uint16(data[2*i])|uint16(data[2*i+1])<<8)) * (1.0 / (1 << 15))
		}
	default:
		for i := range to {
			to[i] = float32(float64(a.integer(i)) / (1 << 31))
		}
	}
}

// Int32 implements audio.Sound.
func (a *Audio) Int32(to []int32) {
	for i := range to[:a.Frames()*a.channels] {
		if a.kind == Float {
			to[i] = int32(round(a.float(i), math.MinInt32, math.MaxInt32))
		} else {
			to[i] = a.integer(i)
		}
	}
}

// round rounds half to even, within a range. NaN becomes the least number.
func round(v, least, most float64) float64 {
	if !(v > least) {
		return least
	}
	return min(math.RoundToEven(v), most)
}

// Int16 implements audio.Sound.
func (a *Audio) Int16(to []int16) {
	for i := range to[:a.Frames()*a.channels] {
		if a.kind == Float {
			to[i] = int16(round(a.float(i), math.MinInt16, math.MaxInt16))
		} else {
			to[i] = int16(a.integer(i) >> 16)
		}
	}
}

// Companded decodes A-law or µ-law to little endian samples of 16 bits.
func Companded(data []byte, aLaw bool) []byte {
	out := make([]byte, 0, 2*len(data))
	for _, v := range data {
		if aLaw {
			out = binary.LittleEndian.AppendUint16(out, uint16(aLawSample(v)))
		} else {
			out = binary.LittleEndian.AppendUint16(out, uint16(uLawSample(v)))
		}
	}
	return out
}

// aLawSample decodes a byte of ITU-T G.711 A-law.
func aLawSample(v byte) int16 {
	v ^= 0x55
	x := int16(v&15)<<4 + 8
	if segment := v >> 4 & 7; segment > 0 {
		x = (x + 0x100) << (segment - 1)
	}
	if v&0x80 == 0 {
		return -x
	}
	return x
}

// uLawSample decodes a byte of ITU-T G.711 µ-law.
func uLawSample(v byte) int16 {
	v = ^v
	x := (int16(v&15)<<3+0x84)<<(v>>4&7) - 0x84
	if v&0x80 != 0 {
		return -x
	}
	return x
}
