// Image writes the AVX2 twins of internal/kernel. Run it there with
//
//	go generate ./internal/kernel
//
// Each of its functions is the loop of one kernel over whole vectors; wrappers in Go
// call them with as many elements as fill some, and begin the last vector earlier
// where the rest does not. Elements are computed by the operations of the generic
// twin in its order, multiplications and additions by instructions of their own.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	widen()
	roundBytes("roundBytesAVX2", false)
	roundBytes("roundBytesAwayAVX2", true)
	floats := func(m Mem, v VecVirtual) { VMOVUPS(m, v) }
	bytes := func(m Mem, v VecVirtual) {
		VPMOVZXBD(m, v)
		VCVTDQ2PS(v, v)
	}
	weigh("weighFloatsAVX2", 4, floats, false)
	weigh("weighBytesAVX2", 1, bytes, false)
	weigh("fuseFloatsAVX2", 4, floats, true)
	weigh("fuseBytesAVX2", 1, bytes, true)
	correlate("correlateFloatsAVX2", 4, 2, floats, false)
	correlate("correlateBytesAVX2", 1, 2, bytes, false)
	correlate("correlateFusedFloatsAVX2", 4, 3, floats, true)
	correlate("correlateFusedBytesAVX2", 1, 3, bytes, true)
	gather()
	normalize()
	gray()
	bayer("bayerAVX2", 1, false)
	bayer("bayerEdgesAVX2", 1, true)
	bayer("bayerWordsAVX2", 2, false)
	bayer("bayerEdgesWordsAVX2", 2, true)
	bayerGrayPairs()
	bayerGrayWords()
	gradients()
	gradual()
	project()
	cells("cellsAVX2", 1)   // down
	cells("nearestAVX2", 0) // half to even
	blend()
	blendTypes()
	projectUnits()
	blendCoarse()
	copyPixels()
	leading()
	roundWords("roundWordsAVX2", "uint16", 0, 1<<16-1, VPACKUSDW)
	roundWords("roundShortsAVX2", "int16", -1<<15, 1<<15-1, VPACKSSDW)
	projectDoubles()
	cubicWeights("cubicWeightsAVX2", false)
	cubicWeights("cubicWeightsSecondAVX2", true)
	cubicSums()
	look()
	look3()
	labSplit()
	labMerge()
	Generate()
}

const vector = 8 // float32 in a register

func widen() {
	TEXT("widenAVX2", NOSPLIT, "func(dst *float32, src *byte, n int)")
	Doc("widenAVX2 converts n bytes, at least 8.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	eachVector(n, 1, func(i Register, _ int) {
		VPMOVZXBD(Mem{Base: src, Index: i, Scale: 1}, v)
		VCVTDQ2PS(v, v)
		VMOVUPS(v, Mem{Base: dst, Index: i, Scale: 4})
	})
	VZEROUPPER()
	RET()
}

// eachVector calls body for the start of every vector of n elements, and for the start of the last
// vector, which ends with them.
func eachVector(n Register, unroll int, body func(i Register, vectors int)) {
	i, end := GP64(), GP64()
	XORQ(i, i)
	for _, vectors := range []int{unroll, 1} {
		width := vectors * vector
		loop, done := label("loop"), label("done")
		MOVQ(n, end)
		SUBQ(Imm(uint64(width)), end)
		Label(loop)
		CMPQ(i, end)
		JG(LabelRef(done))
		body(i, vectors)
		ADDQ(Imm(uint64(width)), i)
		JMP(LabelRef(loop))
		Label(done)
		if unroll == 1 {
			break
		}
	}
	last := label("last")
	CMPQ(i, n)
	JE(LabelRef(last))
	MOVQ(n, i)
	SUBQ(Imm(vector), i)
	body(i, 1)
	Label(last)
}

var labels int

func label(name string) string {
	labels++
	return name + string(rune('A'+labels/26)) + string(rune('a'+labels%26))
}

