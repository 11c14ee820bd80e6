// Fft writes the AVX2 twins of internal/fft. Run it there with
//
//	go generate ./internal/fft
//
// An element of a spectrum is two vectors: the real parts of eight signals, then the imaginary
// parts. Elements are computed by the operations of the generic twin in its order. Multiplications
// and additions have instructions of their own.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	element   = 64 // bytes
	half      = 32
	imaginary = half // where a variable is called half
)

func main() {
	ConstraintExpr("amd64,!purego")
	radix4()
	radix4Last()
	radix2Last()
	powerPairs()
	odd("radix3AVX2", 3)
	odd("radix5AVX2", 5)
	Generate()
}

// number is a complex number of every signal.
type number struct{ re, im VecVirtual }

func load(m Mem) number {
	v := number{YMM(), YMM()}
	VMOVUPS(m, v.re)
	VMOVUPS(m.Offset(half), v.im)
	return v
}

func (v number) store(m Mem) {
	VMOVUPS(v.re, m)
	VMOVUPS(v.im, m.Offset(half))
}

// combine returns a+b and leaves a-b in a.
func combine(a, b number) number {
	sum := number{YMM(), YMM()}
	VADDPS(b.re, a.re, sum.re)
	VADDPS(b.im, a.im, sum.im)
	VSUBPS(b.re, a.re, a.re)
	VSUBPS(b.im, a.im, a.im)
	return sum
}

// times multiplies v by the factor at m.
func (v number) times(m Mem) number {
	wr, wi, x, y := YMM(), YMM(), YMM(), YMM()
	VBROADCASTSS(m, wr)
	VBROADCASTSS(m.Offset(4), wi)
	VMULPS(wr, v.re, x)
	VMULPS(wi, v.im, y)
	VSUBPS(y, x, x)
	VMULPS(wi, v.re, v.re)
	VMULPS(wr, v.im, v.im)
	VADDPS(v.im, v.re, v.re)
	return number{x, v.re}
}

// butterfly reads four elements step bytes apart and writes their transform.
func butterfly(src, srcStep, dst, dstStep Register, turn func(k int, v number) number) {
	src3, dst3 := GP64(), GP64()
	LEAQ(Mem{Base: src, Index: srcStep, Scale: 2}, src3)
	LEAQ(Mem{Base: dst, Index: dstStep, Scale: 2}, dst3)
	a, c := load(Mem{Base: src}), load(Mem{Base: src3})
	b, d := load(Mem{Base: src, Index: srcStep, Scale: 1}), load(Mem{Base: src3, Index: srcStep, Scale: 1})
	s := combine(a, c)
	t := combine(b, d)
	y2 := number{YMM(), YMM()}
	y0 := number{YMM(), YMM()}
	VADDPS(t.re, s.re, y0.re)
	VADDPS(t.im, s.im, y0.im)
	y0.store(Mem{Base: dst})
	VSUBPS(t.re, s.re, y2.re)
	VSUBPS(t.im, s.im, y2.im)
	turn(2, y2).store(Mem{Base: dst3})
	y1, y3 := number{YMM(), YMM()}, number{YMM(), YMM()}
	VADDPS(b.im, a.re, y1.re)
	VSUBPS(b.re, a.im, y1.im)
	VSUBPS(b.im, a.re, y3.re)
	VADDPS(b.re, a.im, y3.im)
	turn(1, y1).store(Mem{Base: dst, Index: dstStep, Scale: 1})
	turn(3, y3).store(Mem{Base: dst3, Index: dstStep, Scale: 1})
}

