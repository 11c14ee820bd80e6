package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// generic makes an image with the definitions alone.
func generic(dst, src []byte, h, w, blueY, blueX int) {
	var g Gradual
	g.pad(src, h, w)
	row := func(y int) []byte { return g.padded[y*g.pitch : (y+1)*g.pitch] }
	for y := range h {
		for i := y + 1; i <= y+3; i++ {
			gradientsGeneric(g.rows[i%3], g.plane, row(i-1), row(i), row(i+1))
		}
		blue := (y-1)&1 == blueY
		green := blue != (blueX == 1)
		first := margin
		if green {
			first++
		}
		wide := first
		for wide+8 <= g.pitch-2 {
			wide += 8
		}
		r := gradualRow{&g, y + margin, green, blue, first, wide}
		r.generic(dst[3*y*w:], margin, g.pitch-margin)
	}
}

// Images equal what the definitions make, in memory that other images used before.
func TestGradual(t *testing.T) {
	var g Gradual
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		h, w := rapid.IntRange(3, 12).Draw(t, "h"), rapid.IntRange(3, 90).Draw(t, "w")
		blueY, blueX := r.IntN(2), r.IntN(2)
		src := randomBytes(r, h*w)
		switch r.IntN(3) {
		case 0:
			for i := range src {
				src[i] = byte(-(src[i] & 1))
			}
		case 1: // few gradients stand out
			for i := range src {
				src[i] = 100 + src[i]%4
			}
		}
		got, want := make([]byte, 3*h*w), make([]byte, 3*h*w)
		g.RGB(got, src, h, w, blueY, blueX)
		generic(want, src, h, w, blueY, blueX)
		if !slices.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%d x %d, blue at %d, %d: row %d, column %d, channel %d: got %d, want %d", h, w, blueY, blueX,
						i/3/w, i/3%w, i%3, got[i], want[i])
				}
			}
		}
	})
}
