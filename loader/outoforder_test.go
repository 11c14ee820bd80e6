package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// gate holds samples back until they are let through.
type gate struct {
	n    int64
	held map[int64]chan bool
}

func newGate(n int64, held ...int64) *gate {
	g := &gate{n: n, held: map[int64]chan bool{}}
	for _, id := range held {
		g.held[id] = make(chan bool)
	}
	return g
}

func (g *gate) Len() int64          { return g.n }
func (g *gate) Fingerprint() string { return "gate" }

func (g *gate) At(ctx context.Context, id int64, _ loader.Random) (int64, error) {
	if c := g.held[id]; c != nil {
		select {
		case <-c:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return id, nil
}

// S24: a slow batch is overtaken, the state knows which batches were handed out, and
// a run that goes on delivers each of the others once, in order or not, with batches
// of another size or not.
func TestOutOfOrderIsExactlyOnce(t *testing.T) {
	for _, after := range []options{{BatchSize: 2, OutOfOrder: true, Workers: 3}, {BatchSize: 2},
		{BatchSize: 5, Workers: 1}} {
		l := open(t, newGate(20, 2), options{BatchSize: 2, Workers: 2, Prefetch: 2, OutOfOrder: true})
		got := take(t, l, 4) // batch 1 hangs; 0, 2, 3 and 4 come
		first := slices.Concat(got...)
		if slices.Contains(first, 2) || len(first) != 8 {
			t.Fatalf("delivered %v", first)
		}
		saved := snapshot(t, l)
		d, err := state.Unmarshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"bits":"0111","global":2,"world":1}`; string(d.Extra["window"]) != want || d.Position != 2 {
			t.Errorf("position %d, window %s, want 2 and %s", d.Position, d.Extra["window"], want)
		}
		next := open(t, newGate(20), after)
		restore(t, next, saved)
		if again := snapshot(t, next); !bytes.Equal(saved, again) && after.BatchSize == 2 {
			t.Errorf("state after a state:\n%s\n%s", saved, again)
		}
		if err := next.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		begun, err := state.Unmarshal(snapshot(t, next))
		if err != nil || string(begun.Extra["window"]) != string(d.Extra["window"]) {
			t.Errorf("%v: window %s after a start, %s before", err, begun.Extra["window"], d.Extra["window"])
		}
		all := append(first, slices.Concat(take(t, next, -1)...)...)
		slices.Sort(all)
		if diff := cmp.Diff([]int64(ids(20)), all); diff != "" {
			t.Errorf("%+v: %s", after, diff)
		}
		whole := open(t, newGate(20), options{BatchSize: 2})
		take(t, whole, -1)
		if a, b := digest(t, whole), digest(t, next); a != b {
			t.Errorf("digests %s and %s", a, b)
		}
	}
}

func digest(t testing.TB, l *loader.Loader[int64, tensor.Tensor]) string {
	t.Helper()
	d, err := state.Unmarshal(snapshot(t, l))
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest + string(d.Extra["coverage"])
}

// Batches that were handed out ahead belong to the number of ranks that got them.
func TestOutOfOrderStateKeepsTheNumberOfRanks(t *testing.T) {
	l := open(t, newGate(40, 0), options{BatchSize: 2, Workers: 2, OutOfOrder: true, World: 2})
	take(t, l, 1)
	saved := snapshot(t, l)
	other := open(t, newGate(40), options{BatchSize: 2, World: 4})
	if err := other.SetState(saved); !errors.Is(err, errs.Mismatch) {
		t.Errorf("error %v", err)
	}
}

// S24 for streams: whichever stream is slow, each item comes once.
func TestOutOfOrderStreams(t *testing.T) {
	hold := make(chan bool)
	ds := func(held bool) loader.Iterable[int64] {
		return loader.Iterable[int64](opener(func(ctx context.Context) (loader.Iterator[int64], error) {
			w, _ := loader.WorkerInfoOf(ctx)
			it, err := seekable{size: 31}.Open(ctx)
			if w.ID == 0 && held {
				return waiting{it, hold}, err
			}
			return it, err
		}))
	}
	l := openIterable(t, ds(true), options{BatchSize: 2, Workers: 3, OutOfOrder: true})
	first := slices.Concat(take(t, l, 2)...)
	next := openIterable(t, ds(false), options{BatchSize: 3, Workers: 2})
	restore(t, next, snapshot(t, l))
	all := append(first, slices.Concat(take(t, next, -1)...)...)
	slices.Sort(all)
	if diff := cmp.Diff([]int64(ids(31)), all); diff != "" {
		t.Error(diff)
	}
	close(hold)
}

type opener func(context.Context) (loader.Iterator[int64], error)

func (o opener) Open(ctx context.Context) (loader.Iterator[int64], error) { return o(ctx) }
func (opener) Fingerprint() string                                        { return "opener" }

type waiting struct {
	loader.Iterator[int64]
	hold chan bool
}

func (w waiting) Next(ctx context.Context) (int64, error) {
	select {
	case <-w.hold:
	case <-ctx.Done():
	}
	return w.Iterator.Next(ctx)
}

// Batches of a window keep their size, also when no batch before it was settled and
// the size has changed twice: a state from behind them is taken.
func TestStateBehindAWindowOfAnotherSize(t *testing.T) {
	l := open(t, newGate(23, 0), options{BatchSize: 2, Workers: 2, Prefetch: 2, OutOfOrder: true})
	take(t, l, 3) // batch 0 hangs
	for _, o := range []options{{BatchSize: 1}, {BatchSize: 5}} {
		next := open(t, newGate(23), o)
		restore(t, next, first(t, snapshot(t, l)))
		l = next
	}
	take(t, l, 1)
	saved := snapshot(t, l)
	if d, err := state.Unmarshal(saved); err != nil || d.Batch != 4 || d.Position != 8 {
		t.Errorf("%v: %s", err, saved)
	}
	for _, b := range [][]byte{saved, first(t, saved)} {
		restore(t, open(t, newGate(23), options{BatchSize: 5}), b)
	}
}

// Whatever overtakes what, each sample comes once over any interruptions.
func TestOutOfOrderLaw(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.Bool().Draw(t, "states without a checksum")
		n := rapid.Int64Range(0, 60).Draw(t, "n")
		var saved []byte
		var all []int64
		for i := range 4 {
			held := rapid.SliceOfN(rapid.Int64Range(0, max(n, 1)-1), 0, 2).Draw(t, fmt.Sprint("held ", i))
			g := newGate(n, held...)
			l, err := loader.New(g, options{BatchSize: rapid.IntRange(1, 7).Draw(t, fmt.Sprint("batch ", i)), Shuffle: true,
				OutOfOrder: true,
				Workers:    3, Prefetch: rapid.IntRange(1, 3).Draw(t, fmt.Sprint("prefetch ", i))})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if saved != nil {
				if err := l.SetState(saved); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			if i == 3 {
				for _, c := range g.held {
					close(c)
				}
			}
			for step := 0; i == 3 || step < rapid.IntRange(0, 6).Draw(t, fmt.Sprint("steps ", i)); step++ {
				if i < 3 && len(held) > 0 && step > 0 { // more could block
					break
				}
				if i < 3 && len(held) > 0 {
					cancel() // what is ready comes nevertheless
				}
				b, err := l.Next(ctx)
				if errors.Is(err, io.EOF) || errors.Is(err, errs.Canceled) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				v, _ := tensor.Of[int64](b)
				all = append(all, v...)
			}
			cancel()
			if int64(len(all)) == n && i < 3 {
				return
			}
			if saved, err = l.AppendState(nil); err != nil {
				t.Fatal(err)
			}
			if old {
				saved = first(whole, saved)
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff([]int64(ids(int(n))), all, cmp.Transformer("nil",
			func(s []int64) []int64 { return append([]int64{}, s...) })); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A state of version 1 over streams is taken whatever wrote it, in or out of order, with
// errors passed on or skipped, at any size of batches. Another loader takes it, too, unless
// errors were passed on or skipped out of order.
func TestStatesOfStreamsAreTakenWhateverWroteThem(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 40).Draw(t, "size")
		bad := rapid.SliceOfN(rapid.Int64Range(0, 40), 0, 4).Draw(t, "bad")
		streams := rapid.IntRange(1, 4).Draw(t, "streams")
		ds := loader.IterFunc[int64](func(ctx context.Context) iter.Seq2[int64, error] {
			w, _ := loader.WorkerInfoOf(ctx)
			return func(yield func(int64, error) bool) {
				for i := int64(w.ID); i < size; i += int64(w.N) {
					var err error
					if slices.Contains(bad, i) {
						err = errBad
					}
					if !yield(i, err) {
						return
					}
				}
			}
		})
		ahead, action := rapid.Bool().Draw(t, "out of order"), faults.Action(rapid.IntRange(1, 2).Draw(t, "action"))
		draw := func(name string) options {
			o := options{Streams: streams, BatchSize: rapid.IntRange(1, 3).Draw(t, name+" batch"),
				Workers:    rapid.IntRange(0, 2).Draw(t, name+" workers"),
				OutOfOrder: ahead, SnapshotEvery: rapid.IntRange(0, 3).Draw(t, name+" snapshot"),
				Log: slog.New(slog.DiscardHandler)}
			o.OnError.Action = action
			return o
		}
		var saved []byte
		for leg := range 3 {
			l, err := loader.NewIterable[int64, tensor.Tensor](ds, draw(fmt.Sprint("leg ", leg)))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if saved != nil {
				if err := l.SetState(saved); err != nil {
					t.Fatalf("%v\n%s", err, saved)
				}
			}
			for range rapid.IntRange(0, 9).Draw(t, fmt.Sprint("steps ", leg)) {
				l.Next(context.Background())
			}
			if saved, err = l.AppendState(nil); err != nil {
				t.Fatal(err)
			}
			saved = first(whole, saved)
		}
		if ahead && len(bad) > 0 {
			return // such a state is like a damaged one
		}
		strict, err := loader.NewIterable[int64, tensor.Tensor](ds,
			options{Streams: streams, BatchSize: 2, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer strict.Close()
		if err := strict.SetState(saved); err != nil {
			t.Fatalf("%v\n%s", err, saved)
		}
	})
}
