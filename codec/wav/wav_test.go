package wav

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

// file returns a WAV file with a chunk before the data.
func file(encoding, channels, bits int, data []byte) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WAVEodd \x03\x00\x00\x00abc\x00fmt "), 16, 0, 0, 0)
	for _, v := range []int{encoding, channels} {
		b = le.AppendUint16(b, uint16(v))
	}
	b = le.AppendUint32(le.AppendUint32(b, 8000), uint32(8000*channels*bits/8))
	b = le.AppendUint16(le.AppendUint16(b, uint16(channels*bits/8)), uint16(bits))
	b = le.AppendUint32(append(b, "data"...), uint32(len(data)))
	return append(b, data...)
}

// TestSamples: samples of all widths become the same numbers.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		bits int
		data []byte
		want []float32
	}{
		{8, []byte{0, 128, 192, 255}, []float32{-1, 0, 0.5, 127.0 / 128}},
		{16, []byte{0, 0x80, 0, 0, 0, 0x40, 1, 0}, []float32{-1, 0, 0.5, 1.0 / 32768}},
		{24, []byte{0, 0, 0x80, 0, 0, 0, 0, 0, 0x40, 1, 0, 0}, []float32{-1, 0, 0.5, 1.0 / (1 << 23)}},
		{32, []byte{0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0, 0}, []float32{-1, 0, 0.5, 1.0 / (1 << 31)}},
	} {
		a, err := Parse(file(1, 2, c.bits, c.data))
		if err != nil {
			t.Fatal(err)
		}
		if a.Channels() != 2 || a.Rate() != 8000 || a.Floats() || a.Frames() != 2 {
			t.Fatalf("%d bits: %+v", c.bits, a)
		}
		got := make([]float32, 4)
		if a.Float32(got); !slices.Equal(got, c.want) {
			t.Errorf("%d bits: got %v, want %v", c.bits, got, c.want)
		}
		mono := make([]float32, 2)
		if audio.Mono(mono, got, 2); mono[0] != -0.5 || mono[1] != (c.want[2]+c.want[3])/2 {
			t.Errorf("%d bits: mean %v", c.bits, mono)
		}
		ints, shorts := make([]int32, 4), make([]int16, 4)
		a.Int32(ints)
		a.Int16(shorts)
		if ints[0] != math.MinInt32 || shorts[0] != math.MinInt16 || ints[2] != 1<<30 || shorts[2] != 1<<14 {
			t.Errorf("%d bits: integers %v %v", c.bits, ints, shorts)
		}
		a.Cut(1, 1)
		if got := make([]float32, 2); a.Frames() != 1 {
			t.Errorf("%d frames after a cut", a.Frames())
		} else if a.Float32(got); !slices.Equal(got, c.want[2:]) {
			t.Errorf("%d bits, cut: %v", c.bits, got)
		}
	}
	a, err := Parse(file(3, 1, 32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5))))
	got := make([]float32, 1)
	if err == nil {
		a.Float32(got)
	}
	if err != nil || got[0] != 1.5 {
		t.Fatalf("floats: %v %v", got, err)
	}
}

// TestRefusals: files that are cut are damaged, and other encodings are not supported.
func TestRefusals(t *testing.T) {
	whole := file(1, 1, 16, make([]byte, 8))
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); errs.KindOf(err) != errs.Corrupt {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	extended := slices.Clone(file(extensible, 1, 16, make([]byte, 8)))
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
	}{
		"16 bits of law": {file(7, 1, 16, nil), errs.Unsupported}, "12 bits": {file(1, 1, 12, nil), errs.Unsupported}, "floats of 16 bits": {file(3, 1, 16, nil), errs.Unsupported}, "no blocks": {file(17, 1, 4, nil), errs.Corrupt}, "no coefficients": {file(2, 1, 4, nil), errs.Corrupt},
		"extensible without its tail": {extended, errs.Unsupported}, "no channels": {file(1, 0, 16, nil), errs.Corrupt}, "half a frame": {file(1, 2, 16, make([]byte, 6)), errs.Corrupt},
		"another file": {[]byte("OggS and more bytes"), errs.Corrupt},
	} {
		if _, err := Parse(c.b); errs.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	data := bytes.Index(whole, []byte("data"))
	if _, err := Parse(append(slices.Clone(whole[:12]), whole[data:]...)); err == nil ||
		!strings.Contains(err.Error(), "fmt") {
		t.Errorf("no format: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(1, 2, 16, make([]byte, 8)))
	f.Add(file(3, 1, 32, make([]byte, 8)))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEdata\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Parse(b)
		if err != nil {
			return
		}
		n := a.Frames() * a.Channels()
		if n > 4*len(b) {
			t.Fatalf("%d samples in %d bytes", n, len(b))
		}
		samples := make([]float32, n)
		a.Float32(samples)
		audio.Mono(samples, samples, a.Channels())
		a.Int32(make([]int32, n))
		a.Int16(make([]int16, n))
	})
}
