package fn_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dynamic.Default().Close() // which lasts as long as the process
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestReadImages(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "a.png")
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	img.Set(2, 1, color.RGBA{R: 7, G: 8, B: 9, A: 255})
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
		t.Fatal(err)
	}
	one, err := fn.ReadImage(ctx, path, fn.DecodersImageArgs{}).Tensor(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !one.Shape.Equal(tensor.Shape{2, 3, 3}) || one.Layout != "HWC" || one.Data[17] != 9 {
		t.Errorf("%v %q %v", one.Shape, one.Layout, one.Data)
	}
	many, err := fn.ReadImages(ctx, []string{path, path}, fn.DecodersImageArgs{}).Samples(ctx)
	if err != nil || len(many) != 2 || !many[1].Equal(one) {
		t.Errorf("%v, %v", many, err)
	}
	if err := fn.ReadImages(ctx, []string{path, path + "x"}, fn.DecodersImageArgs{}).Evaluate(ctx); !errors.Is(err, errs.NotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if err := fn.ReadImage(ctx, path+"x", fn.DecodersImageArgs{}).Evaluate(ctx); !errors.Is(err, errs.NotFound) {
		t.Errorf("a missing file: %v", err)
	}
}
