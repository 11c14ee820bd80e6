package augment

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func ones(layout string, d tensor.DType, n int) []tensor.Tensor {
	list := make([]tensor.Tensor, n)
	for i := range list {
		list[i] = tensor.New(d, 20, 30, 3)
		if layout == "CHW" {
			list[i] = tensor.New(d, 3, 20, 30)
		}
		list[i].Layout = layout
		for j := range list[i].Data {
			list[i].Data[j] = 1
		}
	}
	return list
}

// TestErase: a window of every channel changes, whose area and ratio are in their ranges; about as
// many images change as the probability says. A sample has the same window in any block.
func TestErase(t *testing.T) {
	const n = 400
	for _, layout := range []string{"HWC", "CHW"} {
		c := optest.Case{Op: "random_erase", Inputs: [][]tensor.Tensor{ones(layout, tensor.Uint8, n)}, Seed: 4,
			Args: op.Args{"probability": 0.6, "fill_value": []float64{7, 8, 9}}}
		r := run(t, c)
		erased := 0
		for _, got := range r.Outputs[0] {
			least, most, count := [2]int{99, 99}, [2]int{-1, -1}, [3]int{}
			for i, v := range got.Data {
				ch, y, x := i%3, i/90, i/3%30
				if layout == "CHW" {
					ch, y, x = i/600, i/30%20, i%30
				}
				if v == byte(7+ch) {
					count[ch]++
					least, most = [2]int{min(least[0], y), min(least[1], x)}, [2]int{max(most[0], y), max(most[1], x)}
				} else if v != 1 {
					t.Fatalf("%d in channel %d", v, ch)
				}
			}
			if count[0] == 0 {
				continue
			}
			erased++
			h, w := most[0]-least[0]+1, most[1]-least[1]+1
			if count != [3]int{h * w, h * w, h * w} {
				t.Fatalf("%v elements in a window of %d by %d", count, h, w)
			}
			if share := float64(h*w) / 600; share < 0.01 || share > 0.36 {
				t.Errorf("a share of %v", share)
			}
		}
		if erased < n/2 || erased > 7*n/10 {
			t.Errorf("%d of %d", erased, n)
		}
		c.Block = 7
		for i, got := range run(t, c).Outputs[0] {
			if !bytes.Equal(got.Data, r.Outputs[0][i].Data) {
				t.Fatalf("sample %d differs", i)
			}
		}
	}
}

// TestEraseNoise: noise has a mean of 0 and a deviation of 1.
func TestEraseNoise(t *testing.T) {
	for _, kind := range []string{"channel", "pixel"} {
		r := run(t, optest.Case{Op: "random_erase", Inputs: [][]tensor.Tensor{ones("HWC", tensor.Float32, 200)},
			Args: op.Args{"probability": 1.0, "noise": kind}})
		sum, squares, n := 0.0, 0.0, 0.0
		distinct := map[float32]bool{}
		old := math.Float32frombits(0x01010101)
		for _, got := range r.Outputs[0] {
			values, err := tensor.Of[float32](got)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				if v != old {
					sum, squares, n = sum+float64(v), squares+float64(v)*float64(v), n+1
					distinct[v] = true
				}
			}
		}
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean) > 0.15 || math.Abs(deviation-1) > 0.15 {
			t.Errorf("%s: mean %v, deviation %v", kind, mean, deviation)
		}
		if few := len(distinct) <= 600; few != (kind == "channel") {
			t.Errorf("%s: %d numbers", kind, len(distinct))
		}
	}
}

// TestEraseExtents: torchvision and timm compute the same extents from area and ratio.
func TestEraseExtents(t *testing.T) {
	for _, c := range []struct {
		h, w        int
		area, ratio float64
		wantH       int
		wantW       int
		ok          bool
	}{ // int(round(math.sqrt(224 * 224 * area * ratio))), and with / for the width
		{224, 224, 0.1, 1, 71, 71, true}, {224, 224, 0.33, 3.3, 234, 71, false}, {224, 224, 0.02, 0.3, 17, 58, true},
		{32, 48, 0.25, 2, 28, 14, true}, {1, 1, 0.3, 1, 1, 1, false}, {10, 10, 0.0025, 1, 0, 0, true},
	} {
		h, w, ok := extents(c.h, c.w, c.area, c.ratio)
		if h != c.wantH || w != c.wantW || ok != c.ok {
			t.Errorf("%v: %d by %d, %v", c, h, w, ok)
		}
	}
}

// TestEraseRefused: an error names the argument. Images in which no window fits stay as they are.
func TestEraseRefused(t *testing.T) {
	for want, c := range map[string]optest.Case{
		"argument area":        {Args: op.Args{"area": []float64{0.5, 0.1}}},
		"argument ratio":       {Args: op.Args{"ratio": []float64{0, 1}}},
		"argument noise":       {Args: op.Args{"noise": "pixels"}},
		"normalize the images": {Args: op.Args{"noise": "pixel"}},
		"argument probability": {Args: op.Args{"probability": 2.0}},
		"argument fill_value":  {Args: op.Args{"fill_value": []float64{1, 2}, "probability": 1.0}},
		"uint8 or float32":     {Inputs: [][]tensor.Tensor{{tensor.New(tensor.Int32, 4, 4, 3)}}},
		"layout HWC or CHW":    {Inputs: [][]tensor.Tensor{{tensor.New(tensor.Uint8, 4, 4)}}},
	} {
		c.Op = "random_erase"
		if c.Inputs == nil {
			c.Inputs = [][]tensor.Tensor{ones("HWC", tensor.Uint8, 1)}
		}
		r, err := optest.Run(c)
		if err == nil {
			err = r.Errors[0]
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", c.Args, err, want)
		}
	}
	small := tensor.New(tensor.Uint8, 1, 1, 3)
	small.Layout = "HWC"
	for _, in := range []tensor.Tensor{small, {DType: tensor.Uint8, Shape: tensor.Shape{0, 4, 3}, Layout: "HWC"}} {
		got := run(t, optest.Case{Op: "random_erase", Inputs: [][]tensor.Tensor{{in}},
			Args: op.Args{"probability": 1.0}}).Outputs[0][0]
		if !bytes.Equal(got.Data, in.Data) {
			t.Errorf("%v changes", in)
		}
	}
}
