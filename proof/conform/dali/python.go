package dali

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// machine evaluates the expressions and programs of DALI's vectors: Python as
// nested lists, see "ast" in their README. Values are
//
//	None, bool, int, float, str, bytes   nil, bool, int, float64, string, []byte
//	list, tuple, dict                    []any, tuple, map[string]any
//	lambda                               *lambda
//	members of types                     tensor.DType, op.ImageType, op.InterpType
//	numpy arrays                         tensor.Tensor
//	data nodes, pipelines                pipeline.Node, *program
//	constants of types.Constant          arith.Constant
//
// What Python itself refuses is an *exception; all else that fails is an error of
// the engine.
type machine struct {
	set   *dalivec.Set
	names map[string]any
	host  host
}

// host gives the functions, methods and operators on values that are not Python's own.
type host interface {
	// call calls a function by its dotted name, whose first part is no name of the program.
	call(m *machine, name string, args []any, kw map[string]any) (any, error)
	// method calls a method of a value.
	method(m *machine, receiver any, name string, args []any, kw map[string]any) (any, error)
	// operate applies an operator, one of the AST, when one of the operands is not Python's own.
	operate(operator string, operands ...any) (any, error)
	// index takes elements. An index is a value or a slice.
	index(x any, indices []any) (any, error)
}

type tuple []any

// lambda is a function of the program with the names that it sees.
type lambda struct {
	params []string
	body   any
	names  map[string]any
}

// slice is an index with a range; what is absent is nil.
type slice struct{ start, stop, step any }

// ellipsis is the value of "...".
type ellipsis struct{}

// exception is what Python itself raises, or what cannot be said in Go at all.
type exception struct{ kind, text string }

func (e *exception) Error() string { return e.kind + ": " + e.text }

func raise(kind, format string, args ...any) error {
	return &exception{kind, fmt.Sprintf(format, args...)}
}

