// Video writes the vector code of codec/video: for AVX2, as that package's generic functions
// compute, bit for bit.
//
//	go run ./kernels/video -out ../codec/video/kernels_amd64.s -stubs ../codec/video/stubs_amd64.go -pkg video
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/bivouac-ml/bivouac/tools/kernels/rgb"
)

func main() {
	ConstraintExpr("!purego")
	columnSums()
	widenRow()
	toRGB()
	Generate()
}

// words is a constant of 16 words.
func words(name string, v int) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(2*i, U16(uint16(int16(v))))
	}
	return m
}

// columnSums adds three times a row and another one, 16 samples at a time.
func columnSums() {
	TEXT("columnSumsAVX2", NOSPLIT, "func(sums *int16, near, far *byte, n int)")
	Doc("columnSumsAVX2 is columnSumsGeneric for n samples, a multiple of 16.")
	sums, near, far := Load(Param("sums"), GP64()), Load(Param("near"), GP64()), Load(Param("far"), GP64())
	n := Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	Label("sums")
	CMPQ(i, n)
	JGE(LabelRef("sumsDone"))
	a, b, c := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: near, Index: i, Scale: 1}, a)
	VPMOVZXBW(Mem{Base: far, Index: i, Scale: 1}, b)
	VPADDW(a, a, c)
	VPADDW(a, c, c)
	VPADDW(b, c, c)
	VMOVDQU(c, Mem{Base: sums, Index: i, Scale: 2})
	ADDQ(Imm(16), i)
	JMP(LabelRef("sums"))
	Label("sumsDone")
	VZEROUPPER()
	RET()
}

// widenRow makes two numbers of each sum.
func widenRow() {
	middle := words("middle", 2048)
	TEXT("widenRowAVX2", NOSPLIT, "func(dst, sums *int16, n int)")
	Doc("widenRowAVX2 is widenRowGeneric for n sums, a multiple of 16; there is one sum before and behind them.")
	dst, sums, n := Load(Param("dst"), GP64()), Load(Param("sums"), GP64()), Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	m := YMM()
	VMOVDQU(middle, m)
	Label("widen")
	CMPQ(i, n)
	JGE(LabelRef("widenDone"))
	v, three, l, r := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: sums, Index: i, Scale: 2}, v)
	VPADDW(v, v, three)
	VPADDW(v, three, three)
	VPSUBW(m, three, three)
	VPADDW(Mem{Base: sums, Index: i, Scale: 2, Disp: -2}, three, l)
	VPADDW(Mem{Base: sums, Index: i, Scale: 2, Disp: 2}, three, r)
	lo, hi, first := YMM(), YMM(), YMM()
	VPUNPCKLWD(r, l, lo)
	VPUNPCKHWD(r, l, hi)
	VPERM2I128(Imm(0x20), hi, lo, first)
	VPERM2I128(Imm(0x31), hi, lo, hi)
	VMOVDQU(first, Mem{Base: dst, Index: i, Scale: 4})
	VMOVDQU(hi, Mem{Base: dst, Index: i, Scale: 4, Disp: 32})
	ADDQ(Imm(16), i)
	JMP(LabelRef("widen"))
	Label("widenDone")
	VZEROUPPER()
	RET()
}

// toRGB converts 16 pixels at a time.
func toRGB() {
	half := words("half", 16)
	masks := rgb.NewMasks()
	TEXT("toRGBAVX2", NOSPLIT, "func(dst, luma *byte, us, vs, factors *int16, n int)")
	Doc("toRGBAVX2 is matrix.convertGeneric for n pixels, a multiple of 16.")
	dst, luma := Load(Param("dst"), GP64()), Load(Param("luma"), GP64())
	us, vs := Load(Param("us"), GP64()), Load(Param("vs"), GP64())
	n, m := Load(Param("n"), GP64()), Load(Param("factors"), GP64())
	field := func(i int) reg.VecVirtual {
		r := YMM()
		VPBROADCASTW(Mem{Base: m, Disp: 2 * i}, r)
		return r
	}
	scale, offset, red, greenU, greenV, blue := field(0), field(1), field(2), field(3), field(4), field(5)
	i := GP64()
	XORQ(i, i)
	Label("rgb")
	CMPQ(i, n)
	JGE(LabelRef("rgbDone"))
	y, u, v := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: luma, Index: i, Scale: 1}, y)
	VPSUBW(offset, y, y)
	VPSLLW(Imm(7), y, y)
	VPMULHRSW(scale, y, y)
	VPADDW(half, y, y)
	VMOVDQU(Mem{Base: us, Index: i, Scale: 2}, u)
	VMOVDQU(Mem{Base: vs, Index: i, Scale: 2}, v)
	VPSLLW(Imm(3), u, u)
	VPSLLW(Imm(3), v, v)
	r, g, b := YMM(), YMM(), YMM()
	VPMULHRSW(red, v, r)
	VPADDW(y, r, r)
	VPMULHRSW(greenU, u, g)
	VPSUBW(g, y, g)
	VPMULHRSW(greenV, v, v)
	VPSUBW(v, g, g)
	VPMULHRSW(blue, u, b)
	VPADDW(y, b, b)
	masks.Store(dst, [3]reg.VecVirtual{r, g, b}, 5)
	ADDQ(Imm(16), i)
	JMP(LabelRef("rgb"))
	Label("rgbDone")
	VZEROUPPER()
	RET()
}
