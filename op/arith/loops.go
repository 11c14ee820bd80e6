package arith

import (
	"github.com/bivouac-ml/bivouac/internal/libm"
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// loopFor returns the loop of a function for operands of one type, which is also the type of the
// result, except for comparisons.
func loopFor(name string, d tensor.DType) loop {
	if d == tensor.Bool {
		if f := boolLoop(name); f != nil {
			return f
		}
	}
	named := element.Pick(d, integerLoop[uint8], integerLoop[int8], integerLoop[uint16], integerLoop[int16],
		integerLoop[uint32], integerLoop[int32], integerLoop[uint64], integerLoop[int64],
		realLoop[float32], realLoop[float64])
	return named(name)
}

// numberLoop returns a loop that is defined for integers and floats, or nil.
func numberLoop[T number](name string) loop {
	switch name {
	case "plus":
		return convert[T, T]
	case "minus":
		return minus[T]
	case "abs":
		return apply(func(x T) T {
			if x < 0 {
				return -x
			}
			return x
		})
	case "add":
		return add[T]
	case "sub":
		return sub[T]
	case "mul":
		return mul[T]
	case "min":
		return least[T]
	case "max":
		return greatest[T]
	case "clamp":
		return clamp[T]
	}
	return comparisonLoop[T](name)
}

func comparisonLoop[T number](name string) loop {
	switch name {
	case "eq":
		return equal[T]
	case "neq":
		return unequal[T]
	case "lt":
		return less[T]
	case "leq":
		return lessOrEqual[T]
	case "gt":
		return exchanged(less[T])
	case "geq":
		return exchanged(lessOrEqual[T])
	}
	return nil
}

// exchanged returns the loop f with its two operands exchanged.
func exchanged(f loop) loop { return func(dst, a, b, _ []byte) bool { return f(dst, b, a, nil) } }

func add[T number](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] + y[i]
	}
	return true
}

func sub[T number](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return true
}

func mul[T number](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] * y[i]
	}
	return true
}

func minus[T number](dst, a, _, _ []byte) bool {
	d, x := view[T](dst), view[T](a)
	x = x[:len(d)]
	for i := range d {
		d[i] = -x[i]
	}
	return true
}

// least returns y if x or y is NaN, like the comparison in C. greatest does the same.
func least[T number](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		v := y[i]
		if x[i] < v {
			v = x[i]
		}
		d[i] = v
	}
	return true
}

func greatest[T number](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		v := y[i]
		if x[i] > v {
			v = x[i]
		}
		d[i] = v
	}
	return true
}

// clamp does not change NaN. If the lower bound is above the upper bound, it returns the upper
// bound.
func clamp[T number](dst, a, b, c []byte) bool {
	d, x, lo, hi := view[T](dst), view[T](a), view[T](b), view[T](c)
	x, lo, hi = x[:len(d)], lo[:len(d)], hi[:len(d)]
	for i := range d {
		v := x[i]
		if v < lo[i] {
			v = lo[i]
		}
		if hi[i] < v {
			v = hi[i]
		}
		d[i] = v
	}
	return true
}

func apply[T number](f func(T) T) loop {
	return func(dst, a, _, _ []byte) bool {
		d, x := view[T](dst), view[T](a)
		x = x[:len(d)]
		for i := range d {
			d[i] = f(x[i])
		}
		return true
	}
}

func combine[T number](f func(x, y T) T) loop {
	return func(dst, a, b, _ []byte) bool {
		d, x, y := view[T](dst), view[T](a), view[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = f(x[i], y[i])
		}
		return true
	}
}

func equal[T number](dst, a, b, _ []byte) bool {
	x, y := view[T](a)[:len(dst)], view[T](b)[:len(dst)]
	for i := range dst {
		dst[i] = truth(x[i] == y[i])
	}
	return true
}

func unequal[T number](dst, a, b, _ []byte) bool {
	x, y := view[T](a)[:len(dst)], view[T](b)[:len(dst)]
	for i := range dst {
		dst[i] = truth(x[i] != y[i])
	}
	return true
}

func less[T number](dst, a, b, _ []byte) bool {
	x, y := view[T](a)[:len(dst)], view[T](b)[:len(dst)]
	for i := range dst {
		dst[i] = truth(x[i] < y[i])
	}
	return true
}

func lessOrEqual[T number](dst, a, b, _ []byte) bool {
	x, y := view[T](a)[:len(dst)], view[T](b)[:len(dst)]
	for i := range dst {
		dst[i] = truth(x[i] <= y[i])
	}
	return true
}

// truth is the byte of a bool.
func truth(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func integerLoop[T integer](name string) loop {
	var zero T
	mask := uint(31) // C shifts integers of up to 32 bits as int; the processor uses the low bits of the count
	if unsafe.Sizeof(zero) == 8 {
		mask = 63
	}
	switch name {
	case "div":
		return divide(func(x, y T) T { return x / y })
	case "mod":
		return divide(func(x, y T) T { return x % y })
	case "pow":
		return combine(power[T])
	case "bitand":
		return combine(func(x, y T) T { return x & y })
	case "bitor":
		return combine(func(x, y T) T { return x | y })
	case "bitxor":
		return combine(func(x, y T) T { return x ^ y })
	case "bitnot":
		return apply(func(x T) T { return ^x })
	case "lshift":
		return combine(func(x, y T) T { return x << (uint(y) & mask) })
	case "rshift":
		return combine(func(x, y T) T { return x >> (uint(y) & mask) })
	}
	return numberLoop[T](name)
}

func divide[T integer](f func(x, y T) T) loop {
	return func(dst, a, b, _ []byte) bool {
		d, x, y := view[T](dst), view[T](a), view[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			if y[i] == 0 {
				return false
			}
			d[i] = f(x[i], y[i])
		}
		return true
	}
}

// power returns 0 for negative exponents and any base, as in DALI.
func power[T integer](base, exponent T) T {
	if exponent < 0 {
		return 0
	}
	result := T(1)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result *= base
		}
		base *= base
	}
	return result
}

