package checkpoint_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// The name of a leaf stands twice in the header of a safetensors checkpoint, whose size
// the format limits: as the name of the tensor, and in the tree.
func TestNamesInSafetensorsHeader(t *testing.T) {
	const leaves = 50
	d := tree.NewDict()
	for i := range leaves {
		d.Set(fmt.Sprintf("name%03d%s", i, strings.Repeat("x", 500)),
			tree.NewLeaf(tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{1}, Data: make([]byte, 4)}))
	}
	path := filepath.Join(t.TempDir(), "c")
	o := checkpoint.SaveOptions{Options: options.Options{CheckpointLayout: options.SafetensorsFile}}
	if err := checkpoint.Save(t.Context(), path, d, &o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(path, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	header := string(b[8 : 8+binary.LittleEndian.Uint64(b)])
	for i := range leaves {
		if n := strings.Count(header, fmt.Sprintf("name%03d", i)); n != 2 {
			t.Fatalf("the name of leaf %d stands %d times in the header, want 2", i, n)
		}
	}
	if most := leaves * (2*507 + 200); len(header) > most {
		t.Errorf("the header has %d bytes, want at most %d", len(header), most)
	}
	got, err := checkpoint.Load(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range got.Keys {
		if k != d.Keys[i] {
			t.Fatalf("key %d is %s, want %s", i, k, d.Keys[i])
		}
	}
}
