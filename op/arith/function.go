package arith

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// class says which operand types a function takes and which type it returns.
type class uint8

const (
	numeric    class = iota // the promoted type; not only bools
	float                   // a float: the operands' type or float32
	comparison              // bool
	bitwise                 // the promoted type of integers and bools
	product                 // like numeric, also for only bools
)

type function struct {
	name  string
	arity int
	class class
}

// functions is constant.
var functions = makeFunctions()

func makeFunctions() map[string]*function {
	all := map[string]*function{}
	add := func(arity int, c class, names ...string) {
		for _, name := range names {
			all[name] = &function{name: name, arity: arity, class: c}
		}
	}
	add(1, numeric, "plus", "minus", "abs")
	add(1, float, "fabs", "floor", "ceil", "sqrt", "rsqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan",
		"asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
	add(1, bitwise, "bitnot")
	add(2, numeric, "add", "sub", "div", "mod", "pow", "min", "max")
	add(2, product, "mul")
	add(2, float, "fdiv", "fpow", "atan2")
	add(2, comparison, "eq", "neq", "lt", "leq", "gt", "geq")
	add(2, bitwise, "bitand", "bitor", "bitxor", "lshift", "rshift")
	add(3, numeric, "clamp")
	return all
}

func lookup(name string) (*function, error) {
	if f, ok := functions[name]; ok {
		return f, nil
	}
	return nil, &errs.Error{Kind: errs.Invalid, Op: "arithmetic", Subject: "function " + name, Got: "there is no such function",
		Remedy: op.Nearest(name, slices.Collect(maps.Keys(functions)))}
}

// Promote returns the common type of operands of types a and b. It fails for a type that has no
// arithmetic, and names it.
func Promote(a, b tensor.DType) (tensor.DType, error) {
	for _, d := range []tensor.DType{a, b} {
		if !supported(d) {
			return tensor.Invalid, &errs.Error{Kind: errs.Unsupported, Op: "arithmetic", Subject: "operand of type " + d.String(),
				Want: "bool, an integer of 8 to 64 bits, float32 or float64", Got: d.String(), Remedy: "cast it"}
		}
	}
	switch {
	case a == b, b == tensor.Bool:
		return a, nil
	case a == tensor.Bool:
		return b, nil
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a, nil
		}
		return b, nil
	case a.IsFloat(), signed(a) == signed(b):
		if a.Size() > b.Size() {
			return a, nil
		}
		return b, nil
	}
	if signed(b) {
		a, b = b, a
	}
	if a.Size() > b.Size() {
		return a, nil
	}
	switch b.Size() {
	case 1:
		return tensor.Int16, nil
	case 2:
		return tensor.Int32, nil
	}
	return tensor.Int64, nil
}

func supported(d tensor.DType) bool {
	switch d {
	case tensor.Bool, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Float32, tensor.Float64:
		return true
	}
	return false
}

func signed(d tensor.DType) bool {
	return d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32 || d == tensor.Int64
}

// ResultType returns the result type of the function called name for operands of the given types.
// It fails if the function does not accept these types.
func ResultType(name string, operands ...tensor.DType) (tensor.DType, error) {
	f, err := lookup(name)
	if err != nil {
		return tensor.Invalid, err
	}
	if err := f.checkArity(len(operands)); err != nil {
		return tensor.Invalid, err
	}
	_, result, err := f.types(operands)
	return result, err
}

func (f *function) checkArity(n int) error {
	if n == f.arity {
		return nil
	}
	return f.error("operands", plural(f.arity, "operand"), plural(n, "operand"), "")
}

// types returns the promoted type of the operands and the type of the result.
func (f *function) types(operands []tensor.DType) (promoted, result tensor.DType, err error) {
	promoted = operands[0]
	for _, d := range operands {
		if promoted, err = Promote(promoted, d); err != nil {
			return promoted, promoted, err
		}
	}
	switch f.class {
	case comparison:
		return promoted, tensor.Bool, nil
	case bitwise:
		if promoted.IsFloat() {
			return promoted, promoted, f.error("operands", "integers or bools", promoted.String(), "cast them")
		}
		return promoted, promoted, nil
	case product:
		return promoted, promoted, nil
	}
	if promoted == tensor.Bool {
		return promoted, promoted, f.error("operands", "at least one number", "only bools", "use bitwise functions, or cast one operand")
	}
	if f.class == float && !promoted.IsFloat() {
		promoted = tensor.Float32
	}
	return promoted, promoted, nil
}

func (f *function) error(subject, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "arithmetic", Subject: f.name + ", " + subject, Want: want, Got: got, Remedy: remedy}
}
