package dynamic_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

var (
	_ dynamic.Resumable = (*dynamic.ExternalSource)(nil)
	_ checkpoint.Object = (*dynamic.ExternalSource)(nil)
)

// counted is a sequence of n items: 0, 1, …
func counted(n int) iter.Seq2[[]dynamic.Value, error] {
	return func(yield func([]dynamic.Value, error) bool) {
		for i := range n {
			if !yield([]dynamic.Value{dynamic.TensorOf(i)}, nil) {
				return
			}
		}
	}
}

// countedAt gives the same items by their number.
func countedAt(n int64) func(context.Context, int64) ([]dynamic.Value, error) {
	return func(_ context.Context, i int64) ([]dynamic.Value, error) {
		if i >= n {
			return nil, io.EOF
		}
		return []dynamic.Value{dynamic.TensorOf(int(i))}, nil
	}
}

// tally is a reader of 0, 1, … with a state.
type tally struct{ next, until int32 }

func (c *tally) Read(context.Context) ([]dynamic.Value, error) {
	if c.next++; c.next > c.until {
		return nil, io.EOF
	}
	return []dynamic.Value{dynamic.TensorOf(c.next - 1)}, nil
}

func (c *tally) AppendState(dst []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint32(dst, uint32(c.next)), nil
}

func (c *tally) SetState(b []byte) error {
	if len(b) != 4 {
		return &errs.Error{Kind: errs.Corrupt, Op: "tally"}
	}
	c.next = int32(binary.LittleEndian.Uint32(b))
	return nil
}

// take returns n items of a source: numbers, or "stop".
func take(t *testing.T, s *dynamic.ExternalSource, n int) (out []any) {
	t.Helper()
	for range n {
		item, err := s.Next(t.Context())
		switch {
		case errors.Is(err, io.EOF):
			out = append(out, "stop")
		case err != nil:
			t.Fatal(err)
		default:
			v, err := dynamic.Item[int32](t.Context(), item[0].(*dynamic.Tensor))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, int(v))
		}
	}
	return out
}

func source(t *testing.T) func(*dynamic.ExternalSource, error) *dynamic.ExternalSource {
	return func(s *dynamic.ExternalSource, err error) *dynamic.ExternalSource {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() }) //nolint:errcheck // never fails
		return s
	}
}

// What DALI 2.4.0 gave for lists of three and of none.
func TestSourceCycles(t *testing.T) {
	stops := []any{"stop", "stop", "stop", "stop", "stop", "stop", "stop", "stop", "stop"}
	for _, c := range []struct {
		cycle dynamic.Cycle
		want  []any
	}{
		{dynamic.NoCycle, []any{0, 1, 2, "stop", "stop", "stop", "stop", "stop", "stop"}},
		{dynamic.CycleQuiet, []any{0, 1, 2, 0, 1, 2, 0, 1, 2}},
		{dynamic.CycleRaise, []any{0, 1, 2, "stop", 0, 1, 2, "stop", 0}},
	} {
		o := dynamic.SourceOptions{Cycle: c.cycle}
		for name, s := range map[string]*dynamic.ExternalSource{
			"sequence": source(t)(dynamic.SourceSeq(counted(3), o)), "index": source(t)(dynamic.SourceAt(countedAt(3), o)),
		} {
			if d := cmp.Diff(c.want, take(t, s, 9)); d != "" {
				t.Errorf("%s, cycle %d: %s", name, c.cycle, d)
			}
		}
		if d := cmp.Diff(stops, take(t, source(t)(dynamic.SourceSeq(counted(0), o)), 9)); d != "" {
			t.Errorf("empty, cycle %d: %s", c.cycle, d)
		}
	}
	n := 0
	called := source(t)(dynamic.SourceFunc(func(context.Context) ([]dynamic.Value, error) {
		if n++; n%4 == 0 {
			return nil, io.EOF
		}
		return []dynamic.Value{dynamic.TensorOf(n)}, nil
	}, dynamic.SourceOptions{}))
	if d := cmp.Diff([]any{1, 2, 3, "stop", 5, 6, 7, "stop", 9}, take(t, called, 9)); d != "" {
		t.Errorf("function: %s", d)
	}
}

