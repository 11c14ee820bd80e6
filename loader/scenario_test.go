package loader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/tensor"
)

// S8, S15: before the first batch, before and after Start, the state is the state of the beginning;
// a state that was set stays until a batch is taken.
func TestInitialStates(t *testing.T) {
	for _, workers := range []int{0, 2} {
		for name, make := range map[string]func() *loader.Loader[int64, tensor.Tensor]{
			"map": func() *loader.Loader[int64, tensor.Tensor] {
				return open(t, ids(20), options{Shuffle: true, Workers: workers})
			},
			"iterable": func() *loader.Loader[int64, tensor.Tensor] {
				return openIterable(t, plain(20), options{Workers: workers, Streams: 2})
			},
			"stateful": func() *loader.Loader[int64, tensor.Tensor] {
				return openIterable(t, newOwn(20), options{Workers: workers, Streams: 2})
			},
		} {
			whole := epochs(t, make(), 1)[0]
			a := make()
			before := snapshot(t, a)
			if err := a.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			for i, b := range [][]byte{before, snapshot(t, a)} {
				l := make()
				restore(t, l, b)
				if again := snapshot(t, l); !bytes.Equal(b, again) {
					t.Errorf("%s: state %d of a state:\n%s\n%s", name, i, b, again)
				}
				if diff := cmp.Diff(whole, take(t, l, -1)); diff != "" {
					t.Errorf("%s: state %d: %s", name, i, diff)
				}
			}
		}
	}
}

// S17: what a state holds grows with the data set's own, and a state that was given
// never changes.
func TestStatesAreNotChangedLater(t *testing.T) {
	l := openIterable(t, &logging{n: 40}, options{BatchSize: 2, Workers: 1})
	var states, copies [][]byte
	for range 10 {
		take(t, l, 1)
		b := snapshot(t, l)
		states, copies = append(states, b), append(copies, bytes.Clone(b))
	}
	for i := range states {
		if !bytes.Equal(states[i], copies[i]) {
			t.Errorf("state %d has changed", i)
		}
		if i > 0 && len(states[i]) <= len(states[i-1]) {
			t.Errorf("state %d has not grown", i)
		}
	}
	for i, b := range states {
		next := openIterable(t, &logging{n: 40}, options{BatchSize: 2})
		restore(t, next, b)
		if got := take(t, next, 1)[0][0]; got != int64(2*i+2) {
			t.Errorf("after state %d comes %d", i, got)
		}
	}
}

// logging keeps all it has given in its state.
type logging struct {
	n    int64
	Seen []int64 `json:"seen"`
}

func (l *logging) Clone(context.Context) (loader.Iterable[int64], error) {
	return &logging{n: l.n}, nil
}
func (l *logging) Open(context.Context) (loader.Iterator[int64], error) { return l, nil }
func (l *logging) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(l)
	return append(dst, b...), err
}
func (l *logging) SetState(b []byte) error { return json.Unmarshal(b, l) }
func (l *logging) Next(context.Context) (int64, error) {
	v := int64(len(l.Seen))
	if v == l.n {
		return 0, io.EOF
	}
	l.Seen = append(l.Seen, v)
	return v, nil
}

// S18: an iterator that has a state only at every fourth item yields the items since then again;
// nothing is lost.
func TestPeriodicStates(t *testing.T) {
	for k := range 12 {
		a := openIterable(t, periodic{}, options{})
		got := slices.Concat(take(t, a, k)...)
		b := openIterable(t, periodic{}, options{})
		restore(t, b, snapshot(t, a))
		rest := slices.Concat(take(t, b, -1)...)
		if first := int64(k - k%4); rest[0] != first {
			t.Errorf("after %d: goes on at %d", k, rest[0])
		}
		got = append(got[:k-k%4], rest...)
		if diff := cmp.Diff([]int64(ids(20)), got); diff != "" {
			t.Errorf("after %d: %s", k, diff)
		}
	}
}

type periodic struct{}

func (periodic) Open(context.Context) (loader.Iterator[int64], error) {
	return &periodicItems{position{Step: 1, Size: 20}}, nil
}

type periodicItems struct{ position }

func (p *periodicItems) AppendState(dst []byte) ([]byte, error) {
	rounded := p.position
	rounded.I -= rounded.I % 4
	return rounded.AppendState(dst)
}

// counter is a Map with a state: how often it was read, which is in each sample.
type counter struct {
	N     int64 `json:"-"`
	Calls int64 `json:"calls"`
}

func (c *counter) Len() int64                                       { return c.N }
func (c *counter) Clone(context.Context) (loader.Map[int64], error) { return &counter{N: c.N}, nil }
func (c *counter) SetState(b []byte) error                          { return json.Unmarshal(b, c) }
func (c *counter) At(_ context.Context, id int64, _ loader.Random) (int64, error) {
	c.Calls++
	return id*1000 + c.Calls, nil
}
func (c *counter) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(c)
	return append(dst, b...), err
}

// S3: what a Map draws from its own state is exact too, with any goroutines.
func TestMapWithAState(t *testing.T) {
	for _, every := range []int{1, 3} {
		whole := epochs(t, open(t, &counter{N: 23}, options{BatchSize: 2, Streams: 3, Shuffle: true}), 2)
		for k := range len(whole[0]) + 1 {
			a := open(t, &counter{N: 23}, options{BatchSize: 2, Streams: 3, Shuffle: true, Workers: 2, SnapshotEvery: every})
			got := take(t, a, k)
			b := open(t, &counter{N: 23}, options{BatchSize: 2, Shuffle: true, Workers: k % 3, SnapshotEvery: every})
			restore(t, b, snapshot(t, a))
			got = append(got, take(t, b, -1)...)
			if diff := cmp.Diff(whole, [][][]int64{got, take(t, b, -1)}); diff != "" {
				t.Fatalf("every %d after %d: %s", every, k, diff)
			}
		}
	}
}

