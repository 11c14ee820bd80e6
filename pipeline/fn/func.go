package fn

import "github.com/bivouac-ml/bivouac/pipeline"

// FuncArgs is a Go function and what it says about itself.
type FuncArgs = pipeline.Function

// Func is a Go function as an operator.
func Func(p *pipeline.Builder, args FuncArgs, inputs ...pipeline.Node) []pipeline.Node {
	return p.Call(args, inputs...)
}
