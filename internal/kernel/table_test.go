package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		src := randomBytes(r, rapid.IntRange(0, 700).Draw(t, "n"))
		var tables [3][256]byte
		for i := range tables {
			copy(tables[i][:], randomBytes(r, 256))
		}
		got := append(slices.Clone(src), 7)
		Look(got[:len(src)], got[:len(src)], &tables[1])
		for i, v := range src {
			if got[i] != tables[1][v] {
				t.Fatalf("byte %d of %d: got %d, want %d", i, len(src), got[i], tables[1][v])
			}
		}
		copy(got, src)
		Look3(got, src, &tables)
		for i, v := range src[:len(src)/3*3] {
			if got[i] != tables[i%3][v] {
				t.Fatalf("byte %d of %d pixels: got %d, want %d", i, len(src)/3, got[i], tables[i%3][v])
			}
		}
		if got[len(src)] != 7 {
			t.Fatal("a byte after the last changed")
		}
	})
}

func TestCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		src := randomBytes(r, rapid.IntRange(0, 300).Draw(t, "n"))
		if r.IntN(3) == 0 {
			for i := range src {
				src[i] &= 1
			}
		}
		var got, want [3][256]int32
		var one, all [256]int32
		one[4], all[4], got[1][3], want[1][3] = 9, 9, 5, 5
		for i, v := range src {
			want[i%3][v]++
			all[v]++
		}
		Count(&one, src)
		Count3(&got, src)
		if one != all || got != want {
			t.Fatalf("%d bytes: got %v and %v, want %v and %v", len(src), one, got, all, want)
		}
	})
}
