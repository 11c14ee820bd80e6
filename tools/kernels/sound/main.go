// Sound writes the SSE twin of internal/sound. Run it there with
//
//	go generate ./internal/sound
//
// It computes elements by the operations of the generic twin in its order. Multiplications and
// additions have instructions of their own.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	TEXT("weighAVX2", NOSPLIT, "func(in *float32, groups int, table *float32, x, scale, center float32) float32")
	Pragma("noescape")
	Doc("weighAVX2 returns the sum of groups of four weighted elements, the first of which is at x.")
	in, n, table := Load(Param("in"), GP64()), Load(Param("groups"), GP64()), Load(Param("table"), GP64())
	x, scale, center, four, s := XMM(), XMM(), XMM(), XMM(), XMM()
	spread := func(name string, v VecVirtual) {
		Load(Param(name), v)
		VBROADCASTSS(v, v)
	}
	spread("x", x)
	spread("scale", scale)
	spread("center", center)
	VBROADCASTSS(ConstData("soundFour", F32(4)), four)
	steps := GLOBL("soundSteps", RODATA|NOPTR)
	for i := range 4 {
		DATA(4*i, F32(i))
	}
	VADDPS(steps, x, x)
	VXORPS(s, s, s)
	place, whole, index := XMM(), XMM(), XMM()
	a, b, low, slope := XMM(), XMM(), XMM(), XMM()
	i0, i1, i2, i3 := GP64(), GP64(), GP64(), GP64()
	Label("group")
	TESTQ(n, n)
	JE(LabelRef("done"))
	VMULPS(scale, x, place)
	VADDPS(center, place, place)
	VADDPS(four, x, x)
	VCVTTPS2DQ(place, index)
	VCVTDQ2PS(index, whole)
	VSUBPS(whole, place, place)
	VMOVQ(index, i0)
	VPEXTRQ(Imm(1), index, i2)
	MOVL(i0.As32(), i1.As32())
	SHRQ(Imm(32), i0)
	MOVL(i2.As32(), i3.As32())
	SHRQ(Imm(32), i2)
	entry := func(i Register) Mem { return Mem{Base: table, Index: i, Scale: 8} }
	VMOVSD(entry(i1), a)
	VMOVHPS(entry(i0), a, a)
	VMOVSD(entry(i3), b)
	VMOVHPS(entry(i2), b, b)
	VSHUFPS(Imm(0x88), b, a, low)
	VSHUFPS(Imm(0xdd), b, a, slope)
	VMULPS(slope, place, place)
	VADDPS(place, low, low)
	VMULPS(Mem{Base: in}, low, low)
	VADDPS(low, s, s)
	ADDQ(Imm(16), in)
	DECQ(n)
	JMP(LabelRef("group"))
	Label("done")
	VMOVHLPS(s, s, a) // the upper two
	VADDPS(a, s, s)
	VSHUFPS(Imm(1), s, s, a)
	VADDSS(a, s, s)
	Store(s, ReturnIndex(0))
	RET()
	Generate()
}