// roundBytes writes the kernel that rounds half to even, or half away from zero.
func roundBytes(name string, away bool) {
	TEXT(name, NOSPLIT, "func(dst *byte, src *float32, blocks int)")
	Doc(name + " converts 32*blocks elements.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("blocks"), GP64())
	zero, top, order := YMM(), YMM(), YMM()
	VXORPS(zero, zero, zero)
	VBROADCASTSS(ConstData(name+"Top", F32(255)), top)
	half, one, whole := YMM(), YMM(), YMM()
	if away {
		VBROADCASTSS(ConstData(name+"Half", F32(0.5)), half)
		VBROADCASTSS(ConstData(name+"One", F32(1)), one)
	}
	lanes := GLOBL(name+"Lanes", RODATA|NOPTR)
	for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(v))
	}
	VMOVDQU(lanes, order)
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
	}
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	for i := range v {
		VMOVUPS(Mem{Base: src, Disp: 32 * i}, v[i])
		VMAXPS(zero, v[i], v[i]) // NaN becomes 0
		VMINPS(top, v[i], v[i])
		if away { // the whole part, and one more from half on
			VROUNDPS(Imm(3), v[i], whole)
			VSUBPS(whole, v[i], v[i])
			VCMPPS(Imm(13), half, v[i], v[i])
			VANDPS(one, v[i], v[i])
			VADDPS(v[i], whole, v[i])
		}
		VCVTPS2DQ(v[i], v[i])
	}
	VPACKSSDW(v[1], v[0], v[0])
	VPACKSSDW(v[3], v[2], v[2])
	VPACKUSWB(v[2], v[0], v[0])
	VPERMD(v[0], order, v[0])
	VMOVDQU(v[0], Mem{Base: dst})
	ADDQ(Imm(128), src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// weigh writes a kernel that adds weighted rows of elements of size bytes. If fused is set, each
// product is added without rounding it first.
func weigh(name string, size int, load func(Mem, VecVirtual), fused bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, base *byte, offsets *int, weights *float32, n, rows int)")
	Doc(name + " computes n elements, at least 8.")
	Pragma("noescape")
	dst, base := Load(Param("dst"), GP64()), Load(Param("base"), GP64())
	offsets, weights := Load(Param("offsets"), GP64()), Load(Param("weights"), GP64())
	n, rows := Load(Param("n"), GP64()), Load(Param("rows"), GP64())
	const unroll = 4
	var sum, term [unroll]VecVirtual
	for i := range sum {
		sum[i], term[i] = YMM(), YMM()
	}
	w, k, at := YMM(), GP64(), GP64()
	eachVector(n, unroll, func(i Register, vectors int) {
		row := func() {
			MOVQ(Mem{Base: offsets, Index: k, Scale: 8}, at)
			ADDQ(i, at)
			VBROADCASTSS(Mem{Base: weights, Index: k, Scale: 4}, w)
			for v := range vectors {
				load(Mem{Base: base, Index: at, Scale: uint8(size), Disp: v * vector * size}, term[v])
			}
		}
		XORQ(k, k)
		row()
		for v := range vectors {
			VMULPS(w, term[v], sum[v])
		}
		next, done := label("row"), label("rows")
		Label(next)
		INCQ(k)
		CMPQ(k, rows)
		JGE(LabelRef(done))
		row()
		for v := range vectors {
			if fused {
				VFMADD231PS(w, term[v], sum[v])
				continue
			}
			VMULPS(w, term[v], term[v])
			VADDPS(term[v], sum[v], sum[v])
		}
		JMP(LabelRef(next))
		Label(done)
		for v := range vectors {
			VMOVUPS(sum[v], Mem{Base: dst, Index: i, Scale: 4, Disp: 32 * v})
		}
	})
	VZEROUPPER()
	RET()
}

// unrolled is up to how many taps gather has a loop without counting.
const unrolled = 8

