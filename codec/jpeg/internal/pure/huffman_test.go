package pure

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/photos"
)

// Symbols that are decoded in pairs give the same pixels and errors as one symbol at a time, in
// whole and in damaged files, in windows, and with other tables than the image before has.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	decoders := [2]Decoder{{}, {single: true}} // are used again for all images, as pipelines do
	pixels := func(d *Decoder, data []byte, window bool) ([]byte, string) {
		defer d.Release()
		h, err := d.ReadHeader(data)
		if err != nil {
			return nil, err.Error()
		}
		x, y, w, hi := 0, 0, h.Width, h.Height
		if window {
			x, y, w, hi = w/3, hi/4, w/2, hi/2
		}
		dst := make([]byte, 3*w*hi)
		if err := d.Decode(dst, 3*w, x, y, w, hi, Colour); err != nil {
			return dst, err.Error()
		}
		return dst, ""
	}
	damaged, files := 0, 0
	for i := range 24 {
		data := encoded(t, r, i)
		for round := range 40 {
			bad := bytes.Clone(data)
			for range round % 4 {
				bad[300+r.IntN(len(bad)-300)] ^= 1 << r.IntN(8)
			}
			if round%8 == 7 {
				bad = bad[:len(bad)/2+r.IntN(len(bad)/2)]
			}
			got, failed := pixels(&decoders[0], bad, round%3 == 2)
			want, wantFailed := pixels(&decoders[1], bad, round%3 == 2)
			if failed != wantFailed || !bytes.Equal(got, want) {
				t.Fatalf("file %d, round %d: error %q, want %q; equal pixels: %t", i, round, failed, wantFailed,
					bytes.Equal(got, want))
			}
			if files++; failed != "" {
				damaged++
			}
		}
	}
	if damaged == 0 || damaged > files/2 {
		t.Errorf("%d of %d files were damaged beyond decoding", damaged, files)
	}
}

// encoded returns a photo, or noise, in one of several qualities.
func encoded(t *testing.T, r *rand.Rand, i int) []byte {
	t.Helper()
	if i%4 == 0 {
		b, err := photos.JPEG(i)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	img := image.NewYCbCr(image.Rect(0, 0, 300+r.IntN(200), 250+r.IntN(100)), image.YCbCrSubsampleRatio420)
	rough := 1 << (i % 8)
	for k := range img.Y {
		img.Y[k] = byte(128 + r.IntN(rough) - rough/2)
	}
	for k := range img.Cb {
		img.Cb[k], img.Cr[k] = byte(k/7), byte(128+r.IntN(rough)-rough/2)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: []int{1, 30, 75, 95, 100}[i%5]}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Each entry of a table of pairs says what one symbol at a time says, for any code: short codes may
// have large coefficients.
func TestPairsOfAnyCode(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	single, double := 0, 0
	for range 300 {
		var counts [16]byte
		symbols, room := []byte{}, 1<<16
		for length := range 16 {
			for n := r.IntN(4); n > 0 && room > 1<<(15-length); n-- {
				room -= 1 << (15 - length)
				counts[length]++
				symbols = append(symbols, byte(r.Uint32()))
			}
		}
		var c table
		if !c.build(counts, symbols) {
			t.Fatal(counts)
		}
		for bits, e := range c.pairing() {
			acc := uint64(bits) << (64 - lookPair)
			first := c.fast[acc>>(64-look)]
			v, one, two := value(acc, first), int32(int8(e>>16)), int32(int8(e>>24))
			switch on := first >> 16; {
			case e == 0:
			case on == endOfBlock:
				if e&15 != first&63 || one != 0 || two != 0 || 1+e>>4&63+e>>10&63 < 64 {
					t.Fatalf("%011b: %#x for the end of a block", bits, e)
				}
			case e>>10&63 == 0:
				single++
				if e&15 != first&63 || e>>4&63 != on || one != v || two != v {
					t.Fatalf("%011b: %#x for %#x, %d", bits, e, first, v)
				}
			default:
				double++
				rest := acc << (first & 63)
				second := c.fast[rest>>(64-look)]
				if e&15 != first&63+second&63 || e>>4&63 != on || one != v || two != value(rest, second) ||
					e>>10&63 != min(second>>16, 63) {
					t.Fatalf("%011b: %#x for %#x, %d and %#x, %d", bits, e, first, v, second, value(rest, second))
				}
			}
		}
	}
	if single == 0 || double == 0 {
		t.Errorf("%d entries of one symbol and %d of two", single, double)
	}
}
