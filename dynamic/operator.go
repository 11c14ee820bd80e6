package dynamic

import (
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/dynamic/internal/fields"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/arith" // operators that every program may call
	_ "github.com/bivouac-ml/bivouac/op/audio"
	_ "github.com/bivouac-ml/bivouac/op/augment"
	_ "github.com/bivouac-ml/bivouac/op/conditional"
	_ "github.com/bivouac-ml/bivouac/op/debug"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
	_ "github.com/bivouac-ml/bivouac/op/detection"
	_ "github.com/bivouac-ml/bivouac/op/encoders"
	_ "github.com/bivouac-ml/bivouac/op/generic"
	_ "github.com/bivouac-ml/bivouac/op/geometry"
	_ "github.com/bivouac-ml/bivouac/op/image"
	_ "github.com/bivouac-ml/bivouac/op/random"
	_ "github.com/bivouac-ml/bivouac/op/reduce"
	_ "github.com/bivouac-ml/bivouac/op/segmentation"
)

// operator is what an EvalContext knows about an operator that was called.
type operator struct {
	schema *op.Schema
	args   atomic.Pointer[argsType] // the type of the arguments of the last call
	last   *plan                    // the plan that was used last, or nil; the context's mutex guards it
}

// operatorKey is the name of a registered operator, or another operator.
type operatorKey struct {
	name   string
	schema *op.Schema
}

// argsType is a type of arguments.
type argsType struct {
	typ    reflect.Type
	fields *fields.Fields
}

// operator returns the operator of a call.
func (e *EvalContext) operator(c *Call) (*operator, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed()
	}
	key, name := operatorKey{c.Op, c.Schema}, c.Op
	if o, ok := e.operators[key]; ok {
		return o, nil
	}
	s, err := c.lookup()
	if err != nil {
		return nil, err
	}
	if s.Reader || s.Branch != op.Follows {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: name, Want: "an operator that returns a value for each sample",
			Got:    "a reader or a branch",
			Remedy: "use dynamic/readers for readers, and an if statement for a branch"}
	}
	o := &operator{schema: s}
	e.operators[key] = o
	return o, nil
}

// arguments are the arguments of a call in a form that can be compared with other calls.
type arguments struct {
	args   any
	fields *fields.Fields // of a struct; nil for other arguments, which are compared by text
	text   string
	values []op.Value // of the arguments that differ by sample
}

// setArguments makes args the arguments of the call.
func (k *call) setArguments(args any) error {
	if b, ok := args.(*bound); ok {
		if len(b.values) != len(b.names) {
			return &errs.Error{Kind: errs.Invalid, Op: k.operator.schema.FullName(), Subject: "arguments",
				Want: fmt.Sprintf("%d values for %v", len(b.names), b.names), Got: fmt.Sprint(len(b.values))}
		}
		k.args = arguments{args: b, text: b.text}
		for _, v := range b.values {
			k.args.values = append(k.args.values, v)
		}
		return nil
	}
	typ := reflect.TypeOf(args)
	if typ != nil && typ.Kind() == reflect.Struct {
		of := k.operator.args.Load()
		if of == nil || of.typ != typ {
			known, err := fields.Of(typ)
			if err != nil {
				return errs.Wrap(k.operator.schema.FullName(), "arguments", err)
			}
			of = &argsType{typ, known}
			k.operator.args.Store(of)
		}
		k.args = arguments{args: args, fields: of.fields}
		k.args.values = k.args.fields.Values(nil, args)
		return nil
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		return errs.Wrap(k.operator.schema.FullName(), "arguments", err)
	}
	k.args = arguments{args: args}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if v := set[name].From; v != nil {
			k.args.values = append(k.args.values, v)
			fmt.Fprintf(&text, "%s=? ", name)
			continue
		}
		fmt.Fprintf(&text, "%s=%#v ", name, set[name].Const)
	}
	k.args.text = text.String()
	return nil
}

func (a *arguments) hash(seed maphash.Seed) uint64 {
	if a.fields != nil {
		return a.fields.Hash(seed, a.args)
	}
	return maphash.String(seed, a.text)
}

func (a *arguments) equal(b *arguments) bool {
	if a.fields != nil {
		return b.fields != nil && a.fields.Same(b.fields) && a.fields.Equal(a.args, b.args)
	}
	return b.fields == nil && a.text == b.text
}

// detached returns a copy of the arguments that keeps no value of the call alive.
func (a *arguments) detached() arguments {
	kept := arguments{fields: a.fields, text: a.text}
	if a.fields != nil {
		kept.args = a.fields.Detached(a.args)
	}
	return kept
}

// build returns the arguments for a graph, and the names of the parameters that take the values, in
// the order of the values. Lists are copied.
func (a *arguments) build() (set map[string]op.Argument, names []string, err error) {
	args := a.args
	if a.fields != nil {
		args = a.fields.Detached(args)
	}
	if set, err = argumentsOf(args); err != nil {
		return nil, nil, err
	}
	if b, ok := args.(*bound); ok {
		return set, b.names, nil // the constants do not change
	}
	for name, arg := range set {
		if v := reflect.ValueOf(arg.Const); a.fields == nil && arg.From == nil && v.Kind() == reflect.Slice {
			set[name] = op.Argument{Const: reflect.AppendSlice(reflect.Zero(v.Type()), v).Interface()}
		}
	}
	if a.fields == nil {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if set[name].From != nil {
				names = append(names, name)
			}
		}
		return set, names, nil
	}
	typ := reflect.TypeOf(a.args)
	for i := range typ.NumField() {
		if tag := typ.Field(i).Tag.Get("op"); set[tag].From != nil {
			names = append(names, tag)
		}
	}
	return set, names, nil
}

// countOutputs returns the number of outputs of a call.
func (k *call) countOutputs() int {
	s := k.operator.schema
	if s.OutputCount == nil {
		return len(s.Outputs)
	}
	k.e.mu.Lock()
	last := k.operator.last
	k.e.mu.Unlock()
	if last != nil && last.ports == k.ports && last.args.equal(&k.args) {
		return len(last.specs)
	}
	set, err := argumentsOf(k.args.args)
	if err != nil {
		return len(s.Outputs)
	}
	config, _, err := op.Resolve(s, s.FullName(), k.ports, set)
	if err != nil {
		return len(s.Outputs)
	}
	n, err := s.OutputCount(config)
	if err != nil {
		return len(s.Outputs)
	}
	return n
}
