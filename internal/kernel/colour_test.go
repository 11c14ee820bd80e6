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
		n := rapid.IntRange(2, 150).Draw(t, "n")
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
		words, wantWords := make([]uint16, 3*n), make([]uint16, 3*n)
		lists := [3][]uint16{}
		for i, list := range [3][]byte{above, row, below} {
			for k, v := range list {
				lists[i] = append(lists[i], uint16(v))
				if r.IntN(4) > 0 {
					lists[i][k] = uint16(r.Uint32()) | 0xff00*uint16(n%2)
				}
			}
		}
		m.Words(words, lists[0], lists[1], lists[2])
		bayerGeneric(m, wantWords, lists[0], lists[1], lists[2])
		if !slices.Equal(words, wantWords) {
			t.Fatalf("%+v, %d pixels: words %v, want %v", m, n, words, wantWords)
		}
		m.Gray(got[:n], above, row, below)
		bayerGrayGeneric(m, want[:n], above, row, below)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, %d pixels: gray %v, want %v", m, n, got, want)
		}
		m.GrayWords(words[:n], lists[0], lists[1], lists[2])
		bayerGrayGeneric(m, wantWords[:n], lists[0], lists[1], lists[2])
		if !slices.Equal(words, wantWords) {
			t.Fatalf("%+v, %d pixels: gray words %v, want %v", m, n, words, wantWords)
		}
	})
}
