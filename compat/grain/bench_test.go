package grain

import (
	"fmt"
	"testing"
)

func BenchmarkPermutation(b *testing.B) {
	for _, n := range []int64{100, 1000, 1 << 16, 1e6, 1e9} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, err := NewPermutation(n, 42, DefaultRounds)
			if err != nil {
				b.Fatal(err)
			}
			for i := int64(0); b.Loop(); i++ {
				p.At(i % n)
			}
		})
	}
}
