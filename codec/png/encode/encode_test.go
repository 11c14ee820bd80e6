package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// standard is the image that image/png takes.
func standard(pixels []byte, w, h, channels, depth int) image.Image {
	r := image.Rect(0, 0, w, h)
	at := func(i, c int) (high, low byte) {
		if depth == 8 {
			return pixels[i*channels+c], 0
		}
		v := binary.LittleEndian.Uint16(pixels[2*(i*channels+c):])
		return byte(v >> 8), byte(v)
	}
	switch {
	case channels == 1 && depth == 8:
		return &image.Gray{Pix: pixels, Stride: w, Rect: r}
	case channels == 1:
		m := image.NewGray16(r)
		for i := range w * h {
			m.Pix[2*i], m.Pix[2*i+1] = at(i, 0)
		}
		return m
	}
	narrow, wide := image.NewNRGBA(r), image.NewNRGBA64(r)
	for i := range w * h {
		for c := range 4 {
			high, low := byte(255), byte(255)
			if c < channels {
				high, low = at(i, c)
			}
			narrow.Pix[4*i+c], wide.Pix[8*i+2*c], wide.Pix[8*i+2*c+1] = high, high, low
		}
	}
	if depth == 8 {
		return narrow
	}
	return wide
}

// picture is an image that is noise, smooth, or of few colours.
func picture(rng *rand.Rand, w, h, channels, depth int, opaque bool) []byte {
	size, kind := depth/8, rng.IntN(3)
	b := make([]byte, w*h*channels*size)
	for i := range b {
		switch kind {
		case 0:
			b[i] = byte(rng.Uint32())
		case 1:
			b[i] = byte(i/size%(w*channels) + i/(w*channels*size)*3 + rng.IntN(2))
		default:
			b[i] = byte(i / size / 7 % 2 * 200)
		}
		if opaque && channels == 4 && i/size%4 == 3 {
			b[i] = 255
		}
	}
	return b
}

// TestEqualsTheStandardLibrary compares files of all kinds and levels, byte for byte. One Encoder
// writes them all.
func TestEqualsTheStandardLibrary(t *testing.T) {
	levels := map[Level]png.CompressionLevel{Default: png.DefaultCompression, None: png.NoCompression,
		Fast: png.BestSpeed, Best: png.BestCompression}
	rng := rand.New(rand.NewPCG(1, 2))
	var e Encoder
	for n := range 600 {
		w, h := 1+rng.IntN(40), 1+rng.IntN(40)
		if n%100 == 0 {
			w, h = 300+rng.IntN(50), 200 // several pieces
		}
		channels, depth := []int{1, 3, 4}[rng.IntN(3)], 8+8*rng.IntN(2)
		pixels := picture(rng, w, h, channels, depth, rng.IntN(2) == 0)
		for l, level := range levels {
			var want bytes.Buffer
			theirs := png.Encoder{CompressionLevel: level}
			if err := theirs.Encode(&want, standard(pixels, w, h, channels, depth)); err != nil {
				t.Fatal(err)
			}
			got, err := e.Append([]byte("x"), pixels, w, h, channels, depth, l)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "x"+want.String() {
				t.Fatalf("%d x %d, %d channels of %d bits, level %d: another file", w, h, channels, depth, l)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		bytes, w, h, channels, depth int
		level                        Level
	}{
		"no pixels": {0, 0, 1, 1, 8, Default}, "two channels": {8, 2, 2, 2, 8, Default}, "4 bits": {2, 2, 2, 1, 4, Default},
		"too few bytes": {3, 2, 2, 1, 8, Default}, "too many bytes": {5, 2, 2, 1, 8, Default},
		"a level": {4, 2, 2, 1, 8, 10},
	} {
		_, err := new(Encoder).Append(nil, make([]byte, c.bytes), c.w, c.h, c.channels, c.depth, c.level)
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A second image of a kind takes no memory.
func TestAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, channels := range []int{1, 3, 4} {
		for _, depth := range []int{8, 16} {
			pixels := picture(rng, 50, 40, channels, depth, false)
			var e Encoder
			var file []byte
			if n := testing.AllocsPerRun(20, func() {
				var err error
				if file, err = e.Append(file[:0], pixels, 50, 40, channels, depth, Default); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%d channels of %d bits: %v allocations", channels, depth, n)
			}
		}
	}
}
