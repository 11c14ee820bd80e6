package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// constant writes bytes to read-only memory.
func constant(name string, list []byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < len(list); i += 8 {
		var v uint64
		for k := range 8 {
			v |= uint64(list[i+k]) << (8 * k)
		}
		DATA(i, U64(v))
	}
	return m
}

const none = 0x80 // in a shuffle mask: a byte of 0

// gray writes the kernel of weighted means of three interleaved bytes.
func gray() {
	TEXT("grayAVX2", NOSPLIT, "func(dst, src *byte, blocks int, weights *[2]uint32)")
	Doc("grayAVX2 computes 32*blocks pixels. The weights are pairs of words: of the first two bytes, and of " +
		"the third and of 1.")
	Pragma("noescape")
	// Each lane has four pixels; the upper one begins 4 bytes after its start.
	var pairs, thirds []byte
	for lane := range 2 {
		for i := range 4 {
			at := byte(3*i + 4*lane)
			pairs = append(pairs, at, none, at+1, none)
			thirds = append(thirds, at+2, none, none, none)
		}
	}
	first, second := constant("grayPairs", pairs), constant("grayThirds", thirds)
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("blocks"), GP64())
	weights := Load(Param("weights"), GP64())
	of12, of3, one, order := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTD(Mem{Base: weights}, of12)
	VPBROADCASTD(Mem{Base: weights, Disp: 4}, of3)
	VPBROADCASTD(ConstData("grayOne", U32(1<<16)), one)
	lanes := GLOBL("grayLanes", RODATA|NOPTR)
	for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(v))
	}
	VMOVDQU(lanes, order)
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
	}
	third := YMM()
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	for i := range v {
		VMOVDQU(Mem{Base: src, Disp: 24 * i}, v[i].AsX())
		VINSERTI128(Imm(1), Mem{Base: src, Disp: 24*i + 8}, v[i], v[i])
		VPSHUFB(second, v[i], third)
		VPSHUFB(first, v[i], v[i])
		VPOR(one, third, third)
		VPMADDWD(of12, v[i], v[i])
		VPMADDWD(of3, third, third)
		VPADDD(third, v[i], v[i])
		VPSRLD(Imm(15), v[i], v[i])
	}
	VPACKUSDW(v[1], v[0], v[0])
	VPACKUSDW(v[3], v[2], v[2])
	VPACKUSWB(v[2], v[0], v[0])
	VPERMD(v[0], order, v[0])
	VMOVDQU(v[0], Mem{Base: dst})
	ADDQ(Imm(96), src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// interleave writes 16 pixels. Where swap is set, own is blue and other red.
func interleave(name string, dst Register, own, green, other, swap VecVirtual) {
	red, blue := XMM(), XMM()
	VPBLENDVB(swap, other, own, red)
	VPBLENDVB(swap, own, other, blue)
	out, part := XMM(), XMM()
	for i := range 3 {
		for c, plane := range []VecVirtual{red, green, blue} {
			mask := make([]byte, 16)
			for k := range mask {
				mask[k] = none
				if byteAt := 16*i + k; byteAt%3 == c {
					mask[k] = byte(byteAt / 3)
				}
			}
			m := constant(name+"Mask"+string(rune('A'+3*i+c)), mask)
			if c == 0 {
				VPSHUFB(m, plane, out)
				continue
			}
			VPSHUFB(m, plane, part)
			VPOR(part, out, out)
		}
		VMOVDQU(out, Mem{Base: dst, Disp: 16 * i})
	}
}
