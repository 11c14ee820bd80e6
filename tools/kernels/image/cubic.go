package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// projectDoubles writes the kernel of the points of a row in float64.
func projectDoubles() {
	TEXT("projectDoublesAVX2", NOSPLIT, "func(xs, ys *float32, n int, start, slope *[3]float32)")
	Doc("projectDoublesAVX2 computes n points, a multiple of 4.")
	Pragma("noescape")
	xs, ys, n := Load(Param("xs"), GP64()), Load(Param("ys"), GP64()), Load(Param("n"), GP64())
	start, slope := Load(Param("start"), GP64()), Load(Param("slope"), GP64())
	var from, by, v [3]VecVirtual
	for i := range v {
		from[i], by[i], v[i] = YMM(), YMM(), YMM()
		for _, f := range []struct {
			base Register
			to   VecVirtual
		}{{start, from[i]}, {slope, by[i]}} {
			x := XMM()
			VBROADCASTSS(Mem{Base: f.base, Disp: 4 * i}, x)
			VCVTPS2PD(x, f.to)
		}
	}
	column, step := YMM(), YMM()
	places := GLOBL("projectDoublesColumns", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, F64(float64(i)))
	}
	VMOVUPD(places, column)
	VBROADCASTSD(ConstData("projectDoublesStep", F64(4)), step)
	i := GP64()
	XORQ(i, i)
	Label("loop")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	for k := range v {
		VMOVAPD(from[k], v[k])
		VFMADD231PD(by[k], column, v[k])
	}
	for k, to := range []Register{xs, ys} {
		VDIVPD(v[2], v[k], v[k])
		VCVTPD2PSY(v[k], v[k].AsX())
		VMOVUPS(v[k].AsX(), Mem{Base: to, Index: i, Scale: 4})
	}
	VADDPD(step, column, column)
	ADDQ(Imm(4), i)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// cubicWeights writes the kernels of the weights of four pixels.
func cubicWeights(name string, second bool) {
	TEXT(name, NOSPLIT, "func(w *float32, stride int, a *float32, n int)")
	Doc(name + " computes the weights at n places, a multiple of 8; stride, from weight to weight, is in bytes.")
	Pragma("noescape")
	w, stride := Load(Param("w"), GP64()), Load(Param("stride"), GP64())
	a, n := Load(Param("a"), GP64()), Load(Param("n"), GP64())
	constant := func(name string, v float32) VecVirtual {
		to := YMM()
		VBROADCASTSS(ConstData(name, F32(v)), to)
		return to
	}
	one, depth := constant(name+"One", 1), constant(name+"Depth", -.75)
	cube, square := constant(name+"Cube", 1.25), constant(name+"Square", -2.25)
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	x, z, xx, c0, c1, c2, c3 := YMM(), YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: a}, x)
	VSUBPS(x, one, z)
	VMULPS(x, x, xx)
	VMULPS(z, z, c0)
	if second {
		VMULPS(depth, x, c2)
		VMULPS(c2, c0, c0)
		VMULPS(depth, xx, c3)
		VMULPS(z, c3, c3)
	} else {
		VMULPS(x, c0, c0)
		VMULPS(depth, c0, c0)
		VMULPS(xx, z, c3)
		VMULPS(depth, c3, c3)
	}
	VMOVAPS(square, c1)
	VFMADD231PS(cube, x, c1)
	VFMADD213PS(one, xx, c1)
	VSUBPS(c0, one, c2)
	VSUBPS(c1, c2, c2)
	VSUBPS(c3, c2, c2)
	VMOVUPS(c0, Mem{Base: w})
	VMOVUPS(c1, Mem{Base: w, Index: stride, Scale: 1})
	VMOVUPS(c2, Mem{Base: w, Index: stride, Scale: 2})
	VMOVUPS(c3, Mem{Base: w, Index: three, Scale: 1})
	ADDQ(Imm(32), w)
	ADDQ(Imm(32), a)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// elements are the types of pixels.
