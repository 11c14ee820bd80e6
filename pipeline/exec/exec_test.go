package exec_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operators of these tests work on int64 lists: "test.numbers" reads the id,
// repeated id%4+1 times; "test.scale" multiplies; "test.total" is batch-level and
// appends the sum over the batch; "test.pass" passes its input through;
// "test.odd" does what its argument says.
func init() {
	spec := []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{-1}}}
	reader.Register(op.Schema{Name: "numbers", Module: []string{"test"}, Outputs: []op.Port{{Name: "n"}, {Name: "id"}}},
		reader.Opener{
			Outputs: func(*op.Config) ([]tensor.Spec, error) {
				return []tensor.Spec{spec[0], {DType: tensor.Int64, Shape: tensor.Shape{}}}, nil
			},
			Open: func(context.Context, *op.Config) (reader.Source, error) { return &numbers{}, nil },
		})
	register := func(name string, params []op.Parameter, infer []tensor.Spec, whole bool, run func(c *op.Config, b *op.Block) error) {
		op.Register(op.Schema{Name: name, Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}},
			Outputs: []op.Port{{Name: "out"}}, Params: params,
			New: func(c *op.Config) (op.Kernel, error) { return &kernel{c, infer, whole, run}, nil }})
	}
	register("scale", []op.Parameter{{Name: "by", Type: op.Int, Default: 2, PerSample: true}}, spec, false,
		func(c *op.Config, b *op.Block) error {
			by := op.GetScalar[int](c, "by")
			for s := range b.Len() {
				k, err := by.At(b, s)
				if err != nil {
					b.Fail(s, err)
					continue
				}
				in := list(b.In(0, s))
				for i, v := range in {
					in[i] = v * int64(k)
				}
				put(b, s, in)
			}
			return nil
		})
	register("total", nil, spec, true, func(_ *op.Config, b *op.Block) error {
		sum := int64(0)
		for s := range b.Len() {
			for _, v := range list(b.In(0, s)) {
				sum += v
			}
		}
		for s := range b.Len() {
			put(b, s, append(list(b.In(0, s)), sum))
		}
		return nil
	})
	register("pass", nil, spec, false, func(_ *op.Config, b *op.Block) error {
		for s := range b.Len() {
			b.Alias(0, s, b.In(0, s))
		}
		return nil
	})
	register("odd", []op.Parameter{{Name: "way", Type: op.String, Required: true}},
		[]tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{1}}}, false,
		func(c *op.Config, b *op.Block) error {
			switch op.Get[string](c, "way") {
			case "panic":
				panic("out of order")
			case "error":
				return &errs.Error{Kind: errs.Unsupported, Got: "the whole block"}
			case "shape":
				b.Out(0, 0, 2)
			case "size":
				b.Out(0, 0, 1<<40)
			case "scratch":
				b.Binding().Memory.Scratch(1 << 40)
			case "dtype":
				b.Alias(0, 0, tensor.ScalarOf(int32(1)))
			}
			return nil
		})
}

type kernel struct {
	config *op.Config
	infer  []tensor.Spec
	whole  bool // it needs whole batches
	run    func(c *op.Config, b *op.Block) error
}

func (k *kernel) Infer([]tensor.Spec) ([]tensor.Spec, error) { return k.infer, nil }
func (k *kernel) Batched() bool                              { return k.whole }
func (k *kernel) Run(b *op.Block) error                      { return k.run(k.config, b) }

func list(t tensor.Tensor) []int64 {
	var v []int64
	for i := 0; i < len(t.Data); i += 8 {
		v = append(v, int64(binary.LittleEndian.Uint64(t.Data[i:])))
	}
	return v
}

