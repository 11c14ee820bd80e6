package op

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Config holds the resolved arguments of one node. Its kernel is made from them. Constants have the
// Go type of their parameter.
type Config struct {
	Schema *Schema
	Node   string // the node's name, for messages
	Inputs int    // number of given inputs

	constants map[string]any
	inputs    map[string]int // parameter -> argument input
	given     map[string]bool
}

// Resolve checks the arguments of a node against its schema and returns them as a Config. It also
// returns the names of the parameters that take a value per sample: the i-th name belongs to
// argument input i of the kernel. Errors name node and argument.
func Resolve(s *Schema, node string, inputs int, set map[string]Argument) (*Config, []string, error) {
	c := &Config{Schema: s, Node: node, Inputs: inputs, constants: map[string]any{}, inputs: map[string]int{}, given: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if _, ok := s.Param(name); !ok {
			known := make([]string, len(s.Params))
			for i := range s.Params {
				known[i] = s.Params[i].Name
			}
			return nil, nil, &errs.Error{Kind: errs.Invalid, Op: s.FullName(), Subject: "node " + node + ", argument " + name,
				Got: "the operator has no such argument", Remedy: Nearest(name, known)}
		}
	}
	var perSample []string
	for p := range s.params() {
		a, ok := set[p.Name]
		c.given[p.Name] = ok
		switch {
		case !ok && p.Required:
			return nil, nil, c.Invalid(p.Name, p.Type.String(), "no value", "the argument is required")
		case !ok && p.Default != nil:
			a.Const = p.Default
		case !ok:
			continue
		case a.From != nil && !p.PerSample:
			return nil, nil, c.Invalid(p.Name, "a constant", "a value per sample", "")
		case a.From != nil:
			c.inputs[p.Name] = len(perSample)
			perSample = append(perSample, p.Name)
			continue
		}
		v, err := p.Convert(a.Const)
		if err != nil {
			return nil, nil, c.Invalid(p.Name, p.Type.String(), fmt.Sprintf("%v of type %T", a.Const, a.Const), "")
		}
		c.constants[p.Name] = v
	}
	return c, perSample, nil
}

// Given reports whether the argument was set to any value.
func (c *Config) Given(name string) bool { return c.given[name] }

// Constant returns the constant of a parameter, or its default. ok is false if there is no constant
// or the value differs per sample.
func (c *Config) Constant(name string) (v any, ok bool) {
	v, ok = c.constants[name]
	return v, ok
}

// Has reports whether the argument was given or has a default.
func (c *Config) Has(name string) bool {
	_, constant := c.constants[name]
	_, input := c.inputs[name]
	return constant || input
}

// ArgumentInput returns the number of the argument input (see Block.Arg) that provides the
// parameter's values. ok is false if the parameter is a constant or not set. Only operators that
// need the shape of a value use it; all others use [Scalar] and [Vector].
func (c *Config) ArgumentInput(name string) (i int, ok bool) {
	i, ok = c.inputs[name]
	return i, ok
}

// Invalid returns the error for an argument with an invalid value.
func (c *Config) Invalid(arg, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", argument " + arg,
		Want: want, Got: got, Remedy: remedy}
}

// InvalidInput returns the error for an invalid input i.
func (c *Config) InvalidInput(i int, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input " + strconv.Itoa(i),
		Want: want, Got: got, Remedy: remedy}
}

// Unsupported returns the error for an argument with a legal value that is not implemented.
func (c *Config) Unsupported(arg, want, got string) error {
	err := c.Invalid(arg, want, got, "").(*errs.Error)
	err.Kind = errs.Unsupported
	return err
}

// Get returns the constant of a parameter, or the zero T if it was not given and has no default. T
// must be the Go type of the parameter's [Type].
func Get[T any](c *Config, name string) T {
	if v, ok := c.constants[name].(T); ok {
		return v
	}
	var zero T
	return zero
}

// Scalar is a parameter of one number, constant or per sample.
type Scalar[T bool | int | float64] struct {
	value T
	input int // of the block, or -1
	name  string
}

// GetScalar returns the parameter called name.
func GetScalar[T bool | int | float64](c *Config, name string) Scalar[T] {
	if i, ok := c.inputs[name]; ok {
		return Scalar[T]{input: i, name: name}
	}
	return Scalar[T]{value: Get[T](c, name), input: -1, name: name}
}

// Const returns the constant. ok is false if the value differs per sample.
func (p Scalar[T]) Const() (v T, ok bool) { return p.value, p.input < 0 }

// At returns the value for sample s of the block. It fails unless the value is one number.
func (p Scalar[T]) At(b *Block, s int) (T, error) {
	if p.input < 0 {
		return p.value, nil
	}
	t := b.Arg(p.input, s)
	if t.Shape.Len() != 1 {
		var zero T
		return zero, argumentError(p.name, "1 number", t)
	}
	return element[T](t, 0), nil
}

