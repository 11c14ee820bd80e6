package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// project writes the kernel of the points of a row.
func project() {
	TEXT("projectAVX2", NOSPLIT, "func(xs, ys *float32, n int, start, slope *[3]float32)")
	Doc("projectAVX2 computes n points, a multiple of 8.")
	Pragma("noescape")
	xs, ys, n := Load(Param("xs"), GP64()), Load(Param("ys"), GP64()), Load(Param("n"), GP64())
	start, slope := Load(Param("start"), GP64()), Load(Param("slope"), GP64())
	var from, by, v [3]VecVirtual
	for i := range v {
		from[i], by[i], v[i] = YMM(), YMM(), YMM()
		VBROADCASTSS(Mem{Base: start, Disp: 4 * i}, from[i])
		VBROADCASTSS(Mem{Base: slope, Disp: 4 * i}, by[i])
	}
	column, step := YMM(), YMM()
	places := GLOBL("projectColumns", RODATA|NOPTR)
	for i := range vector {
		DATA(4*i, F32(float32(i)))
	}
	VMOVUPS(places, column)
	VBROADCASTSS(ConstData("projectStep", F32(vector)), step)
	i := GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	for k := range v {
		VMOVAPS(from[k], v[k])
		VFMADD231PS(by[k], column, v[k])
	}
	VDIVPS(v[2], v[0], v[0])
	VDIVPS(v[2], v[1], v[1])
	VMOVUPS(v[0], Mem{Base: xs, Index: i, Scale: 4})
	VMOVUPS(v[1], Mem{Base: ys, Index: i, Scale: 4})
	VADDPS(step, column, column)
	ADDQ(Imm(vector), i)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// cells writes a kernel that finds the pixels around points, or next to them.
func cells(name string, rounding uint64) {
	TEXT(name, NOSPLIT, "func(index *int32, a, b, xs, ys *float32, n int, least, right, bottom float32, "+
		"width, last, back int32)")
	Doc(name + " finds the pixels of n points, a multiple of 8: the pixels that stand back from a pixel from least to " +
		"right and bottom, up to the last.")
	Pragma("noescape")
	index, as, bs := Load(Param("index"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	xs, ys, n := Load(Param("xs"), GP64()), Load(Param("ys"), GP64()), Load(Param("n"), GP64())
	least, right, bottom, width, last, back := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	for _, v := range []struct {
		name string
		to   VecVirtual
	}{{"least", least}, {"right", right}, {"bottom", bottom}} {
		VPBROADCASTD(Load(Param(v.name), XMM()), v.to)
	}
	for _, v := range []struct {
		name string
		to   VecVirtual
	}{{"width", width}, {"last", last}, {"back", back}} {
		x := XMM()
		VMOVD(Load(Param(v.name), GP32()), x)
		VPBROADCASTD(x, v.to)
	}
	i := GP64()
	XORQ(i, i)
	x, y, fx, fy, in, t := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	VMOVUPS(Mem{Base: xs, Index: i, Scale: 4}, x)
	VMOVUPS(Mem{Base: ys, Index: i, Scale: 4}, y)
	VROUNDPS(Imm(rounding), x, fx)
	VROUNDPS(Imm(rounding), y, fy)
	VSUBPS(fx, x, x)
	VSUBPS(fy, y, y)
	VMOVUPS(x, Mem{Base: as, Index: i, Scale: 4})
	VMOVUPS(y, Mem{Base: bs, Index: i, Scale: 4})
	const notBelow, notAbove = 13, 2 // comparisons that are false for NaN
	VCMPPS(Imm(notBelow), least, fx, in)
	VCMPPS(Imm(notAbove), right, fx, t)
	VPAND(t, in, in)
	VCMPPS(Imm(notBelow), least, fy, t)
	VPAND(t, in, in)
	VCMPPS(Imm(notAbove), bottom, fy, t)
	VPAND(t, in, in)
	VCVTTPS2DQ(fx, fx)
	VCVTTPS2DQ(fy, fy)
	VPMULLD(width, fy, fy)
	VPADDD(fy, fx, fx)
	VPSUBD(back, fx, fx)
	VPCMPGTD(last, fx, t)
	VPANDN(in, t, in) // in and not beyond the last
	VPAND(in, fx, fx)
	VPCMPEQD(t, t, t)
	VPXOR(in, t, in)
	VPOR(in, fx, fx) // -1 where a point is outside
	VMOVDQU(fx, Mem{Base: index, Index: i, Scale: 4})
	ADDQ(Imm(vector), i)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// blend writes the kernels that mix the four pixels around points.
func blend() {
	for _, channels := range []int{3, 4} {
		name := "blend" + string(rune('0'+channels)) + "AVX2"
		TEXT(name, NOSPLIT, "func(dst, src *byte, index *int32, a, b *float32, n, pitch int)")
		Doc(name + " makes n pixels, at least one, of which it reads and writes 4 bytes.")
		Pragma("noescape")
		dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
		as, bs, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
		pitch := Load(Param("pitch"), GP64())
		at, a, b := GP64(), XMM(), XMM()
		p00, p01, p10, p11 := XMM(), XMM(), XMM(), XMM()
		Label("loop")
		MOVLQSX(Mem{Base: index}, at)
		if channels == 3 {
			LEAQ(Mem{Base: at, Index: at, Scale: 2}, at)
			ADDQ(src, at)
		} else {
			LEAQ(Mem{Base: src, Index: at, Scale: 4}, at)
		}
		for _, p := range []struct {
			v VecVirtual
			m Mem
		}{{p00, Mem{Base: at}}, {p01, Mem{Base: at, Disp: channels}},
			{p10, Mem{Base: at, Index: pitch, Scale: 1}}, {p11, Mem{Base: at, Index: pitch, Scale: 1, Disp: channels}}} {
			VPMOVZXBD(p.m, p.v)
			VCVTDQ2PS(p.v, p.v)
		}
		VBROADCASTSS(Mem{Base: as}, a)
		VBROADCASTSS(Mem{Base: bs}, b)
		VSUBPS(p00, p01, p01)
		VSUBPS(p10, p11, p11)
		VFMADD231PS(a, p01, p00)
		VFMADD231PS(a, p11, p10)
		VSUBPS(p00, p10, p10)
		VFMADD231PS(b, p10, p00)
		VCVTPS2DQ(p00, p00)
		VPACKUSDW(p00, p00, p00)
		VPACKUSWB(p00, p00, p00)
		VMOVD(p00, Mem{Base: dst})
		ADDQ(Imm(uint64(channels)), dst)
		for _, r := range []Register{index, as, bs} {
			ADDQ(Imm(4), r)
		}
		DECQ(n)
		JNE(LabelRef("loop"))
		RET()
	}
	blend1()
}

// blend1 writes the kernel of one channel, 8 pixels at a time.
func blend1() {
	TEXT("blend1AVX2", NOSPLIT, "func(dst, src *byte, index *int32, a, b *float32, blocks, pitch int)")
	Doc("blend1AVX2 makes 8*blocks pixels, of which it reads 4 bytes.")
	Pragma("noescape")
	dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
	as, bs, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("blocks"), GP64())
	pitch := Load(Param("pitch"), GP64())
	next := GP64()
	LEAQ(Mem{Base: src, Index: pitch, Scale: 1}, next)
	low, where, all, right := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTD(ConstData("blend1Low", U32(255)), low)
	row := [2]VecVirtual{YMM(), YMM()}
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	VMOVDQU(Mem{Base: index}, where)
	for i, base := range []Register{src, next} {
		VPCMPEQD(all, all, all)
		VPXOR(row[i], row[i], row[i])
		VPGATHERDD(all, Mem{Base: base, Index: where, Scale: 1}, row[i])
		VPSRLD(Imm(8), row[i], right)
		VPAND(low, right, right)
		VPAND(low, row[i], row[i])
		VCVTDQ2PS(right, right)
		VCVTDQ2PS(row[i], row[i])
		VSUBPS(row[i], right, right)
		VFMADD231PS(Mem{Base: as}, right, row[i])
	}
	VSUBPS(row[0], row[1], row[1])
	VFMADD231PS(Mem{Base: bs}, row[1], row[0])
	VCVTPS2DQ(row[0], row[0])
	VPACKUSDW(row[0], row[0], row[0])
	VPACKUSWB(row[0], row[0], row[0])
	VPERMQ(Imm(0x08), row[0], row[0])
	VPSHUFD(Imm(0x08), row[0].AsX(), row[0].AsX())
	VMOVQ(row[0].AsX(), Mem{Base: dst})
	ADDQ(Imm(8), dst)
	for _, r := range []Register{index, as, bs} {
		ADDQ(Imm(32), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// blendTypes writes the kernels of words and floats, which make floats.
func blendTypes() {
	for _, e := range elements {
		if e.kind != "uint16" && e.kind != "float32" {
			continue // bytes have kernels of their own, and int16 is mixed otherwise
		}
		name := "blend" + e.name + "AVX2"
		TEXT(name, NOSPLIT, "func(dst *float32, src *"+e.kind+", index *int32, a, b *float32, n, pitch, channels int)")
		Doc(name + " makes n pixels, at least one, of which it reads 4 elements and writes 16 bytes.")
		Pragma("noescape")
		dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
		as, bs, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
		pitch, channels := Load(Param("pitch"), GP64()), Load(Param("channels"), GP64())
		at, a, b := GP64(), XMM(), XMM()
		p00, p01, p10, p11 := XMM(), XMM(), XMM(), XMM()
		size := uint8(e.size)
		Label("loop")
		MOVLQSX(Mem{Base: index}, at)
		IMULQ(channels, at)
		LEAQ(Mem{Base: src, Index: at, Scale: size}, at)
		e.load(Mem{Base: at}, p00)
		e.load(Mem{Base: at, Index: channels, Scale: size}, p01)
		LEAQ(Mem{Base: at, Index: pitch, Scale: size}, at)
		e.load(Mem{Base: at}, p10)
		e.load(Mem{Base: at, Index: channels, Scale: size}, p11)
		VBROADCASTSS(Mem{Base: as}, a)
		VBROADCASTSS(Mem{Base: bs}, b)
		VSUBPS(p00, p01, p01)
		VSUBPS(p10, p11, p11)
		VFMADD231PS(a, p01, p00)
		VFMADD231PS(a, p11, p10)
		VSUBPS(p00, p10, p10)
		VFMADD231PS(b, p10, p00)
		VMOVUPS(p00, Mem{Base: dst})
		LEAQ(Mem{Base: dst, Index: channels, Scale: 4}, dst)
		for _, r := range []Register{index, as, bs} {
			ADDQ(Imm(4), r)
		}
		DECQ(n)
		JNE(LabelRef("loop"))
		RET()
	}
}

// copyPixels writes the kernels that copy pixels of up to some bytes.
func copyPixels() {
	for _, width := range []int{1, 2, 4, 8, 16} {
		name := fmt.Sprintf("copyPixels%d", width)
		TEXT(name, NOSPLIT, "func(dst, src *byte, index *int32, n, size int)")
		Doc(fmt.Sprintf("%s copies n pixels, at least one, of which it reads and writes %d bytes.", name, width))
		Pragma("noescape")
		dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
		n, size := Load(Param("n"), GP64()), Load(Param("size"), GP64())
		at, v, x, size3 := GP64(), GP64(), XMM(), GP64()
		LEAQ(Mem{Base: size, Index: size, Scale: 2}, size3)
		one := func(k int, to Mem) {
			MOVLQSX(Mem{Base: index, Disp: 4 * k}, at)
			IMULQ(size, at)
			from := Mem{Base: src, Index: at, Scale: 1}
			switch width {
			case 1:
				MOVBLZX(from, v.As32())
				MOVB(v.As8L(), to)
			case 2:
				MOVWLZX(from, v.As32())
				MOVW(v.As16(), to)
			case 4:
				MOVL(from, v.As32())
				MOVL(v.As32(), to)
			case 8:
				MOVQ(from, v)
				MOVQ(v, to)
			default:
				MOVOU(from, x)
				MOVOU(x, to)
			}
		}
		SUBQ(Imm(4), n)
		JL(LabelRef("rest"))
		Label("loop")
		one(0, Mem{Base: dst})
		one(1, Mem{Base: dst, Index: size, Scale: 1})
		one(2, Mem{Base: dst, Index: size, Scale: 2})
		one(3, Mem{Base: dst, Index: size3, Scale: 1})
		LEAQ(Mem{Base: dst, Index: size, Scale: 4}, dst)
		ADDQ(Imm(16), index)
		SUBQ(Imm(4), n)
		JGE(LabelRef("loop"))
		Label("rest")
		ADDQ(Imm(4), n)
		JE(LabelRef("done"))
		Label("one")
		one(0, Mem{Base: dst})
		ADDQ(size, dst)
		ADDQ(Imm(4), index)
		DECQ(n)
		JNE(LabelRef("one"))
		Label("done")
		RET()
	}
}

// roundWords writes a kernel that rounds half to even to words with or without a sign.
func roundWords(name, kind string, least, most float32, pack func(...Op)) {
	TEXT(name, NOSPLIT, "func(dst *"+kind+", src *float32, blocks int)")
	Doc(name + " converts 16*blocks elements.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("blocks"), GP64())
	low, high, v, w := YMM(), YMM(), YMM(), YMM()
	VBROADCASTSS(ConstData(name+"Least", F32(least)), low)
	VBROADCASTSS(ConstData(name+"Most", F32(most)), high)
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	for i, r := range []VecVirtual{v, w} {
		VMOVUPS(Mem{Base: src, Disp: 32 * i}, r)
		VMAXPS(low, r, r) // NaN becomes the least
		VMINPS(high, r, r)
		VCVTPS2DQ(r, r)
	}
	pack(w, v, v)
	VPERMQ(Imm(0xd8), v, v)
	VMOVDQU(v, Mem{Base: dst})
	ADDQ(Imm(64), src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// leading writes the kernel that counts the numbers up to the first one of another sign.
func leading() {
	TEXT("leadingAVX2", NOSPLIT, "func(index *int32, n int, flip int32) int")
	Doc("leadingAVX2 counts the leading numbers of n, a multiple of 8, that have the sign bit of flip.")
	Pragma("noescape")
	index, n := Load(Param("index"), GP64()), Load(Param("n"), GP64())
	x, flip, v := XMM(), YMM(), YMM()
	VMOVD(Load(Param("flip"), GP32()), x)
	VPBROADCASTD(x, flip)
	i, mask := GP64(), GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	VPXOR(Mem{Base: index, Index: i, Scale: 4}, flip, v)
	VMOVMSKPS(v, mask.As32())
	TESTL(mask.As32(), mask.As32())
	JNE(LabelRef("found"))
	ADDQ(Imm(8), i)
	JMP(LabelRef("loop"))
	Label("found")
	BSFL(mask.As32(), mask.As32())
	ADDQ(mask, i)
	Label("done")
	VZEROUPPER()
	Store(i, ReturnIndex(0))
	RET()
}

// projectUnits writes the kernel of the points of a row in units of 1/32.
func projectUnits() {
	TEXT("projectUnitsAVX2", NOSPLIT, "func(xi, yi *int32, xs, ys *float32, n int, start, slope *[3]float64)")
	Doc("projectUnitsAVX2 computes n points, a multiple of 4.")
	Pragma("noescape")
	ints := [2]Register{Load(Param("xi"), GP64()), Load(Param("yi"), GP64())}
	floats := [2]Register{Load(Param("xs"), GP64()), Load(Param("ys"), GP64())}
	n, start, slope := Load(Param("n"), GP64()), Load(Param("start"), GP64()), Load(Param("slope"), GP64())
	var from, by, v [3]VecVirtual
	for i := range v {
		from[i], by[i], v[i] = YMM(), YMM(), YMM()
		VBROADCASTSD(Mem{Base: start, Disp: 8 * i}, from[i])
		VBROADCASTSD(Mem{Base: slope, Disp: 8 * i}, by[i])
	}
	column, step, units, zero, nonzero, unit := YMM(), YMM(), YMM(), YMM(), YMM(), XMM()
	places := GLOBL("projectUnitsColumns", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, F64(float64(i)))
	}
	VMOVUPD(places, column)
	VBROADCASTSD(ConstData("projectUnitsStep", F64(4)), step)
	VBROADCASTSD(ConstData("projectUnitsUnits", F64(32)), units)
	VBROADCASTSS(ConstData("projectUnitsUnit", F32(1./32)), unit)
	VXORPD(zero, zero, zero)
	i := GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	for k := range v {
		VMULPD(by[k], column, v[k])
		VADDPD(from[k], v[k], v[k])
	}
	VCMPPD(Imm(4), zero, v[2], nonzero)
	VDIVPD(v[2], units, v[2])
	VANDPD(nonzero, v[2], v[2])
	for k := range 2 {
		x := XMM()
		VMULPD(v[2], v[k], v[k])
		VCVTPD2DQY(v[k], x)
		VMOVDQU(x, Mem{Base: ints[k], Index: i, Scale: 4})
		VCVTDQ2PS(x, x)
		VMULPS(unit, x, x)
		VMOVUPS(x, Mem{Base: floats[k], Index: i, Scale: 4})
	}
	VADDPD(step, column, column)
	ADDQ(Imm(4), i)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// blendCoarse writes the kernels that mix four pixels by their weights.
func blendCoarse() {
	for _, e := range elements {
		name := "coarse" + e.name + "AVX2"
		TEXT(name, NOSPLIT, "func(dst *float32, src *"+e.kind+", index *int32, a, b *float32, n, pitch, channels int)")
		Doc(name + " makes n pixels, at least one, of which it reads 4 elements and writes 16 bytes.")
		Pragma("noescape")
		dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
		as, bs, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
		pitch, channels := Load(Param("pitch"), GP64()), Load(Param("channels"), GP64())
		at, a, b, one, na, nb := GP64(), XMM(), XMM(), XMM(), XMM(), XMM()
		VBROADCASTSS(ConstData(name+"One", F32(1)), one)
		p, sum, w := XMM(), XMM(), XMM()
		size := uint8(e.size)
		Label("loop")
		MOVLQSX(Mem{Base: index}, at)
		IMULQ(channels, at)
		LEAQ(Mem{Base: src, Index: at, Scale: size}, at)
		VBROADCASTSS(Mem{Base: as}, a)
		VBROADCASTSS(Mem{Base: bs}, b)
		VSUBPS(a, one, na)
		VSUBPS(b, one, nb)
		VMULPS(na, nb, w)
		e.load(Mem{Base: at}, p)
		VMULPS(w, p, sum)
		VMULPS(a, nb, w)
		for i, rows := range []VecVirtual{nil, na, a} {
			if i > 0 {
				VMULPS(rows, b, w)
			}
			m := Mem{Base: at, Index: channels, Scale: size}
			if i == 1 {
				LEAQ(Mem{Base: at, Index: pitch, Scale: size}, at)
				m = Mem{Base: at}
			}
			e.load(m, p)
			VMULPS(w, p, p)
			VADDPS(p, sum, sum)
		}
		VMOVUPS(sum, Mem{Base: dst})
		LEAQ(Mem{Base: dst, Index: channels, Scale: 4}, dst)
		for _, r := range []Register{index, as, bs} {
			ADDQ(Imm(4), r)
		}
		DECQ(n)
		JNE(LabelRef("loop"))
		RET()
	}
}
