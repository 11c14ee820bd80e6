package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ stream.Stream[int] = (*nodes.Loader[int])(nil)

// numbers is a source of 0 to n-1.
func numbers(n int) nodes.Node[int] {
	values := make([]int, n)
	for i := range values {
		values[i] = i
	}
	return nodes.FromSlice(values)
}

func shuffled(n int64) nodes.Node[int64] {
	return nodes.FromSampler[int64](&nodes.Ordered{Of: func(epoch int64) order.Order {
		return order.NewPermutation(n, order.Key(7, epoch, "nodes"))
	}}, nodes.SamplerOptions{})
}

func double(_ context.Context, v int) (int, error) { return 2 * v, nil }

func even(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }

// must is for constructors whose arguments are right.
func must[T any](n nodes.Node[T], err error) nodes.Node[T] {
	if err != nil {
		panic(err)
	}
	return n
}

// text makes the values of a node texts, so that all can be tested alike.
func text[T any](n nodes.Node[T]) nodes.Node[string] {
	return nodes.Map(n, func(_ context.Context, v T) (string, error) { return fmt.Sprint(v), nil })
}

func three(stop nodes.Stop, weighted bool) nodes.Node[string] {
	all := []nodes.Source[int]{{Name: "a", Node: numbers(5), Weight: 0.1}, {Name: "b", Node: numbers(9), Weight: 0.7},
		{Name: "c", Node: numbers(3), Weight: 0.2}}
	for i := range all {
		all[i].Node = nodes.Map(all[i].Node, func(_ context.Context, v int) (int, error) { return 100*i + v, nil })
	}
	if weighted {
		return text(must(nodes.Weighted(all, nodes.WeightedOptions{Stop: stop})))
	}
	return text(must(nodes.RoundRobin(all, stop)))
}

// built are all nodes, each over small sources.
var built = map[string]func() nodes.Node[string]{
	"slice": func() nodes.Node[string] { return text(numbers(11)) },
	"loader": func() nodes.Node[string] {
		l, err := loader.New(loader.Slice[int64]{3, 1, 4, 1, 5, 9, 2, 6}, loader.Options[int64, tensor.Tensor]{BatchSize: 3, Shuffle: true, Workers: 1})
		if err != nil {
			panic(err)
		}
		return nodes.Map(nodes.FromStream(l), func(_ context.Context, b tensor.Tensor) (string, error) {
			v, err := tensor.Of[int64](b)
			return fmt.Sprint(v), err
		})
	},
	"empty":    func() nodes.Node[string] { return text(numbers(0)) },
	"stateful": func() nodes.Node[string] { return text(nodes.FromIterable[int](&counter{n: 7})) },
	"sampler":  func() nodes.Node[string] { return text(shuffled(101)) },
	"map":      func() nodes.Node[string] { return text(nodes.Map(numbers(7), double)) },
	"batch":    func() nodes.Node[string] { return text(must(nodes.Batch(numbers(11), 4, order.Short))) },
	"drop":     func() nodes.Node[string] { return text(must(nodes.Batch(numbers(11), 4, order.Drop))) },
	"unbatch":  func() nodes.Node[string] { return text(nodes.Unbatch(must(nodes.Batch(numbers(11), 4, order.Short)))) },
	"filter":   func() nodes.Node[string] { return text(nodes.Filter(numbers(11), even)) },
	"head":     func() nodes.Node[string] { return text(must(nodes.Head(nodes.Cycle(numbers(3)), 10))) },
	"prefetch": func() nodes.Node[string] { return text(must(nodes.Prefetch(numbers(11), 3, 1))) },
	"seldom":   func() nodes.Node[string] { return text(must(nodes.Prefetch(numbers(11), 3, 4))) },
	"never":    func() nodes.Node[string] { return text(must(nodes.Prefetch(numbers(11), 3, nodes.Never))) },
	"parallel": func() nodes.Node[string] {
		return text(must(nodes.ParallelMap(numbers(23), double, nodes.ParallelOptions{Workers: 3, SnapshotEvery: 2})))
	},
	"prebatch": func() nodes.Node[string] {
		return text(must(nodes.ParallelMap(numbers(23), double, nodes.ParallelOptions{Workers: 2, Prefetch: 1, Prebatch: 3})))
	},
	"prebatch in the caller": func() nodes.Node[string] {
		return text(must(nodes.ParallelMap(numbers(7), double, nodes.ParallelOptions{Prebatch: 3})))
	},
	"round robin":        func() nodes.Node[string] { return three("", false) },
	"round robin, all":   func() nodes.Node[string] { return three(nodes.All, false) },
	"round robin, first": func() nodes.Node[string] { return three(nodes.First, false) },
	"weighted":           func() nodes.Node[string] { return three("", true) },
	"weighted, all":      func() nodes.Node[string] { return three(nodes.All, true) },
	"weighted, first":    func() nodes.Node[string] { return three(nodes.First, true) },
	"weighted, forever":  func() nodes.Node[string] { return must(nodes.Head(three(nodes.Forever, true), 2100)) },
	"chain over all of it": func() nodes.Node[string] {
		ids := nodes.Map(shuffled(53), func(_ context.Context, v int64) (int, error) { return int(v), nil })
		mapped := must(nodes.ParallelMap(nodes.Filter(ids, even), double, nodes.ParallelOptions{Workers: 2, SnapshotEvery: 3}))
		return text(must(nodes.Prefetch(must(nodes.Batch(mapped, 4, order.Short)), 2, 2)))
	},
}

