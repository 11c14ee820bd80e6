package dali_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// functionGraph is a pipeline with a function of two random numbers, with these arguments.
func functionGraph(args string) string {
	edge := func(name string) string { return `{name: "` + name + `", device: cpu}` }
	return "batch_size: 3\nseed: 4\nop:\n" +
		"  - {name: random__Uniform, output: [" + edge("u") + "], inst_name: u}\n" +
		"  - {name: DLTensorPythonFunctionImpl, input: [" + edge("u") + "], output: [" + edge("f[0]") + ", " + edge("f[1]") +
		"], inst_name: f, args: {" + args + "}}\n" +
		"pipe_outputs: [" + edge("f[0]") + ", " + edge("f[1]") + ", " + edge("u") + "]\n"
}

// TestFunction: operators of functions call what Function returns for their number.
func TestFunction(t *testing.T) {
	p, err := pipeproto.UnmarshalYAML([]byte(functionGraph("function_id: 7, output_layouts: [X]")))
	if err != nil {
		t.Fatal(err)
	}
	var asked []int64
	o := &dali.DeserializeOptions{}
	o.Function = func(name string, id int64) func(int, [][]tensor.Tensor) ([][]tensor.Tensor, error) {
		asked = append(asked, id)
		return func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
			rows := make([]tensor.Tensor, n)
			for s := range rows {
				rows[s] = tensor.FromSlice([]int16{int16(s), 5})
			}
			return [][]tensor.Tensor{rows, in[0]}, nil
		}
	}
	pipe := opened(t, p, o)
	for range 3 {
		b, err := pipe.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, same, u := b.Outputs[0], b.Outputs[1], b.Outputs[2]
		if rows.DType != tensor.Int16 || rows.Layout != "X" || same.Layout != "" || rows.NumSamples() != 3 {
			t.Errorf("outputs are %v and %v", rows, same)
		}
		for s := range 3 {
			if string(same.Sample(s).Data) != string(u.Sample(s).Data) || rows.Sample(s).Data[0] != byte(s) {
				t.Errorf("sample %d is %v and %v", s, rows.Sample(s), same.Sample(s))
			}
		}
	}
	if len(asked) != 1 || asked[0] != 7 {
		t.Errorf("functions asked for: %v", asked)
	}
}

func TestFunctionMistakes(t *testing.T) {
	for args, says := range map[string]string{
		"function_id: often":                           "function_id",
		"function_id: 0, output_layouts: [A, B, C]":    "3 layouts of 2 outputs",
		"function_id: 0, output_layouts: [1]":          "output_layouts",
		"function_id: 0, output_layouts: [AB, '', '']": "3 layouts",
	} {
		p, err := pipeproto.UnmarshalYAML([]byte(functionGraph(args)))
		if err == nil {
			o := &dali.DeserializeOptions{}
			o.Function = func(string, int64) func(int, [][]tensor.Tensor) ([][]tensor.Tensor, error) {
				return func(int, [][]tensor.Tensor) ([][]tensor.Tensor, error) { return nil, nil }
			}
			_, err = dali.FromProto(p, o)
		}
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), `"f"`) {
			t.Errorf("%s: %v, want one that says %q", args, err, says)
		}
	}
}
