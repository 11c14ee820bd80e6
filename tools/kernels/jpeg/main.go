// Jpeg writes the vector code of codec/jpeg/internal/pure: for AVX2, as that package's
// generic functions compute, bit for bit.
//
//	go run ./kernels/jpeg -out ../codec/jpeg/internal/pure/kernels_amd64.s -stubs ../codec/jpeg/internal/pure/stubs_amd64.go -pkg pure
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/bivouac-ml/bivouac/tools/kernels/rgb"
)

func main() {
	ConstraintExpr("!purego")
	k := butterfly()
	inverse(k)
	columnSums()
	widenRow()
	toRGB()
	quantize(k)
	fromRGB()
	halve()
	Generate()
}

// words is a constant of 16 words, two of them alternating.
func words(name string, a, b int) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(uint16(int16(a)))|uint32(uint16(int16(b)))<<16))
	}
	return m
}

func dwords(name string, v uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(v))
	}
	return m
}

// factor returns a factor of the transform, times 2^13, by its digits: 541 is 0.541….
// The generic code declares the factors; its package is internal to the other module.
func factor(digits int) int {
	source, err := os.ReadFile("../codec/jpeg/internal/pure/idct.go")
	if err != nil {
		panic(err)
	}
	m := regexp.MustCompile(fmt.Sprintf(`(?m)^\tf%04d = (\d+)$`, digits)).FindSubmatch(source)
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		panic(err)
	}
	return n
}

// constants of the butterfly, as pairs for multiply-and-add.
type constants struct{ t2, t3, z3, z4, t0, t3o, t1, t2o, round1, round2 Mem }

func butterfly() constants {
	f := factor
	return constants{
		t3: words("t3", f(541)+f(765), f(541)), t2: words("t2", f(541), f(541)-f(1847)),
		z3: words("z3", f(1175)-f(1961), f(1175)), z4: words("z4", f(1175), f(1175)-f(390)),
		t0: words("t0", f(298)-f(899), -f(899)), t3o: words("t3o", -f(899), f(1501)-f(899)),
		t1: words("t1", f(2053)-f(2562), -f(2562)), t2o: words("t2o", -f(2562), f(3072)-f(2562)),
		round1: dwords("round1", 1<<10), round2: dwords("round2", 1<<17),
	}
}

func inverse(k constants) {
	center := GLOBL("center", RODATA|NOPTR)
	DATA(0, U64(0x8080808080808080))
	DATA(8, U64(0x8080808080808080))

	TEXT("inverseAVX2", NOSPLIT, "func(dst *byte, stride int, blk *[64]int16, q *[64]uint16)")
	Doc("inverseAVX2 is inverseGeneric; dst must have 8 bytes at each of 8 rows.")
	dst, stride := Load(Param("dst"), GP64()), Load(Param("stride"), GP64())
	blk, q := Load(Param("blk"), GP64()), Load(Param("q"), GP64())
	rows := make([]reg.VecVirtual, 8)
	rest := XMM()
	VMOVDQU(Mem{Base: blk, Disp: 16}, rest)
	for i := 2; i < 8; i++ {
		VPOR(Mem{Base: blk, Disp: 16 * i}, rest, rest)
	}
	for i := range rows {
		rows[i] = XMM()
		VMOVDQU(Mem{Base: blk, Disp: 16 * i}, rows[i])
		VPMULLW(Mem{Base: q, Disp: 16 * i}, rows[i], rows[i])
	}
	first := rows[0]
	VPTEST(rest, rest)
	JZ(LabelRef("means"))
	pass(rows, k, k.round1, 11)
	transpose(rows)
	JMP(LabelRef("second"))

	Label("means")
	{
		lo, hi := XMM(), XMM()
		VPSLLW(Imm(2), first, lo)
		VPUNPCKHWD(lo, lo, hi)
		VPUNPCKLWD(lo, lo, lo)
		for i := range 4 {
			sel := uint8(i * 0x55)
			VPSHUFD(Imm(uint64(sel)), lo, rows[i])
			VPSHUFD(Imm(uint64(sel)), hi, rows[4+i])
		}
	}
	Label("second")
	pass(rows, k, k.round2, 18)
	transpose(rows)
	for i := 0; i < 8; i += 2 {
		VPACKSSWB(rows[i+1], rows[i], rows[i])
		VPADDB(center, rows[i], rows[i])
		VMOVQ(rows[i], Mem{Base: dst})
		VPEXTRQ(Imm(1), rows[i], Mem{Base: dst, Index: stride, Scale: 1})
		if i < 6 {
			LEAQ(Mem{Base: dst, Index: stride, Scale: 2}, dst)
		}
	}
	VZEROUPPER()
	RET()
}

