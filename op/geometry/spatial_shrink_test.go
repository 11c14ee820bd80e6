package geometry

import (
	"bytes"
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// noise is an image without an even part.
func noise(d tensor.DType, shape ...int) tensor.Tensor {
	t := tensor.New(tensor.Float32, shape...)
	values, _ := tensor.Of[float32](t) // of a tensor of this type
	for i := range values {
		values[i] = float32((i*i*31 + i*7) % 251)
	}
	t, err := tensor.Cast(d, t)
	if err != nil {
		panic(err)
	}
	t.Layout = map[int]string{3: "HWC", 4: "FHWC"}[len(shape)]
	return t
}

func transformed(t *testing.T, image tensor.Tensor, args op.Args) tensor.Tensor {
	t.Helper()
	return optest.MustRun(t, spatialCase([][]tensor.Tensor{{image}}, args)).Outputs[0][0]
}

// TestShrinkMeans: an image that shrinks by whole numbers has the means of its blocks, in every
// type and frame, mirrored or turned.
func TestShrinkMeans(t *testing.T) {
	const down, across = 3, 4
	for _, d := range warpTypes() {
		image := noise(d, 2, 5*down, 6*across, 2)
		for name, args := range map[string]op.Args{
			"plain": {"size": []int{5, 6}}, "mirrored": {"size": []int{5, 6}, "horizontal": 1},
			"on the head": {"size": []int{5, 6}, "angle": 180.0},
		} {
			got := transformed(t, image, args)
			for f := range 2 {
				for y := range 5 {
					for x := range 6 {
						from, row := x, y
						if name != "plain" {
							from = 5 - x
						}
						if name == "on the head" {
							row = 4 - y
						}
						for c := range 2 {
							sum := 0.0
							for v := range down {
								for u := range across {
									n, _ := op.Number(image, ((f*5*down+row*down+v)*6*across+from*across+u)*2+c)
									sum += n
								}
							}
							have, _ := op.Number(got, ((f*5+y)*6+x)*2+c)
							if math.Abs(have-sum/(down*across)) > map[bool]float64{true: 1e-3, false: 0.501}[d == tensor.Float32] {
								t.Fatalf("%s, %s: frame %d, row %d, column %d: %v, want %v", d, name, f, y, x, have, sum/(down*across))
							}
						}
					}
				}
			}
		}
	}
}

// TestShrinkChess: a chessboard becomes gray, and without antialias, or with INTERP_NN, it does
// not.
func TestShrinkChess(t *testing.T) {
	board := tensor.New(tensor.Uint8, 64, 64, 1)
	board.Layout = "HWC"
	for i := range board.Data {
		board.Data[i] = byte((i/64 + i%64) % 2 * 200)
	}
	spread := func(args op.Args) (low, high byte) {
		got := transformed(t, board, args)
		low = 255
		for y := 2; y < got.Shape[0]-2; y++ { // the border has other pixels
			for x := 2; x < got.Shape[1]-2; x++ {
				v := got.Data[y*got.Shape[1]+x]
				low, high = min(low, v), max(high, v)
			}
		}
		return low, high
	}
	for name, args := range map[string]op.Args{
		"to a fifth": {"size": []int{13, 13}},
		"a corner":   {"size": []int{13, 13}, "corners": []float64{0, 0, 0, 0, -0.3, -0.2, 0, 0}, "fill_value": 100.0},
		"turned":     {"size": []int{16, 16}, "angle": 45.0}, "a scale": {"scale": []float64{0.2}, "fill_value": 100.0},
	} {
		if low, high := spread(args); high-low > 45 {
			t.Errorf("%s: %d to %d", name, low, high)
		}
	}
	for name, args := range map[string]op.Args{
		"off": {"size": []int{13, 13}, "antialias": false}, "nearest": {"size": []int{13, 13}, "interp_type": op.InterpNN},
	} {
		if low, high := spread(args); high-low < 70 {
			t.Errorf("%s: %d to %d", name, low, high)
		}
	}
}

// TestShrinkChangesNothingElse: images that do not shrink, masks, boxes and points are the same
// with and without antialias.
func TestShrinkChangesNothingElse(t *testing.T) {
	in := scene(20, 30, [4]int{4, 5, 12, 13}, 6, 7, 2)
	for name, args := range map[string]op.Args{
		"larger": {"size": []int{50, 40}}, "turned": {"angle": 33.0}, "a quarter": {"angle": 90.0},
		"mirrored": {"horizontal": 1, "vertical": 1}, "smaller": {"size": []int{7, 9}},
	} {
		with := optest.MustRun(t, spatialCase(in, args))
		args["antialias"] = false
		without := optest.MustRun(t, spatialCase(in, args))
		for i := range in {
			same := bytes.Equal(with.Outputs[i][0].Data, without.Outputs[i][0].Data)
			if same == (i == 0 && name == "smaller") {
				t.Errorf("%s: %s are the same: %t", name, targets[i], same)
			}
		}
	}
	one := transformed(t, noise(tensor.Uint8, 1, 1, 3), op.Args{"size": []int{1, 1}})
	if !bytes.Equal(one.Data, noise(tensor.Uint8, 1, 1, 3).Data) {
		t.Errorf("one pixel: %v", one.Data)
	}
	if got := transformed(t, noise(tensor.Uint8, 1000, 3, 1), op.Args{"size": []int{1, 1}}); got.Data[0] < 100 ||
		got.Data[0] > 150 {
		t.Errorf("1000 rows to one: %v", got.Data)
	}
}
