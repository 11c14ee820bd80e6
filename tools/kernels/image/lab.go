package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where the tables of internal/kernel's labVectors begin.
const (
	labLinear = 512 * iota
	labY
	labRoot
	labA
	labB
	labSteps
	labBase
	labToXYZ = labBase + 256
	labToRGB = labToXYZ + 3*2*64
)

// The numbers of internal/kernel's Lab.
const (
	labOne   = 1 << 14
	labBlack = (16*255<<15 + 50) / 100
)

// wideConstant returns a register of AVX-512 with equal numbers of 32 bits.
func wideConstant(name string, v uint32) VecVirtual {
	to := ZMM()
	VPBROADCASTD(ConstData(name, U32(v)), to)
	return to
}

// bits returns a mask.
func bits(v uint64) OpmaskVirtual {
	m, k := GP64(), K()
	MOVQ(U64(v), m)
	KMOVQ(m, k)
	return k
}

// fromTable looks up the bytes of v, of which high has the upper bits and low has the others.
func fromTable(tables Register, at int, v VecVirtual, high, low OpmaskVirtual) VecVirtual {
	out, part := ZMM(), ZMM()
	VMOVDQA64(v, out)
	VMOVDQU64(Mem{Base: tables, Disp: at}, part)
	VPERMI2B(Mem{Base: tables, Disp: at + wide}, part, low, out)
	VMOVDQU64(Mem{Base: tables, Disp: at + 2*wide}, part)
	VPERMI2B(Mem{Base: tables, Disp: at + 3*wide}, part, high, out)
	return out
}

// signs returns masks of the bytes from 128 on, and of the others.
func signs(v VecVirtual) (high, low OpmaskVirtual) {
	high, low = K(), K()
	VPMOVB2M(v, high)
	KNOTQ(high, low)
	return high, low
}

