package dali_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numbered makes files whose contents are their numbers, in three classes.
func numbered(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		class := filepath.Join(dir, fmt.Sprintf("c%d", k*3/n))
		if err := errors.Join(os.MkdirAll(class, 0o777), os.WriteFile(filepath.Join(class, fmt.Sprintf("f%05d.jpg", k)), []byte(strconv.Itoa(k)), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type iterated struct {
	Len    int64
	Size   int64
	Epochs [][][][]int
	States []string `json:"iterator_data_after_epoch"`
}

// iterate takes three epochs as the recording did.
func iterate(t *testing.T, it *dali.Iterator, reset bool, number func(tensor.Tensor) int) iterated {
	t.Helper()
	ctx := context.Background()
	var r iterated
	for range 3 {
		epoch := [][][]int{}
		for batches, err := range it.Epoch(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			list := [][]int{}
			for _, b := range batches {
				values := []int{}
				for s := range b.Outputs[0].NumSamples() {
					values = append(values, number(b.Outputs[0].Sample(s)))
				}
				list = append(list, values)
			}
			epoch = append(epoch, list)
		}
		r.Epochs, r.States = append(r.Epochs, epoch), append(r.States, it.State())
		if !reset {
			if err := it.Reset(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Len, r.Size = it.Len(), it.Size()
	return r
}

var policyNames = map[string]order.Tail{"FILL": order.Span, "DROP": order.Drop,
	"PARTIAL": order.Short}

// closeAll ends pipelines before the end of the test: there are hundreds.
func closeAll(pipes []*dali.Pipeline) {
	for _, p := range pipes {
		p.Close()
	}
}

func TestIteratorPoliciesAsDALI(t *testing.T) {
	type c struct {
		N       int
		Batch   int
		Shards  int
		Policy  string
		Pad     bool `json:"pad_last_batch"`
		Stick   bool `json:"stick_to_shard"`
		Reset   bool `json:"auto_reset"`
		Prepare bool `json:"prepare_first_batch"`
		Result  outcome[iterated]
	}
	dirs := map[int]string{}
	for _, c := range recordedExec[c](t, "iterator_policy") {
		if dirs[c.N] == "" {
			dirs[c.N] = numbered(t, c.N)
		}
		var pipes []*dali.Pipeline
		for s := range c.Shards {
			pipes = append(pipes, startPipe(t, dali.PipelineOptions{Options: pipeline.Options{BatchSize: c.Batch, Workers: 1,
				Seed: 1}}, func(p *pipeline.Builder) []pipeline.Node {
				return p.Op("readers.file", op.Args{"name": "r", "file_root": dirs[c.N], "shard_id": s, "num_shards": c.Shards,
					"pad_last_batch": c.Pad, "stick_to_shard": c.Stick})
			}))
		}
		it, err := dali.NewIterator(context.Background(), pipes,
			dali.IteratorOptions{ReaderName: "r", LastBatch: policyNames[c.Policy], AutoReset: c.Reset, Lazy: !c.Prepare})
		if !c.Result.OK {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%+v: got %v", c, err)
			}
			closeAll(pipes)
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got := iterate(t, it, c.Reset, func(v tensor.Tensor) int { n, _ := strconv.Atoi(string(v.Data)); return n })
		if d := cmp.Diff(c.Result.Value, got); d != "" {
			t.Errorf("%d files, batch %d, %d shards, %s, pad %v, stick %v, reset %v, prepared %v (-want +got):\n%s", c.N,
				c.Batch, c.Shards, c.Policy, c.Pad, c.Stick, c.Reset, c.Prepare, d)
		}
		closeAll(pipes)
	}
}

func TestIteratorWithoutReaderAsDALI(t *testing.T) {
	type c struct {
		Size      int64
		Batch     int
		Pipelines int
		Policy    string
		Reset     bool `json:"auto_reset"`
		Result    outcome[iterated]
	}
	for _, c := range recordedExec[c](t, "iterator_without_reader") {
		var pipes []*dali.Pipeline
		for s := range c.Pipelines {
			src := pipeline.BatchFunc(func(_ context.Context, info pipeline.BatchInfo) ([]pipeline.Data, error) {
				if c.Size < 0 && info.Iteration >= 3 {
					return nil, io.EOF
				}
				var list []tensor.Tensor
				for j := range c.Batch {
					list = append(list, ints(int32(1000*s+int(info.Iteration)*c.Batch+j)))
				}
				return []pipeline.Data{list}, nil
			})
			pipes = append(pipes, startPipe(t, native(pipeline.Options{BatchSize: c.Batch, Workers: 1}),
				func(b *pipeline.Builder) []pipeline.Node {
					return pipeline.ExternalSource(b, src, pipeline.SourceOptions{})
				}))
		}
		it, err := dali.NewIterator(context.Background(), pipes,
			dali.IteratorOptions{Size: max(0, c.Size), LastBatch: policyNames[c.Policy], AutoReset: c.Reset})
		if !c.Result.OK {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%+v: got %v", c, err)
			}
			closeAll(pipes)
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got := iterate(t, it, c.Reset, func(v tensor.Tensor) int {
			list, err := tensor.Of[int32](v)
			if err != nil {
				t.Fatal(err)
			}
			return int(list[0])
		})
		if d := cmp.Diff(c.Result.Value, got); d != "" {
			t.Errorf("size %d, batch %d, %d pipelines, %s, reset %v (-want +got):\n%s", c.Size, c.Batch, c.Pipelines, c.Policy,
				c.Reset, d)
		}
		closeAll(pipes)
	}
}

// TestIteratorsResume interrupts iterators over three shards after every batch of three epochs.
func TestIteratorsResume(t *testing.T) {
	const shards, files = 3, 17
	dir := numbered(t, files)
	for _, last := range []order.Tail{order.Short, order.Drop, order.Span} {
		for _, pad := range []bool{false, true} {
			pipes := func(states [][]byte) []*dali.Pipeline {
				var list []*dali.Pipeline
				for s := range shards {
					o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2, Workers: 1, Seed: 1},
						EnableCheckpointing: true}
					if states != nil {
						o.Checkpoint = states[s]
					}
					list = append(list, startPipe(t, o, func(p *pipeline.Builder) []pipeline.Node {
						nodes := p.Op("readers.file", op.Args{"name": "r", "file_root": dir, "shard_id": s, "num_shards": shards,
							"pad_last_batch": pad, "random_shuffle": true, "initial_fill": 4})
						return append(nodes, fn.RandomUniform(p, fn.RandomUniformArgs{}))
					}))
				}
				return list
			}
			o := dali.IteratorOptions{ReaderName: "r", LastBatch: last, AutoReset: true}
			// rest returns the digests of what an iterator gives until it has ended often enough.
			rest := func(it *dali.Iterator, ended int, each func(ended int)) (list []string) {
				for ended < 3 {
					batches, err := it.Next(t.Context())
					if err != nil {
						list, ended = append(list, err.Error()), ended+1
					}
					for _, b := range batches {
						h := sha256.New()
						for _, out := range b.Outputs {
							for s := range out.NumSamples() {
								h.Write(out.Sample(s).Data)
							}
						}
						list = append(list, fmt.Sprintf("%x", h.Sum(nil)))
					}
					if each != nil {
						each(ended)
					}
				}
				return list
			}
			whole := pipes(nil)
			it, err := dali.NewIterator(t.Context(), whole, o)
			if err != nil {
				t.Fatal(err)
			}
			type point struct {
				states [][]byte
				ended  int
				done   int
			}
			var points []point
			var want []string
			counted := 0
			want = rest(it, 0, func(ended int) {
				states, err := it.Checkpoints()
				if err != nil {
					t.Fatal(err)
				}
				points = append(points, point{states, ended, counted})
				counted++
			})
			closeAll(whole)
			for i, at := range points[:len(points)-1] {
				list := pipes(at.states)
				again, err := dali.NewIterator(t.Context(), list, o)
				if err != nil {
					t.Fatal(err)
				}
				got := rest(again, at.ended, nil)
				if tail := want[max(0, len(want)-len(got)):]; len(got) == 0 || cmp.Diff(tail, got) != "" {
					t.Fatalf("%v, padded %v, after call %d (-want +got):\n%s", last, pad, i, cmp.Diff(tail, got))
				}
				closeAll(list)
			}
		}
	}
}

// withCounters returns a state with other counters of an iterator.
func withCounters(t *testing.T, st []byte, counters string) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(st, &doc); err != nil {
		t.Fatal(err)
	}
	doc["version"] = 1 // without a checksum, which would refuse all changes alike
	delete(doc, "checksum")
	doc["extra"].(map[string]any)["pipeline"].(map[string]any)["iterator"] = counters
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestIteratorCountersAreChecked(t *testing.T) {
	dir := numbered(t, 7)
	make := func(state []byte) *dali.Pipeline {
		return startPipe(t, dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2, Tail: order.Span},
			Native: true, Checkpoint: state}, func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("readers.file", op.Args{"name": "r", "file_root": dir})
		})
	}
	o := dali.IteratorOptions{ReaderName: "r", LastBatch: order.Span}
	p := make(nil)
	it, err := dali.NewIterator(t.Context(), []*dali.Pipeline{p}, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := it.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	states, err := it.Checkpoints()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := dali.NewIterator(t.Context(), []*dali.Pipeline{make(states[0])}, dali.IteratorOptions{ReaderName: "r", LastBatch: order.Span, Lazy: true}); err != nil || again.State() != it.State() {
		t.Errorf("goes on with %s, want %s; %v", again.State(), it.State(), err)
	}
	for name, counters := range map[string]string{
		"no JSON":       `{`,
		"other shards":  `{"_counter": 2, "_counter_per_gpu": [0, 0], "_shard_sizes_per_gpu": [3, 4], "_shards_id": [0], "_size": 8}`,
		"unknown shard": `{"_counter": 2, "_counter_per_gpu": [0], "_shard_sizes_per_gpu": [7], "_shards_id": [1], "_size": 8}`,
		"negative":      `{"_counter": -2, "_counter_per_gpu": [0], "_shard_sizes_per_gpu": [7], "_shards_id": [0], "_size": 8}`,
	} {
		bad := withCounters(t, states[0], counters)
		if _, err := dali.NewIterator(t.Context(), []*dali.Pipeline{make(bad)}, o); !errors.Is(err, errs.Corrupt) &&
			!errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := dali.NewIterator(t.Context(), []*dali.Pipeline{make(states[0]), make(nil)}, o); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "counters") {
		t.Errorf("one of two with counters: got %v", err)
	}
}
