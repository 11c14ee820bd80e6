//go:build !purego

package feistel

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd ../../../tools && go run ./kernels/feistel -out ../internal/kernel/feistel/vector_amd64.s -stubs ../internal/kernel/feistel/vector_amd64.go -pkg feistel"

var (
	useAVX2   = cpu.X86.HasAVX2
	useAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ
)

// block is how many indices the assembly maps at a time.
const block = 16

func mapAll(x []int64, rounds []Round, shift uint, lmask, rmask uint64) {
	if whole := len(x) &^ (block - 1); useAVX2 && whole > 0 {
		if useAVX512 {
			mapAVX512(&x[0], whole/block, &rounds[0].K, len(rounds)/2, shift, lmask, rmask)
		} else {
			mapAVX2(&x[0], whole/block, &rounds[0].K, len(rounds)/2, shift, lmask, rmask)
		}
		x = x[whole:]
	}
	mapGeneric(x, rounds, shift, lmask, rmask)
}

func mixedAll(x []int64, rounds []Round, shift uint, radix, rmask uint64) {
	if whole := len(x) &^ (block - 1); useAVX2 && whole > 0 {
		if useAVX512 {
			mixedAVX512(&x[0], whole/block, &rounds[0].K, len(rounds)/2, shift, radix, rmask)
		} else {
			mixedAVX2(&x[0], whole/block, &rounds[0].K, len(rounds)/2, shift, radix, rmask)
		}
		x = x[whole:]
	}
	mixedGeneric(x, rounds, shift, radix, rmask)
}
