//go:build !amd64 || purego

package feistel

func mapAll(x []int64, rounds []Round, shift uint, lmask, rmask uint64) {
	mapGeneric(x, rounds, shift, lmask, rmask)
}

func mixedAll(x []int64, rounds []Round, shift uint, radix, rmask uint64) {
	mixedGeneric(x, rounds, shift, radix, rmask)
}
