package dynamic_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
)

// A loop with Verify finds each body that does something else when it is called again, with
// the line of the program, and none that does the same.
func TestVerify(t *testing.T) {
	ctx := t.Context()
	outside, generator := dynamic.TensorOf(float32(2)), random.New(3)
	for name, c := range map[string]struct {
		body dynamic.Body
		says string // "": it does the same
	}{
		"the same": {double, ""},
		"an own constant": {func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{add(ctx, add(ctx, in[0], dynamic.TensorOf(float32(1))), outside), dynamic.TensorOf(float32(5))}
		}, ""},
		"a generator": {func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{add(ctx, uniform(ctx, generator, 2), in[0]), uniform(ctx, generator, 0)}
		}, ""},
		"a branch": {changing(func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value {
			if call > 1 {
				return fn.Mul(ctx, in[0].(*dynamic.Batch), 3)
			}
			return fn.Mul(ctx, in[0].(*dynamic.Batch), 2)
		}), "compile_verify_test.go:"},
		"a call more": {changing(func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value {
			for range call {
				in[0] = add(ctx, in[0], in[0])
			}
			return in[0]
		}), "compile_test.go:"},
		"a constant": {changing(func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value {
			return add(ctx, in[0], dynamic.TensorOf(float32(call)))
		}), "another content"},
		"an output": {changing(func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value {
			return dynamic.TensorOf(float32(call))
		}), "output 1: a constant"},
		"another generator": {changing(func(ctx context.Context, in []dynamic.Value, _ int) dynamic.Value {
			return uniform(ctx, random.New(1), 2)
		}), "from generator"},
		"a panic": {changing(func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value {
			if call > 1 {
				panic("enough")
			}
			return in[0]
		}), "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			loop, err := dynamic.Compile(ctx, &counter{}, c.body, dynamic.LoopOptions{Verify: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer loop.Close() //nolint:errcheck // nothing is to be written
			var found error
			for range 9 {
				if _, err := loop.Next(ctx); err != nil && !errors.Is(err, io.EOF) {
					found = err
				}
			}
			switch {
			case c.says == "" && found != nil:
				t.Error(found)
			case c.says != "" && (found == nil || !strings.Contains(found.Error(), c.says)):
				t.Errorf("%v, want %q", found, c.says)
			case c.says != "" && name != "a panic" && !errors.Is(found, errs.Mismatch):
				t.Errorf("of kind %v", errs.KindOf(found))
			}
		})
	}
}

// changing makes a body that is told how often it was called, 1 for the first time.
func changing(f func(ctx context.Context, in []dynamic.Value, call int) dynamic.Value) dynamic.Body {
	calls := 0
	return func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		calls++
		return []dynamic.Value{add(ctx, in[1], in[1]), f(ctx, in, calls)}
	}
}

// A loop without Verify calls its body once.
func TestBodyIsCalledOnce(t *testing.T) {
	calls := 0
	loop, err := dynamic.Compile(t.Context(), &counter{}, func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		calls++
		return double(ctx, in)
	}, dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close() //nolint:errcheck // nothing is to be written
	for range 3 {
		if _, err := loop.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func panics(context.Context, []dynamic.Value) []dynamic.Value { panic("no such column") }

// The panic of a body is an error that names it and the line.
func TestBodyPanics(t *testing.T) {
	_, err := dynamic.Compile(t.Context(), &counter{}, panics, dynamic.LoopOptions{})
	for _, want := range []string{"dynamic_test.panics", "compile_verify_test.go:", "no such column"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	cause := errors.New("no such column")
	_, err = dynamic.Compile(t.Context(), nil, func(context.Context, []dynamic.Value) []dynamic.Value { panic(cause) },
		dynamic.LoopOptions{})
	if !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
