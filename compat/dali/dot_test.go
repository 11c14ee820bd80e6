package dali_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
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

// Of nodes that are written the same DALI keeps the one that it comes to first from the outputs.
func TestDrawingOfMergedNodes(t *testing.T) {
	d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2, Seed: 1}},
		func(p *pipeline.Builder) []pipeline.Node {
			u := p.Op("random.uniform", nil)[0]
			cast := func() pipeline.Node { return p.Op("cast", op.Args{"dtype": tensor.Int32}, u)[0] }
			first, second := cast(), cast()
			return []pipeline.Node{second, first.Add(1)}
		})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.DOT(pipeline.DotOptions{})); !strings.Contains(got, "__Cast_2 -> ") ||
		strings.Contains(got, "__Cast_1") {
		t.Errorf("drawn as\n%s", got)
	}
}
