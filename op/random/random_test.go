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
	return optest.MustRun(t, c).Outputs[0]
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

// TestKeys shows that a number depends on seed and position, not on blocks.
func TestKeys(t *testing.T) {
	image, five := tensor.New(tensor.Uint8, 5, 4, 3), tensor.ScalarOf[int32](500)
	images, choices, shapes := make([]tensor.Tensor, 64), make([]tensor.Tensor, 64), make([]tensor.Tensor, 64)
	for i := range image.Data {
		image.Data[i] = byte(40 * i)
	}
	for i := range images {
		images[i], choices[i], shapes[i] = image, five, tensor.FromSlice([]int32{70, 90})
	}
	for _, c := range []optest.Case{
		{Op: "random.uniform", Count: 64, Args: op.Args{"shape": 5}},
		{Op: "random.uniform", Count: 64, Args: op.Args{"shape": 5, "dtype": tensor.Float64}},
		{Op: "random.normal", Count: 64, Args: op.Args{"shape": 5}},
		{Op: "random.coin_flip", Count: 64, Args: op.Args{"shape": 20}},
		{Op: "random.beta", Count: 64, Args: op.Args{"shape": 5, "alpha": 0.5, "beta": 0.4}},
		{Op: "random.choice", Args: op.Args{"shape": 5}, Inputs: [][]tensor.Tensor{choices}},
		{Op: "random.choice", Args: op.Args{"shape": 5}, Inputs: [][]tensor.Tensor{images}},
		{Op: "noise.gaussian", Args: op.Args{"stddev": 20.0}, Inputs: [][]tensor.Tensor{images}},
		{Op: "noise.shot", Inputs: [][]tensor.Tensor{images}},
		{Op: "noise.salt_and_pepper", Args: op.Args{"prob": 0.5}, Inputs: [][]tensor.Tensor{images}},
		{Op: "random_crop_generator", Inputs: [][]tensor.Tensor{shapes}},
		{Op: "roi_random_crop", Count: 64, Args: op.Args{"crop_shape": []int{5, 90}, "roi_start": []int{10, 20}, "roi_shape": []int{70, 10}}},
	} {
		name := c.Op
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
	if err != nil || r.Outputs[0][0].Data[0] != 0 || r.Outputs[0][1].Data[0] != 1 || r.Outputs[0][2].Data[0] != 1 {
		t.Errorf("got %v, %v, %v", r.Outputs[0], r.Errors, err)
	}
	limits := optest.Samples{tensor.FromSlice([]float64{3, 3.5}), tensor.FromSlice([]float64{5, 4})}
	r, err = optest.Run(optest.Case{Op: "random.uniform", Count: 2, Args: op.Args{"range": limits}})
	if v := float(r.Outputs[0][0], 0); err != nil || v < 3 || v >= 3.5 || !errors.Is(r.Errors[1], errs.Invalid) {
		t.Errorf("got %v, %v, %v", r.Outputs[0], r.Errors, err)
	}
}

func TestRefused(t *testing.T) {
	shape := [][]tensor.Tensor{{tensor.New(tensor.Uint8, 2)}}
	scalar := func(v any) [][]tensor.Tensor {
		switch v := v.(type) {
		case int32:
			return [][]tensor.Tensor{{tensor.ScalarOf(v)}}
		case float32:
			return [][]tensor.Tensor{{tensor.ScalarOf(v)}}
		}
		return nil
	}
	chw := tensor.New(tensor.Uint8, 2, 3, 4)
	chw.Layout = "HCW"
	for _, c := range []struct {
		op     string
		args   op.Args
		inputs [][]tensor.Tensor
		kind   errs.Kind
	}{
		{"random.uniform", op.Args{"range": []float64{2, 1}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"range": []float64{2, 2}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"range": []float64{0, math.Inf(1)}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"range": []float64{1, 2, 3}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"values": []float64{}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"shape": -2}, nil, errs.Invalid},
		{"random.uniform", op.Args{"shape": optest.Samples{tensor.FromSlice([]int32{-2})}}, nil, errs.Invalid},
		{"random.uniform", op.Args{"shape": 2}, shape, errs.Invalid},
		{"random.uniform", op.Args{"dtype": tensor.Bool}, nil, errs.Unsupported},
		{"random.normal", op.Args{"dtype": tensor.Float16}, nil, errs.Unsupported},
		{"random.coin_flip", op.Args{"dtype": tensor.Int8}, nil, errs.Unsupported},
		{"random.coin_flip", op.Args{"probability": math.NaN()}, nil, errs.Invalid},
		{"random.coin_flip", op.Args{"probability": optest.Samples{tensor.New(tensor.Complex64)}}, nil, errs.Invalid},
		{"random.beta", op.Args{"alpha": 0.0}, nil, errs.Invalid},
		{"random.beta", op.Args{"beta": math.Inf(1)}, nil, errs.Invalid},
		{"random.beta", op.Args{"dtype": tensor.Uint8}, nil, errs.Unsupported},
		{"random.choice", nil, scalar(int32(0)), errs.Invalid},
		{"random.choice", nil, scalar(int32(-3)), errs.Invalid},
		{"random.choice", nil, scalar(float32(3)), errs.Invalid},
		{"random.choice", op.Args{"p": []float64{0.2, 0.3}}, scalar(int32(3)), errs.Invalid},
		{"random.choice", op.Args{"p": []float64{0.2, 0.8}}, scalar(int32(3)), errs.Invalid},
		{"random.choice", op.Args{"p": []float64{-0.2, 1.2}}, scalar(int32(2)), errs.Invalid},
		{"noise.gaussian", nil, [][]tensor.Tensor{{tensor.New(tensor.Float64, 2)}}, errs.Unsupported},
		{"noise.salt_and_pepper", op.Args{"prob": 1.9}, shape, errs.Invalid},
		{"noise.salt_and_pepper", op.Args{"salt_vs_pepper": -1.0}, shape, errs.Invalid},
		{"noise.salt_and_pepper", nil, [][]tensor.Tensor{{chw}}, errs.Invalid},
		{"random_crop_generator", nil, [][]tensor.Tensor{{tensor.FromSlice([]int64{3, 4, 5, 6})}}, errs.Mismatch},
		{"random_crop_generator", nil, [][]tensor.Tensor{{tensor.FromSlice([]float32{3, 4})}}, errs.Invalid},
		{"random_crop_generator", op.Args{"num_attempts": -1}, [][]tensor.Tensor{{tensor.FromSlice([]int64{3, 4})}}, errs.Invalid},
		{"roi_random_crop", op.Args{"crop_shape": 2, "roi_start": 1}, nil, errs.Invalid},
		{"roi_random_crop", op.Args{"crop_shape": 2, "roi_start": 1, "roi_shape": 3, "roi_end": 4}, nil, errs.Invalid},
		{"roi_random_crop", op.Args{"crop_shape": 2, "roi_start": 1, "roi_shape": 3, "in_shape": 3}, nil, errs.Invalid},
		{"roi_random_crop", op.Args{"crop_shape": 5, "roi_start": 1, "roi_shape": 2, "in_shape": 4}, nil, errs.Invalid},
		{"roi_random_crop", op.Args{"crop_shape": 2, "roi_start": []int{1, 2}, "roi_shape": 2}, nil, errs.Invalid},
	} {
		r, err := optest.Run(optest.Case{Op: c.op, Count: 1, Args: c.args, Inputs: c.inputs})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s%v: got %v, want kind %v", c.op, c.args, err, c.kind)
		}
	}
}

// DALI 2.4.0 drew from these ranges.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		d       tensor.DType
		v, want float64
	}{
		{tensor.Float32, 0.7, 0.7},
		{tensor.Float64, -3.5, -3.5},
		{tensor.Int32, 200.9, 200}, {tensor.Int64, 200.5, 200}, {tensor.Int32, -3.7, -3},
		{tensor.Uint8, -1, 255}, {tensor.Uint8, 900.9, 132}, {tensor.Int8, 900.9, -124},
		{tensor.Uint16, -3.7, 65533}, {tensor.Int16, 40000, -25536},
		{tensor.Uint32, -3.7, 4294967293}, {tensor.Uint64, -3.7, 18446744073709551613},
		{tensor.Uint64, 1.5e19, 1.5e19}, {tensor.Uint64, 3e19, 9223372036854775808},
		{tensor.Uint8, 3e10, 0}, {tensor.Int32, 3e10, -2147483648}, {tensor.Uint32, 3e10, 4230196224}, {tensor.Int64, 3e10, 3e10},
		{tensor.Int64, 1e20, -9223372036854775808},
	} {
		if got := limit(c.d, c.v); got != c.want {
			t.Errorf("%v of %v: got %v, want %v", c.v, c.d, got, c.want)
		}
	}
}
