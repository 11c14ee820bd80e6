package decoders

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

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