// counter is an iterable with a state of its own.
type counter struct{ n, i int }

func (c *counter) Open(context.Context) (loader.Iterator[int], error) { return c, nil }

func (c *counter) Next(context.Context) (int, error) {
	if c.i == c.n {
		c.i = 0
		return 0, io.EOF
	}
	c.i++
	return c.i - 1, nil
}

func (c *counter) AppendState(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `{"i":%d}`, c.i), nil
}

func (c *counter) SetState(b []byte) error {
	_, err := fmt.Sscanf(string(b), `{"i":%d}`, &c.i)
	return err
}

// run reads epochs of a loader, and takes the state before each value and at each end.
func run(t *testing.T, l *nodes.Loader[string], epochs int) (values []string, states []string) {
	t.Helper()
	for range epochs {
		for {
			s, err := l.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, string(s))
			v, err := l.Next(t.Context())
			if err == io.EOF {
				values = append(values, "end")
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
	}
	return values, states
}

// Each state of two epochs, given to nodes built alike, is followed by what followed
// it: the one behind the last value of an epoch by its end, and the one behind the end by
// the next epoch, or by none of it first.
func TestEveryStateResumes(t *testing.T) {
	for name, build := range built {
		for _, o := range []nodes.LoaderOptions{{}, {NoRestart: true}} {
			t.Run(fmt.Sprint(name, o), func(t *testing.T) {
				t.Parallel()
				l := nodes.NewLoader(build(), o)
				defer l.Close()
				values, states := run(t, l, 2)
				step := max(1, len(states)/40) // long ones at some places
				for i := 0; i < len(states); i += step {
					want := values[i:]
					// At an end these nodes have the state of the next beginning.
					if o.NoRestart && i > 0 && values[i-1] == "end" && name != "stateful" && name != "loader" {
						want = append([]string{"end"}, want...)
					}
					checkResumes(t, build, o, states[i], want)
				}
			})
		}
	}
}

func checkResumes(t *testing.T, build func() nodes.Node[string], o nodes.LoaderOptions, state string, want []string) {
	t.Helper()
	l := nodes.NewLoader(build(), o)
	defer l.Close()
	if err := l.SetState([]byte(state)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.AppendState(nil); err != nil || !sameJSON(t, got, state) {
		t.Fatalf("state after SetState is %s (%v), want %s", got, err, state)
	}
	for i, w := range want {
		v, err := l.Next(t.Context())
		if err == io.EOF {
			v, err = "end", nil
		}
		if err != nil || v != w {
			t.Fatalf("value %d behind %s is %q (%v), want %q", i, state, v, err, w)
		}
	}
}

// The order is what the node says.
func TestSequences(t *testing.T) {
	want := map[string]string{
		"slice":                  "0 1 2 3 4 5 6 7 8 9 10 end",
		"empty":                  "end",
		"map":                    "0 2 4 6 8 10 12 end",
		"batch":                  "[0 1 2 3] [4 5 6 7] [8 9 10] end",
		"drop":                   "[0 1 2 3] [4 5 6 7] end",
		"filter":                 "0 2 4 6 8 10 end",
		"head":                   "0 1 2 0 1 2 0 1 2 0 end",
		"round robin, all":       "0 100 200 1 101 201 2 102 202 3 103 4 104 105 106 107 108 end",
		"round robin, first":     "0 100 200 1 101 201 2 102 202 3 103 end",
		"round robin":            "0 100 200 1 101 201 2 102 202 3 103 200 4 104 201 0 105 202 1 106 200 2 107 201 3 108 202 4 end",
		"prebatch in the caller": "0 2 4 6 8 10 12 end",
	}
	for name, want := range want {
		l := nodes.NewLoader(built[name](), nodes.LoaderOptions{})
		values, _ := run(t, l, 1)
		if diff := cmp.Diff(want, strings.Join(values, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Every source is read by its weight, and to the end where the criterion says so.
func TestWeightedDrawsByWeight(t *testing.T) {
	l := nodes.NewLoader(built["weighted, forever"](), nodes.LoaderOptions{})
	defer l.Close()
	values, _ := run(t, l, 1)
	count := map[byte]int{}
	for _, v := range values {
		if len(v) == 3 {
			count[v[0]]++
		}
	}
	if b := count['1']; b < 1370 || b > 1570 { // 0.7 of 2100, and 5 sigma
		t.Errorf("%d of 2100 values are of the source with the weight 0.7", b)
	}
}

// A node that runs ahead yields what it would yield if it did not, and so do states.
func TestRunningAheadIsInvisible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(rt, "n")
		o := nodes.ParallelOptions{Workers: rapid.IntRange(1, 4).Draw(rt, "workers"),
			SnapshotEvery: rapid.IntRange(nodes.Never, 5).Draw(rt, "every"),
			Prebatch:      rapid.IntRange(0, 5).Draw(rt, "prebatch")}
		factor := rapid.IntRange(1, 6).Draw(rt, "factor")
		build := func() *nodes.Loader[int] {
			return nodes.NewLoader(must(nodes.Prefetch(must(nodes.ParallelMap(numbers(n), double, o)), factor, o.SnapshotEvery)),
				nodes.LoaderOptions{NoRestart: true})
		}
		l := build()
		defer func() { l.Close() }()
		for i := range n {
			if rapid.Bool().Draw(rt, "interrupt") {
				s, err := l.AppendState(nil)
				if err != nil {
					rt.Fatal(err)
				}
				l.Close()
				l = build()
				if err := l.SetState(s); err != nil {
					rt.Fatal(err)
				}
			}
			if v, err := l.Next(t.Context()); err != nil || v != 2*i {
				rt.Fatalf("value %d is %d, %v", i, v, err)
			}
		}
		if _, err := l.Next(t.Context()); err != io.EOF {
			rt.Fatal(err)
		}
	})
}

// An iter in the middle of an epoch begins the next one; the last one's rest is left.
func TestBeginLeavesTheEpoch(t *testing.T) {
	l := nodes.NewLoader(text(shuffled(9)), nodes.LoaderOptions{})
	defer l.Close()
	want, _ := run(t, l, 3)
	again := nodes.NewLoader(text(shuffled(9)), nodes.LoaderOptions{})
	defer again.Close()
	for epoch := range 3 {
		if err := again.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if v, err := again.Next(t.Context()); err != nil || v != want[10*epoch+i] {
				t.Fatal(epoch, i, v, err)
			}
		}
	}
}

var errBad = errors.New("bad value")

func TestConstructorsRefuse(t *testing.T) {
	source := func(names ...string) (all []nodes.Source[int]) {
		for _, n := range names {
			all = append(all, nodes.Source[int]{Name: n, Node: numbers(1), Weight: 1})
		}
		return all
	}
	check := func(what string, err error) {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	parallel := func(o nodes.ParallelOptions) error {
		_, err := nodes.ParallelMap(numbers(1), double, o)
		return err
	}
	check("workers", parallel(nodes.ParallelOptions{Workers: -1}))
	check("concurrent", parallel(nodes.ParallelOptions{Workers: 2, Prefetch: 3}))
	check("prebatch", parallel(nodes.ParallelOptions{Prebatch: -1}))
	check("snapshots", parallel(nodes.ParallelOptions{SnapshotEvery: -2}))
	_, err := nodes.Batch(numbers(1), 0, order.Short)
	check("batch", err)
	_, err = nodes.Batch(numbers(1), 2, order.Span)
	check("tail", err)
	_, err = nodes.Prefetch(numbers(1), 0, 1)
	check("prefetch", err)
	_, err = nodes.Head(numbers(1), -1)
	check("head", err)
	_, err = nodes.RoundRobin(source("a"), nodes.Forever)
	check("round robin", err)
	_, err = nodes.RoundRobin(source(), "")
	check("no source", err)
	_, err = nodes.RoundRobin(source("a", "b", "a"), "")
	check("twice", err)
	_, err = nodes.Weighted(source("a"), nodes.WeightedOptions{Stop: "X"})
	check("stop", err)
	zero := source("a")
	zero[0].Weight = 0
	_, err = nodes.Weighted(zero, nodes.WeightedOptions{})
	check("weight", err)
}

// No state is the start, also for a loader that has moved.
func TestNoStateIsTheStart(t *testing.T) {
	for name, build := range built {
		if name == "weighted, forever" {
			continue
		}
		l := nodes.NewLoader(build(), nodes.LoaderOptions{})
		var want []string
		for range 3 {
			if err := l.SetState(nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			for v, err := range l.Epoch(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, v)
			}
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A state that was changed is refused: torchdata's own have no checksum.
func TestChangedStateIsRefused(t *testing.T) {
	l := nodes.NewLoader(built["chain over all of it"](), nodes.LoaderOptions{})
	defer l.Close()
	if _, err := l.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	saved, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range saved {
		if c < '0' || c > '9' {
			continue
		}
		for digit := byte('0'); digit <= '9'; digit++ {
			b := append([]byte(nil), saved...)
			if b[i] = digit; digit != c && !errors.Is(l.SetState(b), errs.Corrupt) {
				t.Errorf("accepted: %s", b)
			}
		}
	}
	own, err := state.CheckSeal(saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetState(own); err != nil || strings.Contains(string(own), "checksum") {
		t.Errorf("without a checksum, as torchdata writes it: %v, %s", err, own)
	}
}
