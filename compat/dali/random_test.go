package dali

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
)

type randomCase struct {
	Params struct {
		Op     string
		Copies int
		Batch  int    `json:"batch_size"`
		Pipe   *int64 `json:"pipe_seed"`
		Args   struct {
			Seed         *int64
			Range        []float64
			Values       []float64
			Mean, Stddev *float64
			Probability  *float32
			Prob         float32
			SaltVsPepper *float32 `json:"salt_vs_pepper"`
			PerChannel   bool     `json:"per_channel"`
		}
		Input struct {
			Shape    []int
			Dtype    string
			Mul, Mod int
		}
	}
	Iterations [][][]struct {
		Dtype    string
		Data     []any
		F32, F64 []string
	}
	States [][][2]string
}

// DALI's own distributions over the words of Philox, with the seeds that the
// pipeline deals out.
func TestRandomOperators(t *testing.T) {
	tested := map[string]int{}
	var numbers, unequal int
	for _, file := range vectorFiles(t, "random/*.json", "rng/*.json") {
		var c randomCase
		var head struct{ Params struct{ Op string } }
		readJSON(t, file, &head)
		switch head.Params.Op {
		case "random.uniform", "random.coin_flip", "random.normal", "noise.gaussian", "noise.salt_and_pepper":
		default:
			continue // by the C++ library: tests of libstdcxx
		}
		readJSON(t, file, &c)
		for it, outputs := range c.Iterations {
			for k, output := range outputs {
				state := c.state(k)
				state.SkipSequence(uint64(it * c.Params.Batch))
				if state.String() != c.States[it][k][1] {
					t.Fatalf("%s: state %s, want %s", file, state, c.States[it][k][1])
				}
				for s, sample := range output {
					want := values(t, sample.Data, sample.F32, sample.F64)
					for e := range want {
						got := c.element(state, s, e, sample.Dtype)
						if numbers++; got != want[e] {
							unequal++
						}
						if math.Abs(got-want[e]) > c.tolerance(sample.Dtype) {
							t.Errorf("%s: iteration %d copy %d sample %d element %d: %v, want %v", filepath.Base(file), it, k, s, e, got,
								want[e])
						}
					}
				}
			}
		}
		if len(c.Iterations) > 0 {
			tested[c.Params.Op]++
		}
	}
	t.Logf("%v; %d of %d numbers differ in the last bits", tested, unequal, numbers)
	if len(tested) != 5 {
		t.Errorf("operators %v", tested)
	}
}

// state is the first of a copy of the operator.
func (c *randomCase) state(k int) rng.Philox {
	if seed := c.Params.Args.Seed; seed != nil {
		return rng.NewPhilox(uint64(*seed), 0, 0)
	}
	pipe := int64(1)
	if c.Params.Pipe != nil {
		pipe = *c.Params.Pipe
	}
	return rng.NewPhilox(uint64(PipelineSeeds(pipe)[k]), 0, 0)
}

// tolerance is 0, except for the logarithms and cosines of floats.
func (c *randomCase) tolerance(dtype string) float64 {
	normal := c.Params.Op == "random.normal" || c.Params.Op == "noise.gaussian"
	scale := 1.0
	if s := c.Params.Args.Stddev; s != nil {
		scale = *s
	}
	switch {
	case normal && dtype == "float32":
		return 1e-6 * max(scale, 1)
	case normal && dtype == "float64":
		return 1e-14 * scale
	}
	return 0
}

func values(t *testing.T, data []any, f32, f64 []string) []float64 {
	t.Helper()
	var out []float64
	for _, x := range data {
		switch x := x.(type) {
		case bool:
			out = append(out, map[bool]float64{true: 1}[x])
		case float64:
			out = append(out, x)
		}
	}
	for i, bits := range [][]string{f32, f64} {
		for _, text := range bits {
			u, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				out = append(out, float64(math.Float32frombits(uint32(u))))
			} else {
				out = append(out, math.Float64frombits(u))
			}
		}
	}
	return out
}

func (c *randomCase) element(state rng.Philox, sample, element int, dtype string) float64 {
	a := c.Params.Args
	state.SkipSequence(uint64(sample) * 65537)
	p := rng.Element(state, element)
	double := slices.Contains([]string{"float64", "int32", "uint32", "int64", "uint64"}, dtype)
	or := func(x *float64, y float64) float64 {
		if x != nil {
			return *x
		}
		return y
	}
	var x float64
	switch c.Params.Op {
	case "random.coin_flip":
		probability := float32(0.5)
		if a.Probability != nil {
			probability = *a.Probability
		}
		return map[bool]float64{true: 1}[rng.Flip(&p, probability)]
	case "random.uniform":
		r := append(a.Range, -1, 1)
		switch {
		case a.Values != nil:
			x = a.Values[rng.Index(&p, uint32(len(a.Values)))]
		case double:
			x = rng.Uniform64(&p, r[0], r[1])
		default:
			x = float64(rng.Uniform32(&p, float32(r[0]), float32(r[1])))
		}
	case "random.normal":
		if double {
			x = rng.Normal64(&p, or(a.Mean, 0), or(a.Stddev, 1))
		} else {
			x = float64(rng.Normal32(&p, float32(or(a.Mean, 0)), float32(or(a.Stddev, 1))))
		}
	case "noise.gaussian":
		x = float64(float32(c.input(element)) + rng.Normal32(&p, float32(or(a.Mean, 0)), float32(or(a.Stddev, 1))))
	case "noise.salt_and_pepper":
		return c.saltAndPepper(state, element)
	}
	switch dtype {
	case "float32", "float64":
		return x
	case "uint8":
		return min(max(math.Round(x), 0), 255)
	}
	return math.Round(x)
}

func (c *randomCase) input(element int) int {
	in := c.Params.Input
	mod := in.Mod
	if mod == 0 {
		mod = 256
	}
	return element * max(in.Mul, 1) % mod
}

// saltAndPepper draws once a pixel, or once an element.
func (c *randomCase) saltAndPepper(sample rng.Philox, element int) float64 {
	a, draw := c.Params.Args, element
	if !a.PerChannel {
		draw /= c.Params.Input.Shape[len(c.Params.Input.Shape)-1]
	}
	p := rng.Element(sample, draw)
	ratio := float32(0.5)
	if a.SaltVsPepper != nil {
		ratio = *a.SaltVsPepper
	}
	switch u := rng.Uniform32(&p, 0, 1); {
	case u >= a.Prob:
		return float64(c.input(element))
	case u < a.Prob*ratio:
		return 255
	}
	return 0
}