// run runs the statements of a program.
func (m *machine) run(statements []any) error {
	for _, s := range statements {
		n, _ := s.([]any)
		var err error
		switch kind := text(n, 0); {
		case kind == "do" && len(n) == 2:
			_, err = m.eval(n[1])
		case kind == "let" && len(n) == 3:
			m.names[text(n, 1)], err = m.eval(n[2])
		default:
			err = fmt.Errorf("unknown statement %v", s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text is element i of a list when it is a string.
func text(n []any, i int) string {
	if i >= len(n) {
		return ""
	}
	s, _ := n[i].(string)
	return s
}

// eval evaluates an expression.
func (m *machine) eval(x any) (any, error) {
	n, ok := x.([]any)
	if !ok || len(n) < 2 {
		return nil, fmt.Errorf("no expression: %v", x)
	}
	switch kind := text(n, 0); kind {
	case "const":
		return constant(n[1])
	case "name":
		return m.name(text(n, 1))
	case "list":
		return m.evalAll(n[1])
	case "tuple":
		l, err := m.evalAll(n[1])
		return tuple(l), err
	case "dict":
		return m.evalDict(n[1])
	case "lambda":
		l := &lambda{body: n[2], names: m.names}
		for _, p := range n[1].([]any) {
			l.params = append(l.params, p.(string))
		}
		return l, nil
	case "bin", "cmp":
		return m.evalOperator(text(n, 1), n[2:]...)
	case "un":
		return m.evalOperator("unary "+text(n, 1), n[2])
	case "if":
		return m.evalIf(n[1], n[2], n[3])
	case "bool":
		return m.evalBool(text(n, 1) == "and", n[2:])
	case "index":
		return m.evalIndex(n[1], n[2])
	case "call":
		return m.evalCall(n[1], n[2], n[3])
	case "attr":
		v, err := m.eval(n[1])
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("unknown attribute %v of %T", n[2], v)
	default:
		return nil, fmt.Errorf("unknown kind of expression %q", kind)
	}
}

func (m *machine) evalAll(x any) ([]any, error) {
	list, _ := x.([]any)
	out := make([]any, len(list))
	for i := range list {
		var err error
		if out[i], err = m.eval(list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *machine) evalDict(x any) (map[string]any, error) {
	in, _ := x.(map[string]any)
	out := map[string]any{}
	for k, v := range in {
		var err error
		if out[k], err = m.eval(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// constant is a value of the AST: "..." is Ellipsis and {"bytes": text} bytes.
func constant(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if v == "..." {
			return ellipsis{}, nil
		}
	case map[string]any:
		if b, ok := v["bytes"].(string); ok {
			return []byte(b), nil
		}
	case json.Number:
		return dalivec.Constant(v)
	}
	return v, nil
}

func (m *machine) name(name string) (any, error) {
	if v, ok := m.names[name]; ok {
		return v, nil
	}
	if e, ok := strings.CutPrefix(name, "types."); ok {
		return dalivec.Enum(e)
	}
	if d, ok := strings.CutPrefix(name, "np."); ok {
		return d, nil // dtypes are given by name
	}
	return nil, raise("NameError", "name %q is not defined", name)
}

func (m *machine) evalIf(test, then, otherwise any) (any, error) {
	v, err := m.eval(test)
	if err != nil {
		return nil, err
	}
	b, ok := v.(bool)
	if !ok {
		return m.host.operate("bool", v)
	}
	if b {
		return m.eval(then)
	}
	return m.eval(otherwise)
}

// evalBool evaluates and or or: the first value that decides, or the last.
func (m *machine) evalBool(and bool, operands []any) (v any, err error) {
	for _, x := range operands {
		if v, err = m.eval(x); err != nil {
			return nil, err
		}
		b, ok := v.(bool)
		if !ok {
			return m.host.operate("bool", v)
		}
		if b != and {
			return v, nil
		}
	}
	return v, nil
}

func (m *machine) evalIndex(x, indices any) (any, error) {
	v, err := m.eval(x)
	if err != nil {
		return nil, err
	}
	var at []any
	for _, i := range indices.([]any) {
		n, _ := i.([]any)
		if text(n, 0) != "slice" {
			one, err := m.eval(i)
			if err != nil {
				return nil, err
			}
			at = append(at, one)
			continue
		}
		var parts [3]any
		for k, p := range n[1:] {
			if p != nil {
				if parts[k], err = m.eval(p); err != nil {
					return nil, err
				}
			}
		}
		at = append(at, slice{parts[0], parts[1], parts[2]})
	}
	if list, ok := v.([]any); ok && len(at) == 1 {
		if i, ok := at[0].(int); ok && i >= 0 && i < len(list) {
			return list[i], nil
		}
	}
	return m.host.index(v, at)
}

func (m *machine) evalOperator(operator string, operands ...any) (any, error) {
	values, err := m.evalAll(operands)
	if err != nil {
		return nil, err
	}
	if v, ok, err := ownOperator(operator, values); ok {
		return v, err
	}
	return m.host.operate(operator, values...)
}

// ownOperator applies an operator to values of Python; ok is false for others.
func ownOperator(operator string, values []any) (v any, ok bool, err error) {
	if len(values) == 1 {
		v, ok = unaryOperator(operator, values[0])
		return v, ok, nil
	}
	if a, ok := values[0].(string); ok && operator == "+" {
		if b, ok := values[1].(string); ok {
			return a + b, true, nil
		}
	}
	a, ok1 := number(values[0])
	b, ok2 := number(values[1])
	if !ok1 || !ok2 {
		return nil, false, nil
	}
	if b == 0 && (operator == "/" || operator == "//" || operator == "%") {
		return nil, true, raise("ZeroDivisionError", "division by zero")
	}
	compare, isComparison := map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[operator]
	if isComparison {
		return compare, true, nil
	}
	floor := math.Floor(a / b)
	result, known := map[string]float64{"+": a + b, "-": a - b, "*": a * b, "/": a / b, "//": floor, "%": a - b*floor, "**": math.Pow(a, b)}[operator]
	if !known {
		return nil, true, fmt.Errorf("unknown operator %q of numbers", operator)
	}
	_, int1 := values[0].(int)
	_, int2 := values[1].(int)
	if int1 && int2 && operator != "/" && (operator != "**" || b >= 0) {
		return int(result), true, nil
	}
	return result, true, nil
}

func unaryOperator(operator string, x any) (v any, ok bool) {
	switch x := x.(type) {
	case bool:
		return !x, operator == "unary not"
	case int:
		v, ok = map[string]int{"unary -": -x, "unary +": x, "unary ~": ^x}[operator]
	case float64:
		v, ok = map[string]float64{"unary -": -x, "unary +": x}[operator]
	}
	return v, ok
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	}
	return 0, false
}

// evalCall calls a function: of the program, of the host, or a method of a value,
// which the AST writes as a dotted name when the value has one.
func (m *machine) evalCall(function, arguments, keywords any) (any, error) {
	args, err := m.evalAll(arguments)
	if err != nil {
		return nil, err
	}
	kw, err := m.evalDict(keywords)
	if err != nil {
		return nil, err
	}
	name, ok := function.(string)
	if !ok {
		n, _ := function.([]any)
		if text(n, 0) != "attr" {
			return nil, fmt.Errorf("no function: %v", function)
		}
		receiver, err := m.eval(n[1])
		if err != nil {
			return nil, err
		}
		return m.host.method(m, receiver, text(n, 2), args, kw)
	}
	first, rest, dotted := strings.Cut(name, ".")
	switch receiver, own := m.names[first]; {
	case own && dotted:
		return m.host.method(m, receiver, rest, args, kw)
	case own:
		return m.apply(receiver, args...)
	}
	return m.host.call(m, name, args, kw)
}

// apply calls a lambda.
func (m *machine) apply(f any, args ...any) (any, error) {
	l, ok := f.(*lambda)
	if !ok {
		return nil, raise("TypeError", "%T object is not callable", f)
	}
	if len(args) != len(l.params) {
		return nil, raise("TypeError", "%d arguments for %d parameters", len(args), len(l.params))
	}
	inner := *m
	inner.names = map[string]any{}
	for k, v := range l.names {
		inner.names[k] = v
	}
	for i, p := range l.params {
		inner.names[p] = args[i]
	}
	return inner.eval(l.body)
}

// exceptionKind is the kind of an exception in err's chain, or "".
func exceptionKind(err error) string {
	var e *exception
	if errors.As(err, &e) {
		return e.kind
	}
	return ""
}
