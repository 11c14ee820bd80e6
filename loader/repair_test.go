package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Where streams have ended, snapshots are still taken: what is made again is bounded.
func TestSnapshotsGoOnWhenStreamsHaveEnded(t *testing.T) {
	l := openIterable(t, uneven(60, 1, 1), options{Streams: 3, SnapshotEvery: 3})
	for range 50 {
		take(t, l, 1)
		var d struct{ Extra struct{ Since int64 } }
		if err := json.Unmarshal(snapshot(t, l), &d); err != nil || d.Extra.Since > 3 {
			t.Fatalf("%d batches behind the state, %v", d.Extra.Since, err)
		}
	}
}

func TestOrderOutOfRange(t *testing.T) {
	l := open(t, ids(10), options{BatchSize: 5, Order: order.Sequential(12)})
	take(t, l, 2)
	if _, err := l.Next(context.Background()); !errors.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "id 10 from the order") {
		t.Error(err)
	}
}

// A data set that is its own iterator is brought back too, to its start and to the
// end of its last pass.
func TestItsOwnIteratorIsBroughtBack(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	l := openIterable(t, &shaky{own: newOwn(9), broken: &broken}, options{BatchSize: 3})
	if _, err := l.Next(context.Background()); !errors.Is(err, errBad) {
		t.Fatal(err)
	}
	broken.Store(false)
	whole := epochs(t, openIterable(t, newOwn(9), options{BatchSize: 3}), 2)
	if diff := cmp.Diff(whole[0], take(t, l, -1)); diff != "" {
		t.Error(diff)
	}
	between := snapshot(t, l)
	next := openIterable(t, &shaky{own: newOwn(9), broken: &broken}, options{BatchSize: 3})
	restore(t, next, between)
	if diff := cmp.Diff(whole[1], take(t, next, -1)); diff != "" {
		t.Errorf("from a state between epochs: %s", diff)
	}
}

// shaky fails behind its second item while it is broken; it cannot be cloned.
type shaky struct {
	*own
	broken *atomic.Bool
}

func (s *shaky) Clone() {} // hides own.Clone
func (s *shaky) Open(ctx context.Context) (loader.Iterator[int64], error) {
	_, err := s.own.Open(ctx)
	return s, err
}

func (s *shaky) Next(ctx context.Context) (int64, error) {
	v, err := s.own.Next(ctx)
	if v == 1 && s.broken.Load() {
		return 0, errBad
	}
	return v, err
}

func TestItsOwnIteratorNeedsAClone(t *testing.T) {
	l := openIterable(t, &shaky{own: newOwn(9), broken: &atomic.Bool{}}, options{Streams: 2})
	if _, err := l.Next(context.Background()); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "Clone") {
		t.Error(err)
	}
}

// A pass that cannot begin changes nothing: the state is what was set, and the next
// attempt goes on from it.
func TestPassThatCannotBegin(t *testing.T) {
	for _, every := range []int{1, 5} {
		a := openIterable(t, plain(40), options{BatchSize: 2, SnapshotEvery: 5})
		take(t, a, 8)
		saved := snapshot(t, a)
		want := take(t, a, -1)
		closed := true
		door := opener(func(ctx context.Context) (loader.Iterator[int64], error) {
			if closed {
				return nil, errBad
			}
			return plain(40).Open(ctx)
		})
		l := openIterable(t, door, options{BatchSize: 2, SnapshotEvery: every})
		restoreAnyData(t, l, saved)
		before := snapshot(t, l)
		if _, err := l.Next(context.Background()); !errors.Is(err, errBad) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(snapshot(t, l))); diff != "" {
			t.Errorf("every %d: %s", every, diff)
		}
		closed = false
		if diff := cmp.Diff(want, take(t, l, -1)); diff != "" {
			t.Errorf("every %d: %s", every, diff)
		}
	}
}

// A data set without streams refuses a state with streams, and the other way round.
func TestStreamsMustBeThere(t *testing.T) {
	with := open(t, fingerprinted{&counter{N: 10}}, options{})
	without := open(t, named{ids(10), "a"}, options{})
	for _, pair := range [][2]*loader.Loader[int64, tensor.Tensor]{{with, without}, {without, with}} {
		if err := pair[0].SetState(snapshot(t, pair[1])); !errors.Is(err, errs.Mismatch) ||
			!strings.Contains(err.Error(), "streams") {
			t.Error(err)
		}
	}
}

