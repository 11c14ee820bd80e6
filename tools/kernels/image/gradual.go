package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The planes of a row of gradients, as internal/kernel numbers them.
const (
	vertical, horizontal, rising, falling, up, down, around = 0, 1, 2, 3, 4, 6, 8
)

// planesOf returns the numbers of a plane of a row of gradients, for 16 columns from a distance on.
func planesOf(plane, three Register) func(row Register, plane, d int) Mem {
	return func(row Register, k, d int) Mem {
		m := Mem{Base: row, Disp: 2 * d}
		switch k {
		case 0:
		case 3, 6:
			m.Index, m.Scale = three, uint8(k/3)
		default:
			m.Index, m.Scale = plane, uint8(k)
		}
		return m
	}
}

// gradients writes the kernel of the gradients of a row.
func gradients() {
	TEXT("gradientsAVX2", NOSPLIT, "func(out *int16, plane int, above, row, below *byte, blocks int)")
	Doc("gradientsAVX2 computes the gradients of 16*blocks pixels; plane is in bytes.")
	Pragma("noescape")
	out, plane := Load(Param("out"), GP64()), Load(Param("plane"), GP64())
	above, row, below := Load(Param("above"), GP64()), Load(Param("row"), GP64()), Load(Param("below"), GP64())
	n, three := Load(Param("blocks"), GP64()), GP64()
	LEAQ(Mem{Base: plane, Index: plane, Scale: 2}, three)
	to := planesOf(plane, three)
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	read := func(base Register, d int) VecVirtual {
		v := YMM()
		VPMOVZXBW(Mem{Base: base, Disp: d}, v)
		return v
	}
	away := func(a, b VecVirtual) VecVirtual {
		v := YMM()
		VPSUBW(b, a, v)
		VPABSW(v, v)
		return v
	}
	sum := func(a, b VecVirtual) { VPADDW(b, a, a) }
	b, d, e, g := read(above, 0), read(row, -1), read(row, 1), read(below, 0)
	a, c, f, h := read(above, -1), read(above, 1), read(below, -1), read(below, 1)

	v := away(b, g)
	sum(v, v)
	sum(v, away(a, f))
	sum(v, away(c, h))
	VMOVDQU(v, to(out, vertical, 0))
	v = away(d, e)
	sum(v, v)
	sum(v, away(a, c))
	sum(v, away(f, h))
	VMOVDQU(v, to(out, horizontal, 0))
	v = away(c, f)
	sum(v, v)
	VMOVDQU(v, to(out, rising, 0))
	sum(v, away(b, d))
	sum(v, away(g, e))
	VMOVDQU(v, to(out, up, 0))
	v = away(a, h)
	sum(v, v)
	VMOVDQU(v, to(out, falling, 0))
	sum(v, away(b, e))
	sum(v, away(g, d))
	VMOVDQU(v, to(out, down, 0))
	sum(b, d)
	sum(b, e)
	sum(b, g)
	VPSRLW(Imm(1), b, b)
	VMOVDQU(b, to(out, around, 0))
	ADDQ(Imm(32), out)
	for _, r := range []Register{above, row, below} {
		ADDQ(Imm(16), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// steps are the directions N, S, W, E, NE, SW, NW, SE: rows and columns.
var steps = [8][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, 1}, {1, -1}, {-1, -1}, {1, 1}}

// neighbours returns the two places of each colour that a direction adds up: the colour of other
// pixels, green, and the colour that is left. No place means a mean of neighbours.
func neighbours(i int, green bool) (own, greens, other [][2]int) {
	y, x := steps[i][0], steps[i][1]
	twice := func(y, x int) [][2]int { return [][2]int{{y, x}, {y, x}} }
	switch diagonal, rows := i >= 4, x == 0; {
	case green && diagonal:
		return [][2]int{{2 * y, x}, {0, x}}, twice(y, x), [][2]int{{y, 0}, {y, 2 * x}}
	case green && rows:
		return [][2]int{{2 * y, -1}, {2 * y, 1}}, [][2]int{{2 * y, 0}, {0, 0}}, twice(y, 0)
	case green:
		return twice(0, x), [][2]int{{0, 2 * x}, {0, 0}}, [][2]int{{-1, 2 * x}, {1, 2 * x}}
	case diagonal:
		return [][2]int{{2 * y, 2 * x}, {0, 0}}, nil, twice(y, x)
	case rows:
		return [][2]int{{2 * y, 2 * x}, {0, 0}}, twice(y, x), [][2]int{{y, -1}, {y, 1}}
	}
	return [][2]int{{2 * y, 2 * x}, {0, 0}}, twice(y, x), [][2]int{{-1, x}, {1, x}}
}

// gradual writes the kernel of a row of raw pixels.
func gradual() {
	TEXT("gradualAVX2", NOSPLIT, "func(dst, at *byte, pitch int, above, here, below *int16, plane, blocks int, "+
		"coloured, swapped *byte)")
	Doc("gradualAVX2 makes 16*blocks pixels; plane is in bytes. coloured and swapped are as for bayerAVX2.")
	Pragma("noescape")
	dst, pixel, pitch := Load(Param("dst"), GP64()), Load(Param("at"), GP64()), Load(Param("pitch"), GP64())
	above, here := Load(Param("above"), GP64()), Load(Param("here"), GP64())
	below, plane := Load(Param("below"), GP64()), Load(Param("plane"), GP64())
	n, three, back := Load(Param("blocks"), GP64()), GP64(), GP64()
	LEAQ(Mem{Base: plane, Index: plane, Scale: 2}, three)
	MOVQ(pitch, back)
	NEGQ(back)
	from := planesOf(plane, three)
	at := func(p [2]int) Mem {
		m := Mem{Base: pixel, Disp: p[1]}
		switch {
		case p[0] > 0:
			m.Index, m.Scale = pitch, uint8(p[0])
		case p[0] < 0:
			m.Index, m.Scale = back, uint8(-p[0])
		}
		return m
	}
	scales := GLOBL("gradualScales", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, F32(0.5/float32(i+1)))
	}
	one := GLOBL("gradualOne", RODATA|NOPTR)
	for i := range 16 {
		DATA(2*i, U16(1))
	}
	var made [2][2]Mem // for green pixels and others, the two colours that they lack
	for i := range made {
		for k := range made[i] {
			made[i][k] = AllocLocal(16)
		}
	}
	Label("loop")
	TESTQ(n, n)
	JE(LabelRef("done"))
	for kind, green := range []bool{true, false} {
		var list [8]VecVirtual
		add := func(i int, places ...Mem) {
			list[i] = YMM()
			VMOVDQU(places[0], list[i])
			for _, p := range places[1:] {
				VPADDW(p, list[i], list[i])
			}
		}
		add(0, from(above, vertical, 0), from(here, vertical, 0))
		add(1, from(here, vertical, 0), from(below, vertical, 0))
		add(2, from(here, horizontal, -1), from(here, horizontal, 0))
		add(3, from(here, horizontal, 0), from(here, horizontal, 1))
		if green {
			add(4, from(above, rising, 0), from(above, rising, 1), from(here, rising, 0), from(here, rising, 1))
			add(5, from(here, rising, 0), from(here, rising, -1), from(below, rising, 0), from(below, rising, -1))
			add(6, from(above, falling, 0), from(above, falling, -1), from(here, falling, 0), from(here, falling, -1))
			add(7, from(here, falling, 0), from(here, falling, 1), from(below, falling, 0), from(below, falling, 1))
		} else {
			add(4, from(above, up, 1), from(here, up, 0))
			add(5, from(here, up, 0), from(below, up, -1))
			add(6, from(above, down, -1), from(here, down, 0))
			add(7, from(here, down, 0), from(below, down, 1))
		}
		limit, most := YMM(), YMM()
		VPMINSW(list[1], list[0], limit)
		VPMAXSW(list[1], list[0], most)
		for _, v := range list[2:] {
			VPMINSW(v, limit, limit)
			VPMAXSW(v, most, most)
		}
		VPSRLW(Imm(1), most, most)
		VPMAXSW(one, most, most)
		VPADDW(most, limit, limit)
		count := YMM()
		VPXOR(count, count, count)
		var sums [3]VecVirtual
		for i := range sums {
			sums[i] = YMM()
			VPXOR(sums[i], sums[i], sums[i])
		}
		for i, v := range list {
			VPCMPGTW(v, limit, v)
			VPSUBW(v, count, count)
			own, greens, other := neighbours(i, green)
			for c, places := range [][][2]int{own, greens, other} {
				a, b := YMM(), YMM()
				switch {
				case places == nil:
					row := [4]Register{above, below, above, below}[i-4]
					VMOVDQU(from(row, around, steps[i][1]), a)
				case places[0] == places[1]:
					VPMOVZXBW(at(places[0]), a)
					VPADDW(a, a, a)
				default:
					VPMOVZXBW(at(places[0]), a)
					VPMOVZXBW(at(places[1]), b)
					VPADDW(b, a, a)
				}
				VPAND(v, a, a)
				VPADDW(a, sums[c], sums[c])
			}
		}
		// The factors of the eight lower and the eight upper pixels.
		var scale [2]VecVirtual
		VPSUBW(one, count, count)
		table := YMM()
		VMOVUPS(scales, table)
		for i := range scale {
			scale[i] = YMM()
			if i == 1 {
				VEXTRACTI128(Imm(1), count, count.AsX())
			}
			VPMOVZXWD(count.AsX(), scale[i])
			VPERMPS(table, scale[i], scale[i])
		}
		base, rest := sums[0], [2]VecVirtual{sums[1], sums[2]}
		if green {
			base, rest = sums[1], [2]VecVirtual{sums[0], sums[2]}
		}
		raw := YMM()
		VPMOVZXBW(Mem{Base: pixel}, raw)
		for i, v := range rest {
			VPSUBW(base, v, v)
			low, high := YMM(), YMM()
			VPMOVSXWD(v.AsX(), low)
			VEXTRACTI128(Imm(1), v, v.AsX())
			VPMOVSXWD(v.AsX(), high)
			for k, half := range []VecVirtual{low, high} {
				VCVTDQ2PS(half, half)
				VMULPS(scale[k], half, half)
				VCVTPS2DQ(half, half)
			}
			VPACKSSDW(high, low, low)
			VPERMQ(Imm(0xd8), low, low)
			VPADDW(raw, low, low)
			VPACKUSWB(low, low, low)
			VPERMQ(Imm(0x08), low, low)
			VMOVDQU(low.AsX(), made[kind][i])
		}
	}
	where, swap, raw := XMM(), XMM(), XMM()
	p := GP64()
	Load(Param("coloured"), p)
	VMOVDQU(Mem{Base: p}, where)
	Load(Param("swapped"), p)
	VMOVDQU(Mem{Base: p}, swap)
	VMOVDQU(Mem{Base: pixel}, raw)
	own, green, other := XMM(), XMM(), XMM()
	VMOVDQU(made[0][0], own)
	VPBLENDVB(where, raw, own, own)
	VPBLENDVB(where, made[1][0], raw, green)
	VMOVDQU(made[0][1], other)
	VPBLENDVB(where, made[1][1], other, other)
	interleave("gradual", dst, own, green, other, swap)
	ADDQ(Imm(48), dst)
	ADDQ(Imm(16), pixel)
	for _, r := range []Register{above, here, below} {
		ADDQ(Imm(32), r)
	}
	DECQ(n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