// boolLoop returns the functions of bools that differ from the functions of their bytes.
func boolLoop(name string) loop {
	switch name {
	case "bitnot":
		return apply(func(x uint8) uint8 { return x ^ 1 })
	case "lshift":
		return combine(func(x, _ uint8) uint8 { return x })
	}
	return nil
}

func realLoop[T real](name string) loop {
	switch name {
	case "div", "fdiv":
		return quotient[T]
	case "mod":
		return combine(func(x, y T) T { return T(math.Mod(float64(x), float64(y))) })
	case "pow", "fpow":
		return combine(realPower[T])
	case "atan2":
		return combine(func(x, y T) T { return T(math.Atan2(float64(x), float64(y))) })
	}
	var zero T
	if _, single := any(zero).(float32); single {
		if f := singleFunction(name); f != nil {
			return apply(func(x T) T { return T(f(float32(x))) })
		}
	}
	if f := realFunction(name); f != nil {
		return apply(func(x T) T { return T(f(float64(x))) })
	}
	return numberLoop[T](name)
}

func realPower[T real](x, y T) T {
	if single, ok := any(x).(float32); ok {
		return T(libm.Pow(single, float32(y)))
	}
	return T(math.Pow(float64(x), float64(y)))
}

// singleFunction returns a function of one float32 that does not go by way of float64, or nil. It
// computes what the C library computes.
func singleFunction(name string) func(float32) float32 {
	switch name {
	case "rsqrt":
		return rsqrt32
	case "exp":
		return libm.Exp
	case "log":
		return libm.Log
	case "log2":
		return libm.Log2
	case "sin":
		return libm.Sin
	case "cos":
		return libm.Cos
	}
	return nil
}

func quotient[T real](dst, a, b, _ []byte) bool {
	d, x, y := view[T](dst), view[T](a), view[T](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = x[i] / y[i]
	}
	return true
}

// rsqrt32 returns 1/√x. DALI improves the processor's approximation by one Newton step. For numbers
// without a normal result, rsqrt32 returns DALI's values: NaN for 0 and infinity, and minus
// infinity for numbers below the normal numbers.
func rsqrt32(x float32) float32 {
	const smallestNormal = 0x1p-126
	switch {
	case x == 0 || math.IsInf(float64(x), 1):
		return float32(math.NaN())
	case x > 0 && x < smallestNormal:
		return float32(math.Inf(-1))
	}
	return float32(1 / math.Sqrt(float64(x)))
}

// realFunction returns a function of one float, or nil. For float32, the function is computed in
// float64 and then rounded.
func realFunction(name string) func(float64) float64 {
	switch name {
	case "fabs":
		return math.Abs
	case "floor":
		return math.Floor
	case "ceil":
		return math.Ceil
	case "sqrt":
		return math.Sqrt
	case "rsqrt":
		return func(x float64) float64 { return 1 / math.Sqrt(x) }
	case "cbrt":
		return math.Cbrt
	case "exp":
		return math.Exp
	case "log":
		return math.Log
	case "log2":
		return log2
	case "log10":
		return log10
	case "sin":
		return math.Sin
	case "cos":
		return math.Cos
	case "tan":
		return math.Tan
	case "asin":
		return math.Asin
	case "acos":
		return math.Acos
	case "atan":
		return math.Atan
	case "sinh":
		return math.Sinh
	case "cosh":
		return math.Cosh
	case "tanh":
		return math.Tanh
	case "asinh":
		return math.Asinh
	case "acosh":
		return math.Acosh
	case "atanh":
		return math.Atanh
	}
	return nil
}

// log2 is accurate near 1, where math.Log2 loses digits because it subtracts an exponent. It is
// exact for powers of two. The same holds for log10.
func log2(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log(x) / math.Ln2
	}
	return math.Log2(x)
}

func log10(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log(x) / math.Ln10
	}
	return math.Log10(x)
}

// remainder32 computes the remainder if one operand was an integer. As in C, it computes in float64
// and converts the result to float32.
func remainder32(dst, a, b, _ []byte) bool {
	d, x, y := view[float32](dst), view[float64](a), view[float64](b)
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = float32(math.Mod(x[i], y[i]))
	}
	return true
}

// compareMixed compares an int64 a with an uint64 b.
func compareMixed(name string) loop {
	holds := comparisonOf(name)
	return func(dst, a, b, _ []byte) bool {
		x, y := view[int64](a), view[uint64](b)
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			order := 0
			switch {
			case x[i] < 0 || uint64(x[i]) < y[i]:
				order = -1
			case uint64(x[i]) > y[i]:
				order = 1
			}
			dst[i] = truth(holds(order))
		}
		return true
	}
}

// comparisonOf returns a function that reports whether a comparison is true for two numbers with
// the order -1, 0 or 1.
func comparisonOf(name string) func(order int) bool {
	switch name {
	case "eq":
		return func(o int) bool { return o == 0 }
	case "neq":
		return func(o int) bool { return o != 0 }
	case "lt":
		return func(o int) bool { return o < 0 }
	case "leq":
		return func(o int) bool { return o <= 0 }
	case "gt":
		return func(o int) bool { return o > 0 }
	}
	return func(o int) bool { return o >= 0 }
}

// mirrored returns the name of the comparison with its operands exchanged.
func mirrored(name string) string {
	switch name {
	case "lt":
		return "gt"
	case "leq":
		return "geq"
	case "gt":
		return "lt"
	case "geq":
		return "leq"
	}
	return name
}
