package dynamic_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// counter is a root with a state: in step k, of four an epoch, it gives the batch k, k+1.
type counter struct {
	next  int
	mu    sync.Mutex
	shown int
	fail  map[int]error
	size  int // of the batch of step 3
}

func (c *counter) Next(context.Context) ([]dynamic.Value, error) {
	k := c.next
	c.next++
	if k%5 == 4 {
		return nil, io.EOF
	}
	if err := c.fail[k]; err != nil {
		return nil, err
	}
	list := []float32{float32(k), float32(k + 1)}
	if k == 3 && c.size > 0 {
		list = list[:c.size]
	}
	return []dynamic.Value{dynamic.BatchOf(list), dynamic.TensorOf(float32(k))}, nil
}

func (c *counter) Here() any { return c.next }

func (c *counter) Show(place any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = place.(int)
}

func (c *counter) state() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown
}

func double(ctx context.Context, in []dynamic.Value) []dynamic.Value {
	b := in[0].(*dynamic.Batch)
	return []dynamic.Value{fn.Add(ctx, fn.Mul(ctx, b, 2), in[1]), in[0], dynamic.TensorOf(int32(7))}
}

// Epochs end where the root ends them, and what the root says of itself is from the step
// that was delivered, however far it was asked ahead.
func TestLoopRoot(t *testing.T) {
	ctx := context.Background()
	for _, depth := range []int{dynamic.NoPrefetch, 1, 3} {
		c := &counter{}
		loop, err := dynamic.Compile(ctx, c, double, dynamic.LoopOptions{Prefetch: depth})
		if err != nil {
			t.Fatal(err)
		}
		if c.state() != 0 {
			t.Errorf("before the first step the root is at %d", c.state())
		}
		k := 0
		for range 2 {
			for values, err := range loop.Steps(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				x := float32(k)
				want := []tensor.Tensor{tensor.ScalarOf(3 * x), tensor.ScalarOf(3*x + 2)}
				if d := cmp.Diff(want, samples(t, values[0])); d != "" {
					t.Fatalf("step %d: %s", k, d)
				}
				if d := cmp.Diff([]tensor.Tensor{tensor.ScalarOf(x), tensor.ScalarOf(x + 1)}, samples(t, values[1])); d != "" {
					t.Fatalf("step %d, what the root gave: %s", k, d)
				}
				if v := samples(t, values[2])[0]; v.Data[0] != 7 {
					t.Fatalf("a constant: %v", v)
				}
				if k++; c.state() != k {
					t.Fatalf("depth %d: after step %d the root says %d", depth, k-1, c.state())
				}
			}
			if k++; c.state() != k {
				t.Fatalf("depth %d: at the end of an epoch the root says %d, want %d", depth, c.state(), k)
			}
		}
		if got := loop.Statistics(); got.Steps != 8 || got.Depth != int64(max(0, depth)) {
			t.Errorf("%+v", got)
		}
		if err := loop.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A step that fails counts as delivered; the loop goes on behind it.
func TestLoopFailures(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("broken")
	c := &counter{fail: map[int]error{1: broken}, size: 1}
	loop, err := dynamic.Compile(ctx, c, double, dynamic.LoopOptions{Prefetch: 3})
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for range 6 {
		values, err := loop.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			log = append(log, "end")
		case err != nil:
			log = append(log, err.Error())
		default:
			log = append(log, strings.Repeat("x", len(samples(t, values[0]))))
		}
	}
	if d := cmp.Diff([]string{"xx", "dynamic.Loop: root: broken", "xx", "x", "end", "xx"}, log); d != "" {
		t.Error(d)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	before := c.state()
	if _, err := loop.Next(stopped); !errors.Is(err, errs.Canceled) || c.state() != before {
		t.Errorf("%v, the root at %d, before %d", err, c.state(), before)
	}
	if values, err := loop.Next(ctx); err != nil || len(values) != 3 {
		t.Errorf("after that: %v", err)
	}
	loop.Close() //nolint:errcheck // never fails
	if _, err := loop.Next(ctx); !errors.Is(err, errs.Closed) {
		t.Errorf("closed: %v", err)
	}
}

// An operator that fails in one step fails that step alone, with its name.
func TestLoopOperatorFails(t *testing.T) {
	ctx := context.Background()
	k := 0
	root := dynamic.From(func(context.Context) ([]dynamic.Value, error) {
		k++
		return []dynamic.Value{dynamic.BatchOf([][]int32{{1, 2, 3}, {4, 5, 6}}),
			dynamic.TensorOf(int32(map[bool]int{true: 7}[k == 2]))}, nil
	})
	loop, err := dynamic.Compile(ctx, root, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		return []dynamic.Value{dynamic.Index(ctx, in[0].(*dynamic.Batch), in[1])}
	}, dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close() //nolint:errcheck // never fails
	for step := range 4 {
		_, err := loop.Next(ctx)
		if failed := err != nil; failed != (step == 1) {
			t.Errorf("step %d: %v", step, err)
		}
	}
}

// What cannot be traced is refused with the line of the program.
func TestCompileRefuses(t *testing.T) {
	ctx := context.Background()
	g := random.New(1)
	outside := uniform(ctx, random.New(1), 3)
	for name, c := range map[string]struct {
		root dynamic.Root
		body dynamic.Body
		kind errs.Kind
		want string
	}{
		"a number": {&counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			if v, err := dynamic.Item[float32](ctx, in[1].(*dynamic.Tensor)); err == nil && v > 0 {
				return in
			}
			return []dynamic.Value{fn.Mul(ctx, in[0].(*dynamic.Batch), 2)}
		}, errs.Unsupported, "compile_root_test.go"},
		"a shape": {&counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			n := len(in[1].(*dynamic.Tensor).Shape())
			return []dynamic.Value{fn.Mul(ctx, in[0].(*dynamic.Batch), n)}
		}, errs.Unsupported, "compile_root_test.go"},
		"an unknown operator": {&counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			return dynamic.Invoke(ctx, dynamic.Call{Op: "nothing", Inputs: in[:1]})
		}, errs.NotFound, "compile_root_test.go"},
		"another size": {&counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{fn.Add(ctx, in[0].(*dynamic.Batch), outside)}
		}, errs.Mismatch, "batch size"},
		"two sizes": {nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{uniform(ctx, g, 3), uniform(ctx, g, 4)}
		}, errs.Mismatch, "batch size"},
		"no generator": {nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{uniform(ctx, nil, 3)}
		}, errs.Unsupported, "generator"},
		"numbers drawn by hand": {nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			v := uniform(ctx, g, 3)
			g.Uint32()
			return []dynamic.Value{v}
		}, errs.Invalid, "generator"},
		"nothing":        {&counter{}, func(context.Context, []dynamic.Value) []dynamic.Value { return nil }, errs.Invalid, "outputs"},
		"nil":            {&counter{}, func(context.Context, []dynamic.Value) []dynamic.Value { return []dynamic.Value{nil} }, errs.Invalid, "output 0"},
		"an empty root":  {dynamic.From(func(context.Context) ([]dynamic.Value, error) { return nil, io.EOF }), double, errs.Invalid, "root"},
		"a broken root":  {&counter{fail: map[int]error{0: errs.Corrupt}}, double, errs.Corrupt, "root"},
		"a failed value": {dynamic.From(func(context.Context) ([]dynamic.Value, error) { return []dynamic.Value{dynamic.TensorOf(t)}, nil }), double, errs.Invalid, "root"},
	} {
		loop, err := dynamic.Compile(ctx, c.root, c.body, dynamic.LoopOptions{})
		if loop != nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v about %q", name, err, c.kind, c.want)
		}
	}
	if _, err := dynamic.Compile(ctx, nil, double, dynamic.LoopOptions{Prefetch: -2}); !errors.Is(err, errs.Invalid) {
		t.Errorf("options: %v", err)
	}
}

// A value of the body is of no use outside of it, and describes itself without contents.
func TestSymbols(t *testing.T) {
	ctx := context.Background()
	var kept dynamic.Value
	loop, err := dynamic.Compile(ctx, &counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		b := in[0].(*dynamic.Batch)
		if b.DType() != tensor.Float32 || b.NDim() != 0 || b.Layout() != "" || b.Len() != 2 {
			t.Errorf("%v, %d axes, %q, %d samples", b.DType(), b.NDim(), b.Layout(), b.Len())
		}
		kept = dynamic.Cast(ctx, b, tensor.Int32)
		if d := kept.(*dynamic.Batch).DType(); d != tensor.Int32 {
			t.Errorf("cast: %v", d)
		}
		return []dynamic.Value{kept}
	}, dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close() //nolint:errcheck // never fails
	if err := kept.Evaluate(ctx); !errors.Is(err, errs.Sequence) {
		t.Errorf("a value of the body: %v", err)
	}
	if err := fn.Mul(ctx, kept.(*dynamic.Batch), 2).Evaluate(ctx); !errors.Is(err, errs.Sequence) {
		t.Errorf("an operator on it: %v", err)
	}
}
