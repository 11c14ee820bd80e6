//go:build !purego

package feistel

import (
	"slices"
	"testing"
)

// Each of the instruction sets that the machine has gives the same.
func TestInstructionSets(t *testing.T) {
	if !useAVX2 {
		t.Skip("no AVX2")
	}
	rounds := make([]Round, 8)
	for i := range rounds {
		rounds[i] = Round{uint64(i+1) * 0x9E3779B97F4A7C15, uint64(i+3)*0xD1342543DE82EF95 | 1}
	}
	type kernel func(x *int64, blocks int, rounds *uint64, pairs int, shift uint, left, rmask uint64)
	for _, c := range []struct {
		name   string
		inGo   func(x []int64, rounds []Round, shift uint, left, rmask uint64)
		avx2   kernel
		avx512 kernel
		mixed  bool
	}{{"map", mapGeneric, mapAVX2, mapAVX512, false}, {"mixed", mixedGeneric, mixedAVX2, mixedAVX512, true}} {
		for _, bits := range []uint{2, 7, 31, 32, 62, 63} {
			shift := bits - bits/2
			left, rmask, end := uint64(1)<<(bits/2)-1, uint64(1)<<shift-1, uint64(1)<<bits
			if c.mixed {
				left = uint64(1)<<(bits/2-1) + 1
				end = left << shift
			}
			want := make([]int64, 5*block)
			for i := range want {
				want[i] = int64(uint64(i) * 0x9E3779B97F4A7C15 >> 1 % end)
			}
			want[0], want[1] = int64(end-1), 0
			got, wide := slices.Clone(want), slices.Clone(want)
			c.inGo(want, rounds, shift, left, rmask)
			c.avx2(&got[0], len(got)/block, &rounds[0].K, len(rounds)/2, shift, left, rmask)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d bits, AVX2: %v, want %v", c.name, bits, got, want)
			}
			if !useAVX512 {
				continue
			}
			c.avx512(&wide[0], len(wide)/block, &rounds[0].K, len(rounds)/2, shift, left, rmask)
			if !slices.Equal(wide, want) {
				t.Errorf("%s, %d bits, AVX-512: %v, want %v", c.name, bits, wide, want)
			}
		}
	}
}
