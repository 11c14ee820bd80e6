package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// forwardPass transforms the columns of rows, and rounds and shifts the results but 0 and 4.
func forwardPass(v []reg.VecVirtual, k constants, round Mem, shift uint64, ends func(reg.VecVirtual)) {
	pair := func(a, b reg.VecVirtual) reg.VecVirtual { // words of a and b by turns
		lo, hi := YMM(), XMM()
		VPUNPCKLWD(b, a, lo.AsX())
		VPUNPCKHWD(b, a, hi)
		VINSERTI128(Imm(1), hi, lo, lo)
		return lo
	}
	// finish adds products of two pairs and rounds the sum to words.
	finish := func(to, p reg.VecVirtual, factors Mem, rest reg.VecVirtual) {
		sum := YMM()
		VPMADDWD(factors, p, sum)
		if rest != nil {
			VPADDD(rest, sum, sum)
		}
		VPADDD(round, sum, sum)
		VPSRAD(Imm(shift), sum, sum)
		VPACKSSDW(sum, sum, sum)
		VPERMQ(Imm(0x08), sum, sum)
		VMOVDQA(sum.AsX(), to)
	}
	var d [4]reg.VecVirtual
	for i := range d { // sums stay in v
		d[i] = XMM()
		VPSUBW(v[7-i], v[i], d[i])
		VPADDW(v[7-i], v[i], v[i])
	}
	c, e := XMM(), XMM()
	VPSUBW(v[2], v[1], c)
	VPSUBW(v[3], v[0], e)
	VPADDW(v[3], v[0], v[0])
	VPADDW(v[2], v[1], v[1])
	VPSUBW(v[1], v[0], v[4])
	VPADDW(v[1], v[0], v[0])
	ends(v[0])
	ends(v[4])
	even := pair(e, c)
	finish(v[2], even, k.t3, nil)
	finish(v[6], even, k.t2, nil)

	x3, x4 := XMM(), XMM()
	VPADDW(d[1], d[3], x3)
	VPADDW(d[0], d[2], x4)
	sums := pair(x3, x4)
	z3, z4 := YMM(), YMM()
	VPMADDWD(k.z3, sums, z3)
	VPMADDWD(k.z4, sums, z4)
	p30, p21 := pair(d[3], d[0]), pair(d[2], d[1])
	finish(v[7], p30, k.t0, z3)
	finish(v[1], p30, k.t3o, z4)
	finish(v[5], p21, k.t1, z4)
	finish(v[3], p21, k.t2o, z3)
}

