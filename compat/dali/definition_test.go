package dali_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
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

func (c *counted) IterSetup(p *dali.Pipeline) error {
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
			d, err := dali.DefineBy(native(pipeline.Options{BatchSize: 2, Prefetch: prefetch}), &counted{byset: byset})
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

func (f *failing) IterSetup(*dali.Pipeline) error { return errors.New("no more tape") }

func TestIterSetupFails(t *testing.T) {
	d, err := dali.DefineBy(native(pipeline.Options{BatchSize: 2}), &failing{})
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

func TestTemplate(t *testing.T) {
	template := dali.Template[int]{Options: native(pipeline.Options{BatchSize: 2}),
		Define: func(b *pipeline.Builder, n int) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{Shape: op.Const([]int{n})})}
		}}
	p, err := template.New(context.Background(), 5, &dali.PipelineOptions{Options: pipeline.Options{BatchSize: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b, err := p.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Outputs[0].NumSamples() != 3 || b.Outputs[0].Sample(0).Shape[0] != 5 {
		t.Errorf("%v", b.Outputs[0].Sample(0))
	}
	if _, err := (dali.Template[int]{}).New(context.Background(), 1, nil); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// numbers is a source with a state.
type numbers struct{ n byte }

func (c *numbers) ReadBatch(context.Context) ([]pipeline.Data, error) {
	c.n++
	return []pipeline.Data{[]tensor.Tensor{{DType: tensor.Uint8, Shape: tensor.Shape{1}, Data: []byte{c.n}}}}, nil
}
func (c *numbers) AppendState(dst []byte) ([]byte, error) { return append(dst, c.n), nil }
func (c *numbers) SetState(b []byte) error                { c.n = b[0]; return nil }

// A checkpoint of DALI has no room for the state of a source. It is not written, because nobody
// could go on from it.
func TestStateOfASourceIsRefused(t *testing.T) {
	define := func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, pipeline.From(&numbers{}), pipeline.SourceOptions{Name: "numbers"})
	}
	d, err := pipeline.Define(pipeline.Options{BatchSize: 1, Compat: dali.CheckpointMode()}, define)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.AppendState(nil); !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node numbers") {
		t.Errorf("%v, want an error that names the source", err)
	}
}

// A definition of package pipeline is serialized as the same one with DALI's calls is.
func TestOf(t *testing.T) {
	define := func(b *pipeline.Builder) []pipeline.Node {
		in := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
		return []pipeline.Node{fn.Add(in[0], 1)}
	}
	for name, o := range map[string]pipeline.Options{
		"native": {BatchSize: 4, Workers: 3, Prefetch: 5, Seed: 7},
		"mode":   {BatchSize: 4, Workers: 3, Compat: dali.Mode()},
	} {
		plain, err := pipeline.Define(o, define)
		if err != nil {
			t.Fatal(err)
		}
		own, err := dali.Define(dali.PipelineOptions{Options: o, Native: o.Compat == nil}, define)
		if err != nil {
			t.Fatal(err)
		}
		want, err := dali.Serialize(own)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dali.Serialize(dali.Of(plain)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
		p, err := dali.Of(plain).New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Build(); err != nil || p.Properties().MaxBatchSize != 4 {
			t.Errorf("%s: %+v, %v", name, p.Properties(), err)
		}
		p.Close()
	}
}
