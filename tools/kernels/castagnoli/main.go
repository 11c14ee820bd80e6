// Castagnoli writes the twins of internal/kernel/castagnoli with PCLMULQDQ and VPCLMULQDQ. Run
// it with
//
//	go generate ./internal/kernel/castagnoli
//
// A block is one part that is folded and three streams. The loop folds the part with
// carry-less multiplications, which move a polynomial of 128 bits over the bytes behind it, and
// checksums the streams with the CRC32 instruction, whose latency is three cycles. Both use
// different units of the processor, so that they run beside each other. At the end the folded
// polynomial goes through CRC32 too, and the four checksums are moved to the end of the block.
//
// The loop prefetches the next block, since memory serves one stream faster than four.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// accumulators are the vectors that are folded beside each other.
const accumulators = 4

func main() {
	ConstraintExpr("amd64,!purego")
	cpuid()
	vectors{name: "foldVPCLMULQDQ", width: 32, words: 6}.fold()
	vectors{name: "foldPCLMULQDQ", width: 16, words: 6}.fold()
	vectors{name: "copyVPCLMULQDQ", width: 32, words: 8, copies: true}.fold()
	fence()
	Generate()
}

// cpuid asks for the features of the seventh leaf.
func cpuid() {
	TEXT("features", NOSPLIT, "func() (ecx uint32)")
	Doc("features returns the third word of the processor's leaf 7, which it must have.")
	MOVL(U32(7), EAX)
	XORL(ECX, ECX)
	CPUID()
	Store(ECX, ReturnIndex(0))
	RET()
}

// fence orders stores.
func fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence lets other threads see what was stored past the cache.")
	SFENCE()
	RET()
}

// vectors are the vectors of one instruction set. An iteration takes one vector for each
// accumulator, and words of 8 bytes from each stream.
type vectors struct {
	name         string
	width, words int
	// copies also stores all bytes elsewhere, past the cache: an iteration takes whole cache lines.
	copies bool
}

func (v vectors) stride() int { return accumulators * v.width }

func (v vectors) register() VecVirtual {
	if v.width == 32 {
		return YMM()
	}
	return XMM()
}

// constant fills each lane of a vector with 16 bytes.
func (v vectors) constant(at Mem) VecVirtual {
	r := v.register()
	if v.width == 32 {
		VBROADCASTI128(at, r)
	} else {
		VMOVDQU(at, r)
	}
	return r
}

// move folds a over the distance of k, and adds what lies there.
func (v vectors) move(a, k VecVirtual, there Op) VecVirtual {
	low, high := v.register(), v.register()
	VPCLMULQDQ(Imm(0x00), k, a, low)
	VPCLMULQDQ(Imm(0x11), k, a, high)
	VPXOR(there, low, low)
	VPXOR(high, low, low)
	return low
}