// pass transforms the columns of rows, and rounds and shifts the results to words.
func pass(in []reg.VecVirtual, k constants, round Mem, shift uint64) {
	pair := func(a, b reg.VecVirtual) reg.VecVirtual { // words of a and b by turns
		lo, hi := YMM(), XMM()
		VPUNPCKLWD(b, a, lo.AsX())
		VPUNPCKHWD(b, a, hi)
		VINSERTI128(Imm(1), hi, lo, lo)
		return lo
	}
	madd := func(a reg.VecVirtual, c Mem) reg.VecVirtual {
		out := YMM()
		VPMADDWD(c, a, out)
		return out
	}
	add := func(a, b reg.VecVirtual) { VPADDD(b, a, a) }

	p26 := pair(in[2], in[6])
	t2, t3 := madd(p26, k.t2), madd(p26, k.t3)
	sum, difference := XMM(), XMM()
	VPADDW(in[4], in[0], sum)
	VPSUBW(in[4], in[0], difference)
	t0, t1 := YMM(), YMM()
	VPMOVSXWD(sum, t0)
	VPMOVSXWD(difference, t1)
	VPSLLD(Imm(13), t0, t0)
	VPSLLD(Imm(13), t1, t1)
	var even [4]reg.VecVirtual
	for i := range even {
		even[i] = YMM()
	}
	VPADDD(t3, t0, even[0])
	VPSUBD(t3, t0, even[3])
	VPADDD(t2, t1, even[1])
	VPSUBD(t2, t1, even[2])
	for i := range even {
		VPADDD(round, even[i], even[i])
	}

	x3, x4 := XMM(), XMM()
	VPADDW(in[3], in[7], x3)
	VPADDW(in[1], in[5], x4)
	p34 := pair(x3, x4)
	z3, z4 := madd(p34, k.z3), madd(p34, k.z4)
	p71 := pair(in[7], in[1])
	p53 := pair(in[5], in[3])
	odd := [4]reg.VecVirtual{madd(p71, k.t3o), madd(p53, k.t2o), madd(p53, k.t1), madd(p71, k.t0)}
	add(odd[0], z4)
	add(odd[1], z3)
	add(odd[2], z4)
	add(odd[3], z3)
	for i := range 4 { // outputs i and 7-i
		up, down := YMM(), YMM()
		VPADDD(odd[i], even[i], up)
		VPSUBD(odd[i], even[i], down)
		VPSRAD(Imm(shift), up, up)
		VPSRAD(Imm(shift), down, down)
		VPACKSSDW(down, up, up)
		VPERMQ(Imm(0xd8), up, up)
		VEXTRACTI128(Imm(1), up, in[7-i])
		VMOVDQA(up.AsX(), in[i])
	}
}

// transpose turns 8 rows of 8 words into columns.
func transpose(r []reg.VecVirtual) {
	step := func(lo, hi func(a, b, out reg.VecVirtual), pairs [4][2]int, to [4][2]int) {
		out := make([]reg.VecVirtual, 8)
		for i, p := range pairs {
			out[to[i][0]], out[to[i][1]] = XMM(), XMM()
			lo(r[p[1]], r[p[0]], out[to[i][0]])
			hi(r[p[1]], r[p[0]], out[to[i][1]])
		}
		copy(r, out)
	}
	wd := func(f func(ops ...Op)) func(a, b, out reg.VecVirtual) {
		return func(a, b, out reg.VecVirtual) { f(a, b, out) }
	}
	step(wd(VPUNPCKLWD), wd(VPUNPCKHWD), [4][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, [4][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}})
	step(wd(VPUNPCKLDQ), wd(VPUNPCKHDQ), [4][2]int{{0, 2}, {1, 3}, {4, 6}, {5, 7}}, [4][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}})
	step(wd(VPUNPCKLQDQ), wd(VPUNPCKHQDQ), [4][2]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, [4][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}})
}

