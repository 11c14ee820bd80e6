package decoders

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func file(t testing.TB, name string) tensor.Tensor {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "dali", "inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return tensor.FromSlice(b)
}

// run runs an operator on one image and returns what it gives.
func run(t testing.TB, name string, in tensor.Tensor, args op.Args) (tensor.Tensor, error) {
	t.Helper()
	r, err := optest.Run(optest.Case{Op: name, Inputs: [][]tensor.Tensor{{in}}, Args: args})
	if err != nil {
		return tensor.Tensor{}, err
	}
	return r.Outputs[0][0], r.Errors[0]
}

// TestWindows holds the windows of all operators against the same part of the image.
func TestWindows(t *testing.T) {
	const h, w = 33, 47
	in := file(t, "j420_odd.jpg")
	whole, err := run(t, "decoders.image", in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op         string
		args       op.Args
		y, x, h, w int
	}{
		{"decoders.image_crop", op.Args{"crop": []int{10, 20}, "crop_pos_x": 1, "crop_pos_y": 0}, 0, 27, 10, 20},
		{"decoders.image_crop", op.Args{}, 0, 0, h, w},
		{"experimental.decoders.image_crop", op.Args{"crop_h": 33, "crop_w": 1}, 0, 23, 33, 1},
		{"decoders.image_slice", op.Args{"start": []int{5, 3}, "shape": []int{7, 30}}, 3, 5, 30, 7},
		{"image_decoder_slice", op.Args{"rel_end": 0.5, "axis_names": "H"}, 0, 0, 17, w},
	} {
		out, err := run(t, c.op, in, c.args)
		if err != nil {
			t.Errorf("%s %v: %v", c.op, c.args, err)
			continue
		}
		if !out.Shape.Equal(tensor.Shape{c.h, c.w, 3}) {
			t.Errorf("%s %v: shape %s", c.op, c.args, out.Shape)
			continue
		}
		for y := range c.h {
			from := ((c.y+y)*w + c.x) * 3
			if !bytes.Equal(out.Data[y*c.w*3:(y+1)*c.w*3], whole.Data[from:from+c.w*3]) {
				t.Errorf("%s %v: row %d differs", c.op, c.args, y)
				break
			}
		}
	}
	for _, c := range []struct {
		op   string
		args op.Args
	}{
		{"decoders.image_crop", op.Args{"crop": []int{34, 20}}},
		{"decoders.image_crop", op.Args{"crop": []int{10, 20}, "crop_pos_x": 1.5}},
		{"decoders.image_slice", op.Args{"start": -1}},
		{"decoders.image_slice", op.Args{"end": 48, "axis_names": "W"}},
		{"decoders.image_slice", op.Args{"end": 1, "axes": 2}}, // there is no axis of channels
		{"decoders.image_slice", op.Args{"start": 3, "shape": 0, "axes": -1}},
	} {
		if _, err := run(t, c.op, in, c.args); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s %v: got %v", c.op, c.args, err)
		}
	}
}

// TestRandomCrop shows that windows depend on the position, lie in the image and differ.
func TestRandomCrop(t *testing.T) {
	in := file(t, "j420_q90.jpg")
	shapes := map[string]bool{}
	for first := range int64(20) {
		c := optest.Case{Op: "decoders.image_random_crop", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{"random_area": []float64{0.1, 0.3}}, First: first}
		a, err := optest.Run(c)
		if err != nil || len(a.Errors) > 0 {
			t.Fatal(err, a.Errors)
		}
		b, err := optest.Run(c)
		if err != nil || !bytes.Equal(a.Outputs[0][0].Data, b.Outputs[0][0].Data) {
			t.Fatalf("position %d: two runs differ (%v)", first, err)
		}
		s := a.Outputs[0][0].Shape
		if area := float64(s[0]*s[1]) / (200 * 300); area < 0.09 || area > 0.31 {
			t.Errorf("position %d: %s is %g of the image", first, s, area)
		}
		shapes[s.String()] = true
	}
	if len(shapes) < 10 {
		t.Errorf("%d shapes in 20 windows", len(shapes))
	}
}

// TestGrayAsItIs: DALI dies of a gray JPEG with ANY_DATA.
func TestGrayAsItIs(t *testing.T) {
	out, err := run(t, "decoders.image", file(t, "j_gray.jpg"), op.Args{"output_type": op.AnyData})
	if err != nil || !out.Shape.Equal(tensor.Shape{55, 71, 1}) {
		t.Fatalf("got %s, %v", out, err)
	}
	gray, err := run(t, "decoders.image", file(t, "j_gray.jpg"), op.Args{"output_type": op.Gray})
	if err != nil || !bytes.Equal(out.Data, gray.Data) {
		t.Errorf("other pixels than GRAY (%v)", err)
	}
	shape, err := run(t, "peek_image_shape", file(t, "j_gray.jpg"), op.Args{"image_type": op.AnyData, "dtype": tensor.Int32})
	if err != nil || !bytes.Equal(shape.Data, []byte{55, 0, 0, 0, 71, 0, 0, 0, 1, 0, 0, 0}) {
		t.Errorf("got %v, %v", shape.Data, err)
	}
}

// TestNoAllocations runs decoders again and again.
func TestNoAllocations(t *testing.T) {
	in := []tensor.Tensor{file(t, "j420_q90.jpg"), file(t, "j420_odd.jpg"), file(t, "j_exif6.jpg")}
	for _, c := range []optest.Case{
		{Op: "decoders.image"},
		{Op: "decoders.image_crop", Args: op.Args{"crop": []int{10, 12}}},
		{Op: "decoders.image_slice", Args: op.Args{"rel_start": []float64{0.1, 0.2}, "rel_shape": []float64{0.5, 0.5}}},
		{Op: "decoders.image_random_crop"},
		{Op: "decoders.image", Args: op.Args{"dtype": tensor.Float32, "output_type": op.YCbCr}},
		{Op: "peek_image_shape"},
	} {
		c.Inputs = [][]tensor.Tensor{in}
		r, err := optest.New(c)
		if err != nil {
			t.Fatal(err)
		}
		once := func() {
			if err := r.Run(); err != nil || len(r.Result.Errors) > 0 {
				t.Fatal(err, r.Result.Errors)
			}
		}
		once()
		if n := testing.AllocsPerRun(10, once); n != 0 {
			t.Errorf("%s %v: %g allocations a run", c.Op, c.Args, n)
		}
	}
}
