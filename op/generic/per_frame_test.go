package generic

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestPerFrame(t *testing.T) {
	dalivec.RunCommitted(t, "detection", "per_frame")
	dalivec.CheckArguments(t, "detection", "per_frame")
	x := optest.Of("HWC", []int{2, 1, 3}, 1, 2, 3, 4, 5, 6)
	optest.CheckAllocations(t, []optest.Case{{Op: "per_frame",
		Inputs: optest.Inputs(optest.Of("", []int{2, 3}, 1, 2, 3, 4, 5, 6))}})
	r := optest.MustRun(t, optest.Case{Op: "per_frame", Args: op.Args{"replace": true}, Inputs: optest.Inputs(x)})
	if got := r.Outputs[0][0]; got.Layout != "FWC" || &got.Data[0] != &x.Data[0] {
		t.Errorf("%v %q, or a copy", got, got.Layout)
	}
	optest.CheckRows(t, []optest.Row{{Op: "per_frame", Inputs: []tensor.Tensor{tensor.ScalarOf[int32](1)},
		Fails: true}}, nil)
}