// labSplit writes the kernel that makes L, a and b.
func labSplit() {
	TEXT("labFromRGBAVX512", NOSPLIT, "func(light, a, b, rgb *byte, blocks int, tables *byte, roots *int32)")
	Doc("labFromRGBAVX512 splits 16*blocks pixels, at least one block, and reads 16 bytes after the last.")
	Pragma("noescape")
	var pairs, thirds []byte // of bytes of two registers
	for i := range 16 {
		r := byte(3 * i)
		pairs = append(pairs, r, r+64, r+1, r+65)
		thirds = append(thirds, r+2, r+66, 0, 0)
	}
	planes := [3]Register{Load(Param("light"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())}
	src, n := Load(Param("rgb"), GP64()), Load(Param("blocks"), GP64())
	tables, roots := Load(Param("tables"), GP64()), Load(Param("roots"), GP64())
	ofPairs, ofThirds, zero := ZMM(), ZMM(), ZMM()
	VMOVDQU64(constant("labPairs", pairs), ofPairs)
	VMOVDQU64(constant("labThirds", thirds), ofThirds)
	VPXORQ(zero, zero, zero)
	one, filled := wideConstant("labUnit", 1<<16), bits(0x3333333333333333)
	factors := [3]VecVirtual{wideConstant("labFactorL", 296), wideConstant("labFactorA", 500),
		wideConstant("labFactorB", 200)}
	black, gray := int32(1<<14-labBlack), uint32(128<<15+1<<14)
	added := [3]VecVirtual{wideConstant("labAddL", uint32(black)), wideConstant("labAddA", gray)}
	added[2] = added[1]
	Label("loop")
	v := ZMM()
	VMOVDQU64(Mem{Base: src}, v)
	high, low := signs(v)
	lower, upper := fromTable(tables, labLinear, v, high, low), fromTable(tables, labLinear+256, v, high, low)
	p, q := ZMM(), ZMM()
	VMOVDQA64(ofPairs, p)
	VPERMI2B(upper, lower, p)
	VMOVDQA64(ofThirds, q)
	VPERMI2B_Z(upper, lower, filled, q)
	VPORQ(one, q, q)
	var root [3]VecVirtual
	for i := range root {
		sum, t, all := ZMM(), ZMM(), K()
		VPMADDWD(Mem{Base: tables, Disp: labToXYZ + 128*i}, p, sum)
		VPMADDWD(Mem{Base: tables, Disp: labToXYZ + 128*i + 64}, q, t)
		VPADDD(t, sum, sum)
		VPSRLD(Imm(12), sum, sum)
		KXNORQ(all, all, all)
		root[i] = ZMM()
		VPXORQ(root[i], root[i], root[i])
		VPGATHERDD(Mem{Base: roots, Index: sum, Scale: 4}, all, root[i])
	}
	x, y, z := root[0], root[1], root[2]
	VPSUBD(y, x, x)
	VPSUBD(z, y, z)
	for i, v := range []VecVirtual{y, x, z} {
		VPMULLD(factors[i], v, v)
		VPADDD(added[i], v, v)
		VPSRAD(Imm(15), v, v)
		VPMAXSD(zero, v, v)
		VPMOVUSDB(v, Mem{Base: planes[i]})
		ADDQ(Imm(16), planes[i])
	}
	ADDQ(Imm(48), src)
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// labMerge writes the kernel that makes pixels of L, a and b.
func labMerge() {
	TEXT("labToRGBAVX512", NOSPLIT, "func(rgb, light, a, b *byte, blocks int, tables *byte)")
	Doc("labToRGBAVX512 makes 64*blocks pixels, at least one block.")
	Pragma("noescape")
	dst, tables, n := Load(Param("rgb"), GP64()), Load(Param("tables"), GP64()), Load(Param("blocks"), GP64())
	light, a, b := Load(Param("light"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	// A little more than 108/841, so that whole results are not cut to less.
	slope := wideConstant("labSlope", math.Float32bits(float32(108./841*(1+3e-7))))
	linear := wideConstant("labLinear", labOne*16/116*108/841)
	knee := wideConstant("labKnee", 3390)
	ones, most := wideConstant("labOnes", 1<<16|1), wideConstant("labMost", 4095<<16|4095)
	fifteen := wideConstant("labFifteen", 15<<16|15)
	Label("loop")
	words := func(at Register, table ...int) (out [][2]VecVirtual) {
		v := ZMM()
		VMOVDQU64(Mem{Base: at}, v)
		high, low := signs(v)
		for _, t := range table {
			lower, upper := fromTable(tables, t, v, high, low), fromTable(tables, t+256, v, high, low)
			pair := [2]VecVirtual{ZMM(), ZMM()}
			VPUNPCKLBW(upper, lower, pair[0])
			VPUNPCKHBW(upper, lower, pair[1])
			out = append(out, pair)
		}
		ADDQ(Imm(wide), at)
		return out
	}
	ofLight := words(light, labY, labRoot)
	ys, xs := ofLight[0], ofLight[1]
	ofA, ofB := words(a, labA)[0], words(b, labB)[0]
	var out [3][2]VecVirtual
	for half := range 2 {
		x, z := ofA[half], ofB[half]
		VPADDW(xs[half], x, x)
		VPSUBW(z, xs[half], z)
		var parts [2][3]VecVirtual
		for k, unpack := range []func(...Op){VPUNPCKLWD, VPUNPCKHWD} {
			cube := func(v VecVirtual) VecVirtual {
				root, square, line, large := ZMM(), ZMM(), ZMM(), K()
				unpack(v, v, root)
				VPSRAD(Imm(16), root, root)
				VPMULLD(root, root, square)
				VPSRAD(Imm(14), square, square)
				VPMULLD(root, square, square)
				VPSRAD(Imm(14), square, square)
				VCVTDQ2PS(root, line)
				VMULPS(slope, line, line)
				VCVTTPS2DQ(line, line)
				VPSUBD(linear, line, line)
				VPCMPGTD(knee, root, large)
				VMOVDQA32(square, large, line)
				return line
			}
			lightX, lightZ, y := cube(x), cube(z), ZMM()
			unpack(ones, ys[half], y)
			for c := range 3 {
				sum, t := ZMM(), ZMM()
				m := func(i int) Mem { return Mem{Base: tables, Disp: labToRGB + 192*c + 64*i} }
				VPMADDWD(m(1), y, sum)
				VPMULLD(m(0), lightX, t)
				VPADDD(t, sum, sum)
				VPMULLD(m(2), lightZ, t)
				VPADDD(t, sum, sum)
				VPSRAD(Imm(14), sum, sum)
				parts[k][c] = sum
			}
		}
		for c := range 3 {
			out[c][half] = parts[0][c]
			VPACKUSDW(parts[1][c], parts[0][c], out[c][half])
			VPMINUW(most, out[c][half], out[c][half])
		}
	}
	var planes [3]VecVirtual
	for c, v := range out {
		index, t := ZMM(), ZMM()
		VPSRLW(Imm(4), v[0], index)
		VPSRLW(Imm(4), v[1], t)
		VPACKUSWB(t, index, index)
		high, low := signs(index)
		planes[c] = fromTable(tables, labBase, index, high, low)
		lower, upper := fromTable(tables, labSteps, index, high, low), fromTable(tables, labSteps+256, index, high, low)
		var steps [2]VecVirtual
		for half, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
			steps[half] = ZMM()
			unpack(upper, lower, steps[half])
			VPANDNQ(fifteen, v[half], v[half]) // how many of the bits do not count
			VPSLLVW(v[half], steps[half], steps[half])
			VPOPCNTW(steps[half], steps[half])
		}
		VPACKUSWB(steps[1], steps[0], steps[0])
		VPADDB(steps[0], planes[c], planes[c])
	}
	for i := range 3 {
		var pairs, thirds []byte
		var third uint64
		for k := range wide {
			at := wide*i + k
			pairs = append(pairs, byte(at/3+at%3*wide)&127)
			thirds = append(thirds, byte(at/3))
			if at%3 == 2 {
				third |= 1 << k
			}
		}
		v, order, mask := ZMM(), ZMM(), bits(third)
		VMOVDQU64(constant("labRedGreen"+string(rune('A'+i)), pairs), v)
		VMOVDQU64(constant("labBlue"+string(rune('A'+i)), thirds), order)
		VPERMI2B(planes[1], planes[0], v)
		VPERMB(planes[2], order, mask, v)
		VMOVDQU64(v, Mem{Base: dst, Disp: wide * i})
	}
	ADDQ(Imm(3*wide), dst)
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
