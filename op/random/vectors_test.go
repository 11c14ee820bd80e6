package random

import (
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The numbers of operators that only draw are held against DALI's in
// proof/conform/dali, part rng.
func TestVectors(t *testing.T) {
	dalivec.Run(t, "resize", "random_crop_generator")
	dalivec.Run(t, "box", "roi_random_crop", "random_bbox_crop")
	dalivec.RunCommitted(t, "detection", "random_bbox_crop")
	dalivec.CheckArguments(t, "detection", "random_bbox_crop")
}

// dali keys streams as DALI does in its first batch.
type dali struct{ seed uint64 }

func (k dali) Stream(_ int64, slot int, _ uint64, _ uint32) rng.Philox {
	return rng.NewPhilox(k.seed, uint64(slot)*65537, 0)
}

// Types and options that no recorded case has, asked of DALI 2.4.0 with seed 1.
func TestAsked(t *testing.T) {
	noisy := func(name string, in tensor.Tensor, args op.Args) tensor.Tensor {
		r, err := optest.Run(optest.Case{Op: name, Args: args, Inputs: [][]tensor.Tensor{{in}}, Keyer: dali{1}})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(err, r.Errors)
		}
		return r.Outputs[0][0]
	}
	pixel := func(d tensor.DType) tensor.Tensor {
		x, err := tensor.Cast(d, tensor.FromSlice([]uint8{1, 1, 0}, 1, 1, 3))
		if err != nil {
			t.Fatal(err)
		}
		x.Layout = "HWC"
		return x
	}
	for _, c := range []struct {
		op   string
		args op.Args
		in   tensor.DType
		want []int64
	}{
		{"noise.gaussian", op.Args{"stddev": 30.0}, tensor.Uint8, []int64{12, 34, 0}},
		{"noise.gaussian", op.Args{"stddev": 30.0}, tensor.Int16, []int64{12, 34, -48}},
		{"noise.gaussian", op.Args{"stddev": 30.0}, tensor.Int32, []int64{-2, 3, 28}},
		{"noise.gaussian", op.Args{"stddev": 30.0}, tensor.Uint32, []int64{0, 3, 28}},
		{"noise.gaussian", op.Args{"stddev": 30.0}, tensor.Int64, []int64{-2, 3, 28}},
		{"noise.salt_and_pepper", op.Args{"prob": 0.9}, tensor.Int16, []int64{-32768, -32768, -32768}},
		{"noise.salt_and_pepper", op.Args{"prob": 0.9}, tensor.Float32, []int64{-1, -1, -1}},
		{"noise.salt_and_pepper", op.Args{"prob": 0.9, "pepper_val": -3.0}, tensor.Uint8, []int64{253, 253, 253}},
		{"noise.shot", op.Args{"factor": 3.0}, tensor.Int32, []int64{3, 3, 0}},
		{"noise.shot", op.Args{"factor": 0.0}, tensor.Int32, []int64{0, 0, 0}},
	} {
		got, err := tensor.Cast(tensor.Int64, noisy(c.op, pixel(c.in), c.args))
		if err != nil {
			t.Fatal(err)
		}
		if values, _ := tensor.Of[int64](got); !slices.Equal(values, c.want) {
			t.Errorf("%s%v of %v: %v, want %v", c.op, c.args, c.in, values, c.want)
		}
	}
	// A pixel is drawn as a whole whether its channels come last or first.
	planes := tensor.New(tensor.Uint8, 3, 2, 4)
	for i := range planes.Data {
		planes.Data[i] = byte(100 + i)
	}
	planes.Layout = "CHW"
	want := []byte{100, 101, 0, 103, 0, 255, 106, 107, 108, 109, 0, 111, 0, 255, 114, 115, 116, 117, 0, 119, 0, 255, 122, 123}
	if got := noisy("noise.salt_and_pepper", planes, op.Args{"prob": 0.4}).Data; !slices.Equal(got, want) {
		t.Errorf("planes: %v, want %v", got, want)
	}
	// Tensors are chosen one after the other from the words of the sample.
	rows := tensor.FromSlice([]int16{0, 1, 2, 3, 4, 5}, 3, 2)
	rows.Layout = "HW"
	got := noisy("random.choice", rows, op.Args{"shape": 2})
	if v, _ := tensor.Of[int16](got); !slices.Equal(v, []int16{4, 5, 4, 5}) || got.Layout != "HW" {
		t.Errorf("rows: %v %q", v, got.Layout)
	}
}

func TestPermutations(t *testing.T) {
	for _, c := range []struct {
		args op.Args
		want []int32
	}{
		{nil, []int32{0, 1, 3, 2}},
		{op.Args{"no_fixed_points": true, "allow_repetitions": true}, []int32{3, 3, 1, 2}},
	} {
		r, err := optest.Run(optest.Case{Op: "batch_permutation", Count: 4, Args: c.args, Keyer: dali{1}})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range r.Outputs[0] {
			if v, _ := tensor.Of[int32](x); v[0] != c.want[i] || len(x.Shape) != 0 {
				t.Errorf("%v: sample %d is %v, want %d", c.args, i, v, c.want[i])
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	image, count := tensor.New(tensor.Uint8, 9, 8, 3), tensor.ScalarOf[int32](7)
	optest.CheckAllocations(t, []optest.Case{
		{Op: "random.uniform", Count: 8, Args: op.Args{"shape": 3}},
		{Op: "random.uniform", Count: 8, Args: op.Args{"values": []float64{1, 2}, "dtype": tensor.Uint8}},
		{Op: "random.normal", Count: 8, Args: op.Args{"shape": 3, "dtype": tensor.Int32}},
		{Op: "random.coin_flip", Count: 8},
		{Op: "random.beta", Count: 8},
		{Op: "random.choice", Inputs: [][]tensor.Tensor{{count}}},
		{Op: "noise.gaussian", Inputs: [][]tensor.Tensor{{image}}},
		{Op: "noise.shot", Inputs: [][]tensor.Tensor{{image}}},
		{Op: "noise.salt_and_pepper", Inputs: [][]tensor.Tensor{{image}}},
		{Op: "batch_permutation", Count: 8},
		{Op: "random_crop_generator", Inputs: [][]tensor.Tensor{{tensor.FromSlice([]int64{20, 30})}}},
		{Op: "roi_random_crop", Count: 8, Args: op.Args{"crop_shape": 5, "roi_start": 10, "roi_shape": 70}},
	})
}

func BenchmarkUniform(b *testing.B) { optest.Bench(b, optest.Case{Op: "random.uniform", Count: 64}) }
