package dali

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// pythonFunction is the schema of the operators that call a function of the program:
// python_function, dl_tensor_python_function and torch_python_function.
const pythonFunction = "DLTensorPythonFunctionImpl"

// mostOutputs bounds the outputs of a function, because each takes memory before there is any data.
const mostOutputs = 4096

// call appends a function of the program.
func (r *rebuilder) call(o *pipeproto.Op) error {
	f := pipeline.LateFunction{Name: o.Instance, Layouts: make([]string, len(o.Outputs))}
	if len(o.Outputs) > mostOutputs {
		return &errs.Error{Kind: errs.Exhausted, Subject: "outputs", Want: fmt.Sprintf("at most %d", mostOutputs),
			Got: fmt.Sprint(len(o.Outputs))}
	}
	var id int
	for i := range o.Args {
		a := &o.Args[i]
		var err error
		switch a.Name {
		case "function_id":
			id, err = value[int](op.Int, a)
		case "output_layouts":
			var layouts []any
			if layouts, err = value[[]any](op.Strings, a); err == nil && len(layouts) > len(f.Layouts) {
				err = fmt.Errorf("%d layouts of %d outputs", len(layouts), len(f.Layouts))
			}
			for k := 0; err == nil && k < len(layouts); k++ {
				f.Layouts[k], _ = layouts[k].(string)
			}
		}
		if err != nil {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Got: err.Error()}
		}
	}
	var inputs []pipeline.Node
	for _, e := range o.Inputs {
		n, err := r.source(e)
		if err != nil {
			return err
		}
		inputs = append(inputs, n)
	}
	f.Batch = r.function(o.Instance, int64(id))
	outputs := r.b.CallLate(f, inputs...)
	if r.b.Err() != nil {
		return nil // Define returns it
	}
	for i, n := range outputs {
		if err := r.put(o.Outputs[i], n); err != nil {
			return err
		}
	}
	return nil
}
