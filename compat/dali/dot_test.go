package dali_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/internal/dalivec"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// What DALI wrote is drawn as DALI draws it.
func TestDrawings(t *testing.T) {
	dir, _, _ := dalivec.Find()
	for name, b := range recorded(t) {
		d, err := dali.Deserialize(b, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for file, o := range map[string]pipeline.DotOptions{"graph.dot": {}, "graph_tensors.dot": {Tensors: true, Colors: true}} {
			want, err := os.ReadFile(filepath.Join(dir, "graph", name, file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(d.DOT(o))); diff != "" {
				t.Errorf("%s/%s (-want +got):\n%s", name, file, diff)
			}
		}
	}
}
