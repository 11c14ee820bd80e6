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
	for _, bits := range []uint{7, 31, 32, 63} {
		shift := bits - bits/2
		lmask, rmask := uint64(1)<<(bits/2)-1, uint64(1)<<shift-1
		want := make([]int64, 5*block)
		for i := range want {
			want[i] = int64(uint64(i) * 0x9E3779B97F4A7C15 >> (64 - bits))
		}
		got, wide := slices.Clone(want), slices.Clone(want)
		mapGeneric(want, rounds, shift, lmask, rmask)
		mapAVX2(&got[0], len(got)/block, &rounds[0].K, len(rounds)/2, shift, lmask, rmask)
		if !slices.Equal(got, want) {
			t.Errorf("%d bits, AVX2: %v, want %v", bits, got, want)
		}
		if !useAVX512 {
			continue
		}
		mapAVX512(&wide[0], len(wide)/block, &rounds[0].K, len(rounds)/2, shift, lmask, rmask)
		if !slices.Equal(wide, want) {
			t.Errorf("%d bits, AVX-512: %v, want %v", bits, wide, want)
		}
	}
}
