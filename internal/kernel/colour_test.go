package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestGray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(0, 200).Draw(t, "n")
		src := randomBytes(r, 3*n)
		if r.IntN(4) == 0 {
			for i := range src {
				src[i] = 255
			}
		}
		a := uint16(r.IntN(1<<15 - 2))
		b := uint16(r.IntN(1<<15 - int(a)))
		weights := [3]uint16{a, b, 1<<15 - a - b}
		if max(b, weights[2]) == 1<<15 {
			weights = [3]uint16{1<<15 - 1, 0, 1}
		}
		got, want := make([]byte, n), make([]byte, n)
		Gray(got, src, &weights)
		grayGeneric(want, src, &weights)
		if !slices.Equal(got, want) {
			t.Fatalf("weights %v: got %v, want %v", weights, got, want)
		}
	})
}

func TestBayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		n := rapid.IntRange(2, 120).Draw(t, "n")
		m := Bayer{rapid.Bool().Draw(t, "coloured"), rapid.Bool().Draw(t, "blue"), rapid.Bool().Draw(t, "edges")}
		above, row, below := randomBytes(r, n), randomBytes(r, n), randomBytes(r, n)
		if r.IntN(2) == 0 { // small differences, so that edges are about as strong both ways
			for _, list := range [][]byte{above, row, below} {
				for i := range list {
					list[i] = 250 + list[i]%6
				}
			}
		}
		got, want := make([]byte, 3*n), make([]byte, 3*n)
		m.Row(got, above, row, below)
		bayerGeneric(m, want, above, row, below)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, %d pixels: got %v, want %v", m, n, got, want)
		}
		words := make([]uint16, 3*n)
		widened := func(b []byte) (out []uint16) {
			for _, v := range b {
				out = append(out, uint16(v))
			}
			return out
		}
		BayerWords(m, words, widened(above), widened(row), widened(below))
		if !slices.Equal(words, widened(want)) {
			t.Fatalf("%+v: words %v, bytes %v", m, words, want)
		}
	})
}
