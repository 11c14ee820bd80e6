package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestDevices(t *testing.T) {
	define := func(p *pipeline.Builder) []pipeline.Node {
		jpegs, _ := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "x"})
		images := p.Op("decoders.image", op.Args{"device": "mixed"}, jpegs)[0]
		return []pipeline.Node{p.Op("cast", op.Args{"dtype": tensor.Float32, "device": "gpu"}, images.On("gpu"))[0].On("cpu"),
			uniform(p, "")}
	}
	_, err := pipeline.Define(pipeline.Options{}, define)
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node decoders.image") ||
		!strings.Contains(err.Error(), "RunOnCPU") {
		t.Errorf("mixed: %v", err)
	}
	_, err = pipeline.Define(pipeline.Options{},
		func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{uniform(p, "").On("gpu")} })
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node random.uniform") {
		t.Errorf("copy: %v", err)
	}
	for device, kind := range map[any]errs.Kind{"tpu": errs.Invalid, 3: errs.Invalid} {
		if _, err := pipeline.Define(pipeline.Options{Device: pipeline.RunOnCPU}, func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("random.uniform", op.Args{"device": device})
		}); !errors.Is(err, kind) {
			t.Errorf("%v: %v", device, err)
		}
	}
	d, err := pipeline.Define(pipeline.Options{Device: pipeline.RunOnCPU}, define)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"node decoders.image (decoders.image): mixed", "node decoders.image: copy to the GPU",
		"node cast (cast): gpu"}
	if d := cmp.Diff(want, d.Moved()); d != "" {
		t.Errorf("moved (-want +got):\n%s", d)
	}
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("random.uniform", op.Args{"device": "cpu"})
	}); err != nil {
		t.Error(err)
	}
}
