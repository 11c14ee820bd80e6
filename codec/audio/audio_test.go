package audio_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	_ "github.com/bivouac-ml/bivouac/codec/wav"
	"github.com/bivouac-ml/bivouac/errs"
)

// The error for a format that no package decodes, or that is not linked, names it.
func TestForeignFormatsAreNamed(t *testing.T) {
	var d audio.Decoder
	for want, file := range map[string]string{
		"FLAC": "fLaC\x00\x00\x00\x22", "codec/flac": "fLaC", "AIFF": "FORM\x00\x00\x00\x00AIFF", "codec/opus": "OggS" + strings.Repeat("\x00", 24) + "OpusHead",
		"codec/vorbis": "OggS" + strings.Repeat("\x00",
			24) + "\x01vorbis", "codec/mp3": "ID3\x04", "format MP3": "\xff\xfb\x90\x00", "AAC": "\xff\xf1\x50\x80",
		"MP4": "\x00\x00\x00\x20ftypM4A ", "CAF": "caff", "AU": ".snd", "Wave64": "riff",
	} {
		_, err := d.Open([]byte(file), 1<<20)
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want the name %s", file, err, want)
		}
	}
	for _, file := range []string{"", "x", "hello sound"} {
		if _, err := d.Open([]byte(file), 1<<20); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v, want an error of kind corrupt", file, err)
		}
	}
}

// A size beyond the limit, or beyond all numbers, is exhausted.
func TestCheckSize(t *testing.T) {
	for _, n := range []int64{-1, 251, 1 << 40, math.MaxInt64} {
		if err := audio.CheckSize("x", n, 4, 1000); !errors.Is(err, errs.Exhausted) {
			t.Errorf("%d samples: %v", n, err)
		}
	}
	if err := audio.CheckSize("x", 250, 4, 1000); err != nil {
		t.Error(err)
	}
}

// The mean of channels can be written over the frames.
func TestMono(t *testing.T) {
	x := []float32{1, 3, -2, 2, 0.5, 0.25}
	audio.Mono(x, x, 2)
	if x[0] != 2 || x[1] != 0 || x[2] != 0.375 {
		t.Errorf("%v", x[:3])
	}
	y := make([]float32, 2)
	if audio.Mono(y, []float32{4, 5}, 1); y[0] != 4 || y[1] != 5 {
		t.Errorf("%v", y)
	}
}
