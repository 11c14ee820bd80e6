package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLab(t *testing.T) {
	l := NewLab()
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(0, 300).Draw(t, "n")
		checkLab(t, l, randomBytes(r, 3*n))
	})
	// Each L with each a and b, and the corners of the cube of colours.
	for a := range 256 {
		planes := [3][]byte{make([]byte, 256*64), make([]byte, 256*64), make([]byte, 256*64)}
		for i := range planes[0] {
			planes[0][i], planes[1][i], planes[2][i] = byte(i), byte(a), byte(4*(i/256)+a%4)
		}
		checkPixels(t, l, planes)
	}
	var rgb []byte
	for i := range 1 << 15 {
		rgb = append(rgb, byte(i>>10<<3|i&7), byte(i>>5<<3|i>>3&7), byte(i<<3|i>>5&7))
	}
	checkLab(t, l, rgb)
}

type fatal interface{ Fatalf(string, ...any) }

func checkLab(t fatal, l *Lab, rgb []byte) {
	n := len(rgb) / 3
	var got, want [3][]byte
	for i := range 3 {
		got[i], want[i] = make([]byte, n), make([]byte, n)
	}
	l.FromRGB(got[0], got[1], got[2], rgb)
	l.fromRGB(want[0], want[1], want[2], rgb)
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("plane %d of %d pixels: got %v, want %v", i, n, got[i], want[i])
		}
	}
	checkPixels(t, l, got)
	checkPixels(t, l, [3][]byte{rgb[:n], rgb[n : 2*n], rgb[2*n:]})
}

func checkPixels(t fatal, l *Lab, planes [3][]byte) {
	n := len(planes[0])
	got, want := make([]byte, 3*n), make([]byte, 3*n)
	l.ToRGB(got, planes[0], planes[1], planes[2])
	l.pixels(want, planes[0], planes[1], planes[2])
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("byte %d of %d pixels: L %d, a %d, b %d: got %d, want %d", i, n, planes[0][i/3], planes[1][i/3],
				planes[2][i/3], got[i], want[i])
		}
	}
}

// Vector code adds up steps of at most one, in words of 16 bits.
func TestLabTables(t *testing.T) {
	l := NewLab()
	for i := 1; i < len(l.srgb); i++ {
		if d := int(l.srgb[i]) - int(l.srgb[i-1]); d < 0 || d > 1 {
			t.Errorf("a step of %d at %d", d, i)
		}
	}
	for i := range 256 {
		if l.linear[i] >= 1<<15 || l.lightY[i] >= 1<<15 || l.rootY[i] >= 1<<15 {
			t.Errorf("%d: a number of more than 15 bits", i)
		}
	}
}
