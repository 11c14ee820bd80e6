package vorbis

import (
	"errors"
	"math"
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

const limit = 1 << 24

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/dali/inputs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Files have their frames. The numbers are compared with libsndfile in the cases of DALI.
func TestFrames(t *testing.T) {
	var d audio.Decoder
	for name, want := range map[string][2]int{"a8_vorbis_1ch.ogg": {1, 6000}, "a9_vorbis_2ch.ogg": {2, 5000}} {
		s, err := d.Open(read(t, name), limit)
		if err != nil {
			t.Fatal(err)
		}
		if s.Channels() != want[0] || s.Frames() != want[1] || s.Floats() {
			t.Errorf("%s: %d channels, %d frames", name, s.Channels(), s.Frames())
		}
		s.Cut(10, 20)
		floats, shorts := make([]float32, 20*want[0]), make([]int16, 20*want[0])
		s.Float32(floats)
		s.Int16(shorts)
		for i, v := range floats {
			if d := math.Abs(float64(v)*32767 - float64(shorts[i])); d > 0.51 {
				t.Fatalf("%s: sample %d: %v and %d", name, i, v, shorts[i])
			}
		}
	}
}

// A file that is cut is refused, and so is a file beyond the limit.
func TestRefusals(t *testing.T) {
	whole := read(t, "a8_vorbis_1ch.ogg")
	var d Decoder
	for n := 0; n < len(whole); n += 61 {
		if _, err := d.Open(whole[:n], limit); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := d.Open(whole, 4*5000); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a limit of 5000 samples: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(read(f, "a8_vorbis_1ch.ogg"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := new(Decoder).Open(b, limit)
		if err == nil {
			s.Float32(make([]float32, s.Frames()*s.Channels()))
		}
	})
}