type fingerprinted struct{ *counter }

func (fingerprinted) Fingerprint() string { return "a" }

func TestBulkThatGivesTooLittle(t *testing.T) {
	l := open(t, shortBulk{ids(10)}, options{BatchSize: 3})
	if _, err := l.Next(context.Background()); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "AtAll") {
		t.Error(err)
	}
}

type shortBulk struct{ loader.Slice[int64] }

func (s shortBulk) AtAll(_ context.Context, ids []int64, _ func(int) loader.Random) ([]int64, error) {
	return ids[1:], nil
}

// Which sample of a batch fails is found out one by one.
func TestBulkSkipsOneByOne(t *testing.T) {
	l := open(t, tracedBulk{failing(6, 4, always)}, options{BatchSize: 3, OnError: faults.Policy{Action: faults.Skip}})
	if diff := cmp.Diff([][]int64{{0, 1, 2}, {3, 5}}, take(t, l, -1)); diff != "" {
		t.Error(diff)
	}
}

type tracedBulk struct{ loader.Map[int64] }

func (b tracedBulk) AtAll(ctx context.Context, ids []int64, r func(int) loader.Random) (out []int64, err error) {
	for i, id := range ids {
		v, err := b.At(ctx, id, r(i))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Pinned memory is used again.
func TestPinnedMemoryIsBounded(t *testing.T) {
	l := open(t, ids(1000), options{BatchSize: 2, Pinned: true, Workers: 1, Log: slog.New(slog.DiscardHandler)})
	places := map[*byte]bool{}
	for range 400 {
		b, err := l.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		places[unsafe.SliceData(b.Data)] = true
	}
	if len(places) > 8 {
		t.Errorf("%d places for batches", len(places))
	}
}

// Batches of a window all come before any of another size: a state within knows them.
func TestWindowIsDoneFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := loader.New(newGate(20, 2), options{BatchSize: 2, Workers: 2, OutOfOrder: true})
		take(t, l, 2)
		saved := snapshot(t, l)
		next, _ := loader.New(newGate(20, 2), options{BatchSize: 5, Workers: 2, OutOfOrder: true})
		restore(t, next, saved)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if b, err := next.Next(ctx); !errors.Is(err, errs.Canceled) {
			t.Errorf("%v before the window is done: %v", b.Data, err)
		}
		d, err := state.Unmarshal(snapshot(t, next))
		if err != nil || string(d.Extra["window"]) != `{"bits":"01","global":2,"world":1}` {
			t.Errorf("%v: %s", err, d.Extra["window"])
		}
		cancel()
		if err := errors.Join(l.Close(), next.Close()); err != nil {
			t.Error(err)
		}
	})
}

// What a worker that was given up is still at is not closed under it.
func TestDataSetOfALostWorkerIsNotClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		var hanging, closed atomic.Int64
		make := func(context.Context) (loader.Map[int64], error) {
			return &closing{Slice: ids(8), hang: release, hanging: &hanging, closed: &closed}, nil
		}
		l, err := loader.New(loader.Factory(ids(8), make), options{BatchSize: 2, Workers: 2, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Next(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		start := snapshot(t, l)
		restore(t, l, start)
		if err := l.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		if closed.Load() != 1 {
			t.Errorf("%d of 2 data sets closed, one hangs", closed.Load())
		}
		close(release)
		synctest.Wait()
		if n := len(take(t, l, -1)); n != 4 {
			t.Errorf("%d batches", n)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

type closing struct {
	loader.Slice[int64]
	hang            chan bool
	hanging, closed *atomic.Int64
}

func (c *closing) At(ctx context.Context, id int64, r loader.Random) (int64, error) {
	if id == 0 && c.hanging.Add(1) == 1 {
		<-c.hang
	}
	return c.Slice.At(ctx, id, r)
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return nil
}

var _ io.Closer = (*closing)(nil)
