package exec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// If the only reader of an image wants a part of it, only this part is computed. The node that
// makes the image runs right before its reader, and asks the reader for the part once the size of
// the image is known. The results are the same.
//
//	read ─▶ decode ─▶ random_resized_crop ─▶ …
//	          ▲ wanted?      │ region
//	          └──────────────┘

// pair notes which nodes ask which reader, and moves each right before its reader.
func (p *plan) pair() {
	p.asks = make([]*graph.Node, len(p.graph.Nodes))
	uses := make([]int, len(p.values))
	for _, n := range p.graph.Nodes {
		for _, e := range slices.Concat(n.Inputs, n.Args) {
			uses[p.number(e)]++
		}
	}
	for _, n := range p.graph.Nodes {
		if _, ok := n.Kernel.(op.Regional); !ok || len(n.Inputs) == 0 {
			continue
		}
		from := n.Inputs[0].Node
		if !n.Ready() {
			continue
		}
		w, ok := from.Kernel.(op.Windowed)
		if !ok || !w.Windowed() || len(from.Specs) != 1 || uses[p.number(n.Inputs[0])] != 1 || p.value(n.Inputs[0]).frame {
			continue
		}
		if from.Partial || n.Partial || len(p.needs(from)) > 0 || len(p.needs(n)) > 0 {
			continue
		}
		p.asks[from.Index] = n
		stage := slices.DeleteFunc(p.stages[n.Stage], func(i int) bool { return i == from.Index })
		p.stages[n.Stage] = slices.Insert(stage, slices.Index(stage, n.Index), from.Index)
	}
}

// ask makes the block of r ask its reader which part it wants.
func (r *run) ask(reader *run) {
	regional := reader.node.Kernel.(op.Regional)
	r.block.Binding().Wanted = func(s, height, width int) (op.Region, bool) {
		reader.bind(r.at+s, 1)
		return regional.Region(&reader.block, 0, height, width)
	}
}
