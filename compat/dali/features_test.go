package dali

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

func readsFeatures(features ...op.Feature) func(b *pipeline.Builder) []pipeline.Node {
	return func(b *pipeline.Builder) []pipeline.Node {
		return b.Op("readers.tfrecord", op.Args{"name": "r", "path": "a", "index_path": "a.idx", "features": features})
	}
}

// The features of a reader come back from the serialized form, which has the members that DALI
// writes.
func TestFeaturesAreSerialized(t *testing.T) {
	d, err := Define(PipelineOptions{}, readsFeatures(
		op.FixedLen("z", nil, tensor.Uint8, "dd"), op.FixedLen("i", []int{2, 3}, tensor.Int64, -1),
		op.VarLen("v", tensor.Float32, 0.5), op.VarLen("w", tensor.Int64, 7)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Serialize(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeproto.Parse(b)
	if err != nil || len(p.Ops) != 1 || p.Ops[0].Name != "readers___TFRecord" || len(p.Ops[0].Outputs) != 4 {
		t.Fatalf("%v, %+v", err, p)
	}
	features := p.Ops[0].Argument("features")
	if names, ok := p.Ops[0].Argument("feature_names").Value(); !ok || len(names.([]string)) != 4 ||
		features.Type != "TFRecord" || len(features.Elements) != 4 {
		t.Fatalf("%v, %+v", names, features)
	}
	i := features.Elements[1]
	if i.Name != "element 1" || len(i.Elements) != 4 || i.Elements[0].Ints[0] != 0 || !i.Elements[1].Bools[0] ||
		len(i.Elements[2].Ints) != 2 ||
		i.Elements[3].Name != "default_value" || i.Elements[3].Ints[0] != -1 {
		t.Errorf("%+v", i)
	}
	again, err := Deserialize(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Graph().Nodes[0].Config.Written(nil), d.Graph().Nodes[0].Config.Written(nil); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	text, err := pipeproto.MarshalYAML(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if again, err = DeserializeFile(file, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := again.Graph().Nodes[0].Config.Written(nil), d.Graph().Nodes[0].Config.Written(nil); got != want {
		t.Errorf("from YAML: got %s\nwant %s", got, want)
	}
}

// What DALI cannot write is refused, and so are features that do not fit their names.
func TestFeaturesRefused(t *testing.T) {
	d, err := Define(PipelineOptions{}, readsFeatures(op.VarLen("w", tensor.Int64, 7, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Serialize(d); !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "partial shape") {
		t.Errorf("a partial shape: %v", err)
	}
	if d, err = Define(PipelineOptions{}, readsFeatures(op.VarLen("w", tensor.Int64, 7))); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(o *pipeproto.Op){
		"no names": func(o *pipeproto.Op) { o.Argument("feature_names").Name = "_other" },
		"a name too many": func(o *pipeproto.Op) {
			a := o.Argument("feature_names")
			a.Elements = append(a.Elements, a.Elements[0])
		},
		"an unknown type":   func(o *pipeproto.Op) { o.Argument("features").Elements[0].Elements[0].Ints[0] = 9 },
		"an unknown member": func(o *pipeproto.Op) { o.Argument("features").Elements[0].Elements[0].Name = "kind" },
		"a type of two values": func(o *pipeproto.Op) {
			e := &o.Argument("features").Elements[0].Elements[0]
			e.Ints = append(e.Ints, 1)
		},
		"no feature": func(o *pipeproto.Op) {
			o.Argument("features").Elements = nil
			o.Argument("feature_names").Elements = nil
		},
	} {
		p, err := Proto(d)
		if err != nil {
			t.Fatal(err)
		}
		change(&p.Ops[0])
		if _, err := FromProto(p, nil); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
