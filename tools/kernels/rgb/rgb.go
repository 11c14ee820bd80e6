// Package rgb writes the end of vector code that converts colours: pixels of three bytes.
package rgb

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Masks say, for each of three registers of output, where the bytes of each channel go.
type Masks [3][3]Mem

// NewMasks writes the masks as data. Call it before the function that uses them.
func NewMasks() (m Masks) {
	for j := range m {
		for c := range m[j] {
			m[j][c] = GLOBL("mask"+string(rune('0'+j))+string(rune('0'+c)), RODATA|NOPTR)
			for i := range 16 {
				at, v := 16*j+i, uint8(0x80)
				if at%3 == c {
					v = uint8(at / 3)
				}
				DATA(i, U8(v))
			}
		}
	}
	return m
}

// Store limits 16 numbers of each channel, words, to bytes. It writes them to dst as pixels, and
// moves dst behind them. If shift is not 0, the numbers are divided by a power of two before.
func (m Masks) Store(dst reg.Register, channels [3]reg.VecVirtual, shift uint64) {
	for _, c := range channels {
		if shift > 0 {
			VPSRAW(Imm(shift), c, c)
		}
		VPACKUSWB(c, c, c)
		VPERMQ(Imm(0x08), c, c)
	}
	for j := range m {
		out, part := XMM(), XMM()
		VPSHUFB(m[j][0], channels[0].AsX(), out)
		VPSHUFB(m[j][1], channels[1].AsX(), part)
		VPOR(part, out, out)
		VPSHUFB(m[j][2], channels[2].AsX(), part)
		VPOR(part, out, out)
		VMOVDQU(out, Mem{Base: dst, Disp: 16 * j})
	}
	ADDQ(Imm(48), dst)
}
