package debug_test

import (
	"errors"
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/debug"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func image(channels int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, 2, 3, channels)
	for i := range t.Data {
		t.Data[i] = byte(i + 2)
	}
	t.Layout = "HWC"
	return t
}

// What DALI wrote for these images.
func TestDumpImage(t *testing.T) {
	t.Chdir(t.TempDir())
	for suffix, c := range map[string]struct {
		channels int
		text     string
	}{
		"":    {3, "P3\n3 2\n255\n2 3 4 5 6 7 8 9 10 \n11 12 13 14 15 16 17 18 19 \n"},
		"abc": {1, "P2\n3 2\n255\n2 3 4 \n5 6 7 \n"},
	} {
		in := image(c.channels)
		r, err := optest.Run(optest.Case{Op: "dump_image", Args: op.Args{"suffix": suffix}, Inputs: [][]tensor.Tensor{{in, in}}})
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		for s, place := range []string{"0", "1"} {
			got, err := os.ReadFile(place + "-" + suffix + "-0.ppm")
			if err != nil || string(got) != c.text {
				t.Errorf("%v: %q, want %q", err, got, c.text)
			}
			if string(r.Outputs[0][s].Data) != string(in.Data) {
				t.Error("the image changed on its way")
			}
		}
	}
}

func TestDumpImageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := optest.Run(optest.Case{Op: "dump_image", Args: op.Args{"input_layout": "CHW"}, Inputs: [][]tensor.Tensor{{image(3)}}}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("layout: %v", err)
	}
	if _, err := optest.Run(optest.Case{Op: "dump_image", Inputs: [][]tensor.Tensor{{tensor.New(tensor.Uint8, 2, 2)}}}); !errors.Is(err, errs.Mismatch) {
		t.Errorf("dimensions: %v", err)
	}
	r, err := optest.Run(optest.Case{Op: "dump_image", Inputs: [][]tensor.Tensor{{image(4)}}})
	if err == nil && !errors.Is(r.Errors[0], errs.Mismatch) || err != nil && !errors.Is(err, errs.Mismatch) {
		t.Errorf("channels: %v %v", err, r.Errors)
	}
	if err := os.Mkdir("0--0.ppm", 0o777); err != nil {
		t.Fatal(err)
	}
	if r, err := optest.Run(optest.Case{Op: "dump_image", Inputs: [][]tensor.Tensor{{image(3)}}}); err != nil || !errors.Is(r.Errors[0], errs.IO) {
		t.Errorf("a folder in the way: %v %v", err, r.Errors)
	}
}
