package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bayer writes the kernel that makes RGB of raw pixels of size bytes, as many at a time as fill a
// register.
func bayer(name string, size int, edges bool) {
	element := map[int]string{1: "byte", 2: "uint16"}[size]
	TEXT(name, NOSPLIT, "func(dst, above, row, below *"+element+", blocks int, coloured *byte, masks *[9][32]byte)")
	Doc(fmt.Sprintf("%s makes %d*blocks pixels. coloured has 32 bytes, 255 where a pixel is not green. masks puts the "+
		"row's colour, green and the other colour into three parts of each half.", name, 32/size))
	Pragma("noescape")
	mean, below0, equal, largest := VPAVGB, VPSUBUSB, VPCMPEQB, VPMAXUB
	if size == 2 {
		mean, below0, equal, largest = VPAVGW, VPSUBUSW, VPCMPEQW, VPMAXUW
	}
	dst, above := Load(Param("dst"), GP64()), Load(Param("above"), GP64())
	row, below := Load(Param("row"), GP64()), Load(Param("below"), GP64())
	n, masks := Load(Param("blocks"), GP64()), Load(Param("masks"), GP64())
	where, one := YMM(), YMM()
	VMOVDQU(Mem{Base: Load(Param("coloured"), GP64())}, where)
	if size == 1 {
		VPBROADCASTB(ConstData(name+"One", U8(1)), one)
	} else {
		VPBROADCASTW(ConstData(name+"One", U16(1)), one)
	}
	read := func(base Register, d int) VecVirtual {
		v := YMM()
		VMOVDQU(Mem{Base: base, Disp: d * size}, v)
		return v
	}
	pair := func(a, b VecVirtual) VecVirtual {
		v := YMM()
		mean(a, b, v)
		return v
	}
	// quarter returns the rounded mean of four. The mean of two rounded means is one more where they
	// differ by an odd number and at least one of them was rounded.
	quarter := func(a, b, c, d VecVirtual) VecVirtual {
		p, q := pair(a, b), pair(c, d)
		VPXOR(a, b, a)
		VPXOR(c, d, c)
		VPOR(a, c, a)
		VPXOR(p, q, c)
		VPAND(a, c, a)
		VPAND(one, a, a)
		mean(p, q, p)
		if size == 1 {
			VPSUBB(a, p, p)
		} else {
			VPSUBW(a, p, p)
		}
		return p
	}
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	diagonal := quarter(read(above, -1), read(above, 1), read(below, -1), read(below, 1))
	left, right, up, down := read(row, -1), read(row, 1), read(above, 0), read(below, 0)
	side, upright, centre := pair(left, right), pair(up, down), read(row, 0)
	green := YMM()
	if edges { // upright where the sides differ more
		a, b, t := YMM(), YMM(), YMM()
		below0(right, left, a)
		below0(left, right, t)
		VPOR(t, a, a)
		below0(down, up, b)
		below0(up, down, t)
		VPOR(t, b, b)
		largest(b, a, a)
		equal(b, a, a)
		VPBLENDVB(a, side, upright, green)
	} else {
		green = quarter(up, left, right, down)
	}
	VPBLENDVB(where, centre, side, side)
	VPBLENDVB(where, green, centre, green)
	VPBLENDVB(where, diagonal, upright, upright)
	var out [3]VecVirtual
	part := YMM()
	for i := range out {
		for c, plane := range []VecVirtual{side, green, upright} {
			m := Mem{Base: masks, Disp: 32 * (3*i + c)}
			if c == 0 {
				out[i] = YMM()
				VPSHUFB(m, plane, out[i])
				continue
			}
			VPSHUFB(m, plane, part)
			VPOR(part, out[i], out[i])
		}
	}
	VPERM2I128(Imm(0x20), out[1], out[0], part)
	VMOVDQU(part, Mem{Base: dst})
	VPBLENDD(Imm(0xf0), out[0], out[2], part)
	VMOVDQU(part, Mem{Base: dst, Disp: 32})
	VPERM2I128(Imm(0x31), out[2], out[1], part)
	VMOVDQU(part, Mem{Base: dst, Disp: 64})
	ADDQ(Imm(96), dst)
	for _, r := range []Register{above, row, below} {
		ADDQ(Imm(32), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// bayerGrayWords writes the kernel that makes gray pixels of words, 8 at a time.
func bayerGrayWords() {
	const name = "bayerGrayWordsAVX2"
	TEXT(name, NOSPLIT, "func(dst, above, row, below *uint16, blocks int, factors *[6][8]uint32)")
	Doc(name + " makes 8*blocks pixels. factors has what differs between green pixels and others: all bits for others, " +
		"the factors of three sums, what is added, and by how many bits the sum is shifted.")
	Pragma("noescape")
	dst, above := Load(Param("dst"), GP64()), Load(Param("above"), GP64())
	row, below := Load(Param("row"), GP64()), Load(Param("below"), GP64())
	n, factors := Load(Param("blocks"), GP64()), Load(Param("factors"), GP64())
	var f [6]VecVirtual
	for i := range f {
		f[i] = YMM()
		VMOVDQU(Mem{Base: factors, Disp: 32 * i}, f[i])
	}
	type place struct {
		base Register
		d    int
	}
	read := func(p place) VecVirtual {
		v := YMM()
		VPMOVZXWD(Mem{Base: p.base, Disp: 2 * p.d}, v)
		return v
	}
	sum := func(first place, rest ...place) VecVirtual {
		v := read(first)
		for _, p := range rest {
			VPADDD(read(p), v, v)
		}
		return v
	}
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	upright, sides := sum(place{above, 0}, place{below, 0}), sum(place{row, -1}, place{row, 1})
	diagonal := sum(place{above, -1}, place{above, 1}, place{below, -1}, place{below, 1})
	cross, pixel := YMM(), read(place{row, 0})
	VPADDD(upright, sides, cross)
	VPBLENDVB(f[0], diagonal, upright, upright)
	VPBLENDVB(f[0], cross, sides, sides)
	VPMULLD(f[1], upright, upright)
	VPMULLD(f[2], sides, sides)
	VPMULLD(f[3], pixel, pixel)
	VPADDD(sides, upright, upright)
	VPADDD(pixel, upright, upright)
	VPADDD(f[4], upright, upright)
	VPSRLVD(f[5], upright, upright)
	VPACKUSDW(upright, upright, upright)
	VPERMQ(Imm(0x08), upright, upright)
	VMOVDQU(upright.AsX(), Mem{Base: dst})
	for _, r := range []Register{dst, above, row, below} {
		ADDQ(Imm(16), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// bayerGrayPairs writes the kernel that makes gray pixels of bytes, 16 at a time.
func bayerGrayPairs() {
	TEXT("bayerGrayAVX2", NOSPLIT, "func(dst, above, row, below *byte, blocks int, factors *[4][8]uint32)")
	Doc("bayerGrayAVX2 makes 16*blocks pixels. factors has what differs between green pixels and others, as pairs of " +
		"words: the words of others, the factors of two sums, the factors of a pixel and of 2, and a shift for each pixel.")
	Pragma("noescape")
	dst, above := Load(Param("dst"), GP64()), Load(Param("above"), GP64())
	row, below := Load(Param("row"), GP64()), Load(Param("below"), GP64())
	n, factors := Load(Param("blocks"), GP64()), Load(Param("factors"), GP64())
	var f [4]VecVirtual
	for i := range f {
		f[i] = YMM()
		VMOVDQU(Mem{Base: factors, Disp: 32 * i}, f[i])
	}
	two := YMM()
	VPBROADCASTW(ConstData("bayerGrayTwo", U16(2)), two)
	sum := func(base Register, d int, more ...Mem) VecVirtual {
		v, t := YMM(), YMM()
		VPMOVZXBW(Mem{Base: base, Disp: d}, v)
		for _, m := range more {
			VPMOVZXBW(m, t)
			VPADDW(t, v, v)
		}
		return v
	}
	at := func(base Register, d int) Mem { return Mem{Base: base, Disp: d} }
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	upright, sides := sum(above, 0, at(below, 0)), sum(row, -1, at(row, 1))
	diagonal, pixel := sum(above, -1, at(above, 1), at(below, -1), at(below, 1)), sum(row, 0)
	cross := YMM()
	VPADDW(upright, sides, cross)
	VPBLENDVB(f[0], diagonal, upright, upright)
	VPBLENDVB(f[0], cross, sides, sides)
	var parts [2]VecVirtual
	for i, unpack := range []func(...Op){VPUNPCKLWD, VPUNPCKHWD} {
		parts[i] = YMM()
		t := YMM()
		unpack(sides, upright, parts[i])
		unpack(two, pixel, t)
		VPMADDWD(f[1], parts[i], parts[i])
		VPMADDWD(f[2], t, t)
		VPADDD(t, parts[i], parts[i])
		VPSRLVD(f[3], parts[i], parts[i])
	}
	VPACKUSDW(parts[1], parts[0], parts[0])
	VPACKUSWB(parts[0], parts[0], parts[0])
	VPERMQ(Imm(0x08), parts[0], parts[0])
	VMOVDQU(parts[0].AsX(), Mem{Base: dst})
	for _, r := range []Register{dst, above, row, below} {
		ADDQ(Imm(16), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
