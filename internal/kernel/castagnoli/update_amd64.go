//go:build !purego

package castagnoli

import (
	"hash/crc32"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd ../../../tools && go run ./kernels/castagnoli -out ../internal/kernel/castagnoli/fold_amd64.s -stubs ../internal/kernel/castagnoli/fold_amd64.go -pkg castagnoli"

// fold returns the state after a block. The state is the complement of the checksum.
type fold func(state uint32, p *byte, iterations int, k *uint64) uint32

var (
	usePCLMULQDQ  = cpu.X86.HasAVX && cpu.X86.HasPCLMULQDQ && cpu.X86.HasSSE42
	useVPCLMULQDQ = usePCLMULQDQ && cpu.X86.HasAVX2 && features()&(1<<10) != 0
)

// constants are the factors that move polynomials, reflected. Factors of 64 bits have their 32 bits
// in the upper half.
type constants struct {
	far     [2]uint64 // an accumulator over all accumulators
	near    [2]uint64 // an accumulator over the next one
	lane    [2]uint64 // a lane of 16 bytes over the next one
	streams [4]uint64 // the part that is folded, and the streams, to the end of the block
}

// block is a length that the assembly processes at once.
type block struct {
	bytes, iterations int
	constants
}

// newBlock returns the block of the given number of iterations. Its accumulators have width bytes,
// and its streams advance by words an iteration.
func newBlock(iterations, width, words int) block {
	const accumulators = 4
	stream := 8 * words * iterations
	b := block{iterations: iterations, bytes: accumulators*width*(iterations+1) + 3*stream}
	b.far, b.near, b.lane = over(accumulators*width), over(width), over(16)
	for i := range 3 {
		b.streams[i] = uint64(power(8*(3-i)*stream - 33))
	}
	return b
}

// over returns the factors that move the first and the last half of 16 bytes over the given number
// of bytes. The product of two reflected words is the product of the polynomials times x.
func over(bytes int) [2]uint64 {
	return [2]uint64{uint64(power(8*bytes+63)) << 32, uint64(power(8*bytes-1)) << 32}
}

// power returns x^n modulo the polynomial.
func power(n int) uint32 {
	p, square := One, One>>1
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = Multiply(p, square)
		}
		square = Multiply(square, square)
	}
	return p
}

// Blocks, the longest first. hash/crc32 handles input that is shorter than the last one.
var (
	wide   = [...]block{newBlock(32, 32, 6), newBlock(4, 32, 6)}
	narrow = [...]block{newBlock(48, 16, 6), newBlock(6, 16, 6)}
)

func update(sum uint32, p []byte) uint32 {
	switch {
	case useVPCLMULQDQ:
		return updateBlocks(sum, p, foldVPCLMULQDQ, &wide)
	case usePCLMULQDQ:
		return updateBlocks(sum, p, foldPCLMULQDQ, &narrow)
	}
	return updateGeneric(sum, p)
}

func updateBlocks(sum uint32, p []byte, fold fold, blocks *[2]block) uint32 {
	state := ^sum
	for i := range blocks {
		for b := &blocks[i]; len(p) >= b.bytes; p = p[b.bytes:] {
			state = fold(state, &p[0], b.iterations, &b.far[0])
		}
	}
	return crc32.Update(^state, table, p)
}

// copied is the block of copies.
var copied = newBlock(32, 32, 8)

// pastCache is the size in bytes from which a copy is not worth a place in the cache.
const pastCache = 1 << 20

func copyAll(sum uint32, dst, src []byte) uint32 {
	if racing || !useVPCLMULQDQ || len(src) < pastCache || uintptr(unsafe.Pointer(&dst[0]))%line != 0 {
		return copyGeneric(sum, dst, src)
	}
	state := ^sum
	for len(src) >= copied.bytes {
		_ = dst[copied.bytes-1]
		state = copyVPCLMULQDQ(state, &dst[0], &src[0], copied.iterations, &copied.far[0])
		dst, src = dst[copied.bytes:], src[copied.bytes:]
	}
	fence()
	return copyGeneric(^state, dst, src)
}
