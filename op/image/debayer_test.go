package image_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A value per frame that holds one frame is the position of a picture. The results are recorded,
// from DALI 2.4.0.
func TestDebayerOfOneFrame(t *testing.T) {
	raw := tensor.New(tensor.Uint8, 4, 6)
	raw.Layout = "HW"
	for i := range raw.Data {
		raw.Data[i] = byte(i * i % 251)
	}
	position := func(v ...int32) op.Args {
		p := tensor.FromSlice(v, len(v)/2, 2)
		p.Layout = "F"
		return op.Args{"blue_position": optest.Samples{p}}
	}
	for at, want := range map[[2]int32]string{
		{0, 0}: "5644315644316440413764510b64650b64655644315644316440413764510b64650b6465" +
			"aaa950aaa950c4986c65e188059569059569aaa950aaa950c4986c65e188059569059569",
		{0, 1}: "5531325531326553407551524a38644a38645531325531326553407551524a38644a3864" +
			"a97d51a97d51c5c46be176898405a78405a7a97d51a97d51c5c46be176898405a78405a7",
		{1, 0}: "32315532315540536552517564384a64384a32315532315540536552517564384a64384a" +
			"517da9517da96bc4c58976e1a70584a70584517da9517da96bc4c58976e1a70584a70584",
		{1, 1}: "31445631445641406451643765640b65640b31445631445641406451643765640b65640b" +
			"50a9aa50a9aa6c98c488e16569950569950550a9aa50a9aa6c98c488e165699505699505",
	} {
		got := optest.MustRun(t, optest.Case{Op: "debayer", Args: position(at[0], at[1]), Inputs: [][]tensor.Tensor{{raw}}})
		if text := hex.EncodeToString(got.Outputs[0][0].Data); text != want {
			t.Errorf("blue at %v: %s, want %s", at, text, want)
		}
	}
	for _, two := range []op.Args{position(0, 1, 1, 0), position()} {
		r, err := optest.Run(optest.Case{Op: "debayer", Args: two, Inputs: [][]tensor.Tensor{{raw}}})
		if err == nil {
			err = r.Errors[0]
		}
		if err == nil || !strings.Contains(err.Error(), "argument blue_position") {
			t.Errorf("%v: %v", two, err)
		}
	}
}
