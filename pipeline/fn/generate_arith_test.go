package fn_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// arithmetic is a function of package op/arith, as Go declares it: once as a function of
// pipeline/fn, once as a function of dynamic/fn and, for operators that Go writes as signs, as a
// method of pipeline.Node.
type arithmetic struct {
	name     string // in Go
	function string // in op/arith
	operands string // "x", "x y", "y x", "x lo hi"
	doc      string // what it returns
	method   bool   // of pipeline.Node; then a function of one operand has no second form
	lazy     string // the method of pipeline.Builder that is the lazy form, or ""
}

const aFloat = " as a float: float64 of a float64, else float32"

var arithmetics = []arithmetic{
	{"Add", "add", "x y", "x + y", true, ""},
	{"Sub", "sub", "x y", "x - y", true, ""},
	{"Mul", "mul", "x y", "x * y", true, ""},
	{"Div", "fdiv", "x y", "x / y as a float: float32 unless an operand is float64", true, ""},
	{"FloorDiv", "div", "x y", "x // y: of integers the quotient without its fraction, of floats x / y", true, ""},
	{"Mod", "mod", "x y", "x % y, with the sign of x", true, ""},
	{"Pow", "pow", "x y", "x to the power of y, of the promoted type", true, ""},
	{"Equal", "eq", "x y", "whether x == y", true, ""},
	{"NotEqual", "neq", "x y", "whether x != y", true, ""},
	{"Less", "lt", "x y", "whether x < y", true, ""},
	{"LessEqual", "leq", "x y", "whether x <= y", true, ""},
	{"Greater", "gt", "x y", "whether x > y", true, ""},
	{"GreaterEqual", "geq", "x y", "whether x >= y", true, ""},
	{"And", "bitand", "x y", "x & y, of integers and bools", true, "AndThen"},
	{"Or", "bitor", "x y", "x | y, of integers and bools", true, "OrElse"},
	{"Xor", "bitxor", "x y", "x ^ y, of integers and bools", true, ""},
	{"Neg", "minus", "x", "-x", true, ""},
	{"Invert", "bitnot", "x", "^x, all bits turned, of integers and bools", true, ""},
	{"Abs", "abs", "x", "the absolute value of x, of its type", false, ""},
	{"Fabs", "fabs", "x", "the absolute value of x" + aFloat, false, ""},
	{"Floor", "floor", "x", "x rounded down" + aFloat, false, ""},
	{"Ceil", "ceil", "x", "x rounded up" + aFloat, false, ""},
	{"Sqrt", "sqrt", "x", "the square root of x" + aFloat, false, ""},
	{"Rsqrt", "rsqrt", "x", "1 / Sqrt(x)" + aFloat, false, ""},
	{"Cbrt", "cbrt", "x", "the cube root of x" + aFloat, false, ""},
	{"Exp", "exp", "x", "e to the power of x" + aFloat, false, ""},
	{"Log", "log", "x", "the natural logarithm of x" + aFloat, false, ""},
	{"Log2", "log2", "x", "the logarithm of x to base 2" + aFloat, false, ""},
	{"Log10", "log10", "x", "the logarithm of x to base 10" + aFloat, false, ""},
	{"Sin", "sin", "x", "the sine of x" + aFloat, false, ""},
	{"Cos", "cos", "x", "the cosine of x" + aFloat, false, ""},
	{"Tan", "tan", "x", "the tangent of x" + aFloat, false, ""},
	{"Asin", "asin", "x", "the inverse sine of x" + aFloat, false, ""},
	{"Acos", "acos", "x", "the inverse cosine of x" + aFloat, false, ""},
	{"Atan", "atan", "x", "the inverse tangent of x" + aFloat, false, ""},
	{"Sinh", "sinh", "x", "the hyperbolic sine of x" + aFloat, false, ""},
	{"Cosh", "cosh", "x", "the hyperbolic cosine of x" + aFloat, false, ""},
	{"Tanh", "tanh", "x", "the hyperbolic tangent of x" + aFloat, false, ""},
	{"Asinh", "asinh", "x", "the inverse hyperbolic sine of x" + aFloat, false, ""},
	{"Acosh", "acosh", "x", "the inverse hyperbolic cosine of x" + aFloat, false, ""},
	{"Atanh", "atanh", "x", "the inverse hyperbolic tangent of x" + aFloat, false, ""},
	{"Min", "min", "x y", "the smaller of x and y, of the promoted type", false, ""},
	{"Max", "max", "x y", "the larger of x and y, of the promoted type", false, ""},
	{"Fpow", "fpow", "x y", "x to the power of y as a float: float32 unless an operand is float64", false, ""},
	{"Atan2", "atan2", "y x", "the angle of the point (y, x) as a float: float32 unless an operand is float64", false, ""},
	{"Clamp", "clamp", "x lo hi", "x limited to lo and hi, of the promoted type", false, ""},
}

