package dali_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawGraph appends random operators and returns some outputs of theirs.
func drawGraph(t *rapid.T, p *pipeline.Builder, root string) []pipeline.Node {
	pick := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	var pool []pipeline.Node
	if pick("reader", 2) == 0 {
		shards := 1 + pick("shards", 3)
		pool = append(pool, p.Op("readers.file", op.Args{
			"file_root": root, "random_shuffle": pick("shuffle", 2) == 0, "initial_fill": 1 + pick("fill", 9), "pad_last_batch": pick("pad", 2) == 0,
			"num_shards": shards, "shard_id": pick("shard", shards), "stick_to_shard": pick("stick", 2) == 0,
		})...)
	}
	for range 1 + pick("operators", 6) {
		var from pipeline.Node
		kind := pick("kind", 6)
		if len(pool) > 0 {
			from = pool[pick("from", len(pool))]
		} else {
			kind = 0
		}
		switch kind {
		case 0:
			a := op.Args{"range": []float64{float64(pick("lo", 5)), 5 + float64(pick("hi", 9))/8}}
			if pick("seeded", 3) == 0 {
				a["seed"] = pick("seed", 5)
			}
			pool = append(pool, p.Op("random.uniform", a)...)
		case 1:
			pool = append(pool, p.Op("random.coin_flip",
				op.Args{"probability": p.Op("random.uniform", op.Args{"range": []float64{0, 1}})[0], "dtype": tensor.Uint8})...)
		case 2:
			pool = append(pool, p.Op("cast", op.Args{"dtype": []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Float32}[pick("dtype", 3)]}, from)...)
		case 3:
			pool = append(pool, from.Mul(2).Add(0.5))
		case 4:
			pool = append(pool, p.If(p.Op("random.coin_flip", nil)[0],
				func() []pipeline.Node { return []pipeline.Node{p.Op("cast", op.Args{"dtype": tensor.Int32}, from)[0]} },
				func() []pipeline.Node {
					return []pipeline.Node{p.Op("cast", op.Args{"dtype": tensor.Int32}, from.Mul(3))[0]}
				})...)
		case 5:
			pool = append(pool, p.Op("copy", op.Args{"name": "named" + string(rune('a'+len(pool)))}, from)...)
		}
	}
	outputs := pool[pick("first", len(pool)):]
	return outputs[:1+pick("outputs", len(outputs))]
}

// Any definition is the same behind its bytes and its YAML: it delivers the same, is
// drawn the same, and each goes on from the state of the other.
func TestSerializedLaw(t *testing.T) {
	root := fileTree(t, 11)
	rapid.Check(t, func(t *rapid.T) {
		o := saving(pipeline.Options{
			BatchSize: rapid.IntRange(1, 5).Draw(t, "batch"), Seed: rapid.Uint64Range(0, 1<<40).Draw(t, "seed"), Workers: 2,
		})
		d, err := dali.Define(o, func(p *pipeline.Builder) []pipeline.Node { return drawGraph(t, p, root) })
		if err != nil {
			t.Fatal(err)
		}
		b, err := dali.Serialize(d)
		if err != nil {
			t.Fatal(err)
		}
		proto, err := pipeproto.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		yaml, err := pipeproto.MarshalYAML(proto)
		if err != nil {
			t.Fatal(err)
		}
		if proto, err = pipeproto.UnmarshalYAML(yaml); err != nil {
			t.Fatal(err)
		}
		e, err := dali.FromProto(proto, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, yaml)
		}
		if a, b := string(d.DOT(pipeline.DotOptions{Tensors: true})), string(e.DOT(pipeline.DotOptions{Tensors: true})); a != b {
			t.Fatalf("drawn as\n%s\nand behind its bytes as\n%s", a, b)
		}
		first, firstState, rest := deliver(t, d, nil)
		again, againState, _ := deliver(t, e, nil)
		if !slices.Equal(first, again) || firstState != againState {
			t.Fatalf("delivers\n%q\nand behind its bytes\n%q\n%s", first, again, yaml)
		}
		if resumed, _, _ := deliver(t, e, []byte(firstState)); !slices.Equal(resumed, rest) {
			t.Fatalf("goes on with\n%q\nand behind its bytes with\n%q", rest, resumed)
		}
	})
}

