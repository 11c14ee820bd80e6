package dali_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// threeBatches runs a definition and returns all bytes of three batches.
func threeBatches(t *testing.T, d *dali.Definition) (all [][]byte) {
	t.Helper()
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range b.Outputs {
			for s := range o.NumSamples() {
				all = append(all, slices.Clone(o.Sample(s).Data))
			}
		}
	}
	return all
}

// deprecations makes a pipeline and returns how many operators it says are deprecated.
func deprecations(t *testing.T, d *dali.Definition) (n int) {
	t.Helper()
	p, err := d.New(t.Context(), &dali.PipelineOptions{Options: pipeline.Options{OnEvent: func(e pipeline.Event) {
		if e.Kind == pipeline.OperatorDeprecated && e.Operator != "" && e.Instead != "" {
			n++
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return n
}

func fingerprint(t *testing.T, d *dali.Definition) string {
	t.Helper()
	p, err := d.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return p.Fingerprint() + " " + p.Config()
}

// A pipeline with deprecated names delivers the batches of the newer names. Serialized, it keeps
// its names, and so does the pipeline that is read back.
func TestDeprecatedNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/0.jpg", "a/1.jpg", "b/2.jpg"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	names := [][2]string{ // older and newer
		{"file_reader", "readers.file"}, {"coin_flip", "random.coin_flip"}, {"uniform", "random.uniform"},
		{"normal_distribution", "random.normal"}, {"transform_translation", "transforms.translation"},
	}
	args := []op.Args{
		{"file_root": dir, "random_shuffle": true}, {"shape": []int{4}}, {"shape": []int{4}}, {"shape": []int{4}},
		{"offset": []float64{1, 2}},
	}
	define := func(which int) *dali.Definition {
		o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2, Workers: 1, Seed: 7}}
		d, err := dali.Define(o, func(b *pipeline.Builder) (outputs []pipeline.Node) {
			for i := range names {
				outputs = append(outputs, b.Op(names[i][which], args[i])...)
			}
			return outputs
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	older := define(0)
	if got, want := deprecations(t, older), 5; got != want {
		t.Errorf("%d warnings, want %d", got, want)
	}
	if got := deprecations(t, define(1)); got != 0 {
		t.Errorf("%d warnings of newer names", got)
	}
	want := threeBatches(t, define(1))
	if diff := cmp.Diff(want, threeBatches(t, older)); diff != "" {
		t.Errorf("(-newer names +older names)\n%s", diff)
	}

	b, err := dali.Serialize(older)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pipeproto.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	var schemas []string
	for i := range text.Ops {
		schemas = append(schemas, text.Ops[i].Name)
	}
	for _, schema := range []string{"FileReader", "CoinFlip", "Uniform", "NormalDistribution", "TransformTranslation"} {
		if !slices.Contains(schemas, schema) {
			t.Errorf("the serialized pipeline has %q, not %s", schemas, schema)
		}
	}
	read, err := dali.Deserialize(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, threeBatches(t, read)); diff != "" {
		t.Errorf("read back (-newer names +older names)\n%s", diff)
	}
	for i := range text.Ops { // states of jobs that began with older names hold on
		if j := slices.IndexFunc(names, func(n [2]string) bool { return dali.SchemaName(n[0]) == text.Ops[i].Name }); j >= 0 {
			text.Ops[i].Name = dali.SchemaName(names[j][1])
		}
	}
	newer, err := dali.FromProto(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fingerprint(t, read), fingerprint(t, newer); got != want {
		t.Errorf("with the older names the fingerprint is %s, with the newer ones %s", got, want)
	}
	again, err := dali.Serialize(read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare(t, b), bare(t, again)); diff != "" {
		t.Errorf("written again\n%s", diff)
	}
}