func (v vectors) fold() {
	to := ""
	if v.copies {
		to = "dst, "
	}
	TEXT(v.name, NOSPLIT, "func(state uint32, "+to+"p *byte, iterations int, k *uint64) uint32")
	Doc(v.name + " returns the state behind a block of that many iterations, at least 1.")
	if v.copies {
		Doc(v.name+" copies a block of that many iterations, at least 1, to dst, which begins a cache line,", "and returns the state behind it. A fence must follow.")
	}
	Pragma("noescape")
	p, n, k := Load(Param("p"), GP64()), Load(Param("iterations"), GP64()), Load(Param("k"), GP64())
	var away Register // from a byte to its copy
	if v.copies {
		away = Load(Param("dst"), GP64())
		SUBQ(p, away)
	}
	store := func(vector VecVirtual, at Mem) {
		if v.copies {
			at.Index, at.Scale = away, 1
			VMOVNTDQ(vector, at)
		}
	}
	word := 8 * v.words

	// The streams lie behind stride*(iterations+1) bytes.
	length, b0, b1, b2 := GP64(), GP64(), GP64(), GP64()
	MOVQ(n, b0)
	IMUL3Q(U32(v.stride()), b0, b0)
	LEAQ(Mem{Base: b0, Index: p, Scale: 1, Disp: v.stride()}, b0)
	MOVQ(n, length)
	IMUL3Q(U32(word), length, length)
	LEAQ(Mem{Base: b0, Index: length, Scale: 1}, b1)
	LEAQ(Mem{Base: b1, Index: length, Scale: 1}, b2)
	next := length // block, which comes into the cache in the order of memory
	LEAQ(Mem{Base: b2, Index: length, Scale: 1}, next)

	var a [accumulators]VecVirtual
	for i := range a {
		a[i] = v.register()
		VMOVDQU(Mem{Base: p, Disp: i * v.width}, a[i])
		store(a[i], Mem{Base: p, Disp: i * v.width})
	}
	state, first := GP32(), XMM()
	Load(Param("state"), state)
	VMOVD(state, first)
	if v.width == 32 {
		VPXOR(first.AsY(), a[0], a[0])
	} else {
		VPXOR(first, a[0], a[0])
	}

	far := v.constant(Mem{Base: k})
	var sums [3]GPVirtual
	for i := range sums {
		sums[i] = GP64()
		XORQ(sums[i], sums[i])
	}
	Label(v.name + "Next")
	ADDQ(Imm(uint64(v.stride())), p)
	streams := [3]GPVirtual{b0, b1, b2}
	each := (v.words + accumulators - 1) / accumulators
	at := 0
	for i := range a {
		var there Op = Mem{Base: p, Disp: i * v.width}
		if v.copies {
			vector := v.register()
			VMOVDQU(there, vector)
			store(vector, there.(Mem))
			there = vector
		}
		moved := v.move(a[i], far, there)
		VMOVDQA(moved, a[i])
		for range each {
			if at == v.words {
				break
			}
			for s := range streams {
				CRC32Q(Mem{Base: streams[s], Disp: 8 * at}, sums[s])
			}
			at++
		}
	}
	for s := range streams {
		for at := 0; v.copies && at < word; at += v.width {
			vector := v.register()
			VMOVDQU(Mem{Base: streams[s], Disp: at}, vector)
			store(vector, Mem{Base: streams[s], Disp: at})
		}
	}
	for i := 0; i < v.stride()+3*word; i += 64 {
		PREFETCHT0(Mem{Base: next, Disp: i})
	}
	ADDQ(U32(v.stride()+3*word), next)
	for s := range streams {
		ADDQ(Imm(uint64(word)), streams[s])
	}
	DECQ(n)
	JNZ(LabelRef(v.name + "Next"))

	// The accumulators become one, its lanes too.
	near := v.constant(Mem{Base: k, Disp: 16})
	for i := range accumulators - 1 {
		a[i+1] = v.move(a[i], near, a[i+1])
	}
	last := a[accumulators-1].AsX()
	if v.width == 32 {
		narrow := vectors{width: 16}
		high := XMM()
		VEXTRACTI128(Imm(1), a[accumulators-1], high)
		last = narrow.move(last.(VecVirtual), narrow.constant(Mem{Base: k, Disp: 32}), high)
	}
	word64, folded := GP64(), GP64()
	XORQ(folded, folded)
	VMOVQ(last, word64)
	CRC32Q(word64, folded)
	VPEXTRQ(Imm(1), last, word64)
	CRC32Q(word64, folded)

	// Products of 63 bits move the first three over what is behind them; CRC32 reduces their sum.
	sum, factor := XMM(), XMM()
	VMOVQ(folded, sum)
	VPCLMULQDQ(Imm(0), Mem{Base: k, Disp: 48}, sum, sum)
	for i, disp := range []int{56, 64} {
		term := XMM()
		VMOVQ(sums[i], term)
		VMOVQ(Mem{Base: k, Disp: disp}, factor)
		VPCLMULQDQ(Imm(0), factor, term, term)
		VPXOR(term, sum, sum)
	}
	VMOVQ(sum, word64)
	XORQ(folded, folded)
	CRC32Q(word64, folded)
	XORQ(sums[2], folded)
	Store(folded.As32(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}
