package dali_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// branched is the pipeline of branchedByDALI; files, where it is not empty, is a folder that a
// reader reads too.
func branched(files string) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		draw := func(name string, a op.Args, in ...pipeline.Node) pipeline.Node { return p.Op(name, a, in...)[0] }
		x := draw("random.uniform", op.Args{"range": []float64{0, 1}, "shape": []int{1}})
		x = p.If(draw("random.coin_flip", nil), func() []pipeline.Node {
			return p.If(draw("random.coin_flip", op.Args{"probability": 0.75}), func() []pipeline.Node {
				return []pipeline.Node{draw("random.uniform", op.Args{"range": []float64{2, 3}}, x)}
			}, func() []pipeline.Node { return []pipeline.Node{x} })
		}, func() []pipeline.Node {
			noisy := draw("noise.salt_and_pepper", op.Args{"prob": 0.5}, x)
			return []pipeline.Node{noisy.Add(draw("random.uniform", op.Args{"range": []float64{4, 5}}))}
		})[0]
		if files == "" {
			return []pipeline.Node{x}
		}
		return append(p.Op("readers.file", op.Args{"file_root": files, "random_shuffle": true}), x)
	}
}

// branchedByDALI are the batches of that pipeline, as DALI 2.4.0 delivers them, and how many
// samples its checkpoints say came to __Uniform_6 and __SaltAndPepper_8.
var branchedByDALI = []struct {
	batch   string
	u6, sp8 uint64
}{
	{"4b37964078bc654031660b3f27fe8840e927a240", 0, 4},
	{"b107b54006526440cce262407ec22f40a483b140", 1, 8},
	{"7b28aa405bb92c40697a993e5dcc2540a5c99540", 3, 10},
	{"4e88b040251ca24025d4294031c29b40078f0240", 5, 13},
	{"70cc2d402b0c1640064bba4071480e3f4a043f40", 8, 14},
	{"48290c40f314af40ec90974017ba0540177e0b40", 11, 16},
}

