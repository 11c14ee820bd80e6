package pipeline

import (
	"github.com/bivouac-ml/bivouac/op/gofunc"
)

// Function is a Go function as an operator.
type Function = gofunc.Function

// LateFunction is a function as an operator whose outputs are known only when they are made.
type LateFunction = gofunc.Late

// CallLate appends a LateFunction. The nodes after it are checked when the first batch comes to it.
func (b *Builder) CallLate(f LateFunction, inputs ...Node) []Node {
	s, err := f.Schema()
	if err != nil {
		b.fail(err)
		return make([]Node, len(f.Layouts))
	}
	return b.add(s, struct {
		Name string `op:",name"`
	}{f.Name}, inputs)
}

// Call appends a function.
func (b *Builder) Call(f Function, inputs ...Node) []Node {
	s, err := f.Schema()
	if err != nil {
		b.fail(err)
		return make([]Node, len(f.Outputs))
	}
	return b.add(s, struct {
		Name string `op:",name"`
	}{f.Name}, inputs)
}