func radix4() {
	TEXT("radix4AVX2", NOSPLIT, "func(to, from, turn *float32, m, s int)")
	Doc("radix4AVX2 is a pass of radix 4 over m*4 blocks of s elements.")
	dst, src, turn := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("turn"), GP64())
	m, s := Load(Param("m"), GP64()), Load(Param("s"), GP64())
	dstStep, srcStep, q, skip := GP64(), GP64(), GP64(), GP64()
	MOVQ(s, dstStep)
	SHLQ(Imm(6), dstStep)
	MOVQ(dstStep, srcStep)
	IMULQ(m, srcStep)
	MOVQ(dstStep, skip)
	LEAQ(Mem{Base: skip, Index: skip, Scale: 2}, skip) // three blocks
	Label("block")
	MOVQ(s, q)
	Label("element")
	butterfly(src, srcStep, dst, dstStep, func(k int, v number) number {
		return v.times(Mem{Base: turn,
			Disp: 8 * (k - 1)})
	})
	ADDQ(Imm(element), src)
	ADDQ(Imm(element), dst)
	DECQ(q)
	JNE(LabelRef("element"))
	ADDQ(skip, dst)
	ADDQ(Imm(24), turn)
	DECQ(m)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

func radix4Last() {
	TEXT("radix4LastAVX2", NOSPLIT, "func(to, from *float32, s int)")
	Doc("radix4LastAVX2 is a pass of radix 4 over 4 blocks of s elements.")
	dst, src, q := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("s"), GP64())
	step := GP64()
	MOVQ(q, step)
	SHLQ(Imm(6), step)
	Label("element")
	butterfly(src, step, dst, step, func(_ int, v number) number { return v })
	ADDQ(Imm(element), src)
	ADDQ(Imm(element), dst)
	DECQ(q)
	JNE(LabelRef("element"))
	VZEROUPPER()
	RET()
}

func radix2Last() {
	TEXT("radix2LastAVX2", NOSPLIT, "func(to, from *float32, s int)")
	Doc("radix2LastAVX2 is a pass of radix 2 over 2 blocks of s elements.")
	dst, src, q := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("s"), GP64())
	step := GP64()
	MOVQ(q, step)
	SHLQ(Imm(6), step)
	Label("element")
	a, b := load(Mem{Base: src}), load(Mem{Base: src, Index: step, Scale: 1})
	combine(a, b).store(Mem{Base: dst})
	a.store(Mem{Base: dst, Index: step, Scale: 1})
	ADDQ(Imm(element), src)
	ADDQ(Imm(element), dst)
	DECQ(q)
	JNE(LabelRef("element"))
	VZEROUPPER()
	RET()
}

func powerPairs() {
	TEXT("powerPairsAVX2", NOSPLIT, "func(power, z, turn *float32, half int)")
	Doc("powerPairsAVX2 writes the elements 1 to half-1 of the power, half >= 2.")
	dst, src, turn, n := Load(Param("power"), GP64()), Load(Param("z"), GP64()), Load(Param("turn"),
		GP64()), Load(Param("half"), GP64())
	src2, dst2 := GP64(), GP64()
	MOVQ(n, src2)
	SHLQ(Imm(6), src2)
	ADDQ(src, src2)
	MOVQ(n, dst2)
	SHLQ(Imm(5), dst2)
	ADDQ(dst, dst2)
	SHRQ(Imm(1), n)
	factor := YMM()
	VBROADCASTSS(ConstData("fftHalf", F32(0.5)), factor)
	Label("pair")
	ADDQ(Imm(element), src)
	SUBQ(Imm(element), src2)
	ADDQ(Imm(half), dst)
	SUBQ(Imm(half), dst2)
	ADDQ(Imm(8), turn)
	a, b := load(Mem{Base: src}), load(Mem{Base: src2})
	e, o := number{YMM(), YMM()}, number{YMM(), YMM()}
	VADDPS(b.re, a.re, e.re)
	VSUBPS(b.im, a.im, e.im)
	VADDPS(b.im, a.im, o.re)
	VSUBPS(a.re, b.re, o.im)
	for _, v := range []VecVirtual{e.re, e.im, o.re, o.im} {
		VMULPS(factor, v, v)
	}
	t := o.times(Mem{Base: turn})
	x, y := number{YMM(), YMM()}, number{YMM(), YMM()}
	VADDPS(t.re, e.re, x.re)
	VADDPS(t.im, e.im, x.im)
	VSUBPS(t.re, e.re, y.re)
	VSUBPS(t.im, e.im, y.im)
	for _, v := range []VecVirtual{x.re, x.im, y.re, y.im} {
		VMULPS(v, v, v)
	}
	VADDPS(x.im, x.re, x.re)
	VADDPS(y.im, y.re, y.re)
	VMOVUPS(x.re, Mem{Base: dst})
	VMOVUPS(y.re, Mem{Base: dst2})
	DECQ(n)
	JNE(LabelRef("pair"))
	VZEROUPPER()
	RET()
}

