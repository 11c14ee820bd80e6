package pipeline

import (
	"github.com/bivouac-ml/bivouac/op/gofunc"
)

// Function is a Go function as an operator.
type Function = gofunc.Function

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
