package nodes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(a, b)
}

// going is a state of a loader whose epoch has not ended.
func going(s string) string { return `{"ended":false,` + s[1:] }

// failing3 fails at 3, and at 5 by a panic.
func failing3(_ context.Context, v int) (int, error) {
	if v == 5 {
		panic("five")
	}
	if v == 3 {
		return 0, errBad
	}
	return v, nil
}

// An error comes out in its place, and what is behind it after it.
func TestErrorsKeepTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		node  nodes.Node[int]
		after string // the state right after the error
	}{
		"map":      {nodes.Map(numbers(7), failing3), `{"num_yielded":3,"root":{"it_state":{"source":{"_num_yielded":4}}}}`},
		"parallel": {must(nodes.ParallelMap(numbers(7), failing3, nodes.ParallelOptions{Workers: 2})), `{"num_yielded":3,"root":{"it_state":{"snapshot":{"_num_yielded":3},"steps_since_snapshot":0}}}`},
		"seldom":   {must(nodes.ParallelMap(numbers(7), failing3, nodes.ParallelOptions{Workers: 2, SnapshotEvery: 4})), `{"num_yielded":3,"root":{"it_state":{"snapshot":{"_num_yielded":0},"steps_since_snapshot":3}}}`},
		"prefetch": {must(nodes.Prefetch(nodes.Map(numbers(7), failing3), 2, 1)), `{"num_yielded":3,"root":{"snapshot":{"it_state":{"source":{"_num_yielded":3}}},"steps_since_snapshot":0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := nodes.NewLoader(c.node, nodes.LoaderOptions{})
			defer l.Close()
			for i := range 7 {
				v, err := l.Next(t.Context())
				switch {
				case i == 3:
					if !errors.Is(err, errBad) {
						t.Fatal(i, v, err)
					}
					s, err := l.AppendState(nil)
					if err == nil {
						s, err = state.CheckSeal(s)
					}
					if err != nil || !sameJSON(t, s, going(c.after)) {
						t.Errorf("state after the error: %s, %v, want %s", s, err, c.after)
					}
				case i == 5:
					if err == nil || !bytes.Contains([]byte(err.Error()), []byte("panic: five")) {
						t.Fatal(i, v, err)
					}
				case err != nil || v != i:
					t.Fatal(i, v, err)
				}
			}
			if _, err := l.Next(t.Context()); err != io.EOF {
				t.Fatal(err)
			}
		})
	}
}

// After an error that was skipped, a state counts the value that failed.
func TestStateBehindAnError(t *testing.T) {
	for _, every := range []int{1, 2, 3, 4, nodes.Never} {
		build := func() *nodes.Loader[int] {
			return nodes.NewLoader(must(nodes.ParallelMap(numbers(9), func(_ context.Context, v int) (int, error) {
				if v == 3 {
					return 0, errBad
				}
				return v, nil
			}, nodes.ParallelOptions{Workers: 2, SnapshotEvery: every})), nodes.LoaderOptions{NoRestart: true})
		}
		l := build()
		for range 5 { // 0 1 2 error 4
			l.Next(t.Context())
		}
		s, err := l.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		l = build()
		if err := l.SetState(s); err != nil {
			t.Fatal(err)
		}
		for want := 5; want < 9; want++ {
			if v, err := l.Next(t.Context()); err != nil || v != want {
				t.Fatalf("every %d: behind %s is %d (%v), want %d", every, s, v, err, want)
			}
		}
		l.Close()
	}
}

// A batch that an error interrupts is delivered whole afterwards, also by a resumed loader.
func TestErrorInABatchLosesNothing(t *testing.T) {
	failed := false
	flaky := func(_ context.Context, v int) (int, error) {
		if v == 5 && !failed {
			failed = true
			return 0, errBad
		}
		return v, nil
	}
	build := func() *nodes.Loader[[]int] {
		return nodes.NewLoader(must(nodes.Batch(nodes.Map(numbers(8), flaky), 4, order.Short)), nodes.LoaderOptions{})
	}
	l := build()
	defer l.Close()
	if b, err := l.Next(t.Context()); err != nil || fmt.Sprint(b) != "[0 1 2 3]" {
		t.Fatal(b, err)
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, errBad) {
		t.Fatal(err)
	}
	s, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := l.Next(t.Context()); err != nil || fmt.Sprint(b) != "[4 6 7]" {
		t.Fatal(b, err)
	}
	resumed := build()
	defer resumed.Close()
	if err := resumed.SetState(s); err != nil {
		t.Fatal(err)
	}
	if b, err := resumed.Next(t.Context()); err != nil || fmt.Sprint(b) != "[4 5 6 7]" {
		t.Fatal(b, err)
	}
}

// A slice whose reading failed is read again in full.
func TestUnbatchReadsAFailedSliceAgain(t *testing.T) {
	failed := false
	flaky := func(_ context.Context, v []int) ([]int, error) {
		if v[0] == 4 && !failed {
			failed = true
			return nil, errBad
		}
		return v, nil
	}
	build := func() *nodes.Loader[int] {
		return nodes.NewLoader(nodes.Unbatch(nodes.Map(must(nodes.Batch(numbers(8), 4, order.Short)), flaky)),
			nodes.LoaderOptions{})
	}
	l := build()
	defer l.Close()
	for range 4 {
		if _, err := l.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, errBad) {
		t.Fatal(err)
	}
	s, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	resumed := build()
	defer resumed.Close()
	if err := resumed.SetState(s); err != nil {
		t.Fatal(err)
	}
	if v, err := resumed.Next(t.Context()); err != nil || v != 4 {
		t.Fatal(v, err)
	}
}

// blocking waits for its context.
type blocking struct{}

func (blocking) Open(context.Context) (loader.Iterator[int], error) { return blocking{}, nil }

func (blocking) Next(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// A source that hangs holds up neither a Next whose context ends nor Close.
func TestHangingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := nodes.NewLoader(must(nodes.Prefetch(nodes.FromIterable[int](blocking{}), 2, 1)), nodes.LoaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := l.Next(ctx)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Begin(t.Context()); !errors.Is(err, errs.Closed) {
			t.Error(err)
		}
	})
}

// A node accepts only its own state, whole and of the right types.
func TestForeignStates(t *testing.T) {
	states := map[string]string{}
	for name, build := range built {
		l := nodes.NewLoader(build(), nodes.LoaderOptions{})
		if _, err := l.Next(t.Context()); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		s, err := l.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		states[name] = string(s)
		l.Close()
	}
	for _, c := range []struct{ node, state, want string }{
		{"slice", states["batch"], "_num_yielded"},
		{"slice", states["stateful"], "iterable"},
		{"batch", states["slice"], "source"},
		{"weighted", states["round robin"], "weighted_sampler_state"},
		{"round robin", states["weighted"], "current_dataset_index"},
		{"parallel", states["map"], "steps_since_snapshot"},
		{"prebatch", states["parallel"], "batch_idx"},
		{"slice", `{"num_yielded":12,"root":{"it_state":{"source":{"_num_yielded":12}}}}`, "at least 12 values"},
		{"slice", `{"num_yielded":1,"root":{"it_state":{"source":{"_num_yielded":"1"}}}}`, "_num_yielded"},
		{"slice", `{"num_yielded":1,"root":{"it_state":{"source":{"_num_yielded":-1}}}}`, "_num_yielded"},
		{"slice", `{"num_yielded":1,"root":{"it_state":{"source":null}}}`, "_num_yielded"},
		{"never", `{"num_yielded":1,"root":{"it_state":{"source":{"snapshot":{"_num_yielded":9},"steps_since_snapshot":4}}}}`, "at least 4 more values"},
	} {
		l := nodes.NewLoader(built[c.node](), nodes.LoaderOptions{})
		if err := l.SetState([]byte(c.state)); err != nil {
			t.Fatal(err)
		}
		err := l.Begin(t.Context())
		if !errors.Is(err, errs.Mismatch) || !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%s with %s: %v, want %q", c.node, c.state, err, c.want)
		}
		l.Close()
	}
	l := nodes.NewLoader(built["slice"](), nodes.LoaderOptions{})
	defer l.Close()
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"num_yielded":1}`, `{"num_yielded":1,"root":{},"x":0}`,
		`{"num_yielded":1.5,"root":{}}`, `{"num_yielded":1,"num_yielded":1,"root":{}}`} {
		if err := l.SetState([]byte(bad)); !errors.Is(err, errs.Mismatch) && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if v, err := l.Next(t.Context()); err != nil || v != "0" {
		t.Errorf("after refused states: %q, %v", v, err)
	}
}

// States are anybody's bytes: nodes take them or refuse them, and then work.
func FuzzState(f *testing.F) {
	for _, build := range built {
		l := nodes.NewLoader(build(), nodes.LoaderOptions{})
		if s, err := l.AppendState(nil); err == nil {
			f.Add(s)
		}
		l.Close()
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		for _, name := range []string{"batch", "unbatch", "seldom", "weighted", "round robin", "head", "stateful"} {
			l := nodes.NewLoader(built[name](), nodes.LoaderOptions{})
			if err := l.SetState(state); err == nil {
				if err := l.Begin(t.Context()); err == nil {
					l.Next(t.Context())
				}
			}
			l.Close()
		}
	})
}