var elements = []struct {
	name, kind string
	size       int
	load       func(Mem, VecVirtual)
	orders     []bool // of cubic sums: whether the second order is needed
}{
	{"Bytes", "byte", 1, func(m Mem, v VecVirtual) { VPMOVZXBD(m, v); VCVTDQ2PS(v, v) }, []bool{false, true}},
	{"Words", "uint16", 2, func(m Mem, v VecVirtual) { VPMOVZXWD(m, v); VCVTDQ2PS(v, v) }, []bool{false, true}},
	{"Shorts", "int16", 2, func(m Mem, v VecVirtual) { VPMOVSXWD(m, v); VCVTDQ2PS(v, v) }, []bool{true}},
	{"Floats", "float32", 4, func(m Mem, v VecVirtual) { VMOVUPS(m, v) }, []bool{false, true}},
}

// cubicSums writes the kernels of the sums of 16 pixels.
func cubicSums() {
	for _, e := range elements {
		for _, second := range e.orders {
			name := "cubic" + e.name + "AVX2"
			if second {
				name = "cubicSecond" + e.name + "AVX2"
			}
			cubicSum(name, e.kind, e.size, e.load, second)
		}
	}
}

func cubicSum(name, kind string, size int, load func(Mem, VecVirtual), second bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, src *"+kind+", index *int32, across, down *float32, "+
		"stride, n, pitch, channels int)")
	Doc(fmt.Sprintf("%s makes n pixels, at least one, of which it reads 4 elements and writes 16 bytes. stride, from "+
		"weight to weight, is in bytes.", name))
	Pragma("noescape")
	dst, src, index := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("index"), GP64())
	across, down := Load(Param("across"), GP64()), Load(Param("down"), GP64())
	stride, n := Load(Param("stride"), GP64()), Load(Param("n"), GP64())
	pitch, step, three := Load(Param("pitch"), GP64()), Load(Param("channels"), GP64()), GP64()
	for range map[int]int{1: 0, 2: 1, 4: 2}[size] {
		ADDQ(pitch, pitch)
		ADDQ(step, step)
	}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	step3, at := GP64(), GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, step3)
	weights := func(base Register) (list [4]Mem) {
		return [4]Mem{{Base: base}, {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2},
			{Base: base, Index: three, Scale: 1}}
	}
	var w [4]VecVirtual
	for i := range w {
		w[i] = XMM()
	}
	v, row, sum := XMM(), XMM(), XMM()
	Label("loop")
	MOVLQSX(Mem{Base: index}, at)
	IMULQ(step, at)
	ADDQ(src, at)
	for i, m := range weights(across) {
		VBROADCASTSS(m, w[i])
	}
	downs := weights(down)
	for r := range 4 {
		taps := [4]Mem{{Base: at}, {Base: at, Index: step, Scale: 1}, {Base: at, Index: step, Scale: 2},
			{Base: at, Index: step3, Scale: 1}}
		order := []int{0, 1, 2, 3}
		if second {
			order = []int{1, 0, 2, 3}
		}
		for k, s := range order {
			load(taps[s], v)
			if k == 0 {
				VMULPS(w[s], v, row)
			} else {
				VFMADD231PS(w[s], v, row)
			}
		}
		VBROADCASTSS(downs[r], v)
		if r == 0 {
			VMULPS(v, row, sum)
		} else {
			VFMADD231PS(v, row, sum)
		}
		if r < 3 {
			ADDQ(pitch, at)
		}
	}
	VMOVUPS(sum, Mem{Base: dst})
	MOVQ(step, at)
	for range map[int]int{1: 2, 2: 1, 4: 0}[size] {
		ADDQ(at, at)
	}
	ADDQ(at, dst)
	for _, r := range []Register{index, across, down} {
		ADDQ(Imm(4), r)
	}
	DECQ(n)
	JNE(LabelRef("loop"))
	RET()
}