// deliver returns three batches from a state on, the state behind them, and three more.
func deliver(t *rapid.T, d *dali.Definition, from []byte) (begin []string, state string, rest []string) {
	p, err := d.New(context.Background(), &dali.PipelineOptions{Checkpoint: from})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range 6 {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			begin = append(begin, text(b))
		} else {
			rest = append(rest, text(b))
		}
		if i == 2 {
			s, err := p.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			state = string(s)
		}
	}
	return begin, state, rest
}

// small is a definition with a reader and a random operator.
func small(t testing.TB, root string, o pipeline.Options, reader op.Args) *dali.Definition {
	t.Helper()
	d, err := dali.Define(saving(o), func(p *pipeline.Builder) []pipeline.Node {
		a := op.Args{"name": "r", "file_root": root, "random_shuffle": true}
		for k, v := range reader {
			a[k] = v
		}
		return append(p.Op("readers.file", a), p.Op("random.uniform", nil)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func start(t testing.TB, d *dali.Definition) *dali.Pipeline {
	t.Helper()
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// States of other pipelines are refused by the differences that their bytes show; DALI goes on
// silently.
func TestForeignStates(t *testing.T) {
	root := fileTree(t, 10)
	o := pipeline.Options{BatchSize: 3, Seed: 1}
	p := start(t, small(t, root, o, nil))
	next(t, p, 5)
	state, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	more := func(d *dali.Definition) *dali.Definition {
		b, err := dali.Serialize(d)
		if err != nil {
			t.Fatal(err)
		}
		d, err = dali.Deserialize(b, &dali.DeserializeOptions{PipelineOptions: dali.PipelineOptions{Options: pipeline.Options{Seed: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, c := range map[string]struct {
		d    *dali.Definition
		says string
	}{
		"seed":              {small(t, root, pipeline.Options{BatchSize: 3, Seed: 2}, nil), "operator r: "},
		"seed, overridden":  {more(small(t, root, o, nil)), "operator r: "},
		"shards":            {small(t, root, o, op.Args{"num_shards": 2}), "operator"},
		"data set":          {small(t, fileTree(t, 4), o, nil), "operator r: "},
		"seed of a reader":  {small(t, root, o, op.Args{"seed": 7}), "operator r: "},
		"name":              {small(t, root, o, op.Args{"name": "other"}), "operator other"},
		"no random numbers": {small(t, root, o, op.Args{"random_shuffle": false, "num_shards": 10, "stick_to_shard": true, "shard_id": 3}), "operator"},
	} {
		q := start(t, c.d)
		if err := q.SetState(state); !errors.Is(err, errs.Mismatch) && !errors.Is(err, errs.Corrupt) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a mismatch and %q", name, err, c.says)
		}
		if at := q.Position(); at != 0 {
			t.Errorf("%s: the pipeline moved to %d", name, at)
		}
	}
}

// No bytes make a pipeline panic or move to a place that it then does not write back.
func FuzzSetState(f *testing.F) {
	root := fileTree(f, 10)
	p := start(f, small(f, root, pipeline.Options{BatchSize: 3, Seed: 1}, nil))
	for range 3 {
		b, err := p.AppendState(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		if _, err := p.Next(context.Background()); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p.SetState(b) != nil {
			return
		}
		state, err := p.AppendState(nil)
		if err != nil {
			return // of an epoch beyond DALI's numbers
		}
		at := p.Position()
		if err := p.SetState(state); err != nil || p.Position() != at {
			t.Errorf("position %d, behind its own state %d, %v", at, p.Position(), err)
		}
	})
}

// No bytes make Deserialize panic, and what it makes can be written.
func FuzzDeserialize(f *testing.F) {
	for _, y := range []string{
		"batch_size: 2\nop:\n  - {name: random__CoinFlip, inst_name: a, output: [{name: a, device: cpu}]}\npipe_outputs: [{name: a, device: cpu}]\n",
		"batch_size: 2\nop:\n  - {name: ExternalSource, inst_name: a, output: [{name: a, device: cpu}], args: {ndim: 2, dtype: 9, layout: HW}}\npipe_outputs: [{name: a, device: cpu}]\n",
	} {
		p, err := pipeproto.UnmarshalYAML([]byte(y))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pipeproto.Append(nil, p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := dali.Deserialize(b, nil)
		if err != nil {
			return
		}
		if _, err := dali.Serialize(d); err != nil && !errors.Is(err, errs.Unsupported) {
			t.Error(err)
		}
	})
}
