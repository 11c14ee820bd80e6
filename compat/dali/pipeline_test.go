package dali_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// fileTree makes the data set of the vectors: n files in three folders, whose
// contents are their numbers.
func fileTree(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		name := filepath.Join(dir, fmt.Sprintf("c%d", k*3/n), fmt.Sprintf("f%05d.jpg", k))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, fmt.Append(nil, k), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkpointCase is a file of ckpt/pipeline.
type checkpointCase struct {
	Params struct {
		Name, Reader string
		N            int
		BatchSize    int `json:"batch_size"`
		Prefetch     int
		PipeSeed     *uint64 `json:"pipe_seed"`
		Args         map[string]any
		Random       [][]any
	}
	Positions []struct {
		K          int
		Checkpoint string
		Next       []any
	}
}

// args returns the arguments of a case.
func args(t *testing.T, from any) op.Args {
	t.Helper()
	out := op.Args{}
	m, _ := from.(map[string]any)
	for name, v := range m {
		c, err := dalivec.Constant(v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = c
	}
	return out
}

// operators are those random operators of the vectors that take no input.
var operators = map[string]string{
	"uniform": "random.uniform", "normal": "random.normal", "coin_flip": "random.coin_flip", "beta": "random.beta", "batch_permutation": "batch_permutation",
}

// define returns the pipeline of a case; ok is false where it has what is tested elsewhere.
func (c checkpointCase) define(t *testing.T, root string) (d *dali.Definition, ok bool) {
	t.Helper()
	o := saving(pipeline.Options{BatchSize: c.Params.BatchSize, Seed: 1, Prefetch: max(2, c.Params.Prefetch)})
	if c.Params.PipeSeed != nil {
		o.Seed = *c.Params.PipeSeed
	}
	known := c.Params.Reader == "file" || c.Params.Reader == "none"
	for _, r := range c.Params.Random {
		known = known && registered(operators[r[0].(string)])
	}
	if !known {
		return nil, false
	}
	d, err := dali.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		var outputs []pipeline.Node
		if c.Params.Reader == "file" {
			a := args(t, c.Params.Args)
			a["name"], a["file_root"] = "r", root
			outputs = p.Op("readers.file", a)
		}
		for _, r := range c.Params.Random {
			outputs = append(outputs, p.Op(operators[r[0].(string)], args(t, r[1]))...)
		}
		return outputs
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, true
}

func registered(operator string) bool {
	_, err := op.Lookup(operator)
	return err == nil
}

// text is what a batch delivers, all of it.
func text(b *pipeline.Batch) string {
	var out []byte
	for _, o := range b.Outputs {
		for s := range o.NumSamples() {
			x := o.Sample(s)
			out = fmt.Appendf(out, "%v%v:%x ", x.DType, x.Shape, x.Data)
		}
	}
	return string(out)
}

func next(t *testing.T, p *dali.Pipeline, n int) (delivered []string) {
	t.Helper()
	for range n {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		delivered = append(delivered, text(b))
	}
	return delivered
}

// DALI's checkpoints are written byte for byte, and a pipeline goes on from them.
func TestPipelineCheckpoints(t *testing.T) {
	dir, _, ok := dalivec.Find()
	if !ok {
		t.Skip("no vectors")
	}
	files, err := filepath.Glob(filepath.Join(dir, "ckpt", "pipeline", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	compared, left := 0, []string{}
	for _, file := range files {
		var c checkpointCase
		if err := dalivec.ReadJSON(file, &c); err != nil {
			t.Fatal(err)
		}
		root := ""
		if c.Params.Reader == "file" {
			root = fileTree(t, c.Params.N)
		}
		d, ok := c.define(t, root)
		if !ok {
			left = append(left, c.Params.Name)
			continue
		}
		for _, at := range c.Positions {
			want, err := base64.StdEncoding.DecodeString(at.Checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.New(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			next(t, p, at.K)
			got, err := p.AppendState(nil)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s after %d batches: %v\n got %q\nwant %q", c.Params.Name, at.K, err, got, want)
			}
			goesOn := next(t, p, len(at.Next))
			if err := p.SetState(want); err != nil {
				t.Errorf("%s after %d batches: %v", c.Params.Name, at.K, err)
				continue
			}
			if again := next(t, p, len(at.Next)); !slices.Equal(again, goesOn) {
				t.Errorf("%s after %d batches goes on with\n%q, want\n%q", c.Params.Name, at.K, again, goesOn)
			}
			compared++
			p.Close()
		}
	}
	t.Logf("%d checkpoints compared; not here: %s", compared, strings.Join(left, " "))
	if compared == 0 {
		t.Error("no checkpoint was compared")
	}
}

// What DALI calls its operators, and which entries its checkpoint has, where random operators of
// one seed are one, sinks are left out and outputs are used in other orders than made:
// as DALI 2.4.0 itself wrote.
func TestCheckpointEntries(t *testing.T) {
	uniform := func(p *pipeline.Builder, a op.Args) pipeline.Node { return p.Op("random.uniform", a)[0] }
	for name, c := range map[string]struct {
		define func(p *pipeline.Builder) []pipeline.Node
		want   string
	}{
		"reversed": {func(p *pipeline.Builder) []pipeline.Node {
			x, y := uniform(p, nil), p.Op("random.coin_flip", nil)[0]
			return []pipeline.Node{y, x}
		}, "__CoinFlip_1 8D03A907, __MakeContiguous_CpuToCpu___CoinFlip_1, __Uniform_0 6D32F92B, __MakeContiguous_CpuToCpu___Uniform_0"},
		"sink and preserved": {func(p *pipeline.Builder) []pipeline.Node {
			x, y, z := uniform(p, nil), uniform(p, op.Args{"range": []float64{0, 2}}), p.Op("random.coin_flip", nil)[0]
			uniform(p, op.Args{"range": []float64{0, 1}, "preserve": true})
			p.AddSink(y)
			return []pipeline.Node{z, x, x}
		}, "__CoinFlip_2 8D03A907, __MakeContiguous_CpuToCpu___CoinFlip_2, __Uniform_0 6D32F92B, __MakeContiguous_CpuToCpu___Uniform_0, __Uniform_3 3F758936"},
		"one seed": {func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{uniform(p, op.Args{"seed": 5}), uniform(p, op.Args{"seed": 5})}
		}, "__Uniform_0 00000005, __MakeContiguous_CpuToCpu___Uniform_0"},
	} {
		d, err := dali.Define(saving(pipeline.Options{BatchSize: 3, Seed: 1}), c.define)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.New(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		next(t, p, 1)
		b, err := p.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := stateproto.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range s.Ops {
			text := o.Name
			if len(o.State) > 0 {
				text += " " + string(o.State[15:23])
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, ", "), c.want)
		}
		p.Close()
	}
}

// Operators that draw alike have the seed of the first, and the words that are dealt to the others
// go to nobody: the words are in DALI's checkpoint of noise.gaussian([a, b]) and noise.gaussian(a).
func TestDrawAlike(t *testing.T) {
	o := saving(pipeline.Options{BatchSize: 3, Seed: 1})
	d, err := dali.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		a, b, c := p.Op("random.uniform", nil)[0], p.Op("random.uniform", op.Args{"range": []float64{0, 1}})[0], p.Op("random.uniform", nil)[0]
		p.DrawAlike(a, b)
		return []pipeline.Node{a, b, c}
	})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := dali.Serialize(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := dali.Deserialize(bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*dali.Definition{d, again} {
		b, err := start(t, d).AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := stateproto.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"8D03A907", "8D03A907", "3F758936"} {
			if got := string(s.Ops[2*i].State[15:23]); got != want {
				t.Errorf("%s has the seed %s, want %s", s.Ops[2*i].Name, got, want)
			}
		}
	}
	for _, bad := range []func(p *pipeline.Builder) []pipeline.Node{
		func(p *pipeline.Builder) []pipeline.Node {
			a := p.Op("random.uniform", nil)[0]
			p.DrawAlike(a, a.Mul(2))
			return []pipeline.Node{a}
		},
		func(p *pipeline.Builder) []pipeline.Node {
			a := p.Op("random.uniform", nil)[0]
			p.DrawAlike(a, p.Op("random.uniform", op.Args{"seed": 3})[0])
			return []pipeline.Node{a}
		},
	} {
		if _, err := dali.Define(o, bad); !errors.Is(err, errs.Invalid) {
			t.Errorf("got %v, want an error of kind invalid", err)
		}
	}
}

// saving are options of a pipeline with checkpoints.
func saving(o pipeline.Options) dali.PipelineOptions {
	return dali.PipelineOptions{Options: o, EnableCheckpointing: true}
}
