package dali

import "github.com/bivouac-ml/bivouac/compat/dali/pipeproto"

// unused marks the operators of a message that DALI leaves out when it builds the pipeline: no
// output needs them, and no operator that is kept. Functions of the program are kept, and operators
// with preserve. The Python of DALI writes other operators only if they were given to add_sink.
// Without outputs, which is an error, it marks none.
func (r *rebuilder) unused() []bool {
	unused := make([]bool, len(r.proto.Ops))
	if len(r.proto.Outputs) == 0 {
		return unused
	}
	needed := map[string]bool{} // by the names of edges
	for _, e := range r.proto.Outputs {
		needed[e.Name] = true
	}
	for i := len(r.proto.Ops) - 1; i >= 0; i-- {
		o := &r.proto.Ops[i]
		used := o.Name == pythonFunction || preserved(o)
		for _, e := range o.Outputs {
			used = used || needed[e.Name]
		}
		if unused[i] = !used; !used {
			continue
		}
		for _, e := range o.Inputs {
			needed[e.Name] = true
		}
	}
	return unused
}

// preserved reports whether an operator has the argument preserve.
func preserved(o *pipeproto.Op) bool {
	a := o.Argument("preserve")
	return a != nil && len(a.Bools) == 1 && a.Bools[0]
}
