package random

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func draw(t *testing.T, c optest.Case) []tensor.Tensor {
	t.Helper()
	r, err := optest.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range r.Errors {
		t.Fatalf("sample %d: %v", s, err)
	}
	return r.Outputs[0]
}

func float(t tensor.Tensor, i int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
}

func TestUniform(t *testing.T) {
	const n, per = 2000, 10
	out := draw(t, optest.Case{Op: "random.uniform", Count: n, Args: op.Args{"range": []float64{2, 5}, "shape": per}})
	var mean, square float64
	for _, s := range out {
		for i := range per {
			v := float(s, i)
			if v < 2 || v >= 5 {
				t.Fatalf("%g is outside [2, 5)", v)
			}
			mean += v / (n * per)
			square += v * v / (n * per)
		}
	}
	if variance := square - mean*mean; math.Abs(mean-3.5) > 0.03 || math.Abs(variance-0.75) > 0.02 {
		t.Errorf("mean %g, variance %g; want 3.5, 0.75", mean, variance)
	}
}

func TestUniformValues(t *testing.T) {
	count := map[float64]int{}
	for _, s := range draw(t, optest.Case{Op: "random.uniform", Count: 9000, Args: op.Args{"values": []float64{-1, 0.5, 8}}}) {
		if len(s.Shape) != 0 {
			t.Fatalf("got %s, want a scalar", s)
		}
		count[float(s, 0)]++
	}
	for _, v := range []float64{-1, 0.5, 8} {
		if math.Abs(float64(count[v])-3000) > 200 {
			t.Errorf("%g was drawn %d times of 9000", v, count[v])
		}
	}
	if len(count) != 3 {
		t.Errorf("drawn: %v", count)
	}
}

func TestCoinFlip(t *testing.T) {
	for _, p := range []float64{0, 0.2, 1} {
		for dtype, size := range map[tensor.DType]int{tensor.Invalid: 4, tensor.Bool: 1, tensor.Uint8: 1} {
			args := op.Args{"probability": p}
			if dtype != tensor.Invalid {
				args["dtype"] = dtype
			}
			ones := 0
			for _, s := range draw(t, optest.Case{Op: "random.coin_flip", Count: 10000, Args: args}) {
				if len(s.Data) != size || s.Data[0] > 1 {
					t.Fatalf("got %s %v", s, s.Data)
				}
				ones += int(s.Data[0])
			}
			if math.Abs(float64(ones)/10000-p) > 0.02 {
				t.Errorf("probability %g gave %d of 10000", p, ones)
			}
		}
	}
}

// TestKeys shows what a number depends on: seed and position, not on blocks.
func TestKeys(t *testing.T) {
	for _, name := range []string{"random.uniform", "random.coin_flip"} {
		c := optest.Case{Op: name, Count: 64, Args: op.Args{"shape": 5}}
		a := draw(t, c)
		c.Block = 3
		b := draw(t, c)
		c.First = 10
		later := draw(t, c)
		c.Seed = 1
		other := draw(t, c)
		different := 0
		for i := range a {
			if !a[i].Equal(b[i]) {
				t.Errorf("%s: sample %d differs in blocks of 3", name, i)
			}
			if i+10 < len(a) && !a[i+10].Equal(later[i]) {
				t.Errorf("%s: position %d differs when the block starts at 10", name, i+10)
			}
			if !other[i].Equal(later[i]) {
				different++
			}
		}
		if different < 50 {
			t.Errorf("%s: another seed changes only %d of 64 samples", name, different)
		}
	}
}

func TestPerSampleArguments(t *testing.T) {
	probabilities := optest.Samples{tensor.ScalarOf[float32](0), tensor.ScalarOf[float32](1), tensor.ScalarOf[float32](2)}
	r, err := optest.Run(optest.Case{Op: "random.coin_flip", Count: 3, Args: op.Args{"probability": probabilities}})
	if err != nil || r.Outputs[0][0].Data[0] != 0 || r.Outputs[0][1].Data[0] != 1 || !errors.Is(r.Errors[2], errs.Invalid) {
		t.Errorf("got %v, %v, %v", r.Outputs[0], r.Errors, err)
	}
	limits := optest.Samples{tensor.FromSlice([]float64{3, 3}), tensor.FromSlice([]float64{5, 4})}
	r, err = optest.Run(optest.Case{Op: "random.uniform", Count: 2, Args: op.Args{"range": limits}})
	if err != nil || float(r.Outputs[0][0], 0) != 3 || !errors.Is(r.Errors[1], errs.Invalid) {
		t.Errorf("got %v, %v, %v", r.Outputs[0], r.Errors, err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		op   string
		args op.Args
		kind errs.Kind
	}{
		{"random.uniform", op.Args{"range": []float64{2, 1}}, errs.Invalid},
		{"random.uniform", op.Args{"range": []float64{0, math.Inf(1)}}, errs.Invalid},
		{"random.uniform", op.Args{"range": []float64{1, 2, 3}}, errs.Invalid},
		{"random.uniform", op.Args{"values": []float64{}}, errs.Invalid},
		{"random.uniform", op.Args{"shape": -2}, errs.Invalid},
		{"random.uniform", op.Args{"dtype": tensor.Int8}, errs.Unsupported},
		{"random.coin_flip", op.Args{"probability": 1.5}, errs.Invalid},
		{"random.coin_flip", op.Args{"probability": optest.Samples{tensor.New(tensor.Complex64)}}, errs.Invalid},
		{"random.coin_flip", op.Args{"shape": optest.Samples{tensor.ScalarOf(1)}}, errs.Invalid},
	} {
		if _, err := optest.Run(optest.Case{Op: c.op, Count: 1, Args: c.args}); !errors.Is(err, c.kind) {
			t.Errorf("%s%v: got %v, want kind %v", c.op, c.args, err, c.kind)
		}
	}
}