// arithmeticFiles makes the files of arithmetic, by their paths.
func arithmeticFiles(t *testing.T) map[string][]byte {
	t.Helper()
	graph := generatedBy + "package fn\n\nimport \"github.com/bivouac-ml/bivouac/pipeline\"\n\n"
	values := generatedBy + "package fn\n\nimport (\n\"context\"\n\n\"github.com/bivouac-ml/bivouac/dynamic\"\n)\n\n"
	methods := generatedBy + "package pipeline\n\n"
	for _, a := range arithmetics {
		a.check(t)
		if a.method {
			methods += a.methodOfNode()
		}
		if !a.method || strings.Contains(a.operands, " ") {
			graph += a.ofNodes()
		}
		values += a.ofValues()
	}
	return map[string][]byte{
		"arith_gen.go":                     source(t, graph),
		filepath.Join("..", "node_gen.go"): source(t, methods),
		filepath.Join("..", "..", "dynamic", "fn", "arith_gen.go"): source(t, values),
	}
}

// check fails unless op/arith has the function, with as many operands.
func (a *arithmetic) check(t *testing.T) {
	t.Helper()
	operands := make([]any, len(strings.Fields(a.operands)))
	for i := range operands {
		operands[i] = pipeline.Node{}
	}
	if _, _, err := arith.Apply(a.function, operands...); err != nil {
		t.Error(err)
	}
}

// parameters returns the parameters of a function whose first operand is of type first.
func (a *arithmetic) parameters(first string) string {
	names := strings.Fields(a.operands)
	if len(names) == 1 {
		return names[0] + " " + first
	}
	if first == "any" {
		return strings.Join(names, ", ") + " any"
	}
	return names[0] + " " + first + ", " + strings.Join(names[1:], ", ") + " any"
}

func (a *arithmetic) arguments() string { return strings.Join(strings.Fields(a.operands), ", ") }

// lazyForm returns the sentence about the lazy form, or "".
func (a *arithmetic) lazyForm(builder string) string {
	if a.lazy == "" {
		return ""
	}
	return fmt.Sprintf(" [%s.%s] is the lazy form, for conditions.", builder, a.lazy)
}

// ofNodes declares the function of pipeline/fn.
func (a *arithmetic) ofNodes() string {
	first := "any"
	if !strings.Contains(a.operands, " ") {
		first = "pipeline.Node"
	}
	return comment(fmt.Sprintf("%s returns %s.%s", a.name, a.doc, a.lazyForm("pipeline.Builder"))) +
		fmt.Sprintf("func %s(%s) pipeline.Node { return pipeline.Apply(%q, %s) }\n\n",
			a.name, a.parameters(first), a.function, a.arguments())
}

// ofValues declares the function of dynamic/fn.
func (a *arithmetic) ofValues() string {
	return comment(fmt.Sprintf("%s returns %s.", a.name, a.doc)) +
		fmt.Sprintf("func %s[T dynamic.Kind](ctx context.Context, %s) T { return dynamic.Apply[T](ctx, %q, %s) }\n\n",
			a.name, a.parameters("T"), a.function, a.arguments())
}

// words finds the operands of a documentation.
var words = regexp.MustCompile(`\b[xy]\b`)

// methodOfNode declares the method of pipeline.Node, whose first operand is n.
func (a *arithmetic) methodOfNode() string {
	of := map[string]string{"x": "n", "y": "x"}
	doc := words.ReplaceAllStringFunc(a.doc, func(word string) string { return of[word] })
	var b bytes.Buffer
	b.WriteString(comment(fmt.Sprintf("%s returns %s.%s", a.name, doc, a.lazyForm("Builder"))))
	if strings.Contains(a.operands, " ") {
		fmt.Fprintf(&b, "func (n Node) %s(x any) Node { return Apply(%q, n, x) }\n\n", a.name, a.function)
	} else {
		fmt.Fprintf(&b, "func (n Node) %s() Node { return Apply(%q, n) }\n\n", a.name, a.function)
	}
	return b.String()
}