func TestSourceOptions(t *testing.T) {
	f := func(context.Context) ([]dynamic.Value, error) { return nil, io.EOF }
	for _, o := range []dynamic.SourceOptions{
		{Outputs: -1}, {Outputs: 1 << 20}, {Cycle: 3}, {Cycle: dynamic.CycleQuiet}, {BatchSize: -1},
		{Outputs: 3, Layouts: []string{"X", "Y"}}, {DTypes: make([]tensor.DType, 2)},
	} {
		if _, err := dynamic.SourceFunc(f, o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Outputs are cast, named, broadcast and checked.
func TestSourceConverts(t *testing.T) {
	ctx := t.Context()
	one, three := dynamic.TensorOf([]float64{1.6, 2}), dynamic.BatchOf([][]float64{{1}, {2}, {3}})
	next := func(o dynamic.SourceOptions, size int, item ...dynamic.Value) ([]dynamic.Value, error) {
		return source(t)(dynamic.SourceFunc(func(context.Context) ([]dynamic.Value, error) { return item, nil }, o)).NextBatch(ctx, size)
	}
	got, err := next(dynamic.SourceOptions{DTypes: []tensor.DType{tensor.Int32}, Layouts: []string{"X"}}, 0, one)
	if err != nil {
		t.Fatal(err)
	}
	if v := got[0].(*dynamic.Tensor); v.DType() != tensor.Int32 || v.Layout() != "X" {
		t.Errorf("%v %q", v.DType(), v.Layout())
	}
	if got, err = next(dynamic.SourceOptions{Outputs: 2}, 3, one, three); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if b, ok := v.(*dynamic.Batch); !ok || b.Len() != 3 {
			t.Errorf("output %d: %v", i, v)
		}
	}
	for name, f := range map[string]func() ([]dynamic.Value, error){
		"another size":         func() ([]dynamic.Value, error) { return next(dynamic.SourceOptions{}, 4, three) },
		"a size below 0":       func() ([]dynamic.Value, error) { return next(dynamic.SourceOptions{}, -4, three) },
		"Tensors with Batches": func() ([]dynamic.Value, error) { return next(dynamic.SourceOptions{Outputs: 2}, 0, one, three) },
		"too few":              func() ([]dynamic.Value, error) { return next(dynamic.SourceOptions{Outputs: 2}, 0, one) },
		"nil":                  func() ([]dynamic.Value, error) { return next(dynamic.SourceOptions{}, 0, nil) },
	} {
		if _, err := f(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At every place a source that is restored through a checkpoint goes on with the same items.
func TestSourceStates(t *testing.T) {
	for name, make := range map[string]func() (*dynamic.ExternalSource, error){
		"sequence": func() (*dynamic.ExternalSource, error) {
			return dynamic.SourceSeq(counted(4), dynamic.SourceOptions{})
		},
		"rounds": func() (*dynamic.ExternalSource, error) {
			return dynamic.SourceSeq(counted(4), dynamic.SourceOptions{Cycle: dynamic.CycleRaise})
		},
		"index": func() (*dynamic.ExternalSource, error) {
			return dynamic.SourceAt(countedAt(4), dynamic.SourceOptions{Cycle: dynamic.CycleQuiet})
		},
		"reader": func() (*dynamic.ExternalSource, error) {
			return dynamic.SourceFrom(&tally{until: 4}, dynamic.SourceOptions{})
		},
	} {
		for k := range 7 {
			s := source(t)(make())
			take(t, s, k)
			c := checkpoint.New()
			if _, err := c.Register(s, "source"); err != nil {
				t.Fatal(err)
			}
			if err := c.Collect(); err != nil {
				t.Fatal(err)
			}
			text, err := c.Serialize()
			if err != nil {
				t.Fatal(err)
			}
			again, d := source(t)(make()), checkpoint.New()
			if err := d.Deserialize(text); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Register(again, "source"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(take(t, s, 6), take(t, again, 6)); diff != "" {
				t.Errorf("%s after %d: %s", name, k, diff)
			}
		}
	}
}

func TestSourceStatesThatDoNotFit(t *testing.T) {
	ctx := t.Context()
	stateless := source(t)(dynamic.SourceFunc(func(context.Context) ([]dynamic.Value, error) { return nil, io.EOF },
		dynamic.SourceOptions{}))
	if _, err := stateless.GetState(); !errors.Is(err, errs.Unsupported) {
		t.Errorf("a state of a function: %v", err)
	}
	long := source(t)(dynamic.SourceSeq(counted(9), dynamic.SourceOptions{}))
	take(t, long, 6)
	late, err := long.GetState()
	if err != nil {
		t.Fatal(err)
	}
	read, err := source(t)(dynamic.SourceFrom(&tally{}, dynamic.SourceOptions{})).GetState()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state any
		kind  errs.Kind
	}{
		"no document":            {"x", errs.Corrupt},
		"that of something else": {`{"kind":"pipeline","position":1,"version":1}`, errs.Mismatch},
		"that of a reader":       {read, errs.Mismatch},
		"behind the end":         {late, errs.Mismatch},
		"no text":                {7, errs.Invalid},
	} {
		s := source(t)(dynamic.SourceSeq(counted(3), dynamic.SourceOptions{}))
		if err := s.SetState(c.state); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
		if got := take(t, s, 1); got[0] != 0 {
			t.Errorf("%s: goes on with %v", name, got)
		}
	}
	broken := source(t)(dynamic.SourceAt(func(_ context.Context, i int64) ([]dynamic.Value, error) {
		return nil, &errs.Error{Kind: errs.NotFound, Op: fmt.Sprint(i)}
	}, dynamic.SourceOptions{}))
	for range 2 {
		if _, err := broken.Next(ctx); !errors.Is(err, errs.NotFound) {
			t.Errorf("%v", err)
		}
	}
}

// A compiled loop asks a source ahead; the source's state covers only delivered steps.
func TestSourceAsRoot(t *testing.T) {
	double := func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		return []dynamic.Value{fn.Mul(ctx, in[0].(*dynamic.Batch), 2)}
	}
	root := source(t)(dynamic.SourceSeq(counted(9), dynamic.SourceOptions{BatchSize: 2}))
	numbers := func(s *dynamic.ExternalSource, n int) (out []int32) {
		loop, err := dynamic.Compile(t.Context(), s, double, dynamic.LoopOptions{Prefetch: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer loop.Close()
		for range n {
			step, err := loop.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			v, err := dynamic.Item[int32](t.Context(), step[0].(*dynamic.Batch).At(1))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	if d := cmp.Diff([]int32{0, 2, 4, 6}, numbers(root, 4)); d != "" {
		t.Fatal(d)
	}
	state, err := root.GetState()
	if err != nil {
		t.Fatal(err)
	}
	again := source(t)(dynamic.SourceSeq(counted(9), dynamic.SourceOptions{BatchSize: 2}))
	if err := again.SetState(fmt.Sprint(state)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int32{8, 10, 12, 14, 16}, numbers(again, 9)); d != "" {
		t.Error(d)
	}
	inside := func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		if _, err := again.Next(ctx); !errors.Is(err, errs.Sequence) {
			t.Errorf("in the body of a loop: %v", err)
		}
		return []dynamic.Value{fn.Mul(ctx, in[0].(*dynamic.Tensor), 2)}
	}
	loop, err := dynamic.Compile(t.Context(), source(t)(dynamic.SourceSeq(counted(2), dynamic.SourceOptions{})), inside,
		dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	loop.Close()
}

// A state that is read is written as the same text.
func FuzzParseSourceState(f *testing.F) {
	f.Add(`{"kind":"external_source","position":3,"version":1}`)
	f.Add(`{"extra":{"source":"AAAA"},"fields":{"ended":"true"},"kind":"external_source","position":0,"version":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := dynamic.ParsePlace(text)
		if err != nil {
			var e *errs.Error
			if !errors.As(err, &e) {
				t.Errorf("an error without kind: %v", err)
			}
			return
		}
		again, err := dynamic.ParsePlace(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is written as %q: %v", text, s, err)
		}
	})
}