func put(b *op.Block, s int, v []int64) {
	out := b.Out(0, s, len(v)).Data[:0]
	for _, x := range v {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
}

// numbers is the source; it counts the bytes that fetches hold at once.
type numbers struct {
	broken  map[int64]bool
	blocked chan bool // receives when a Fetch waits for its context
	fetches atomic.Int64
}

func (n *numbers) Info() reader.Info        { return reader.Info{Samples: 1000} }
func (n *numbers) Size(id int64) int64      { return 8 * (id%4 + 1) }
func (n *numbers) Describe(id int64) string { return fmt.Sprintf("number %d", id) }
func (n *numbers) Close() error             { return nil }

func (n *numbers) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	n.fetches.Add(1)
	if n.blocked != nil {
		n.blocked <- true
		<-ctx.Done()
		return ctx.Err()
	}
	for s, id := range ids {
		if n.broken[id] {
			dst.Fail(s, &errs.Error{Kind: errs.IO, Got: "a bad sector"})
			continue
		}
		v := make([]int64, id%4+1)
		for i := range v {
			v[i] = id
		}
		put(dst, s, v)
		binary.LittleEndian.PutUint64(dst.Out(1, s).Data, uint64(id))
	}
	return nil
}

type node = graph.Edge

// build makes a graph from a function that appends nodes.
func build(t *testing.T, define func(add func(name string, args op.Args, in ...node) node) []node) *graph.Graph {
	t.Helper()
	var b graph.Builder
	outputs := define(func(name string, args op.Args, in ...node) node {
		_, set, err := op.Arguments(args)
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.Add("test."+name, "", in, set)
		if err != nil {
			t.Fatal(err)
		}
		return node{Node: n}
	})
	g, err := b.Graph(outputs)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// compute runs one frame over ids and returns the outputs.
func compute(e *exec.Executor, f *exec.Frame, ids ...int64) ([][][]int64, error) {
	f.Begin(len(ids))
	for i, id := range ids {
		f.Positions[i] = int64(100 + i)
		if len(f.IDs) > 0 {
			f.IDs[0][i] = id
		}
	}
	e.Start(f)
	if err := e.Wait(context.Background(), f); err != nil {
		return nil, err
	}
	if err := e.Err(f); err != nil {
		return nil, err
	}
	var out [][][]int64
	for _, b := range f.Outputs {
		var samples [][]int64
		for s := range b.NumSamples() {
			samples = append(samples, list(b.Sample(s)))
		}
		out = append(out, samples)
	}
	return out, nil
}

// keyers are enough for the graphs of these tests.
var keyers = slices.Repeat([]rng.Keyer{rng.NewKeyer(1)}, 20)

func config(threads int) exec.Config {
	return exec.Config{BatchSize: 8, Workers: threads, Fetchers: 2, ReadAhead: 100, Keyers: keyers}
}

// TestStages runs segments before, between and after batch-level operators, with
// values that skip stages and arguments that come from them.
func TestStages(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		n := add("numbers", nil)
		id := node{Node: n.Node, Output: 1}
		twice := add("scale", nil, n)
		total := add("total", nil, twice)
		again := add("total", nil, total)
		by := add("scale", op.Args{"by": id}, again)
		passed := add("pass", nil, add("pass", nil, by))
		return []node{passed, id, n, add("pass", nil, n), total, twice}
	})
	if g.Stages != 3 {
		t.Errorf("%d stages", g.Stages)
	}
	for threads := 1; threads <= 4; threads++ {
		e := exec.New(g, []reader.Source{&numbers{}}, config(threads))
		f := e.NewFrame()
		for range 20 {
			got, err := compute(e, f, 1, 2, 4)
			if err != nil {
				t.Fatal(err)
			}
			// twice: [2 2] [4 4 4] [8]; sum 24; again sum 24 + 3*24 = 96
			want := "[[[2 2 24 96] [8 8 8 48 192] [32 96 384]] [[1] [2] [4]] [[1 1] [2 2 2] [4]] [[1 1] [2 2 2] [4]] [[2 2 24] [4 4 4 24] [8 24]] [[2 2] [4 4 4] [8]]]"
			if text := fmt.Sprint(got); text != want {
				t.Fatalf("%d threads:\n%s, want\n%s", threads, text, want)
			}
			e.Abandon(f)
			if got, err := compute(e, f); err != nil || len(got) != 6 || len(got[0]) != 0 {
				t.Fatalf("no samples: %v, %v", got, err)
			}
			e.Abandon(f)
		}
		e.Close()
	}
}

