package aiff

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

const limit = 1 << 20

// rate8000 is 8000 as a float of 80 bits.
const rate8000 = "\x40\x0b\xfa\x00\x00\x00\x00\x00\x00\x00"

// file returns an AIFF file, or an AIFF-C file if it has an encoding.
func file(encoding string, channels, bits, frames int, data []byte) []byte {
	common := be.AppendUint16(nil, uint16(channels))
	common = be.AppendUint16(be.AppendUint32(common, uint32(frames)), uint16(bits))
	common = append(append(common, rate8000...), encoding...)
	b := []byte("FORM\x00\x00\x00\x00AIFF")
	if encoding != "" {
		b[11] = 'C'
	}
	b = append(be.AppendUint32(append(b, "COMM"...), uint32(len(common))), common...)
	b = append(be.AppendUint32(append(b, "odd "...), 1), 7, 0)
	b = be.AppendUint32(append(b, "SSND"...), uint32(8+len(data)))
	return append(append(b, 0, 0, 0, 0, 0, 0, 0, 0), data...)
}

// Samples of all encodings become the same numbers.
func TestSamples(t *testing.T) {
	half := be.AppendUint32(nil, math.Float32bits(0.5))
	for _, c := range []struct {
		encoding string
		bits     int
		data     []byte
		want     float32
	}{
		{"", 8, []byte{0xc0}, -0.5}, {"", 16, []byte{0x40, 0}, 0.5}, {"NONE", 24, []byte{0x40, 0, 0}, 0.5},
		{"twos", 32, []byte{0xc0, 0, 0, 0}, -0.5}, {"sowt", 16, []byte{0, 0x40}, 0.5}, {"sowt", 24, []byte{0, 0, 0xc0},
			-0.5},
		{"raw ", 8, []byte{0xc0}, 0.5}, {"fl32", 32, half, 0.5}, {"fl64", 64, be.AppendUint64(nil,
			math.Float64bits(-0.25)), -0.25},
		{"ulaw", 16, []byte{0xff}, 0}, {"ulaw", 16, []byte{0x80}, 32124.0 / 32768}, {"alaw", 16, []byte{0xd5},
			8.0 / 32768}, {"", 12, []byte{0x40, 0}, 0.5},
	} {
		s, err := Parse(file(c.encoding, 1, c.bits, 1, c.data))
		if err != nil {
			t.Errorf("%q, %d bits: %v", c.encoding, c.bits, err)
			continue
		}
		got := make([]float32, 1)
		if s.Float32(got); got[0] != c.want || s.Rate() != 8000 || s.Frames() != 1 {
			t.Errorf("%q, %d bits: %v, want %v; %d per second, %d frames", c.encoding, c.bits, got[0], c.want, s.Rate(),
				s.Frames())
		}
	}
}

// Files that are cut or lie are damaged, and other encodings are not supported.
func TestRefusals(t *testing.T) {
	whole := file("", 2, 16, 2, make([]byte, 8))
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	noRate := slices.Clone(whole)
	copy(noRate[28:], make([]byte, 10))
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
	}{
		"more frames": {file("", 2, 16, 1<<31, make([]byte, 8)), errs.Corrupt}, "no channels": {file("", 0, 16, 2,
			make([]byte, 8)), errs.Corrupt},
		"no rate": {noRate, errs.Corrupt}, "GSM": {file("GSM ", 1, 16, 0, nil), errs.Unsupported}, "40 bits": {file("", 1,
			40, 0, nil), errs.Unsupported},
		"another file": {[]byte("RIFF and more bytes"), errs.Corrupt},
	} {
		if _, err := Parse(c.b); errs.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want kind %v", name, err, c.kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file("", 2, 16, 2, make([]byte, 8)))
	f.Add(file("fl64", 1, 64, 1, make([]byte, 8)))
	f.Add(file("ulaw", 1, 16, 9, make([]byte, 9)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d audio.Decoder
		s, err := d.Open(b, limit)
		if err != nil {
			return
		}
		n := s.Frames() * s.Channels()
		if n > len(b) {
			t.Fatalf("%d samples in %d bytes", n, len(b))
		}
		s.Float32(make([]float32, n))
		s.Int32(make([]int32, n))
	})
}
