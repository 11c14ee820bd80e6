package decoders

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// flat returns a JPEG of a flat colour.
func flat(t *testing.T, w, h int, c color.Color) tensor.Tensor {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return tensor.FromSlice(b.Bytes())
}

func TestImage(t *testing.T) {
	orange := color.RGBA{250, 120, 30, 255}
	in := []tensor.Tensor{flat(t, 20, 9, orange), flat(t, 8, 31, orange), tensor.FromSlice([]byte("no image")), {DType: tensor.Uint8, Shape: tensor.Shape{0}}}
	for _, c := range []struct {
		args op.Args
		want []int
	}{
		{op.Args{}, []int{250, 120, 30}},
		{op.Args{"output_type": op.Gray, "adjust_orientation": false}, []int{149}},
	} {
		r, err := optest.Run(optest.Case{Op: "decoders.image", Inputs: [][]tensor.Tensor{in}, Args: c.args})
		if err != nil {
			t.Fatal(err)
		}
		for s, shape := range []tensor.Shape{{9, 20, len(c.want)}, {31, 8, len(c.want)}} {
			out := r.Outputs[0][s]
			if !out.Shape.Equal(shape) || out.Layout != "HWC" {
				t.Fatalf("sample %d: got %s %q, want %s", s, out, out.Layout, shape)
			}
			for i, v := range out.Data {
				if want := c.want[i%len(c.want)]; int(v) < want-3 || int(v) > want+3 {
					t.Fatalf("sample %d, byte %d: got %d, want about %d", s, i, v, want)
				}
			}
		}
		for _, s := range []int{2, 3} {
			if !errors.Is(r.Errors[s], errs.Corrupt) {
				t.Errorf("sample %d: got %v", s, r.Errors[s])
			}
		}
	}
}

func TestRefused(t *testing.T) {
	in := flat(t, 4, 4, color.White)
	matrix := tensor.New(tensor.Uint8, 3, 3)
	for name, c := range map[string]struct {
		in   tensor.Tensor
		args op.Args
		kind errs.Kind
	}{
		"type":     {in, op.Args{"dtype": tensor.Float16}, errs.Unsupported},
		"a matrix": {matrix, op.Args{}, errs.Invalid},
	} {
		if _, err := optest.Run(optest.Case{Op: "decoders.image", Inputs: [][]tensor.Tensor{{c.in}}, Args: c.args}); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestVectors(t *testing.T) { dalivec.Run(t, "decode") }

func TestFileRead(t *testing.T) {
	dir := t.TempDir()
	full, empty := filepath.Join(dir, "full"), filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(full, []byte("contents"), 0o600), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	path := func(s string) tensor.Tensor { return tensor.FromSlice([]byte(s)) }
	r, err := optest.Run(optest.Case{Op: "io.file.read", Inputs: [][]tensor.Tensor{{path(full), path(full + "\x00rest"), path(empty), path(filepath.Join(dir, "none")), path(dir)}}})
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range []string{"contents", "contents", ""} {
		if out := r.Outputs[0][s]; string(out.Data) != want || !out.Shape.Equal(tensor.Shape{len(want)}) || out.DType != tensor.Uint8 {
			t.Errorf("sample %d: got %s %q, want %q", s, out, out.Data, want)
		}
	}
	if !errors.Is(r.Errors[3], errs.NotFound) || !errors.Is(r.Errors[4], errs.Invalid) {
		t.Errorf("got %v", r.Errors)
	}
}
