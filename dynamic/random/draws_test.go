package random_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline" // the operators
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawn is a case of draws.json: calls of an operator in DALI's dynamic mode.
type drawn struct {
	Op    string
	Input any
	Args  map[string]any
	Seed  uint64
	Calls []struct {
		Batch   *int
		Outputs [][]drawnSample
		State   string
	}
}

type drawnSample struct {
	Shape []int
	DType string
	Bytes string
}

// Every random operator gives what DALI 2.4.0 gave for the same generators, as samples and as
// batches, and leaves the generators where DALI left them. Uniform numbers, flips, choices and
// windows are equal bit for bit; what goes through logarithms is so up to roundings.
func TestDraws(t *testing.T) {
	b, err := os.ReadFile("testdata/draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []drawn
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 80 {
		t.Fatalf("%d cases", len(all))
	}
	for i, c := range all {
		t.Run(fmt.Sprintf("%03d %s", i, c.Op), func(t *testing.T) { c.run(t) })
	}
}

func (c *drawn) run(t *testing.T) {
	g := random.New(c.Seed)
	args := op.Args{}
	for name, v := range c.Args {
		args[name] = c.argument(t, name, v)
	}
	for i, call := range c.Calls {
		d := dynamic.Call{Op: c.Op, Args: args, Draw: g}
		if in := c.input(t); in.DType.Valid() {
			d.Inputs = []dynamic.Value{dynamic.TensorOf(in)}
		}
		if call.Batch != nil {
			d.Batch = *call.Batch
		}
		for o, v := range dynamic.Invoke(t.Context(), d) {
			got, err := samples(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(call.Outputs[o]) {
				t.Fatalf("call %d, output %d: %d samples, want %d", i, o, len(got), len(call.Outputs[o]))
			}
			for s, want := range call.Outputs[o] {
				if err := c.compare(got[s], want); err != nil {
					t.Errorf("call %d, output %d, sample %d: %v", i, o, s, err)
				}
			}
		}
		if s := g.State().String(); s != call.State {
			t.Fatalf("after call %d: %s, want %s", i, s, call.State)
		}
	}
}

// argument is a value of Python as the parameter has it.
func (c *drawn) argument(t *testing.T, name string, v any) any {
	switch v := v.(type) {
	case float64:
		return v
	case []any:
		var ints []int
		var floats []float64
		for _, x := range v {
			ints, floats = append(ints, int(x.(float64))), append(floats, x.(float64))
		}
		if strings.HasSuffix(name, "shape") || name == "roi_start" || name == "size" {
			return ints
		}
		return floats
	case string:
		if name == "interp_type" {
			return op.InterpNN
		}
		d, err := tensor.ParseDType(strings.ToLower(v))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return v
}

// input is what the case computes on, as draws.py has it.
func (c *drawn) input(t *testing.T) tensor.Tensor {
	switch in := c.Input.(type) {
	case float64:
		v := tensor.New(tensor.Int32)
		v.Data[0] = byte(in)
		return v
	case string:
		switch in {
		case "shape":
			return tensor.FromSlice([]int64{20, 30, 3}, 3)
		case "image":
			v := tensor.New(tensor.Uint8, 20, 30, 3)
			for i := range v.Data {
				v.Data[i] = byte(i % 251)
			}
			v.Layout = "HWC"
			return v
		case "uint8":
			v := tensor.New(tensor.Uint8, 3, 4)
			for i := range v.Data {
				v.Data[i] = byte(5 * i)
			}
			return v
		case "float32":
			var list []float32
			for i := range 12 {
				list = append(list, float32(5*i))
			}
			return tensor.FromSlice(list, 3, 4)
		}
		t.Fatalf("unknown input %q", in)
	}
	return tensor.Tensor{}
}

// rounded are the operators whose results go through functions of the C library.
var rounded = map[string]bool{"random.normal": true, "random.beta": true, "noise.gaussian": true, "noise.shot": true}

func (c *drawn) compare(got tensor.Tensor, want drawnSample) error {
	if got.DType.String() != want.DType {
		return fmt.Errorf("%v, want %s", got.DType, want.DType)
	}
	if fmt.Sprint([]int(got.Shape)) != fmt.Sprint(want.Shape) && got.Len() != 1 {
		return fmt.Errorf("shape %v, want %v", got.Shape, want.Shape)
	}
	data, err := hex.DecodeString(want.Bytes)
	if err != nil {
		return err
	}
	if bytes.Equal(got.Data, data) {
		return nil
	}
	expected := tensor.Tensor{DType: got.DType, Shape: got.Shape, Data: data}
	for i := range got.Len() {
		a, _ := got.Float64(i)
		b, _ := expected.Float64(i)
		if !rounded[c.Op] || math.Abs(a-b) > 1e-5*(1+math.Abs(b)) {
			return fmt.Errorf("element %d: %v, want %v", i, a, b)
		}
	}
	return nil
}

// samples waits for the samples of a value.
func samples(ctx context.Context, v dynamic.Value) ([]tensor.Tensor, error) {
	switch v := v.(type) {
	case *dynamic.Tensor:
		t, err := v.Tensor(ctx)
		return []tensor.Tensor{t}, err
	case *dynamic.Batch:
		return v.Samples(ctx)
	}
	return nil, v.Err()
}
