package torchdata_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// numbers is a map data set that counts what each copy of it has read.
type numbers struct {
	n, calls int64
	bad      int64 // an id that cannot be read, if it is not 0
}

var errBad = errors.New("unreadable")

func (d *numbers) Len() int64 { return d.n }

func (d *numbers) Clone(context.Context) (loader.Map[int64], error) { return new(*d), nil }

func (d *numbers) At(_ context.Context, id int64, _ loader.Random) (int64, error) {
	if d.bad != 0 && id == d.bad {
		return 0, errBad
	}
	d.calls++
	return id, nil
}

func (d *numbers) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"calls":%d}`, d.calls), nil
}

func (d *numbers) SetState(b []byte) error {
	var s struct{ Calls int64 }
	err := json.Unmarshal(b, &s)
	d.calls = s.Calls
	return err
}

// items is an iterable of n items in strides, whose iterator has a state or none.
type items struct {
	n        int64
	stateful bool
}

func (d items) Open(ctx context.Context) (loader.Iterator[int64], error) {
	at := &place{end: d.n, step: 1}
	if w, ok := loader.WorkerInfoOf(ctx); ok {
		at.next, at.step = int64(w.ID), int64(w.N)
	}
	if d.stateful {
		return at, nil
	}
	return struct{ loader.Iterator[int64] }{at}, nil
}

type place struct{ next, step, end int64 }

func (p *place) Next(context.Context) (int64, error) {
	if p.next >= p.end {
		return 0, io.EOF
	}
	p.next += p.step
	return p.next - p.step, nil
}

// The state is no JSON.
func (p *place) AppendState(b []byte) ([]byte, error) { return fmt.Appendf(b, "at:%d", p.next), nil }

func (p *place) SetState(b []byte) error {
	_, err := fmt.Sscanf(string(b), "at:%d", &p.next)
	return err
}

// setting is a loader to be built several times.
type setting struct {
	kind                     string
	n                        int64
	workers, batch, prefetch int
	every                    int
	drop, persistent         bool
	shuffle, outOfOrder      bool
	seed                     uint64
	sampler                  func() order.Sampler
	bad                      int64
}

func (s *setting) options() torchdata.Options[int64, []int64] {
	g := torchdata.NewGenerator(s.seed)
	o := torchdata.Options[int64, []int64]{
		BatchSize: s.batch, NumWorkers: s.workers, PrefetchFactor: s.prefetch, SnapshotEveryNSteps: s.every, DropLast: s.drop,
		PersistentWorkers: s.persistent,
		Shuffle:           s.shuffle, OutOfOrder: s.outOfOrder, Generator: &g,
		CollateFn: func(ids []int64) ([]int64, error) { return slices.Clone(ids), nil },
		Log:       slog.New(slog.DiscardHandler), OnError: faults.Policy{Action: faults.PassOn},
	}
	if s.sampler != nil {
		o.Sampler = s.sampler()
	}
	return o
}

func (s *setting) build() (*torchdata.Loader[int64, []int64], error) {
	if s.kind == "map" {
		return torchdata.New(&numbers{n: s.n, bad: s.bad}, s.options())
	}
	return torchdata.NewIterable[int64, []int64](items{s.n, s.kind == "stateful"}, s.options())
}

// fataler is a testing.T or a rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (s *setting) loader(t fataler) *torchdata.Loader[int64, []int64] {
	t.Helper()
	l, err := s.build()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// take takes up to most batches, or to the end of the epoch; ended tells that it was
// reached.
func take(t fataler, l *torchdata.Loader[int64, []int64], most int) (ids []int64, ended bool) {
	t.Helper()
	for range most {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return ids, true
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b...)
	}
	return ids, false
}

// However often a run is interrupted, what it delivers is what it would have.
func TestInterruptionsDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &setting{
			kind: rapid.SampledFrom([]string{"map", "stateful", "stateless"}).Draw(t, "kind"), n: rapid.Int64Range(1, 211).Draw(t, "n"),
			workers: rapid.IntRange(0, 4).Draw(t, "workers"), batch: rapid.SampledFrom([]int{loader.NoBatching, 1, 3, 7, 64}).Draw(t, "batch"),
			every: rapid.SampledFrom([]int{loader.SnapshotNever, 1, 2, 3, 11}).Draw(t, "every"), seed: rapid.Uint64().Draw(t, "seed"),
		}
		if s.workers > 0 {
			s.prefetch = rapid.IntRange(1, 3).Draw(t, "prefetch")
		}
		s.drop = s.batch > 0 && rapid.Bool().Draw(t, "drop")
		s.shuffle = s.kind == "map" && rapid.Bool().Draw(t, "shuffle")
		l := s.loader(t)
		want, _ := take(t, l, 1<<30)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var got []int64
		var saved []byte
		for ended := false; !ended; {
			l := s.loader(t)
			if saved != nil {
				if err := l.LoadStateDict(saved); err != nil {
					t.Fatal(err)
				}
			}
			var part []int64
			part, ended = take(t, l, rapid.IntRange(1, 20).Draw(t, "batches"))
			got = append(got, part...)
			var err error
			if saved, err = l.StateDict(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%+v: %s", s, d)
		}
	})
}

// Out of order each sample comes once, however often the run is interrupted.
func TestOutOfOrderIsExact(t *testing.T) {
	for _, kind := range []string{"map", "stateful", "stateless"} {
		s := &setting{kind: kind, n: 1009, workers: 3, batch: 4, outOfOrder: true, seed: 5}
		s.shuffle = kind == "map"
		var got []int64
		var saved []byte
		for turn, ended := 1, false; !ended; turn++ {
			l := s.loader(t)
			if saved != nil {
				if err := l.LoadStateDict(saved); err != nil {
					t.Fatal(err)
				}
			}
			var part []int64
			part, ended = take(t, l, 7*turn)
			got = append(got, part...)
			var err error
			if saved, err = l.StateDict(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(got)
		for i, id := range got {
			if int64(i) != id || len(got) != 1009 {
				t.Errorf("%s: %d samples, number %d is %d", kind, len(got), i, id)
				break
			}
		}
	}
}

// A batch that fails is reported once, also by states with snapshots before it.
func TestFailedBatchIsPassed(t *testing.T) {
	for _, workers := range []int{0, 2} {
		for _, every := range []int{1, 2, 3, 5, loader.SnapshotNever} {
			s := &setting{kind: "map", n: 40, batch: 2, workers: workers, every: every, bad: 7}
			l := s.loader(t)
			if got, _ := take(t, l, 3); len(got) != 6 {
				t.Fatal(got)
			}
			_, err := l.Next(context.Background())
			if !errors.Is(err, errBad) || workers > 0 && !strings.Contains(err.Error(), "worker 1") {
				t.Fatalf("%d workers: %v", workers, err)
			}
			for batches := 1; batches < 16; batches++ {
				if got, _ := take(t, l, 1); len(got) != 2 || got[0] != int64(6+2*batches) {
					t.Fatalf("%d workers, every %d: %v", workers, every, got)
				}
				saved, err := l.StateDict()
				if err != nil {
					t.Fatal(err)
				}
				again := s.loader(t)
				if err := again.LoadStateDict(saved); err != nil {
					t.Fatal(err)
				}
				if got, _ := take(t, again, 1); batches < 15 && (len(got) != 2 || got[0] != int64(8+2*batches)) {
					t.Errorf("%d workers, every %d: goes on with %v", workers, every, got)
				}
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A state from the beginning of a later epoch does not skip what the sampler had
// given in the one before, as it does in torchdata.
func TestDistributedSamplerBeginsAnew(t *testing.T) {
	for _, workers := range []int{0, 2} {
		for _, batch := range []int{loader.NoBatching, 2} {
			s := &setting{kind: "map", n: 12, batch: batch, workers: workers, every: loader.SnapshotNever}
			s.sampler = func() order.Sampler {
				d, err := torchdata.NewStatefulDistributedSampler(torchdata.Range(12),
					torchdata.DistributedOptions{Replicas: 2, Sequential: true})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			l := s.loader(t)
			want, _ := take(t, l, 1<<30)
			if err := l.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			saved, err := l.StateDict()
			if err != nil {
				t.Fatal(err)
			}
			again := s.loader(t)
			if err := again.LoadStateDict(saved); err != nil {
				t.Fatal(err)
			}
			if got, _ := take(t, again, 1<<30); !slices.Equal(got, want) {
				t.Errorf("%d workers, batches of %d: %v, want %v", workers, batch, got, want)
			}
			if err := errors.Join(l.Close(), again.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// States that do not fit are refused when the epoch begins, as in torchdata.
func TestStatesThatDoNotFit(t *testing.T) {
	single, several := stateOf(t, 0), stateOf(t, 2)
	for name, c := range map[string]struct {
		workers int
		state   string
		want    errs.Kind
		says    string
	}{
		"without workers":   {2, single, errs.Mismatch, "_snapshot"},
		"with workers":      {0, several, errs.Mismatch, "_num_yielded"},
		"other workers":     {3, several, errs.Mismatch, "_num_workers"},
		"negative":          {0, strings.Replace(single, `"_num_yielded":3`, `"_num_yielded":-3`, 1), errs.Corrupt, "at least 0"},
		"too far":           {0, strings.ReplaceAll(single, `"yielded":6`, `"yielded":600`), errs.Mismatch, "yielded"},
		"generator":         {0, strings.Replace(single, `"uint8"`, `"int8"`, 1), errs.Corrupt, "uint8"},
		"no base seed":      {2, strings.Replace(several, `_base_seed`, `_base_sheep`, 1), errs.Corrupt, "_base_seed"},
		"no worker":         {2, strings.Replace(several, `"worker_1"`, `"worker_9"`, 1), errs.Corrupt, "worker_1"},
		"last":              {2, strings.Replace(several, `"_last_yielded_worker_id":0`, `"_last_yielded_worker_id":2`, 1), errs.Corrupt, "below 2"},
		"steps since":       {2, strings.Replace(several, `"_steps_since_snapshot":0`, `"_steps_since_snapshot":1000`, 1), errs.Mismatch, "delivered before"},
		"wrong type":        {2, strings.Replace(several, `"_iterator_finished":false`, `"_iterator_finished":3`, 1), errs.Corrupt, "JSON"},
		"other data set":    {2, strings.ReplaceAll(several, `{"calls":2}`, `{"calls":"two"}`), errs.Other, "data set"},
		"more behind":       {0, single + "{}", errs.Corrupt, "more follows"},
		"no document":       {0, "[]", errs.Corrupt, "JSON"},
		"out of order":      {2, strings.Replace(several, `"_iterator_finished"`, `"_out_of_order":{"items":[0,0]},"_iterator_finished"`, 1), errs.Mismatch, "in_order"},
		"nothing that fits": {0, `{"a":1}`, errs.Mismatch, "_num_yielded"},
	} {
		s := &setting{kind: "map", n: 20, batch: 2, workers: c.workers, shuffle: true}
		l := s.loader(t)
		err := l.LoadStateDict([]byte(c.state))
		if err == nil {
			err = l.Start(context.Background())
		}
		if err == nil || c.want != errs.Other && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// stateOf is the state after three shuffled batches of two.
func stateOf(t *testing.T, workers int) string {
	t.Helper()
	s := &setting{kind: "map", n: 20, batch: 2, workers: workers, shuffle: true}
	l := s.loader(t)
	defer l.Close()
	take(t, l, 3)
	b, err := l.StateDict()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