// odd writes the pass of radix 3 or 5. Its results are written first, and multiplied by their
// factors when the registers are free.
func odd(name string, radix int) {
	half := radix / 2
	TEXT(name, NOSPLIT, "func(to, from, turn, waves *float32, m, s int)")
	Doc(name + " is a pass of its radix over m blocks of s elements, m > 1.")
	dst, src, turn := Load(Param("to"), GP64()), Load(Param("from"), GP64()), Load(Param("turn"), GP64())
	waves := Load(Param("waves"), GP64())
	m, s := Load(Param("m"), GP64()), Load(Param("s"), GP64())
	dstStep, srcStep, q, at := GP64(), GP64(), GP64(), GP64()
	MOVQ(s, dstStep)
	SHLQ(Imm(6), dstStep)
	MOVQ(dstStep, srcStep)
	IMULQ(m, srcStep)
	Label("block")
	MOVQ(s, q)
	Label("element")
	step := func(from, by Register, times int) Mem { // leaves the place in at
		MOVQ(from, at)
		for range times {
			ADDQ(by, at)
		}
		return Mem{Base: at}
	}
	first := load(Mem{Base: src})
	all := number{YMM(), YMM()}
	VMOVAPS(first.re, all.re)
	VMOVAPS(first.im, all.im)
	var sums, differences []number
	for j := 1; j <= half; j++ {
		d := load(step(src, srcStep, j))
		sum := combine(d, load(step(src, srcStep, radix-j)))
		VADDPS(sum.re, all.re, all.re)
		VADDPS(sum.im, all.im, all.im)
		sums, differences = append(sums, sum), append(differences, d)
	}
	all.store(Mem{Base: dst})
	for k := 1; k <= half; k++ {
		even, odd := number{YMM(), YMM()}, number{YMM(), YMM()}
		for j := 1; j <= half; j++ {
			wave, product := YMM(), YMM()
			place := 8 * ((k-1)*half + j - 1)
			VBROADCASTSS(Mem{Base: waves, Disp: place}, wave)
			add := func(to, from, x VecVirtual) {
				VMULPS(wave, x, product)
				VADDPS(product, from, to)
			}
			if j == 1 {
				add(even.re, first.re, sums[0].re)
				add(even.im, first.im, sums[0].im)
			} else {
				add(even.re, even.re, sums[j-1].re)
				add(even.im, even.im, sums[j-1].im)
			}
			VBROADCASTSS(Mem{Base: waves, Disp: place + 4}, wave)
			if j == 1 {
				VMULPS(wave, differences[0].re, odd.re)
				VMULPS(wave, differences[0].im, odd.im)
			} else {
				add(odd.re, odd.re, differences[j-1].re)
				add(odd.im, odd.im, differences[j-1].im)
			}
		}
		y := YMM()
		place := step(dst, dstStep, k)
		VADDPS(odd.im, even.re, y)
		VMOVUPS(y, place)
		VSUBPS(odd.re, even.im, y)
		VMOVUPS(y, place.Offset(imaginary))
		place = step(dst, dstStep, radix-k)
		VSUBPS(odd.im, even.re, y)
		VMOVUPS(y, place)
		VADDPS(odd.re, even.im, y)
		VMOVUPS(y, place.Offset(imaginary))
	}
	for k := 1; k < radix; k++ {
		place := step(dst, dstStep, k)
		v := load(place)
		v.times(Mem{Base: turn, Disp: 8 * (k - 1)}).store(place)
	}
	ADDQ(Imm(element), src)
	ADDQ(Imm(element), dst)
	DECQ(q)
	JNE(LabelRef("element"))
	for range radix - 1 {
		ADDQ(dstStep, dst)
	}
	ADDQ(Imm(uint64(8*(radix-1))), turn)
	DECQ(m)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}
