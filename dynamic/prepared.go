package dynamic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// prepared are constant arguments that many calls have.
type prepared struct {
	set   map[string]op.Argument
	names []string // of the arguments that differ per sample, in the order of the values
	text  string
}

// bound are the arguments of one call.
type bound struct {
	*prepared
	values []Value
}

// Prepare returns a function that makes the Args of many calls with the constants of c.Args, an
// op.Args, which must not change afterwards. The function takes the values of the named arguments,
// in the order of the names. Such calls cost less than calls with op.Args, which are looked at in
// every call. Several goroutines may use the function.
func (c *Call) Prepare(names ...string) func(values ...Value) any {
	p := &prepared{set: map[string]op.Argument{}, names: slices.Clone(names)}
	constants, _ := c.Args.(op.Args)
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
	return func(values ...Value) any { return &bound{p, values} }
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
