package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mean is a moving mean of the samples. What it remembers depends on every sample in order.
type mean struct {
	Value float32
	Calls int
	fails func(call int) error
}

func (m *mean) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(m)
	return append(dst, b...), err
}

func (m *mean) SetState(b []byte) error {
	var to mean
	if err := json.Unmarshal(b, &to); err != nil || to.Calls < 0 {
		return errors.New("not a mean")
	}
	m.Value, m.Calls = to.Value, to.Calls
	return nil
}

func (m *mean) next(in []tensor.Tensor) ([]tensor.Tensor, error) {
	m.Calls++
	if m.fails != nil {
		if err := m.fails(m.Calls); err != nil {
			return nil, err
		}
	}
	m.Value = 0.9*m.Value + float32(0.1*float(in[0]))
	return []tensor.Tensor{tensor.FromSlice([]float32{m.Value, float32(m.Calls)})}, nil
}

// means starts a pipeline with two means.
func means(t testing.TB, o pipeline.Options, a, b *mean) *pipeline.Pipeline {
	t.Helper()
	return start(t, o, meansOf(a, b))
}

// meansOf defines a pipeline with two means, the second of which follows the first.
func meansOf(a, b *mean) func(p *pipeline.Builder) []pipeline.Node {
	spec := []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{2}}}
	one := []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{}}}
	return func(p *pipeline.Builder) []pipeline.Node {
		first := fn.Func(p, fn.FuncArgs{Name: "a", Stateful: true, State: a, Outputs: spec, Sample: a.next}, uniform(p, "x"))
		value := fn.Func(p, fn.FuncArgs{Name: "pick", Deterministic: true, Outputs: one,
			Sample: func(in []tensor.Tensor) ([]tensor.Tensor, error) {
				v, err := tensor.Of[float32](in[0])
				return []tensor.Tensor{{DType: tensor.Float32, Shape: tensor.Shape{}, Data: tensor.FromSlice(v[:1]).Data}}, err
			}}, first[0])
		second := fn.Func(p, fn.FuncArgs{Name: "b", Stateful: true, State: b, Outputs: spec,
			Batch: func(in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
				out := make([]tensor.Tensor, len(in[0]))
				for s, v := range in[0] {
					list, err := b.next([]tensor.Tensor{v})
					if err != nil {
						return nil, err
					}
					out[s] = list[0]
				}
				return [][]tensor.Tensor{out}, nil
			}}, value[0])
		return append(first, second...)
	}
}

func bothMeans(b *pipeline.Batch) string {
	return fmt.Sprintf("%x %x", b.Outputs[0].Data, b.Outputs[1].Data)
}

// A function goes on from a state as if nothing had happened, whatever was made ahead.
func TestFunctionsRemember(t *testing.T) {
	const batches = 12
	plain := pipeline.Options{BatchSize: 3, Workers: 1, Prefetch: pipeline.NoPrefetch}
	p := means(t, plain, new(mean), new(mean))
	var want []string
	states := [][]byte{save(t, p)}
	for range batches {
		want = append(want, bothMeans(next(t, p)))
		states = append(states, save(t, p))
	}
	for _, workers := range []int{1, 4} {
		for _, ahead := range []int{pipeline.NoPrefetch, 1, 5} {
			o := pipeline.Options{BatchSize: 3, Workers: workers, Prefetch: ahead}
			p := means(t, o, new(mean), new(mean))
			for _, from := range []int{0, 7, 3, 11, 3, 0, 12, 1} {
				if err := p.SetState(states[from]); err != nil {
					t.Fatal(err)
				}
				for i := from; i < min(batches, from+4); i++ {
					if got := bothMeans(next(t, p)); got != want[i] {
						t.Fatalf("%d workers, %d ahead, from %d: batch %d is %s, want %s", workers, ahead, from, i, got, want[i])
					}
					if got := save(t, p); string(got) != string(states[i+1]) {
						t.Fatalf("%d workers, %d ahead: the state after batch %d is %s, want %s", workers, ahead, i, got, states[i+1])
					}
				}
			}
			if err := p.SetState(nil); err != nil {
				t.Fatal(err)
			}
			if got := bothMeans(next(t, p)); got != want[0] {
				t.Errorf("%d workers, %d ahead: the first batch again is %s, want %s", workers, ahead, got, want[0])
			}
		}
	}
}

