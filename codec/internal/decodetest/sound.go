package decodetest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	_ "github.com/bivouac-ml/bivouac/codec/flac" // the samples that are wanted
)

// Difference is how far samples of int16 are from others.
type Difference struct {
	Worst float64 // levels
	Mean  float64 // levels, signed
	Ratio float64 // of the power of the sound and of the difference, in decibels
}

// Shorts returns all samples of a sound.
func Shorts(s audio.Sound) []int16 {
	to := make([]int16, s.Frames()*s.Channels())
	s.Int16(to)
	return to
}

// Read returns the file testdata/NAME.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Sounds decodes each file testdata/NAME.ext beside which there is NAME.flac, whose samples are
// wanted. Both must have as many frames and channels, at the same rate. check gets the difference.
// There must be at least least files.
func Sounds(t *testing.T, ext string, limit int64, least int, check func(name string, d Difference)) {
	files, err := filepath.Glob("testdata/*.flac")
	if err != nil || len(files) < least {
		t.Fatalf("%d files, want at least %d, %v", len(files), least, err)
	}
	var ours, theirs audio.Decoder
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".flac")
		want, err := theirs.Open(Read(t, name+".flac"), limit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours.Open(Read(t, name+ext), limit)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		describe := func(s audio.Sound) string {
			return fmt.Sprintf("%d frames of %d channels at %d Hz, floats %v", s.Frames(), s.Channels(), s.Rate(), s.Floats())
		}
		if g, w := describe(got), describe(want); g != w {
			t.Errorf("%s: %s, want %s", name, g, w)
			continue
		}
		check(name, compare(Shorts(got), Shorts(want)))
	}
}

func compare(got, want []int16) (d Difference) {
	noise, power := 0.0, 0.0
	for i, v := range got {
		off := float64(v) - float64(want[i])
		d.Worst, d.Mean = max(d.Worst, math.Abs(off)), d.Mean+off/float64(len(got))
		noise, power = noise+off*off, power+float64(want[i])*float64(want[i])
	}
	d.Ratio = 10 * math.Log10(power/max(noise, 1))
	return d
}