// columnSums adds three times a row and another one, 16 samples at a time.
func columnSums() {
	TEXT("columnSumsAVX2", NOSPLIT, "func(sums *int16, src, far *byte, n int)")
	Doc("columnSumsAVX2 is columnSumsGeneric for n samples, a multiple of 16.")
	sums, src, far := Load(Param("sums"), GP64()), Load(Param("src"), GP64()), Load(Param("far"), GP64())
	n := Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	Label("sums")
	CMPQ(i, n)
	JGE(LabelRef("sumsDone"))
	a, b, c := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: src, Index: i, Scale: 1}, a)
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

// widenRow makes two samples of each sum, from the second one on.
func widenRow() {
	even, odd := words("evenBias", 8, 8), words("oddBias", 7, 7)
	TEXT("widenRowAVX2", NOSPLIT, "func(dst *byte, sums *int16, n int)")
	Doc("widenRowAVX2 is widenRowGeneric for the n sums behind the first, a multiple of 16; dst and sums are at the first.")
	dst, sums, n := Load(Param("dst"), GP64()), Load(Param("sums"), GP64()), Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	e, o := YMM(), YMM()
	VMOVDQU(even, e)
	VMOVDQU(odd, o)
	Label("widen")
	CMPQ(i, n)
	JGE(LabelRef("widenDone"))
	v, three, l, r := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: sums, Index: i, Scale: 2, Disp: 2}, v)
	VPADDW(v, v, three)
	VPADDW(v, three, three)
	VPADDW(Mem{Base: sums, Index: i, Scale: 2}, three, l)
	VPADDW(Mem{Base: sums, Index: i, Scale: 2, Disp: 4}, three, r)
	VPADDW(e, l, l)
	VPADDW(o, r, r)
	VPSRLW(Imm(4), l, l)
	VPSRLW(Imm(4), r, r)
	VPSLLW(Imm(8), r, r)
	VPOR(l, r, r)
	VMOVDQU(r, Mem{Base: dst, Index: i, Scale: 2, Disp: 2})
	ADDQ(Imm(16), i)
	JMP(LabelRef("widen"))
	Label("widenDone")
	VZEROUPPER()
	RET()
}

// toRGB converts 16 pixels at a time.
func toRGB() {
	offset := words("offset", 128, 128)
	crR, cbB := words("crR", 13173, 13173), words("cbB", -7471, -7471)
	green := words("green", -22554, 18734)
	half := dwords("half", 1<<15)
	masks := rgb.NewMasks()
	TEXT("toRGBAVX2", NOSPLIT, "func(dst, ys, cbs, crs *byte, n int)")
	Doc("toRGBAVX2 is toRGBGeneric for n pixels, a multiple of 16.")
	dst, ys := Load(Param("dst"), GP64()), Load(Param("ys"), GP64())
	cbs, crs := Load(Param("cbs"), GP64()), Load(Param("crs"), GP64())
	n := Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	Label("rgb")
	CMPQ(i, n)
	JGE(LabelRef("rgbDone"))
	y, cb, cr := YMM(), YMM(), YMM()
	VPMOVZXBW(Mem{Base: ys, Index: i, Scale: 1}, y)
	VPMOVZXBW(Mem{Base: cbs, Index: i, Scale: 1}, cb)
	VPMOVZXBW(Mem{Base: crs, Index: i, Scale: 1}, cr)
	VPSUBW(offset, cb, cb)
	VPSUBW(offset, cr, cr)

	r, b := YMM(), YMM()
	VPMULHRSW(crR, cr, r) // 0.402 Cr, rounded
	VPADDW(cr, r, r)
	VPADDW(y, r, r)
	VPMULHRSW(cbB, cb, b) // -0.228 Cb
	VPADDW(cb, b, b)
	VPADDW(cb, b, b)
	VPADDW(y, b, b)

	lo, hi := YMM(), YMM() // -0.344 Cb + 0.286 Cr
	VPUNPCKLWD(cr, cb, lo)
	VPUNPCKHWD(cr, cb, hi)
	VPMADDWD(green, lo, lo)
	VPMADDWD(green, hi, hi)
	VPADDD(half, lo, lo)
	VPADDD(half, hi, hi)
	VPSRAD(Imm(16), lo, lo)
	VPSRAD(Imm(16), hi, hi)
	VPACKSSDW(hi, lo, lo)
	VPSUBW(cr, lo, lo)
	VPADDW(y, lo, lo)

	masks.Store(dst, [3]reg.VecVirtual{r, lo, b}, 0)
	ADDQ(Imm(16), i)
	JMP(LabelRef("rgb"))
	Label("rgbDone")
	VZEROUPPER()
	RET()
}
