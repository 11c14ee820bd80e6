package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const wide = 64 // bytes in a register of AVX-512

// halves loads a table of 256 bytes: four registers.
func halves(table Register, at int) (list [4]VecVirtual) {
	for i := range list {
		list[i] = ZMM()
		VMOVDQU64(Mem{Base: table, Disp: at + wide*i}, list[i])
	}
	return list
}

// look writes the kernel of one table.
func look() {
	TEXT("lookAVX512", NOSPLIT, "func(dst, src *byte, blocks int, table *byte)")
	Doc("lookAVX512 replaces 64*blocks bytes, at least one block.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("blocks"), GP64())
	table := halves(Load(Param("table"), GP64()), 0)
	v, high := ZMM(), K()
	Label("loop")
	VMOVDQU64(Mem{Base: src}, v)
	replace(v, high, K(), table, nil)
	VMOVDQU64(v, Mem{Base: dst})
	ADDQ(Imm(wide), src)
	ADDQ(Imm(wide), dst)
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// replace replaces the bytes of v, or those that a mask names.
func replace(v VecVirtual, high, low OpmaskVirtual, table [4]VecVirtual, mask Op) {
	VPMOVB2M(v, high)
	if mask == nil {
		KNOTQ(high, low)
	} else {
		KANDNQ(mask, high, low)
		KANDQ(mask, high, high)
	}
	VPERMI2B(table[1], table[0], low, v)
	VPERMI2B(table[3], table[2], high, v)
}

// look3 writes the kernel of three tables.
func look3() {
	TEXT("look3AVX512", NOSPLIT, "func(dst, src *byte, blocks int, tables *byte)")
	Doc("look3AVX512 replaces the bytes of 64*blocks pixels of three, at least one block.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("blocks"), GP64())
	base := Load(Param("tables"), GP64())
	var tables [3][4]VecVirtual
	var masks [3]OpmaskVirtual // bytes of the channels in the first register of a block
	for c := range tables {
		tables[c] = halves(base, 256*c)
		var m uint64
		for i := c; i < wide; i += 3 {
			m |= 1 << i
		}
		bits := GP64()
		MOVQ(U64(m), bits)
		masks[c] = K()
		KMOVQ(bits, masks[c])
	}
	v, all, high, low := ZMM(), K(), K(), K()
	Label("loop")
	for i := range 3 {
		VMOVDQU64(Mem{Base: src, Disp: wide * i}, v)
		VPMOVB2M(v, all)
		for c := range tables {
			// Byte k of register i has the channel (64*i + k) % 3.
			mask := masks[(c+2*i)%3]
			KANDNQ(mask, all, low)
			KANDQ(mask, all, high)
			VPERMI2B(tables[c][1], tables[c][0], low, v)
			VPERMI2B(tables[c][3], tables[c][2], high, v)
		}
		VMOVDQU64(v, Mem{Base: dst, Disp: wide * i})
	}
	ADDQ(Imm(3*wide), src)
	ADDQ(Imm(3*wide), dst)
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