// gather writes the kernels of pixels of 3 and 4 floats: a loop for each small number
// of taps and one for more.
func gather() {
	for _, channels := range []int{3, 4} {
		pixel := 4 * channels
		TEXT("gather"+string(rune('0'+channels))+"AVX2", NOSPLIT, "func(dst, src *float32, first *int32, weights *float32, n, taps int)")
		Doc("gather" + string(rune('0'+channels)) + "AVX2 computes n pixels, at least one, of which it reads and writes 16 bytes.")
		Pragma("noescape")
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		first, weights := Load(Param("first"), GP64()), Load(Param("weights"), GP64())
		n, taps := Load(Param("n"), GP64()), Load(Param("taps"), GP64())
		at, k := GP64(), GP64()
		sum, term := XMM(), XMM()
		start := func() {
			MOVLQSX(Mem{Base: first}, at)
			if channels == 3 {
				LEAQ(Mem{Base: at, Index: at, Scale: 2}, at)
				LEAQ(Mem{Base: src, Index: at, Scale: 4}, at)
			} else {
				SHLQ(Imm(4), at)
				ADDQ(src, at)
			}
			VBROADCASTSS(Mem{Base: weights}, sum)
			VMULPS(Mem{Base: at}, sum, sum)
		}
		add := func(tap int) {
			VBROADCASTSS(Mem{Base: weights, Disp: 4 * tap}, term)
			VMULPS(Mem{Base: at, Disp: pixel * tap}, term, term)
			VADDPS(term, sum, sum)
		}
		store := func() {
			VMOVUPS(sum, Mem{Base: dst})
			ADDQ(Imm(uint64(pixel)), dst)
			ADDQ(Imm(4), first)
			DECQ(n)
		}
		for t := 1; t <= unrolled; t++ {
			other := label("other")
			CMPQ(taps, Imm(uint64(t)))
			JNE(LabelRef(other))
			loop := label("pixel")
			Label(loop)
			start()
			for k := 1; k < t; k++ {
				add(k)
			}
			ADDQ(Imm(uint64(4*t)), weights)
			store()
			JNE(LabelRef(loop))
			RET()
			Label(other)
		}
		loop, tap := label("pixel"), label("tap")
		Label(loop)
		start()
		MOVQ(taps, k)
		DECQ(k)
		Label(tap)
		ADDQ(Imm(4), weights)
		ADDQ(Imm(uint64(pixel)), at)
		add(0)
		DECQ(k)
		JNE(LabelRef(tap))
		ADDQ(Imm(4), weights)
		store()
		JNE(LabelRef(loop))
		RET()
	}
}

func normalize() {
	TEXT("normalizeAVX2", NOSPLIT, "func(dst *float32, stride int, src *byte, blocks, step int, masks *[6][16]byte, mean, factor *[3]float32)")
	Doc("normalizeAVX2 splits 8*blocks pixels; stride and step, from block to block, are in bytes.")
	Pragma("noescape")
	dst, stride, src := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("src"), GP64())
	n, step := Load(Param("blocks"), GP64()), Load(Param("step"), GP64())
	masks, mean, factor := Load(Param("masks"), GP64()), Load(Param("mean"), GP64()), Load(Param("factor"), GP64())
	var mask [6]VecVirtual
	var sub, mul [3]VecVirtual
	for i := range mask {
		mask[i] = XMM()
		VMOVDQU(Mem{Base: masks, Disp: 16 * i}, mask[i])
	}
	for c := range sub {
		sub[c], mul[c] = YMM(), YMM()
		VBROADCASTSS(Mem{Base: mean, Disp: 4 * c}, sub[c])
		VBROADCASTSS(Mem{Base: factor, Disp: 4 * c}, mul[c])
	}
	low, high, at := XMM(), XMM(), GP64()
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	MOVQ(dst, at)
	for c := range sub {
		VMOVDQU(Mem{Base: src}, low)
		VMOVDQU(Mem{Base: src, Disp: 8}, high)
		VPSHUFB(mask[2*c], low, low)
		VPSHUFB(mask[2*c+1], high, high)
		VPOR(high, low, low)
		v := low.AsY()
		VPMOVZXBD(low, v)
		VCVTDQ2PS(v, v)
		VSUBPS(sub[c], v, v)
		VMULPS(mul[c], v, v)
		VMOVUPS(v, Mem{Base: at})
		ADDQ(stride, at)
	}
	ADDQ(Imm(24), src)
	ADDQ(step, dst)
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
