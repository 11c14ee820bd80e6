package pipeline_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// counted feeds three batches an epoch.
type counted struct {
	calls int
	byset bool
}

func (c *counted) DefineGraph(b *pipeline.Builder) []pipeline.Node {
	out := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
	if c.byset {
		b.SetOutputs(out...)
		return nil
	}
	return out
}

func (c *counted) IterSetup(p *pipeline.Pipeline) error {
	c.calls++
	if c.calls%4 == 0 {
		return io.EOF
	}
	t := tensor.FromSlice([]int32{int32(c.calls)})
	return p.FeedInput("in", []tensor.Tensor{t, t}, nil)
}

func TestDefiner(t *testing.T) {
	for _, prefetch := range []int{pipeline.NoPrefetch, 2} {
		for _, byset := range []bool{false, true} {
			d, err := pipeline.DefineBy(pipeline.Options{BatchSize: 2, PrefetchDepth: prefetch}, &counted{byset: byset})
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.New(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for range 2 {
				for b, err := range p.Batches(context.Background()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, b.Outputs[0].Sample(1).Data[0])
				}
				got = append(got, 0)
			}
			if d := cmp.Diff([]byte{1, 2, 3, 0, 5, 6, 7, 0}, got); d != "" {
				t.Errorf("prefetch %d (-want +got):\n%s", prefetch, d)
			}
			p.Close()
		}
	}
}

type failing struct{ counted }

func (f *failing) IterSetup(*pipeline.Pipeline) error { return errors.New("no more tape") }

func TestIterSetupFails(t *testing.T) {
	d, err := pipeline.DefineBy(pipeline.Options{BatchSize: 2}, &failing{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "IterSetup: no more tape") {
		t.Error(err)
	}
}

func TestByHand(t *testing.T) {
	b, err := pipeline.NewBuilder(pipeline.Options{BatchSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	b.SetOutputs(uniform(b, "x"))
	d, err := b.Definition()
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := next(t, p).Outputs[0].NumSamples(); got != 3 {
		t.Errorf("%d samples", got)
	}
	if _, err := pipeline.NewBuilder(pipeline.Options{BatchSize: -1}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		p.SetOutputs(uniform(p, "x"))
		return []pipeline.Node{uniform(p, "y")}
	}); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "outputs once") {
		t.Errorf("outputs twice: %v", err)
	}
}

func TestTemplate(t *testing.T) {
	template := pipeline.Template[int]{Options: pipeline.Options{BatchSize: 2}, Define: func(b *pipeline.Builder, n int) []pipeline.Node {
		return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{Shape: op.Const([]int{n})})}
	}}
	p, err := template.New(context.Background(), 5, &pipeline.Options{BatchSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if b := next(t, p); b.Outputs[0].NumSamples() != 3 || b.Outputs[0].Sample(0).Shape[0] != 5 {
		t.Errorf("%v", b.Outputs[0].Sample(0))
	}
	if _, err := (pipeline.Template[int]{}).New(context.Background(), 1, nil); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

func TestDevices(t *testing.T) {
	define := func(p *pipeline.Builder) []pipeline.Node {
		jpegs, _ := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "x"})
		images := p.Op("decoders.image", op.Args{"device": "mixed"}, jpegs)[0]
		return []pipeline.Node{p.Op("cast", op.Args{"dtype": tensor.Float32, "device": "gpu"}, images.GPU())[0].CPU(), uniform(p, "")}
	}
	_, err := pipeline.Define(pipeline.Options{}, define)
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node decoders.image") || !strings.Contains(err.Error(), "RunOnCPU") {
		t.Errorf("mixed: %v", err)
	}
	_, err = pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{uniform(p, "").GPU()} })
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node random.uniform") {
		t.Errorf("copy: %v", err)
	}
	for device, kind := range map[any]errs.Kind{"tpu": errs.Invalid, 3: errs.Invalid} {
		if _, err := pipeline.Define(pipeline.Options{OnGPU: pipeline.RunOnCPU}, func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("random.uniform", op.Args{"device": device})
		}); !errors.Is(err, kind) {
			t.Errorf("%v: %v", device, err)
		}
	}
	d, err := pipeline.Define(pipeline.Options{OnGPU: pipeline.RunOnCPU}, define)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"node decoders.image (decoders.image): mixed", "node decoders.image: copy to the GPU", "node cast (cast): gpu"}
	if d := cmp.Diff(want, d.Moved()); d != "" {
		t.Errorf("moved (-want +got):\n%s", d)
	}
	if _, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("random.uniform", op.Args{"device": "cpu"})
	}); err != nil {
		t.Error(err)
	}
}
