package pipeline_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// changed returns a state of which change has changed the extension.
func changed(t *testing.T, st []byte, change func(doc, x map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(st, &doc); err != nil {
		t.Fatal(err)
	}
	doc["version"] = 1 // without a checksum, which would refuse all changes alike
	delete(doc, "checksum")
	extra, _ := doc["extra"].(map[string]any)
	x, _ := extra["pipeline"].(map[string]any)
	change(doc, x)
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDamagedExtension(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2}, external(pipeline.From(&reading{}), pipeline.SourceOptions{Name: "s"}))
	run(t, p, 6)
	st := save(t, p)
	for name, change := range map[string]func(doc, x map[string]any){
		"epoch begins later": func(_, x map[string]any) { x["first"] = 13 },
		"negative":           func(_, x map[string]any) { x["first"] = -1 },
		"no extension":       func(doc, _ map[string]any) { delete(doc, "extra") },
		"no state":           func(_, x map[string]any) { delete(x, "sources") },
		"another source":     func(_, x map[string]any) { x["sources"] = map[string]any{"other": "AAAA"} },
		"bad state":          func(_, x map[string]any) { x["sources"] = map[string]any{"s": "AAAAAAAAAAAA"} },
		"faults of nothing":  func(_, x map[string]any) { x["faults"] = map[string]any{"count": 0, "last": []any{map[string]any{}}} },
		"too many faults": func(_, x map[string]any) {
			x["faults"] = map[string]any{"count": 999, "last": slices.Repeat([]any{map[string]any{}}, 257)}
		},
	} {
		if err := p.SetState(changed(t, st, change)); err == nil {
			t.Errorf("%s: taken", name)
		}
		if again := save(t, p); string(again) != string(st) {
			t.Errorf("%s: a refused state moved the pipeline to\n%s", name, again)
		}
	}
	if err := p.SetState(st); err != nil {
		t.Error(err)
	}
}

// TestIteratorsResume interrupts iterators over three shards after every batch of three epochs.
func TestIteratorsResume(t *testing.T) {
	const shards, files = 3, 17
	dir := numbered(t, files)
	for _, last := range policies {
		for _, pad := range []bool{false, true} {
			pipes := func(states [][]byte) []*pipeline.Pipeline {
				var list []*pipeline.Pipeline
				for s := range shards {
					o := pipeline.Options{BatchSize: 2, NumThreads: 1, Seed: 1, Compat: dali.Mode(), EnableCheckpointing: true}
					if states != nil {
						o.Checkpoint = states[s]
					}
					list = append(list, start(t, o, func(p *pipeline.Builder) []pipeline.Node {
						nodes := p.Op("readers.file", op.Args{"name": "r", "file_root": dir, "shard_id": s, "num_shards": shards, "pad_last_batch": pad, "random_shuffle": true, "initial_fill": 4})
						return append(nodes, fn.RandomUniform(p, fn.RandomUniformArgs{}))
					}))
				}
				return list
			}
			o := pipeline.IteratorOptions{ReaderName: "r", LastBatch: last, AutoReset: true}
			// rest returns the digests of what an iterator gives until it has ended often enough.
			rest := func(it *pipeline.Iterator, ended int, each func(ended int)) (list []string) {
				for ended < 3 {
					batches, err := it.Next(t.Context())
					if err != nil {
						list, ended = append(list, err.Error()), ended+1
					}
					for _, b := range batches {
						c := newConsumer()
						for _, out := range b.Outputs {
							for s := range out.NumSamples() {
								c.h.Write(out.Sample(s).Data)
							}
						}
						list = append(list, c.sum())
					}
					if each != nil {
						each(ended)
					}
				}
				return list
			}
			whole := pipes(nil)
			it, err := pipeline.NewIterator(t.Context(), whole, o)
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
				again, err := pipeline.NewIterator(t.Context(), list, o)
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

func TestIteratorCountersAreChecked(t *testing.T) {
	dir := numbered(t, 7)
	make := func(state []byte) *pipeline.Pipeline {
		return start(t, pipeline.Options{BatchSize: 2, LastBatch: pipeline.Fill, Checkpoint: state}, func(p *pipeline.Builder) []pipeline.Node {
			return p.Op("readers.file", op.Args{"name": "r", "file_root": dir})
		})
	}
	o := pipeline.IteratorOptions{ReaderName: "r", LastBatch: pipeline.Fill}
	p := make(nil)
	it, err := pipeline.NewIterator(t.Context(), []*pipeline.Pipeline{p}, o)
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
	if again, err := pipeline.NewIterator(t.Context(), []*pipeline.Pipeline{make(states[0])}, pipeline.IteratorOptions{ReaderName: "r", LastBatch: pipeline.Fill, Lazy: true}); err != nil || again.State() != it.State() {
		t.Errorf("goes on with %s, want %s; %v", again.State(), it.State(), err)
	}
	for name, counters := range map[string]string{
		"no JSON":       `{`,
		"other shards":  `{"_counter": 2, "_counter_per_gpu": [0, 0], "_shard_sizes_per_gpu": [3, 4], "_shards_id": [0], "_size": 8}`,
		"unknown shard": `{"_counter": 2, "_counter_per_gpu": [0], "_shard_sizes_per_gpu": [7], "_shards_id": [1], "_size": 8}`,
		"negative":      `{"_counter": -2, "_counter_per_gpu": [0], "_shard_sizes_per_gpu": [7], "_shards_id": [0], "_size": 8}`,
	} {
		bad := changed(t, states[0], func(_, x map[string]any) { x["iterator"] = counters })
		if _, err := pipeline.NewIterator(t.Context(), []*pipeline.Pipeline{make(bad)}, o); !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := pipeline.NewIterator(t.Context(), []*pipeline.Pipeline{make(states[0]), make(nil)}, o); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "counters") {
		t.Errorf("one of two with counters: got %v", err)
	}
}