// bulk reads batches, and counts them.
type bulk struct {
	loader.Slice[int64]
	calls *int
	bad   int64
}

func (b bulk) AtAll(_ context.Context, ids []int64, r func(int) loader.Random) ([]int64, error) {
	*b.calls++
	var out []int64
	for i, id := range ids {
		if id == b.bad {
			return nil, errBad
		}
		if r(i).Position() < 0 {
			return nil, errors.New("no position")
		}
		out = append(out, id)
	}
	return out, nil
}

// S26: data sets that read whole batches; with a policy their failures are traced to
// the sample.
func TestBulk(t *testing.T) {
	calls := 0
	l := open(t, bulk{ids(10), &calls, -1}, options{BatchSize: 3})
	if n := len(slices.Concat(take(t, l, -1)...)); n != 10 || calls != 4 {
		t.Errorf("%d samples in %d calls", n, calls)
	}
	l = open(t, bulk{ids(10), &calls, 4}, options{BatchSize: 3})
	take(t, l, 1)
	if _, err := l.Next(context.Background()); !errors.Is(err, errBad) {
		t.Error(err)
	}
}

// Orders of package order, endless or not, are delivered epoch by epoch.
func TestOrders(t *testing.T) {
	for name, o := range map[string]order.Order{
		"cycle": order.NewCycle(10), "once": order.Sequential(6), "permutation": order.NewPermutation(10, 5), "shuffled": order.NewShuffled(10, 3, "x"),
	} {
		whole := epochs(t, open(t, ids(10), options{BatchSize: 4, Order: o}), 3)
		want := int64(10)
		if n, once := o.Len(); once {
			want = n
		}
		for i, e := range whole {
			all := slices.Concat(e...)
			ids := make([]int64, want)
			start := int64(i) * want
			if _, once := o.Len(); once {
				start = 0
			}
			o.Fill(start, ids)
			if diff := cmp.Diff(ids, all); diff != "" {
				t.Errorf("%s epoch %d: %s", name, i, diff)
			}
		}
		a := open(t, ids(10), options{BatchSize: 4, Order: o})
		epochs(t, a, 1)
		take(t, a, 1)
		b := open(t, ids(10), options{BatchSize: 3, Order: o, Workers: 1})
		restore(t, b, snapshot(t, a))
		if diff := cmp.Diff(slices.Concat(whole[1][1:]...), slices.Concat(take(t, b, -1)...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Coverage proves that an epoch has drawn each sample once.
func TestCoverage(t *testing.T) {
	l := open(t, ids(101), options{BatchSize: 8, Shuffle: true})
	epochs(t, l, 2)
	take(t, l, 1)
	var d struct {
		Extra struct {
			Coverage []struct{ Count, Epoch, Sum, XOR int64 }
		}
	}
	if err := json.Unmarshal(snapshot(t, l), &d); err != nil {
		t.Fatal(err)
	}
	xor := int64(0)
	for id := range int64(101) {
		xor ^= id
	}
	got := fmt.Sprint(d.Extra.Coverage[0], d.Extra.Coverage[1].Epoch, d.Extra.Coverage[1].Count)
	if want := fmt.Sprint(struct{ Count, Epoch, Sum, XOR int64 }{101, 1, 101 * 50, xor}, 2, 8); got != want {
		t.Errorf("coverage %s, want %s", got, want)
	}
}

// The law for streams: any interruptions, goroutines and intervals of snapshots.
func TestStreamsLaw(t *testing.T) {
	want := map[int][]int64{}
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.SampledFrom([]int{1, 1, 2, 7, loader.SnapshotNever})
		streams := rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "streams")
		kind := rapid.SampledFrom([]string{"plain", "iterator", "itself"}).Draw(t, "kind")
		var got []int64
		var saved []byte
		legs := rapid.IntRange(1, 4).Draw(t, "legs")
		if want[streams] == nil {
			want[streams], _ = streamLeg(t, kinds["plain"](), options{BatchSize: 3, Streams: streams}, nil, -1)
		}
		for i := range legs {
			steps := rapid.IntRange(0, 6).Draw(t, fmt.Sprint("steps ", i))
			if i == legs-1 {
				steps = -1
			}
			o := options{BatchSize: 3, Streams: streams, Workers: rapid.IntRange(0, 4).Draw(t, fmt.Sprint("workers ", i)),
				SnapshotEvery: every.Draw(t, fmt.Sprint("every ", i))}
			o.Persistent = o.Workers > 0 && rapid.Bool().Draw(t, fmt.Sprint("persistent ", i))
			part, b := streamLeg(t, kinds[kind](), o, saved, steps)
			got, saved = append(got, part...), b
		}
		if diff := cmp.Diff(want[streams], got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// streamLeg delivers some batches from a state, or with n < 0 the rest of the epoch.
func streamLeg(t *rapid.T, ds loader.Iterable[int64], o options, saved []byte, n int) (samples []int64, state []byte) {
	l, err := loader.NewIterable(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if saved != nil {
		if err := l.SetState(saved); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i != n; i++ {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		v, _ := tensor.Of[int64](b)
		samples = append(samples, v...)
	}
	if state, err = l.AppendState(nil); err != nil {
		t.Fatal(err)
	}
	return samples, state
}
