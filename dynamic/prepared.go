package dynamic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// Prepared are constant arguments that many calls of an operator have. A call with them costs less
// than one with op.Args, which are looked at in every call. Several goroutines may use it.
type Prepared struct {
	set   map[string]op.Argument
	names []string // of the arguments that differ per sample, in the order of the values
	text  string
}

// Prepare returns the arguments of calls: constants, which must not change afterwards, and the
// names of arguments whose values each call gives.
func Prepare(constants op.Args, names ...string) *Prepared {
	p := &Prepared{set: map[string]op.Argument{}, names: slices.Clone(names)}
	for name, v := range constants {
		p.set[name] = op.Argument{Const: v}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.set)) {
		fmt.Fprintf(&text, "%s=%#v ", name, p.set[name].Const)
	}
	for _, name := range names {
		fmt.Fprintf(&text, "%s=? ", name)
	}
	p.text = "prepared " + text.String()
	return p
}

// With returns Call.Args for a call with these values, in the order of the names.
func (p *Prepared) With(values ...Value) any { return &bound{p, values} }

// bound are the arguments of one call.
type bound struct {
	*Prepared
	values []Value
}

// arguments returns the arguments by name.
func (b *bound) arguments() map[string]op.Argument {
	set := maps.Clone(b.set)
	for i, name := range b.names[:min(len(b.names), len(b.values))] { // the call refuses other numbers
		set[name] = op.Argument{From: b.values[i]}
	}
	return set
}

// argumentsOf works like op.Arguments, and takes bound arguments too.
func argumentsOf(args any) (set map[string]op.Argument, err error) {
	if b, ok := args.(*bound); ok {
		return b.arguments(), nil
	}
	_, set, err = op.Arguments(args)
	return set, err
}