// Batches that fail, and batches made ahead of them, leave no trace in what functions remember.
func TestFailedBatchesAreForgotten(t *testing.T) {
	var want []string
	p := means(t, pipeline.Options{BatchSize: 3, Workers: 1, Prefetch: pipeline.NoPrefetch}, new(mean), new(mean))
	for range 8 {
		want = append(want, bothMeans(next(t, p)))
	}
	for _, ahead := range []int{pipeline.NoPrefetch, 1, 4} {
		failed := map[int]bool{}
		shaky := func(call int) error {
			if call%5 == 2 && !failed[call] {
				failed[call] = true
				return errors.New("a bad moment")
			}
			return nil
		}
		a, b := &mean{fails: shaky}, new(mean)
		p := means(t, pipeline.Options{BatchSize: 3, Workers: 3, Prefetch: ahead}, a, b)
		mistakes := 0
		for i := 0; i < len(want); {
			batch, err := p.Next(context.Background())
			switch {
			case err == nil && bothMeans(batch) == want[i]:
				i++
			case err == nil:
				t.Fatalf("%d ahead: batch %d is %s, want %s", ahead, i, bothMeans(batch), want[i])
			case !strings.Contains(err.Error(), "a bad moment"):
				t.Fatal(err)
			default:
				mistakes++
			}
		}
		p.Close()                                    // which ends the batches in the making
		if mistakes == 0 || mistakes > len(failed) { // batches made ahead of one that failed are dropped without a word
			t.Errorf("%d ahead: %d batches failed, of %d calls", ahead, mistakes, len(failed))
		}
	}
}

// stubborn is a State with methods of its own.
type stubborn struct {
	get func() ([]byte, error)
	set func([]byte) error
}

func (s stubborn) AppendState(dst []byte) ([]byte, error) {
	b, err := s.get()
	return append(dst, b...), err
}

func (s stubborn) SetState(b []byte) error { return s.set(b) }

func TestRefusedMemories(t *testing.T) {
	d, err := pipeline.Define(pipeline.Options{BatchSize: 3}, meansOf(new(mean), new(mean)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	next(t, p)
	before := save(t, p)
	if _, err := d.New(context.Background(), nil); !errors.Is(err, errs.Busy) {
		t.Errorf("a second pipeline with the same functions: %v", err)
	}
	other := func(change func(sources map[string]any)) []byte {
		return changed(t, before, func(_, x map[string]any) { change(x["sources"].(map[string]any)) })
	}
	for name, c := range map[string]struct {
		state []byte
		kind  errs.Kind
		says  string
	}{
		"no memory":      {other(func(m map[string]any) { delete(m, "b") }), errs.Mismatch, "node b"},
		"another memory": {other(func(m map[string]any) { m["b"] = "bm8=" }), 0, "not a mean"},
	} {
		err := p.SetState(c.state)
		if err == nil || c.kind != 0 && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if got := save(t, p); string(got) != string(before) {
			t.Errorf("%s: the state is %s, want %s", name, got, before)
		}
	}
	q := means(t, pipeline.Options{BatchSize: 3, Prefetch: pipeline.NoPrefetch}, new(mean), new(mean))
	next(t, q)
	if got, want := bothMeans(next(t, p)), bothMeans(next(t, q)); got != want {
		t.Errorf("after refused states: %s, want %s", got, want)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatalf("after the first pipeline was closed: %v", err)
	}
	again.Close()
}

// A State that fails or panics ends no program.
func TestBrokenMemories(t *testing.T) {
	calls := 0
	for name, s := range map[string]stubborn{
		"fails":  {func() ([]byte, error) { return nil, errors.New("oh dear") }, func([]byte) error { return nil }},
		"panics": {func() ([]byte, error) { panic("oh dear") }, func([]byte) error { return nil }},
		"cannot go back": {func() ([]byte, error) { calls++; return []byte{byte(calls)}, nil },
			func([]byte) error { panic("oh dear") }},
	} {
		started := false
		get := s.get
		s.get = func() ([]byte, error) {
			if !started {
				started = true
				return nil, nil
			}
			return get()
		}
		bad := true
		o := pipeline.Options{BatchSize: 2, Prefetch: pipeline.NoPrefetch}
		p := start(t, o, func(p *pipeline.Builder) []pipeline.Node {
			return fn.Func(p, fn.FuncArgs{Name: "f", Stateful: true, State: s, Outputs: byteSpec,
				Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
					if bad && name == "cannot go back" {
						bad = false
						return nil, errors.New("oh dear")
					}
					return []tensor.Tensor{tensor.FromSlice([]uint8{1})}, nil
				}}, uniform(p, ""))
		})
		for range 2 {
			if _, err := p.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "oh dear") ||
				!strings.Contains(err.Error(), "func") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