// quantize writes the kernel that transforms samples and rounds the coefficients to steps.
func quantize(k constants) {
	round2 := dwords("forwardRound2", 1<<14)
	centre, two := words("forwardCentre", 128, 128), words("forwardTwo", 2, 2)
	mask := GLOBL("withoutFirst", RODATA|NOPTR)
	for i := range 4 {
		v := ^uint64(0)
		if i == 0 {
			v <<= 16
		}
		DATA(8*i, U64(v))
	}
	TEXT("quantizeAVX2", NOSPLIT, "func(levels *[64]int16, pix *byte, stride int, half, scale *[64]uint32) (rest bool)")
	Doc("quantizeAVX2 is quantizeGeneric; pix has 8 bytes at each of 8 rows.")
	levels, pix, stride := Load(Param("levels"), GP64()), Load(Param("pix"), GP64()), Load(Param("stride"), GP64())
	halves, scale := Load(Param("half"), GP64()), Load(Param("scale"), GP64())
	rows := make([]reg.VecVirtual, 8)
	for i := range rows {
		rows[i] = XMM()
		VPMOVZXBW(Mem{Base: pix}, rows[i])
		VPSUBW(centre, rows[i], rows[i])
		if i < 7 {
			ADDQ(stride, pix)
		}
	}
	transpose(rows)
	forwardPass(rows, k, k.round1, 11, func(v reg.VecVirtual) { VPSLLW(Imm(2), v, v) })
	transpose(rows)
	forwardPass(rows, k, round2, 15, func(v reg.VecVirtual) {
		VPADDW(two, v, v)
		VPSRAW(Imm(2), v, v)
	})
	rest := YMM()
	for i := 0; i < 8; i += 2 {
		var level [2]reg.VecVirtual
		for j := range level {
			at := 32 * (i + j)
			v, size, odd, factor := YMM(), YMM(), YMM(), YMM()
			VPMOVSXWD(rows[i+j], v)
			VPABSD(v, size)
			VPADDD(Mem{Base: halves, Disp: at}, size, size)
			VMOVDQU(Mem{Base: scale, Disp: at}, factor)
			VPSRLQ(Imm(32), size, odd)
			VPMULUDQ(factor, size, size)
			VPSRLQ(Imm(32), factor, factor)
			VPMULUDQ(factor, odd, odd)
			VPSRLQ(Imm(32), size, size)
			VPBLENDD(Imm(0xaa), odd, size, size)
			VPSIGND(v, size, size)
			level[j] = size
		}
		VPACKSSDW(level[1], level[0], level[0])
		VPERMQ(Imm(0xd8), level[0], level[0])
		VMOVDQU(level[0], Mem{Base: levels, Disp: 16 * i})
		if i == 0 {
			VPAND(mask, level[0], rest)
			continue
		}
		VPOR(level[0], rest, rest)
	}
	VPTEST(rest, rest)
	any := GP8()
	SETNE(any)
	Store(any, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// fromRGB converts 16 pixels at a time.
func fromRGB() {
	pairs := func(name string, first int) Mem { // words of the bytes first and first+1 of four pixels in a lane
		m := GLOBL(name, RODATA|NOPTR)
		for lane := range 2 {
			for i := range 4 {
				at := 3*i + 4*lane + first // the upper lane begins 4 bytes after its start
				DATA(16*lane+4*i, U32(uint32(at)|0x80<<8|uint32(at+1)<<16|0x80<<24))
			}
		}
		return m
	}
	redGreen, greenBlue := pairs("redGreen", 0), pairs("greenBlue", 1)
	half, centre := dwords("fromHalf", 1<<15), dwords("fromCentre", 128<<16+1<<15-1)
	upper := dwords("fromUpper", 0xffff<<16)
	y1, y2 := words("y1", 19595, 19235), words("y2", 38470-19235, 7471)
	cb1, cr2 := words("cb1", -11059, -21709), words("cr2", -27439, -5329)
	TEXT("fromRGBAVX2", NOSPLIT, "func(ys, cbs, crs, rgb *byte, n int)")
	Doc("fromRGBAVX2 is fromRGBGeneric for n pixels, a multiple of 16.")
	ys, cbs, crs := Load(Param("ys"), GP64()), Load(Param("cbs"), GP64()), Load(Param("crs"), GP64())
	rgb, n := Load(Param("rgb"), GP64()), Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	Label("from")
	CMPQ(i, n)
	JGE(LabelRef("fromDone"))
	var y, cb, cr [2]reg.VecVirtual
	for j := range 2 {
		rg, gb, t := YMM(), YMM(), YMM()
		y[j], cb[j], cr[j] = YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: rgb, Disp: 24 * j}, rg.AsX())
		VINSERTI128(Imm(1), Mem{Base: rgb, Disp: 24*j + 8}, rg, rg)
		VPSHUFB(greenBlue, rg, gb)
		VPSHUFB(redGreen, rg, rg)

		VPMADDWD(y1, rg, y[j])
		VPMADDWD(y2, gb, t)
		VPADDD(t, y[j], y[j])
		VPADDD(half, y[j], y[j])

		VPMADDWD(cb1, rg, cb[j])
		VPAND(upper, gb, t)
		VPSRLD(Imm(1), t, t) // blue times 2^15
		VPADDD(t, cb[j], cb[j])
		VPADDD(centre, cb[j], cb[j])

		VPMADDWD(cr2, gb, cr[j])
		VPSLLD(Imm(16), rg, t)
		VPSRLD(Imm(1), t, t)
		VPADDD(t, cr[j], cr[j])
		VPADDD(centre, cr[j], cr[j])
		for _, v := range []reg.VecVirtual{y[j], cb[j], cr[j]} {
			VPSRLD(Imm(16), v, v)
		}
	}
	for c, to := range []reg.Register{ys, cbs, crs} {
		v := [][2]reg.VecVirtual{y, cb, cr}[c]
		VPACKUSDW(v[1], v[0], v[0])
		VPACKUSWB(v[0], v[0], v[0])
		VPERMQ(Imm(0x08), v[0], v[0])
		VPSHUFD(Imm(0xd8), v[0].AsX(), v[0].AsX())
		VMOVDQU(v[0].AsX(), Mem{Base: to, Index: i, Scale: 1})
	}
	ADDQ(Imm(48), rgb)
	ADDQ(Imm(16), i)
	JMP(LabelRef("from"))
	Label("fromDone")
	VZEROUPPER()
	RET()
}

// halve writes the kernel that takes means of 2 by 2 samples.
func halve() {
	bias := words("halveBias", 1, 2)
	ones := words("halveOnes", 0x0101, 0x0101)
	TEXT("halveAVX2", NOSPLIT, "func(dst, above, below *byte, n int)")
	Doc("halveAVX2 is halveGeneric for n means, a multiple of 16.")
	dst, above, below := Load(Param("dst"), GP64()), Load(Param("above"), GP64()), Load(Param("below"), GP64())
	n := Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	Label("halve")
	CMPQ(i, n)
	JGE(LabelRef("halveDone"))
	a, b := YMM(), YMM()
	VMOVDQU(Mem{Base: above, Index: i, Scale: 2}, a)
	VMOVDQU(Mem{Base: below, Index: i, Scale: 2}, b)
	VPMADDUBSW(ones, a, a)
	VPMADDUBSW(ones, b, b)
	VPADDW(b, a, a)
	VPADDW(bias, a, a)
	VPSRLW(Imm(2), a, a)
	VPACKUSWB(a, a, a)
	VPERMQ(Imm(0x08), a, a)
	VMOVDQU(a.AsX(), Mem{Base: dst, Index: i, Scale: 1})
	ADDQ(Imm(16), i)
	JMP(LabelRef("halve"))
	Label("halveDone")
	VZEROUPPER()
	RET()
}