func branchedPipeline(t *testing.T, files string, o pipeline.Options) *dali.Pipeline {
	t.Helper()
	o.BatchSize, o.Seed = 5, 21
	d, err := dali.Define(saving(o), branched(files))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func bytesOf(t *testing.T, p *dali.Pipeline) string {
	t.Helper()
	b, err := p.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, o := range b.Outputs {
		for s := range o.NumSamples() {
			text.WriteString(hex.EncodeToString(o.Sample(s).Data))
		}
	}
	return text.String()
}

func checkpointOf(t *testing.T, p *dali.Pipeline) []byte {
	t.Helper()
	b, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A random operator that sees only the samples of a branch draws as in DALI, by how many came to it
// before, and its state is DALI's; so it is whatever runs ahead, and from each checkpoint.
func TestBranchesDrawAsInDALI(t *testing.T) {
	for _, o := range []pipeline.Options{
		{Workers: 1, Prefetch: pipeline.NoPrefetch}, {Workers: 1, Prefetch: 3}, {Workers: 4, Prefetch: 1}, {Workers: 4, Prefetch: 5},
	} {
		p := branchedPipeline(t, "", o)
		states := [][]byte{checkpointOf(t, p)}
		for i, want := range branchedByDALI {
			if got := bytesOf(t, p); got != want.batch {
				t.Fatalf("%d threads, batch %d: %s, DALI gives %s", o.Workers, i, got, want.batch)
			}
			states = append(states, checkpointOf(t, p))
			s, err := stateproto.Parse(states[i+1])
			if err != nil {
				t.Fatal(err)
			}
			for name, n := range map[string]uint64{"__Uniform_6": want.u6, "__SaltAndPepper_8": want.sp8, "__Uniform_9": uint64(5 * (i + 1))} {
				if r, ok := s.Op(name).Snapshot().(stateproto.Random); !ok || r.Sequence() != n {
					t.Errorf("batch %d: %s counts %v, DALI %d", i, name, s.Op(name).Snapshot(), n)
				}
			}
		}
		for k, state := range states {
			if err := p.SetState(state); err != nil {
				t.Fatal(err)
			}
			if again := checkpointOf(t, p); !bytes.Equal(again, state) {
				t.Errorf("state %d becomes another when it is set", k)
			}
			for i, want := range branchedByDALI[k:] {
				if got := bytesOf(t, p); got != want.batch {
					t.Fatalf("%d threads, from checkpoint %d, batch %d: %s, DALI gives %s", o.Workers, k, i, got, want.batch)
				}
			}
		}
	}
}

// With a reader, whose files are fetched ahead, and whatever is dropped on the way: the same
// batches and states.
func TestBranchesBehindReaders(t *testing.T) {
	files := fileTree(t, 13)
	one := branchedPipeline(t, files, pipeline.Options{Workers: 1, Prefetch: pipeline.NoPrefetch})
	var batches []string
	states := [][]byte{checkpointOf(t, one)}
	for range 12 {
		batches = append(batches, bytesOf(t, one))
		states = append(states, checkpointOf(t, one))
	}
	many := branchedPipeline(t, files, pipeline.Options{Workers: 4, IOWorkers: 3, Prefetch: 4})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, start := range []int{0, 7, 3, 3, 11, 0} {
		if err := many.SetState(states[start]); err != nil {
			t.Fatal(err)
		}
		for i := start; i < min(start+6, 12); i++ {
			if _, err := many.Next(canceled); !errors.Is(err, errs.Canceled) {
				t.Fatal(err)
			}
			if got := bytesOf(t, many); got != batches[i] {
				t.Fatalf("from %d, batch %d: %s, want %s", start, i, got, batches[i])
			}
			if got := checkpointOf(t, many); !bytes.Equal(got, states[i+1]) {
				t.Fatalf("from %d, batch %d: another state", start, i)
			}
		}
	}
}

// A batch that failed is made again with the same numbers, and so are those behind it.
func TestBranchesAfterAFailure(t *testing.T) {
	var fails atomic.Bool
	failing := pipeline.Function{Deterministic: true,
		Outputs: []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{1}}},
		Sample: func(in []tensor.Tensor) ([]tensor.Tensor, error) {
			if fails.Load() {
				return nil, errors.New("now")
			}
			return in, nil
		}}
	for _, ahead := range []int{pipeline.NoPrefetch, 3} {
		d, err := dali.Define(saving(pipeline.Options{BatchSize: 5, Seed: 21, Prefetch: ahead}),
			func(p *pipeline.Builder) []pipeline.Node { return p.Call(failing, branched("")(p)[0]) })
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.New(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i, want := range branchedByDALI {
			fails.Store(true)
			for range 2 { // what was made ahead does not fail
				if _, err = p.Next(context.Background()); err == nil && ahead == pipeline.NoPrefetch {
					t.Fatal("no failure")
				}
				if err == nil {
					break
				}
			}
			fails.Store(false)
			if err == nil {
				continue
			}
			if got := bytesOf(t, p); got != want.batch {
				t.Fatalf("%d ahead, batch %d: %s, want %s", ahead, i, got, want.batch)
			}
		}
	}
}

// A state that counts more samples in a branch than the pipeline has given is refused.
func TestBranchStatesAreChecked(t *testing.T) {
	p := branchedPipeline(t, "", pipeline.Options{})
	bytesOf(t, p)
	s, err := stateproto.Parse(checkpointOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	o := s.Op("__SaltAndPepper_8")
	o.State = bytes.Replace(o.State, []byte("0000000000000004:"), []byte("0000000000000006:"), 1)
	if err := p.SetState(stateproto.Append(nil, s)); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "__SaltAndPepper_8") {
		t.Error(err)
	}
}

// An external source of two outputs is two sources in DALI's checkpoints; one that has it as one is
// read.
func TestSourcesOfSeveralOutputs(t *testing.T) {
	d, err := dali.Define(saving(pipeline.Options{BatchSize: 2, Seed: 3}), func(p *pipeline.Builder) []pipeline.Node {
		out := pipeline.ExternalSource(p, pipeline.BatchFunc(func(_ context.Context, info pipeline.BatchInfo) ([]pipeline.Data, error) {
			one := tensor.FromSlice([]int32{int32(info.Iteration)})
			return []pipeline.Data{[]tensor.Tensor{one, one}, []tensor.Tensor{one, one}}, nil
		}), pipeline.SourceOptions{Outputs: 2})
		return []pipeline.Node{out[1].Add(out[0]), out[0]}
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	bytesOf(t, p)
	second := checkpointOf(t, p)
	s, err := stateproto.Parse(second)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range s.Ops {
		names = append(names, o.Name)
	}
	want := "__ExternalSource_0_1 __ExternalSource_0_0 ___ArithmeticGenericOp_1 __MakeContiguous_CpuToCpu____ArithmeticGenericOp_1 __MakeContiguous_CpuToCpu___ExternalSource_0_0"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	third := bytesOf(t, p)
	s.Ops = s.Ops[1:] // as Bivouac wrote it when the source was one
	s.Ops[0].Name, s.Ops[3].Name = "__ExternalSource_0", "__MakeContiguous_CpuToCpu___ExternalSource_0[0]"
	for _, state := range [][]byte{second, stateproto.Append(nil, s)} {
		if err := p.SetState(state); err != nil {
			t.Fatal(err)
		}
		if got := bytesOf(t, p); got != third {
			t.Errorf("%s, want %s", got, third)
		}
	}
}

// TestBranchOfPermutation: a permutation in a branch is one of the samples of the branch, with the
// numbers of DALI 2.4.0, for any number of workers and batches ahead.
func TestBranchOfPermutation(t *testing.T) {
	want := []string{"[-1 -1 0 1 -1 -1]", "[0 2 -1 1 -1 -1]", "[0 -1 -1 -1 -1 -1]", "[-1 1 -1 2 0 -1]"}
	for ahead := range 4 {
		o := pipeline.Options{BatchSize: 6, Seed: 11, Workers: 1 + ahead, Prefetch: ahead}
		d, err := dali.Define(saving(o), func(p *pipeline.Builder) []pipeline.Node {
			taken := p.Op("random.coin_flip", op.Args{"dtype": tensor.Bool})[0]
			return p.If(taken, func() []pipeline.Node {
				return p.Op("batch_permutation", op.Args{"_scope": taken})
			}, func() []pipeline.Node {
				return p.Op("constant", op.Args{"idata": []int{-1}, "shape": []int{}})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i := range want {
			b, err := p.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			values := make([]int32, b.Outputs[0].NumSamples())
			for s := range values {
				v, err := tensor.Of[int32](b.Outputs[0].Sample(s))
				if err != nil {
					t.Fatal(err)
				}
				values[s] = v[0]
			}
			if got := fmt.Sprint(values); got != want[i] {
				t.Errorf("%d ahead, batch %d: %s, want %s", ahead, i, got, want[i])
			}
		}
	}
}