// Tensor returns the value for sample s as a tensor. ok is false for a constant.
func (p Scalar[T]) Tensor(b *Block, s int) (t tensor.Tensor, ok bool) {
	if p.input < 0 {
		return tensor.Tensor{}, false
	}
	return b.Arg(p.input, s), true
}

// Vector is a parameter of a list of numbers, constant or per sample.
type Vector[T int | float64] struct {
	values []T
	input  int
	name   string
}

// GetVector returns the parameter called name.
func GetVector[T int | float64](c *Config, name string) Vector[T] {
	if i, ok := c.inputs[name]; ok {
		return Vector[T]{input: i, name: name}
	}
	return Vector[T]{values: Get[[]T](c, name), input: -1, name: name}
}

// Const returns the constant, which must not be changed. ok is false if the value differs per
// sample.
func (p Vector[T]) Const() (v []T, ok bool) { return p.values, p.input < 0 }

// At returns the values for sample s of the block, a matrix row by row. It uses the memory of buf
// if the values differ per sample.
func (p Vector[T]) At(b *Block, s int, buf []T) ([]T, error) {
	if p.input < 0 {
		return p.values, nil
	}
	t := b.Arg(p.input, s)
	buf = buf[:0]
	for i := range t.Shape.Len() {
		buf = append(buf, element[T](t, i))
	}
	return buf, nil
}

func argumentError(name, want string, got tensor.Tensor) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "argument " + name, Want: want, Got: got.String()}
}

// CheckArgument returns an error unless a value with spec got can be the argument p. Its dtype must
// convert to the type of p without loss of meaning. A known shape must be one number if p is a
// scalar.
func (c *Config) CheckArgument(p *Parameter, got tensor.Spec) error {
	numeric := got.DType.IsInteger() || got.DType == tensor.Float32 || got.DType == tensor.Float64 || got.DType == tensor.Bool
	switch {
	case !numeric, got.DType.Bits() < 8 && got.DType != tensor.Bool:
		return c.Invalid(p.Name, p.Type.String(), got.DType.String()+" per sample", "")
	case (p.Type == Int || p.Type == Ints) && got.DType.IsFloat():
		return c.Invalid(p.Name, p.Type.String(), got.DType.String()+" per sample", "cast it")
	case p.Type == Bool && got.DType.IsFloat() && !p.Truth:
		return c.Invalid(p.Name, p.Type.String(), got.DType.String()+" per sample", "cast it")
	}
	if got.Shape == nil {
		return nil
	}
	list := p.Type == Ints || p.Type == Floats || p.AnyShape || p.PerFrame && isSequence(got.Layout)
	if !list && Static(got) && got.Shape.Len() != 1 {
		return c.Invalid(p.Name, p.Type.String(), "a tensor of shape "+got.Shape.String()+" per sample", "")
	}
	return nil
}

// Static reports whether the size of a tensor is known before the data.
func Static(s tensor.Spec) bool {
	if s.Shape == nil {
		return false
	}
	return !slices.ContainsFunc(s.Shape, func(d int) bool { return d < 0 })
}

// Canonical returns the identity of the arguments as text. It has the constants that differ from
// the default and are not Tuning, in the order of the schema, and the argument inputs under the
// names that source returns. Nodes with equal texts compute the same.
func (c *Config) Canonical(source func(input int) string) string {
	return c.render(source, func(p *Parameter) bool {
		if p.Tuning {
			return false
		}
		v, constant := c.constants[p.Name]
		if !constant || p.Default == nil {
			return true
		}
		d, err := p.Convert(p.Default)
		return err != nil || render(d) != render(v)
	})
}

// Written returns all given arguments except preserve as text, in the order of the schema. source
// returns the names of argument inputs.
func (c *Config) Written(source func(input int) string) string {
	return c.render(source, func(p *Parameter) bool { return c.given[p.Name] && p.Name != "preserve" })
}

// render writes the arguments for which wanted returns true.
func (c *Config) render(source func(input int) string, wanted func(p *Parameter) bool) string {
	var out []byte
	for p := range c.Schema.params() {
		in, input := c.inputs[p.Name]
		v, constant := c.constants[p.Name]
		if !input && !constant || !wanted(p) {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(append(out, p.Name...), '=')
		if input {
			out = append(out, source(in)...)
		} else {
			out = append(out, render(v)...)
		}
	}
	return string(out)
}

// render writes a constant so that different values have different texts. Floats have all
// significant digits, and strings are quoted.
func render(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return strconv.Quote(v)
	case []float64:
		return renderList(v)
	case []int:
		return renderList(v)
	case []string:
		return renderList(v)
	case []Feature:
		return renderList(v)
	}
	return fmt.Sprint(v)
}

func renderList[T any](v []T) string {
	out := []byte{'['}
	for i := range v {
		if i > 0 {
			out = append(out, ' ')
		}
		out = append(out, render(v[i])...)
	}
	return string(append(out, ']'))
}
