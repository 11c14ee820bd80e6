// Feistel writes the twins of internal/kernel/feistel in AVX2 and AVX-512. Run it there
// with
//
//	go generate ./internal/kernel/feistel
//
// A 64-bit product of a = k^x, with x below 2^32, and m is made of 32-bit ones:
//
//	low(a)*low(m) + (low(a)*high(m) + high(k)*low(m))<<32
//
// of which the last product is the same for all lanes of a round. AVX-512 has the
// product itself.
//
// A sum modulo radix is the smaller one of the sum and the sum less radix, which wraps
// around where the sum is below radix. That is done with 32 bits, since AVX2 has no
// minimum of 64.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	vectors = 4 // that go through the rounds together
	lanes   = 4 // of a vector
)

func main() {
	ConstraintExpr("amd64,!purego")
	mixer := constants{ConstData("mixerLow", U64(0x133111EB)), ConstData("mixerHigh", U64(0x94D049BB)), ConstData("mixerWhole", U64(0x94D049BB133111EB))}
	for _, n := range []network{{name: "map", left: "lmask"}, {name: "mixed", left: "radix", mixed: true}} {
		n.avx2(mixer)
		n.avx512(mixer)
	}
	Generate()
}

// constants are the multiplier of the round function: its halves, and whole.
type constants struct{ low, high, whole Mem }

// network is one of the two networks: left is the parameter that keeps left halves within
// their bounds, a mask, or the radix of mixed ones.
type network struct {
	name, left string
	mixed      bool
}

// begin opens a function.
func (n network) begin(set string) {
	TEXT(n.name+set, NOSPLIT, "func(x *int64, blocks int, rounds *uint64, pairs int, shift uint, "+n.left+", rmask uint64)")
	Doc(n.name + set + " maps 16*blocks indices in place, through 2*pairs rounds, at least 2.")
	Pragma("noescape")
}

