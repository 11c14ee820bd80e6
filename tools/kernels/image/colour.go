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

// bayer writes the kernel that makes RGB of raw pixels, 16 at a time.
func bayer(name string, edges bool) {
	TEXT(name, NOSPLIT, "func(dst, above, row, below *byte, blocks int, coloured, swapped *byte)")
	Doc(name + " makes 16*blocks pixels. coloured has 16 bytes, 255 where a pixel is not green; swapped has 16 " +
		"bytes, all 255 if the colour of the row is blue.")
	Pragma("noescape")
	dst, above := Load(Param("dst"), GP64()), Load(Param("above"), GP64())
	row, below := Load(Param("row"), GP64()), Load(Param("below"), GP64())
	n := Load(Param("blocks"), GP64())
	where, swap := XMM(), XMM()
	VMOVDQU(Mem{Base: Load(Param("coloured"), GP64())}, where)
	VMOVDQU(Mem{Base: Load(Param("swapped"), GP64())}, swap)
	two := YMM()
	VPBROADCASTW(ConstData(name+"Two", U16(2)), two)
	// quarter returns the rounded mean of the bytes at four places.
	quarter := func(places ...Mem) VecVirtual {
		sum, term := YMM(), YMM()
		VPMOVZXBW(places[0], sum)
		for _, p := range places[1:] {
			VPMOVZXBW(p, term)
			VPADDW(term, sum, sum)
		}
		VPADDW(two, sum, sum)
		VPSRLW(Imm(2), sum, sum)
		VPACKUSWB(sum, sum, sum)
		VPERMQ(Imm(0xd8), sum, sum)
		return sum
	}
	at := func(base Register, disp int) Mem { return Mem{Base: base, Disp: disp} }
	side, upright, centre := XMM(), XMM(), XMM()
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	VMOVDQU(at(row, 0), centre)
	left, right, up, down := XMM(), XMM(), XMM(), XMM()
	VMOVDQU(at(row, -1), left)
	VMOVDQU(at(row, 1), right)
	VMOVDQU(at(above, 0), up)
	VMOVDQU(at(below, 0), down)
	VPAVGB(right, left, side)
	VPAVGB(down, up, upright)
	diagonal := quarter(at(above, -1), at(above, 1), at(below, -1), at(below, 1)).AsX()
	var green Op
	if edges { // upright where the sides differ more
		a, b, t := XMM(), XMM(), XMM()
		VPSUBUSB(right, left, a)
		VPSUBUSB(left, right, t)
		VPOR(t, a, a)
		VPSUBUSB(down, up, b)
		VPSUBUSB(up, down, t)
		VPOR(t, b, b)
		VPMAXUB(b, a, a)
		VPCMPEQB(b, a, a)
		g := XMM()
		VPBLENDVB(a, side, upright, g)
		green = g
	} else {
		green = quarter(at(above, 0), at(row, -1), at(row, 1), at(below, 0)).AsX()
	}
	own, other, g := XMM(), XMM(), XMM()
	VPBLENDVB(where, centre, side, own)
	VPBLENDVB(where, green, centre, g)
	VPBLENDVB(where, diagonal, upright, other)
	interleave(name, dst, own, g, other, swap)
	ADDQ(Imm(48), dst)
	for _, r := range []Register{above, row, below} {
		ADDQ(Imm(16), r)
	}
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
