package random_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
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
	Shape  []int
	DType  string
	Bytes  string
	SHA256 string // of longer ones
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
		t.Run(fmt.Sprintf("%03d %s", i, c.Op), func(t *testing.T) {
			for _, mode := range []dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync} {
				c.run(t, dynamic.WithMode(t.Context(), mode))
			}
		})
	}
}

// run makes all calls before any result is asked for: numbers are drawn at the call.
func (c *drawn) run(t *testing.T, ctx context.Context) {
	g := random.New(c.Seed)
	args := op.Args{}
	for name, v := range c.Args {
		args[name] = c.argument(t, name, v)
	}
	var results [][]dynamic.Value
	for i, call := range c.Calls {
		d := dynamic.Call{Op: c.Op, Args: args, Draw: g, Inputs: c.inputs(t)}
		if call.Batch != nil {
			d.Batch = *call.Batch
		}
		results = append(results, dynamic.Invoke(ctx, d))
		if s := g.State().String(); s != call.State {
			t.Fatalf("after call %d: %s, want %s", i, s, call.State)
		}
	}
	for i, call := range c.Calls {
		if len(results[i]) != len(call.Outputs) {
			t.Fatalf("call %d: %d outputs, want %d", i, len(results[i]), len(call.Outputs))
		}
		for o, v := range results[i] {
			got, err := samples(ctx, v)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(call.Outputs[o]) {
				t.Fatalf("call %d, output %d: %d samples, want %d", i, o, len(got), len(call.Outputs[o]))
			}
			for s, want := range call.Outputs[o] {
				if err := c.compare(got[s], want); err != nil {
					t.Errorf("%v, call %d, output %d, sample %d: %v", dynamic.ModeOf(ctx), i, o, s, err)
				}
			}
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
		switch name {
		case "interp_type":
			return op.InterpNN
		case "bbox_layout":
			return v
		}
		d, err := tensor.ParseDType(strings.ToLower(v))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return v
}

// inputs are what the case computes on, as draws.py has them.
func (c *drawn) inputs(t *testing.T) []dynamic.Value {
	one := func(v any, form ...dynamic.Form) []dynamic.Value {
		return []dynamic.Value{dynamic.TensorOf(v, form...)}
	}
	switch in := c.Input.(type) {
	case nil:
		return nil
	case float64:
		return one(int(in))
	case string:
		var ramp [3][4]uint8
		var floats [3][4]float32
		for i := range 12 {
			ramp[i/4][i%4], floats[i/4][i%4] = uint8(5*i), float32(5*i)
		}
		var image [20][30][3]uint8
		ppm := []byte("P6\n30 20\n255\n")
		for i := range 20 * 30 * 3 {
			image[i/90][i/3%30][i%3] = uint8(i % 251)
			ppm = append(ppm, uint8(i%251))
		}
		switch in {
		case "shape":
			return one([]int64{20, 30, 3})
		case "image":
			return one(image, dynamic.Form{Layout: "HWC"})
		case "ppm":
			return one(ppm)
		case "uint8":
			return one(ramp)
		case "float32":
			return one(floats)
		case "boxes":
			return one([][4]float32{{0.1, 0.2, 0.5, 0.7}, {0.4, 0.1, 0.9, 0.6}})
		}
	}
	t.Fatalf("unknown input %v", c.Input)
	return nil
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
	if want.SHA256 != "" {
		if sum := sha256.Sum256(got.Data); hex.EncodeToString(sum[:]) != want.SHA256 {
			return fmt.Errorf("other bytes")
		}
		return nil
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

// Values of which no count fits are errors, not endless draws.
func TestShotOfNoCount(t *testing.T) {
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e30} {
		c := dynamic.Call{Op: "noise.shot", Draw: random.New(1), Inputs: []dynamic.Value{dynamic.TensorOf([]float32{1, v})},
			Args: op.Args{"factor": 1.0}}
		if err := dynamic.Invoke(t.Context(), c)[0].Evaluate(t.Context()); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", v, err)
		}
	}
}