func (n network) avx2(c constants) {
	n.begin("AVX2")
	x, blocks := Load(Param("x"), GP64()), Load(Param("blocks"), GP64())
	rounds, pairs := Load(Param("rounds"), GP64()), Load(Param("pairs"), GP64())

	bounds := AllocLocal(96)
	lbound, rmask, mixer := bounds, bounds.Offset(32), bounds.Offset(64)
	spread(param(n.left), lbound)
	spread(param("rmask"), rmask)
	spread(c.high, mixer)
	mixLow := YMM()
	VPBROADCASTQ(c.low, mixLow)

	Label("block")
	TESTQ(blocks, blocks)
	JZ(LabelRef("done"))
	var left, right [vectors]VecVirtual
	shift := loadShift()
	for v := range vectors {
		left[v], right[v] = YMM(), YMM()
		at := Mem{Base: x, Disp: 8 * lanes * v}
		VMOVDQU(at, right[v])
		VPSRLQ(shift, right[v], left[v])
		VPAND(rmask, right[v], right[v])
	}
	at, left2 := GP64(), GP64()
	MOVQ(rounds, at)
	MOVQ(pairs, left2)
	Label("pair")
	round(at, 0, mixLow, mixer, right, func(v int, hash VecVirtual) {
		if n.mixed {
			VPMULUDQ(lbound, hash, hash)
			VPSRLQ(Imm(32), hash, hash)
			VPADDQ(hash, left[v], left[v])
			VPSUBD(lbound, left[v], hash)
			VPMINUD(hash, left[v], left[v])
			return
		}
		VPAND(lbound, hash, hash)
		VPXOR(hash, left[v], left[v])
	})
	round(at, 16, mixLow, mixer, left, func(v int, hash VecVirtual) {
		VPAND(rmask, hash, hash)
		VPXOR(hash, right[v], right[v])
	})
	ADDQ(Imm(32), at)
	DECQ(left2)
	JNZ(LabelRef("pair"))
	shift = loadShift()
	for v := range vectors {
		VPSLLQ(shift, left[v], left[v])
		VPOR(right[v], left[v], left[v])
		VMOVDQU(left[v], Mem{Base: x, Disp: 8 * lanes * v})
	}
	ADDQ(Imm(8*lanes*vectors), x)
	DECQ(blocks)
	JMP(LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

// loadShift reads the shift anew wherever it is used: the rounds need all 16 registers that AVX2
// has, and avo silently takes a register of AVX-512 for a seventeenth value.
func loadShift() VecVirtual {
	shift := XMM()
	VMOVQ(param("shift"), shift)
	return shift
}

// spread fills 32 bytes with a word.
func spread(word, to Mem) {
	v := YMM()
	VPBROADCASTQ(word, v)
	VMOVDQU(v, to)
}

func param(name string) Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// round hands the round function of from, in the low 32 bits of each lane, to use.
func round(at GPVirtual, disp int, mixLow VecVirtual, mixHigh Mem, from [vectors]VecVirtual, use func(v int, hash VecVirtual)) {
	k, m, high, same := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTQ(Mem{Base: at, Disp: disp}, k)
	VPBROADCASTQ(Mem{Base: at, Disp: disp + 8}, m)
	VPSRLQ(Imm(32), m, high)
	VPSRLQ(Imm(32), k, same)
	VPMULUDQ(m, same, same)
	for v := range vectors {
		a, b := YMM(), YMM()
		VPXOR(k, from[v], a)
		VPMULUDQ(high, a, b)
		VPMULUDQ(m, a, a)
		VPADDQ(same, b, b)
		VPSLLQ(Imm(32), b, b)
		VPADDQ(b, a, a) // h
		VPSRLQ(Imm(32), a, b)
		VPXOR(b, a, a) // h ^ h>>32
		VPMULUDQ(mixLow, b, b)
		c := YMM()
		VPMULUDQ(mixHigh, a, c)
		VPMULUDQ(mixLow, a, a)
		VPADDQ(c, b, b)
		VPSRLQ(Imm(32), a, a)
		VPADDQ(b, a, a)
		use(v, a)
	}
}

// avx512 maps the same 16 indices in two vectors.
func (n network) avx512(c constants) {
	const lanes, vectors = 8, 2
	n.begin("AVX512")
	x, blocks := Load(Param("x"), GP64()), Load(Param("blocks"), GP64())
	rounds, pairs := Load(Param("rounds"), GP64()), Load(Param("pairs"), GP64())
	shift := XMM()
	VMOVQ(param("shift"), shift)
	lbound, rmask, mixer := ZMM(), ZMM(), ZMM()
	VPBROADCASTQ(param(n.left), lbound)
	VPBROADCASTQ(param("rmask"), rmask)
	VPBROADCASTQ(c.whole, mixer)

	Label("block512")
	TESTQ(blocks, blocks)
	JZ(LabelRef("done512"))
	var left, right [vectors]VecVirtual
	for v := range vectors {
		left[v], right[v] = ZMM(), ZMM()
		VMOVDQU64(Mem{Base: x, Disp: 8 * lanes * v}, right[v])
		VPSRLQ(shift, right[v], left[v])
		VPANDQ(rmask, right[v], right[v])
	}
	at, count := GP64(), GP64()
	MOVQ(rounds, at)
	MOVQ(pairs, count)
	Label("pair512")
	half := func(disp int, from [vectors]VecVirtual, use func(v int, hash VecVirtual)) {
		k, m := ZMM(), ZMM()
		VPBROADCASTQ(Mem{Base: at, Disp: disp}, k)
		VPBROADCASTQ(Mem{Base: at, Disp: disp + 8}, m)
		for v := range vectors {
			a, b := ZMM(), ZMM()
			VPXORQ(k, from[v], a)
			VPMULLQ(m, a, a)
			VPSRLQ(Imm(32), a, b)
			VPXORQ(b, a, a)
			VPMULLQ(mixer, a, a)
			VPSRLQ(Imm(32), a, a)
			use(v, a)
		}
	}
	half(0, right, func(v int, hash VecVirtual) {
		if n.mixed {
			VPMULUDQ(lbound, hash, hash)
			VPSRLQ(Imm(32), hash, hash)
			VPADDQ(hash, left[v], left[v])
			VPSUBD(lbound, left[v], hash)
			VPMINUD(hash, left[v], left[v])
			return
		}
		VPANDQ(lbound, hash, hash)
		VPXORQ(hash, left[v], left[v])
	})
	half(16, left, func(v int, hash VecVirtual) {
		VPANDQ(rmask, hash, hash)
		VPXORQ(hash, right[v], right[v])
	})
	ADDQ(Imm(32), at)
	DECQ(count)
	JNZ(LabelRef("pair512"))
	for v := range vectors {
		VPSLLQ(shift, left[v], left[v])
		VPORQ(right[v], left[v], left[v])
		VMOVDQU64(left[v], Mem{Base: x, Disp: 8 * lanes * v})
	}
	ADDQ(Imm(8*lanes*vectors), x)
	DECQ(blocks)
	JMP(LabelRef("block512"))
	Label("done512")
	VZEROUPPER()
	RET()
}
