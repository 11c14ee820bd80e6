package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

type options = loader.Options[int64, []int64]

// numbers is a data set of the ids themselves.
type numbers struct {
	n     int64
	print string
	bad   int64 // an id that cannot be read, if it is not 0
	held  int64 // an id that waits for the end of its context, if it is not 0
}

func (d numbers) Len() int64          { return d.n }
func (d numbers) Fingerprint() string { return d.print }

func (d numbers) At(ctx context.Context, id int64, _ loader.Random) (int64, error) {
	switch {
	case d.bad != 0 && id == d.bad:
		return 0, errors.New("unreadable")
	case d.held != 0 && id == d.held:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return id, nil
}

// counting is a map with a state: what it gives depends on how much it has read.
type counting struct {
	n     int64
	calls int64
}

func (d *counting) Len() int64 { return d.n }
func (d *counting) Clone(context.Context) (loader.Map[int64], error) {
	return &counting{n: d.n}, nil
}
func (d *counting) At(_ context.Context, id int64, _ loader.Random) (int64, error) {
	d.calls++
	return d.calls*1000 + id, nil
}
func (d *counting) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"calls":%d}`, d.calls), nil
}
func (d *counting) SetState(b []byte) error {
	var s struct{ Calls int64 }
	err := json.Unmarshal(b, &s)
	d.calls = s.Calls
	return err
}

// plain is an iterable without a state.
func plain(size int64) loader.Iterable[int64] {
	return loader.IterFunc[int64](func(ctx context.Context) iter.Seq2[int64, error] {
		w, _ := loader.WorkerInfoOf(ctx)
		return func(yield func(int64, error) bool) {
			for i := int64(w.ID); i < size; i += int64(w.N) {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

// seekable is an iterable whose iterator has a state, which is no text if binary.
type seekable struct {
	size   int64
	binary bool
}

func (s seekable) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	return &position{at: int64(w.ID), step: int64(w.N), of: s}, nil
}

type position struct {
	at, step int64
	of       seekable
}

func (p *position) Next(context.Context) (int64, error) {
	if p.at >= p.of.size {
		return 0, io.EOF
	}
	p.at += p.step
	return p.at - p.step, nil
}

func (p *position) AppendState(b []byte) ([]byte, error) {
	if p.of.binary {
		return append(b, 0xff, byte(p.at)), nil
	}
	return fmt.Appendf(b, `{"at":%d}`, p.at), nil
}

func (p *position) SetState(b []byte) error {
	if p.of.binary {
		p.at = int64(b[1])
		return nil
	}
	_, err := fmt.Sscanf(string(b), `{"at":%d}`, &p.at)
	return err
}

// reversed is a sampler: with a state of its cursor, of its own, or none.
type reversed struct {
	n     int64
	state string // "", "cursor" or "sampler"
	epoch int64
}

func (s *reversed) String() string       { return fmt.Sprintf("reversed(%d)", s.n) }
func (s *reversed) Len() int64           { return s.n }
func (s *reversed) SetEpoch(epoch int64) { s.epoch = epoch }
func (s *reversed) Open() order.Cursor[int64] {
	c := &backwards{of: s, next: s.n - 1}
	if s.state == "cursor" {
		return statefulBackwards{c}
	}
	return c
}

type backwards struct {
	of   *reversed
	next int64
}

func (c *backwards) Next() (int64, bool, error) {
	if c.next < 0 {
		return 0, false, nil
	}
	c.next--
	return (c.next + 1 + c.of.epoch) % c.of.n, true, nil
}

type statefulBackwards struct{ *backwards }

func (c statefulBackwards) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "%d", c.next), nil
}
func (c statefulBackwards) SetState(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d", &c.next)
	return err
}

// statefulReversed has a state that a cursor leaves behind.
type statefulReversed struct{ reversed }

func (s *statefulReversed) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "epoch %d", s.epoch), nil
}
func (s *statefulReversed) SetState(b []byte) error {
	_, err := fmt.Sscanf(string(b), "epoch %d", &s.epoch)
	return err
}

// pairs is a batch sampler.
type pairs struct{ n int64 }

func (s pairs) String() string { return fmt.Sprintf("pairs(%d)", s.n) }
func (s pairs) Len() int64     { return s.n / 2 }
func (s pairs) Open() order.Cursor[[]int64] {
	return &pairing{n: s.n}
}

type pairing struct{ n, at int64 }

func (c *pairing) Next() ([]int64, bool, error) {
	if c.at >= c.n/2 {
		return nil, false, nil
	}
	c.at++
	return []int64{c.at - 1, c.n - c.at}, true, nil
}

// openLoader returns the run of a loader of any data set here.
func openLoader(ds any, o options) func(t *testing.T) run {
	return func(t *testing.T) run {
		t.Helper()
		o.Collate = func(s []int64) ([]int64, error) { return slices.Clone(s), nil }
		o.Log = slog.New(slog.DiscardHandler)
		var l *loader.Loader[int64, []int64]
		var err error
		switch ds := ds.(type) {
		case func() loader.Map[int64]:
			l, err = loader.New(ds(), o)
		case loader.Map[int64]:
			l, err = loader.New(ds, o)
		case loader.Iterable[int64]:
			l, err = loader.NewIterable(ds, o)
		}
		check(t, err)
		return texts[[]int64]{l, func(b []int64) string { return fmt.Sprint(b) }}
	}
}

func loaderSpecimens() []specimen {
	set := numbers{n: 23, print: "numbers 23"}
	var all []specimen
	add := func(name string, ds any, writer, reader options, before int) {
		all = append(all, resumed("loader/"+name+".json", openLoader(ds, writer), openLoader(ds, reader), before, 9))
	}
	same := func(name string, ds any, o options, before int) { add(name, ds, o, o, before) }

	same("sequential", set, options{BatchSize: 4}, 3)
	same("start", set, options{BatchSize: 4, Shuffle: true, Seed: 7}, 0)
	same("shuffled", set, options{BatchSize: 4, Shuffle: true, Seed: 7}, 3)
	same("shuffled-without-a-seed", set, options{BatchSize: 4, Shuffle: true}, 3)
	same("last-batch", set, options{BatchSize: 4, Shuffle: true, Seed: 7}, 6)
	same("end-of-epoch", set, options{BatchSize: 4, Shuffle: true, Seed: 7}, 7)
	same("third-epoch", set, options{BatchSize: 4, Shuffle: true, Seed: 7}, 17)
	same("drop-last", set, options{BatchSize: 4, Shuffle: true, Seed: 7, Tail: order.Drop}, 9)
	same("no-batching", set, options{BatchSize: loader.NoBatching, Shuffle: true, Seed: 7}, 9)
	same("no-digest", set, options{BatchSize: 4, Shuffle: true, Seed: 7, NoDigest: true}, 9)
	same("no-fingerprint", numbers{n: 23}, options{BatchSize: 4, Shuffle: true, Seed: 7}, 9)
	same("largest-seed", set, options{BatchSize: 4, Shuffle: true, Seed: 1<<64 - 1}, 9)
	same("workers", set, options{BatchSize: 4, Shuffle: true, Seed: 7, Workers: 2}, 5)
	add("other-batch-size", set, options{BatchSize: 4, Shuffle: true, Seed: 7},
		options{BatchSize: 7, Shuffle: true, Seed: 7}, 3)
	add("other-world", set, options{BatchSize: 2, World: 4, Rank: 1, Shuffle: true, Seed: 7},
		options{BatchSize: 4, World: 2, Rank: 1, Shuffle: true, Seed: 7}, 2)
	add("global-batch", set, options{GlobalBatch: 5, World: 2, Rank: 1, Shuffle: true, Seed: 7},
		options{GlobalBatch: 5, Shuffle: true, Seed: 7}, 2)
	same("skipped", numbers{n: 23, print: "bad", bad: 5},
		options{BatchSize: 4, OnError: faults.Policy{Action: faults.Skip}}, 4)
	same("passed-on", numbers{n: 23, print: "bad", bad: 5},
		options{BatchSize: 4, OnError: faults.Policy{Action: faults.PassOn}}, 4)
	all = append(all, resumed("loader/history.json", func(t *testing.T) run {
		var s run
		for size := 1; size < 12; size++ { // a batch of each size; more changes than are remembered
			next := openLoader(set, options{BatchSize: size, Shuffle: true, Seed: 7})(t)
			if s != nil {
				b, err := s.AppendState(nil)
				check(t, err)
				check(t, next.SetState(b))
				check(t, s.Close())
			}
			take(t, next, 1)
			s = next
		}
		return s
	}, openLoader(set, options{BatchSize: 3, Shuffle: true, Seed: 7}), 0, 9))

	held := numbers{n: 23, print: "numbers 23", held: 6}
	all = append(all, resumed("loader/out-of-order.json",
		openLoader(held, options{BatchSize: 4, Workers: 2, Prefetch: 3, OutOfOrder: true}),
		openLoader(set, options{BatchSize: 4}), 4, 9))

	for name, s := range map[string]order.Sampler{"sampler": &reversed{n: 23}, "sampler-cursor": &reversed{n: 23, state: "cursor"}, "sampler-state": &statefulReversed{reversed{n: 23}}} {
		same(name, set, options{BatchSize: 4, Sampler: s}, 9)
	}
	same("batch-sampler", set, options{BatchSampler: pairs{23}}, 14)

	same("iterable", plain(23), options{BatchSize: 4, Streams: 2}, 3)
	same("iterable-snapshot", plain(23), options{BatchSize: 4, Streams: 2, SnapshotEvery: 3}, 5)
	same("iterable-never", plain(23), options{BatchSize: 4, Streams: 2, SnapshotEvery: loader.SnapshotNever}, 5)
	same("iterable-third-epoch", plain(23), options{BatchSize: 4, Streams: 2}, 16)
	same("iterable-state", seekable{size: 23}, options{BatchSize: 4, Streams: 3, Workers: 2}, 5)
	same("iterable-binary-state", seekable{size: 23, binary: true}, options{BatchSize: 4, Streams: 3}, 5)
	same("iterable-ended", seekable{size: 3}, options{BatchSize: 1, Streams: 5}, 2)
	add("iterable-other-world", plain(23), options{BatchSize: 2, Streams: 4, World: 2, Rank: 1},
		options{BatchSize: 2, World: 1}, 2)
	same("map-with-a-state", func() loader.Map[int64] { return &counting{n: 23} },
		options{BatchSize: 4, Shuffle: true, Seed: 7, Streams: 2}, 3)
	same("map-with-a-state-snapshot", func() loader.Map[int64] { return &counting{n: 23} },
		options{BatchSize: 4, Shuffle: true, Seed: 7, SnapshotEvery: 2}, 8)

	for _, o := range orders() {
		if slices.Contains([]string{"shard", "shuffled-many", "packs-of-a-mixture-of-windows"}, o.name) {
			continue // they have more ids, or epochs that no loader has
		}
		same("order-"+o.name, numbers{n: 1000, print: "numbers 1000"}, options{BatchSize: 64, Order: o.order}, 20)
	}
	return all
}

// named is an order with the name of its document.
type named struct {
	name  string
	order order.Order
}
