package loader_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/logtest"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Where several options are wrong, the one that torch would look at first is named: package
// torchdata relies on it.
func TestChecksComeInOrder(t *testing.T) {
	sampler, batches := listSampler{0}, batchList{{0}}
	for i, c := range []struct {
		o        options
		iterable bool
		want     string
	}{
		{options{Workers: -1, Timeout: -1, Prefetch: 2}, false, "Workers"},
		{options{Timeout: -1, Prefetch: 2}, false, "Timeout"},
		{options{Prefetch: 2, Persistent: true}, false, "Prefetch"},
		{options{Workers: 1, Prefetch: -1}, false, "Prefetch"},
		{options{Persistent: true}, false, "Persistent"},
		{options{Shuffle: true, Sampler: sampler}, true, "Shuffle"},
		{options{Sampler: sampler, BatchSampler: batches}, true, "Sampler"},
		{options{BatchSampler: batches}, true, "BatchSampler"},
		{options{Sampler: sampler, Shuffle: true, BatchSampler: batches}, false, "Sampler"},
		{options{BatchSampler: batches, BatchSize: 2}, false, "BatchSampler"},
		{options{BatchSampler: batches, Shuffle: true}, false, "BatchSampler"},
		{options{BatchSampler: batches, Sampler: sampler}, false, "BatchSampler"},
		{options{BatchSampler: batches, Tail: order.Drop}, false, "BatchSampler"},
		{options{BatchSize: loader.NoBatching, Tail: order.Drop}, false, "Tail"},
		{options{Tail: order.Span}, false, "Tail"},
		{options{Tail: order.Pad}, true, "Tail"},
		{options{BatchSize: -2}, false, "BatchSize"},
		{options{Timeout: time.Second}, false, "Timeout"},
		{options{SnapshotEvery: -2}, false, "SnapshotEvery"},
		{options{Rank: 1}, false, "Rank"},
		{options{Rank: -1, World: 2}, false, "Rank"},
		{options{World: -1}, false, "Rank"},
		{options{Order: order.Sequential(3), Shuffle: true}, false, "Order"},
		{options{GlobalBatch: 4, BatchSize: 2}, false, "GlobalBatch"},
		{options{GlobalBatch: 2, World: 3}, false, "GlobalBatch"},
		{options{BatchSize: 1 << 30, World: 8}, false, "BatchSize"},
		{options{Streams: -1}, true, "Streams"},
		{options{OnError: faults.Policy{Action: 9}}, false, "OnError.Action"},
		{options{OnError: faults.Policy{Retries: -1}}, false, "OnError"},
	} {
		var err error
		if c.iterable {
			_, err = loader.NewIterable(plain(3), c.o)
		} else {
			_, err = loader.New(ids(3), c.o)
		}
		if !errors.Is(err, errs.Invalid) || !strings.HasPrefix(err.Error(), "loader.New: "+c.want) {
			t.Errorf("case %d: %v, want %s", i, err, c.want)
		}
	}
	if _, err := loader.New[int64](nil, options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("no data set: %v", err)
	}
	if _, err := loader.NewIterable[int64](nil, options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("no data set: %v", err)
	}
}

func TestLen(t *testing.T) {
	check := func(n int64, known bool, want int64, wantKnown bool) {
		t.Helper()
		if n != want || known != wantKnown {
			t.Errorf("%d, %t, want %d, %t", n, known, want, wantKnown)
		}
	}
	for _, c := range []struct {
		o    options
		want int64
	}{
		{options{}, 10}, {options{BatchSize: 3}, 4}, {options{BatchSize: 3, Tail: order.Drop}, 3}, {options{BatchSize: 2, World: 2}, 3},
		{options{GlobalBatch: 4}, 3}, {options{Sampler: listSampler{1, 2, 3}, BatchSize: 2}, 2}, {options{BatchSampler: batchList{{1}, {2}, {3}}}, 3},
		{options{Order: order.Sequential(7), BatchSize: 2}, 4},
	} {
		n, known := open(t, ids(10), c.o).Len()
		check(n, known, c.want, true)
	}
	n, known := open(t, ids(10), options{Sampler: endless{}}).Len()
	check(n, known, 0, false)
	n, known = openIterable(t, plain(5), options{}).Len()
	check(n, known, 0, false)
	n, known = openIterable(t, sized{plain(9), 7}, options{BatchSize: 2}).Len()
	check(n, known, 4, true)
}

type endless struct{}

func (endless) Len() int64                 { return -1 }
func (endless) Open() order.Cursor[int64]  { return endless{} }
func (endless) Next() (int64, bool, error) { return 0, true, nil }

// sized announces a length that may be wrong.
type sized struct {
	loader.Iterable[int64]
	n int64
}

func (s sized) Len() (int64, bool) { return s.n, true }