func TestFirstErrorIsReported(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		return []node{add("total", nil, add("scale", nil, add("numbers", nil)))}
	})
	src := &numbers{broken: map[int64]bool{9: true, 7: true, 6: true}}
	e := exec.New(g, []reader.Source{src}, config(3))
	defer e.Close()
	f := e.NewFrame()
	for range 50 {
		_, err := compute(e, f, 1, 7, 2, 9, 6)
		if !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "test.numbers: number 7, position 101") {
			t.Fatalf("got %v", err)
		}
		e.Abandon(f)
	}
	if _, err := compute(e, f, 1, 2); err != nil {
		t.Errorf("a frame after errors: %v", err)
	}
	e.Abandon(f)
}

func TestBrokenKernels(t *testing.T) {
	for way, c := range map[string]struct {
		kind errs.Kind
		says string
	}{
		"panic":   {errs.Other, "out of order"},
		"error":   {errs.Unsupported, "the whole block"},
		"shape":   {errs.Mismatch, "promised int64[1]"},
		"size":    {errs.Exhausted, "bytes per sample"},
		"scratch": {errs.Exhausted, "bytes per sample"},
		"dtype":   {errs.Mismatch, "promised int64[1]"},
	} {
		g := build(t, func(add func(string, op.Args, ...node) node) []node {
			return []node{add("odd", op.Args{"way": way}, add("numbers", nil))}
		})
		e := exec.New(g, []reader.Source{&numbers{}}, config(1))
		f := e.NewFrame()
		_, err := compute(e, f, 3)
		if err == nil || errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "test.odd: number 3") {
			t.Errorf("%s: got %v", way, err)
		}
		e.Abandon(f)
		e.Close()
	}
}

// TestAbandonInterruptsFetching: nothing waits for a source that hangs.
func TestAbandonInterruptsFetching(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		return []node{add("scale", nil, add("numbers", nil))}
	})
	src := &numbers{blocked: make(chan bool, 8)}
	c := config(2)
	c.ReadAhead = 1 // the second fetcher waits for the budget
	e := exec.New(g, []reader.Source{src}, c)
	defer e.Close()
	f := e.NewFrame()
	f.Begin(8)
	e.Start(f)
	<-src.blocked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Wait(ctx, f); !errors.Is(err, errs.Canceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	e.Abandon(f)
	if n := src.fetches.Load(); n != 1 {
		t.Errorf("%d fetches began, want 1", n)
	}
	src.blocked = nil
	if _, err := compute(e, f, 1, 2, 3); err != nil {
		t.Errorf("after Abandon: %v", err)
	}
	e.Abandon(f)
	if now, _ := e.ReadAhead(); now != 0 {
		t.Errorf("%d bytes were not given back", now)
	}
}

// TestFramesOverlap keeps several frames in flight that share the workers.
func TestFramesOverlap(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		return []node{add("total", nil, add("scale", nil, add("numbers", nil)))}
	})
	e := exec.New(g, []reader.Source{&numbers{}}, config(2))
	defer e.Close()
	frames := make([]*exec.Frame, 5)
	for i := range frames {
		frames[i] = e.NewFrame()
	}
	for round := range 30 {
		for i, f := range frames {
			f.Begin(8)
			for s := range f.Positions {
				f.IDs[0][s] = int64(i + s)
			}
			e.Start(f)
		}
		for i, f := range frames {
			if round%3 == 2 && i%2 == 0 {
				e.Abandon(f)
				continue
			}
			if err := errors.Join(e.Wait(context.Background(), f), e.Err(f)); err != nil {
				t.Fatal(err)
			}
			got := list(f.Outputs[0].Sample(0))
			sum := int64(0)
			for s := range 8 {
				id := int64(i + s)
				sum += 2 * id * (id%4 + 1)
			}
			if got[0] != int64(2*i) || got[len(got)-1] != sum {
				t.Fatalf("frame %d: got %v, want the sum %d", i, got, sum)
			}
			e.Abandon(f)
		}
	}
}
