package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const correlated = 4 // rows of sums that are made together

// correlate writes a kernel that moves a matrix of weights over rows of elements of size bytes. A
// row of elements is loaded once for all rows of sums that it belongs to.
func correlate(name string, size, unroll int, load func(Mem, VecVirtual), fused bool) {
	TEXT(name, NOSPLIT, "func(dst *float32, stride int, base *byte, pitch, n int, weights *float32, "+
		"rows, columns, step int)")
	Doc(fmt.Sprintf("%s computes n sums, at least 8, in each of %d rows; stride, pitch and step are in bytes.",
		name, correlated))
	Pragma("noescape")
	n, step := Load(Param("n"), GP64()), Load(Param("step"), GP64())
	back, back3 := GP64(), GP64() // to the weights of the row above, and three rows above
	Load(Param("columns"), back)
	SHLQ(Imm(2), back)
	NEGQ(back)
	LEAQ(Mem{Base: back, Index: back, Scale: 2}, back3)
	var sum [correlated][]VecVirtual
	v, w := make([]VecVirtual, unroll), YMM()
	for u := range unroll {
		v[u] = YMM()
		for o := range sum {
			sum[o] = append(sum[o], YMM())
		}
	}
	row, at, weight, column, line, rest := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	eachVector(n, unroll, func(i Register, vectors int) {
		for o := range sum {
			for u := range vectors {
				VXORPS(sum[o][u], sum[o][u], sum[o][u])
			}
		}
		Load(Param("base"), line)
		LEAQ(Mem{Base: line, Index: i, Scale: uint8(size)}, line)
		XORQ(row, row)
		next, done := label("row"), label("rows")
		// taps adds a row of elements to the sums from first to last.
		taps := func(first, last int) {
			tap := label("tap")
			Label(tap)
			for u := range vectors {
				load(Mem{Base: at, Disp: u * vector * size}, v[u])
			}
			for o := first; o <= last; o++ {
				m := Mem{Base: weight}
				switch o {
				case 1, 2:
					m.Index, m.Scale = back, uint8(o)
				case 3:
					m.Index, m.Scale = back3, 1
				}
				VBROADCASTSS(m, w)
				for u := range vectors {
					if fused {
						VFMADD231PS(w, v[u], sum[o][u])
						continue
					}
					product := YMM()
					VMULPS(w, v[u], product)
					VADDPS(product, sum[o][u], sum[o][u])
				}
			}
			ADDQ(step, at)
			ADDQ(Imm(4), weight)
			DECQ(column)
			JNE(LabelRef(tap))
			JMP(LabelRef(done))
		}
		Label(next)
		MOVQ(line, at)
		MOVQ(back, weight)
		NEGQ(weight)
		IMULQ(row, weight)
		Load(Param("rows"), rest)
		SUBQ(row, rest) // at most 0 where the first sums are complete
		Load(Param("weights"), column)
		ADDQ(column, weight)
		Load(Param("columns"), column)
		for last := range correlated {
			other := label("last")
			if last < correlated-1 {
				CMPQ(row, Imm(uint64(last)))
				JNE(LabelRef(other))
			}
			for first := 0; first < last; first++ {
				more := label("first")
				CMPQ(rest, I32(int32(-first)))
				JLE(LabelRef(more))
				taps(first, last)
				Label(more)
			}
			taps(last, last)
			Label(other)
		}
		Label(done)
		Load(Param("pitch"), at)
		ADDQ(at, line)
		INCQ(row)
		Load(Param("rows"), at)
		ADDQ(Imm(correlated-1), at)
		CMPQ(row, at)
		JNE(LabelRef(next))
		Load(Param("dst"), at)
		LEAQ(Mem{Base: at, Index: i, Scale: 4}, at)
		Load(Param("stride"), rest)
		for o := range sum {
			for u := range vectors {
				VMOVUPS(sum[o][u], Mem{Base: at, Disp: 32 * u})
			}
			if o < correlated-1 {
				ADDQ(rest, at)
			}
		}
	})
	VZEROUPPER()
	RET()
}