// An Iterable that gives more than it announced is told of once, if Len was asked.
func TestOverrunWarning(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var warnings []string
		l := openIterable(t, sized{plain(12), 7}, options{BatchSize: 2,
			Log: logtest.New(func(m string) { warnings = append(warnings, m) })})
		if asked {
			l.Len()
		}
		epochs(t, l, 2)
		if want := map[bool]int{true: 1}[asked]; len(warnings) != want {
			t.Errorf("asked %t: warnings %q", asked, warnings)
		}
	}
}

// A warning goes to Log, or to the default logger of its time, and says where it is from.
func TestWarningsSayWhereTheyAreFrom(t *testing.T) {
	const want = "level=WARN msg=\"the data set announced 4 batches, when Len was asked, but has given 5\" from=loader\n"
	written := func(b *bytes.Buffer) *slog.Logger {
		return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	}
	var own, process bytes.Buffer
	for _, log := range []*slog.Logger{written(&own), nil} {
		l := openIterable(t, sized{plain(12), 7}, options{BatchSize: 2, Log: log})
		l.Len()
		before := slog.Default()
		slog.SetDefault(written(&process))
		epochs(t, l, 2)
		slog.SetDefault(before)
	}
	if own.String() != want || process.String() != want {
		t.Errorf("%q and %q, want %q each", own.String(), process.String(), want)
	}
}

// WorkerInit runs after a worker is seeded and before its data set is read; each
// worker has its own data set if it can.
func TestWorkers(t *testing.T) {
	type seen struct {
		id, n int
		seed  uint64
	}
	started := make(chan seen, 8)
	cloned := make(chan int, 8)
	ds := loader.Factory(ids(8), func(ctx context.Context) (loader.Map[int64], error) {
		w, ok := loader.WorkerInfoOf(ctx)
		if !ok {
			t.Error("a clone for no worker")
		}
		cloned <- w.ID
		return ids(8), nil
	})
	for _, persistent := range []bool{false, true} {
		l := open(t, ds, options{Workers: 2, Persistent: persistent, WorkerInit: func(ctx context.Context) error {
			w, _ := loader.WorkerInfoOf(ctx)
			if _, ok := w.Dataset.(loader.Slice[int64]); !ok {
				t.Errorf("data set %T", w.Dataset)
			}
			started <- seen{w.ID, w.N, w.Seed}
			return nil
		}})
		epochs(t, l, 2)
		if want := map[bool]int{false: 4, true: 2}[persistent]; len(cloned) != want {
			t.Errorf("persistent %t: %d clones", persistent, len(cloned))
		}
		seeds := map[uint64]bool{}
		for range 4 {
			s := <-started
			seeds[s.seed] = true
			if s.n != 2 || s.id > 1 {
				t.Errorf("%+v", s)
			}
		}
		if len(seeds) != 4 {
			t.Errorf("%d seeds for two workers and two epochs", len(seeds))
		}
		for len(cloned) > 0 {
			<-cloned
		}
	}
	if _, ok := loader.WorkerInfoOf(context.Background()); ok {
		t.Error("a worker outside of a loader")
	}
}

func TestGeneratorGivesTheSeed(t *testing.T) {
	orderOf := func(o options) string {
		o.Shuffle, o.BatchSize = true, 100
		return string(snapshot(t, open(t, ids(100), o)))
	}
	a, b := rng.NewPhilox(1, 0, 0), rng.NewPhilox(1, 0, 0)
	if orderOf(options{Generator: &a}) != orderOf(options{Generator: &b}) {
		t.Error("equal generators give different seeds")
	}
	if orderOf(options{Generator: &a}) == orderOf(options{Generator: &b, Seed: 4}) {
		t.Error("a seed that is given counts")
	}
}

// Breaking off a loop and beginning another is a new epoch, as in torch; Next would go on.
func TestEpochAfterABrokenOffLoop(t *testing.T) {
	for _, workers := range []int{0, 2} {
		l := open(t, ids(10), options{BatchSize: 2, Shuffle: true, Workers: workers})
		want := epochs(t, open(t, ids(10), options{BatchSize: 2, Shuffle: true}), 2)[1]
		for range l.Epoch(context.Background()) {
			break
		}
		n := 0
		for _, err := range l.Epoch(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%d batches in the epoch after", n)
		}
		// a state that was set is gone on from
		take(t, l, 2)
		saved := snapshot(t, l)
		restore(t, l, saved)
		n = 0
		for range l.Epoch(context.Background()) {
			n++
		}
		if n != 3 {
			t.Errorf("%d batches after a state", n)
		}
	}
}

func TestClosedLoader(t *testing.T) {
	l := open(t, ids(3), options{})
	l.Close()
	_, err := l.Next(context.Background())
	_, err2 := l.AppendState(nil)
	for _, err := range []error{err, err2, l.SetState(nil), l.Start(context.Background()), l.Close()} {
		if err != nil && !errors.Is(err, errs.Closed) {
			t.Error(err)
		}
	}
	for _, err := range l.Epoch(context.Background()) {
		if !errors.Is(err, errs.Closed) {
			t.Error(err)
		}
	}
	if err == nil || err2 == nil {
		t.Error("a closed loader works")
	}
}
