package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// numbers is an iterable data set: stream i of n has every n-th number below its length. It can
// have a state, the number of its passes, and can be its own iterator.
type numbers struct {
	size     int64
	stateful bool
	self     bool
	Passes   int64
	At       int64
	step     int64
}

type statefulNumbers struct{ *numbers }

func (s *statefulNumbers) Clone(context.Context) (loader.Iterable[int64], error) {
	return &statefulNumbers{&numbers{size: s.size, stateful: true, self: s.self}}, nil
}

func (s *statefulNumbers) Open(ctx context.Context) (loader.Iterator[int64], error) {
	it, err := s.numbers.Open(ctx)
	if s.self {
		s.At = it.(*numberPlace).At
		s.step = it.(*numberPlace).step
		return s, nil
	}
	return it, err
}

func (s *statefulNumbers) Next(ctx context.Context) (int64, error) {
	p := &numberPlace{At: s.At, step: s.step, size: s.size}
	v, err := p.Next(ctx)
	s.At = p.At
	return v, err
}

func (s *statefulNumbers) AppendState(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `[%d,%d]`, s.Passes, s.At), nil
}

func (s *statefulNumbers) SetState(b []byte) error {
	var v [2]int64
	err := json.Unmarshal(b, &v)
	s.Passes, s.At = v[0], v[1]
	return err
}

func (n *numbers) Fingerprint() string { return "numbers" }

func (n *numbers) Clone(context.Context) (loader.Iterable[int64], error) {
	return &numbers{size: n.size}, nil
}

func (n *numbers) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	n.Passes++
	return &numberPlace{At: int64(w.ID), step: int64(w.N), size: n.size}, nil
}

type numberPlace struct{ At, step, size int64 }

func (p *numberPlace) Next(context.Context) (int64, error) {
	if p.At >= p.size {
		return 0, io.EOF
	}
	p.At += p.step
	return p.At - p.step, nil
}

func (p *numberPlace) AppendState(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `{"at":%d}`, p.At), nil
}

func (p *numberPlace) SetState(b []byte) error { return json.Unmarshal(b, &struct{ At *int64 }{&p.At}) }

// ofStream is what a state says of a stream.
type ofStream struct {
	Alike, Items      int64
	Ended             bool
	Dataset, Iterator *string
}

func streamsOf(t *testing.T, text string) (all []ofStream) {
	t.Helper()
	var d struct{ Extra struct{ Streams []ofStream } }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Extra.Streams {
		for range max(1, s.Alike) {
			all = append(all, s)
		}
	}
	return all
}

// streamOptions are the options of a loader of numbers, of both kinds.
type streamOptions struct {
	size           int64
	kind           string
	streams, batch int
	rank, world    int
	drop           bool
	seed           uint64
	name           string
	workers        int
}

func (o streamOptions) open(t *testing.T) *loader.Loader[int64, []int64] {
	t.Helper()
	var data loader.Iterable[int64] = &numbers{size: o.size}
	if o.kind != "iterator" {
		data = &statefulNumbers{&numbers{size: o.size, stateful: true, self: o.kind == "self"}}
	}
	lo := loader.Options[int64, []int64]{BatchSize: o.batch, Streams: o.streams, Rank: o.rank, World: o.world,
		Seed: o.seed, Name: o.name, Workers: o.workers,
		Collate: func(s []int64) ([]int64, error) { return slices.Clone(s), nil }}
	if o.drop {
		lo.Tail = order.Drop
	}
	l, err := loader.NewIterable(data, lo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (o streamOptions) args() object {
	return object{"fingerprint": "numbers", "batch_size": o.batch, "seed": o.seed, "name": o.name, "drop_last": o.drop,
		"rank": o.rank, "world": o.world, "streams": o.streams, "dataset": o.kind == "dataset",
		"iterator": o.kind != "self", "self": o.kind == "self"}
}

// streamsDescribed is the answer of loader.streams.
type streamsDescribed struct {
	State   string
	Epoch   int64
	Turn    int64
	Streams []struct {
		Items int64
		Ended bool
		Seed  uint64
	}
}

// TestStreamsAreThoseOfLoader compares the states of the call, byte by byte, with the states of a
// loader of this process that has delivered the same batches, over runs of other workers.
func TestStreamsAreThoseOfLoader(t *testing.T) {
	c := served(t)
	for round := range 90 {
		r := rand.New(rand.NewPCG(2, uint64(round)))
		world := 1 + r.IntN(3)
		o := streamOptions{size: r.Int64N(80), kind: []string{"iterator", "dataset", "self"}[round%3], batch: 1 + r.IntN(5),
			world: world, streams: world * (1 + r.IntN(3)), seed: r.Uint64(), rank: r.IntN(world), drop: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			o.name = "lines"
		}
		var saved *string
		for range 5 { // runs
			o.workers = r.IntN(3)
			l := o.open(t)
			base := make([]ofStream, o.streams)
			args := o.args()
			if saved != nil {
				if err := l.SetState([]byte(*saved)); err != nil {
					t.Fatal(err)
				}
				args["state"] = *saved
				base = streamsOf(t, *saved)
			}
			unopened, _ := l.AppendState(nil)
			if err := l.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			delivered, ended := 0, false
			text, err := l.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			before := streamsOf(t, string(text)) // where the data sets were before the pass
			for range r.IntN(12) {
				if _, err = l.Next(t.Context()); err != nil {
					ended = true
					break
				}
				delivered++
				if text, err = l.AppendState(nil); err != nil {
					t.Fatal(err)
				}
			}
			read, last := []object{}, streamsOf(t, string(text))
			if ended { // the last task of a stream has a state and no batch
				if text, err = l.AppendState(nil); err != nil {
					t.Fatal(err)
				}
				for i, s := range streamsOf(t, string(text)) {
					if last[i].Dataset = s.Dataset; o.kind == "self" {
						last[i].Iterator = s.Dataset
					}
				}
			}
			for i, s := range last {
				if i%o.world == o.rank {
					read = append(read, object{"stream": i, "items": s.Items - base[i].Items, "ended": s.Ended || ended,
						"dataset": s.Dataset, "iterator": s.Iterator, "initial": before[i].Dataset})
				}
			}
			args["read"], args["delivered"], args["end"] = read, delivered, ended
			var got streamsDescribed
			c.call("loader.streams", args).into(t, &got)
			if delivered == 0 && !ended {
				text = unopened
			}
			if o.drop && ended {
				saved = &got.State // items that Drop left out were not counted above
				continue
			}
			if got.State != string(text) {
				t.Fatalf("%+v, %d delivered: got\n%s\nwant\n%s", o, delivered, got.State, text)
			}
			for i, s := range got.Streams {
				domain := fmt.Sprint("worker ", i)
				if o.name != "" {
					domain += "/" + o.name
				}
				if want := order.Key(o.seed, got.Epoch, domain); i%o.world == o.rank && s.Seed != want {
					t.Fatalf("%+v: stream %d has the seed %d, want %d", o, i, s.Seed, want)
				}
			}
			saved = &got.State
		}
	}
}

// TestStreamsLeaveTheEpoch compares leave with Restart.
func TestStreamsLeaveTheEpoch(t *testing.T) {
	c := served(t)
	o := streamOptions{size: 20, kind: "iterator", streams: 2, batch: 3, world: 1}
	for _, delivered := range []int{0, 2} {
		l := o.open(t)
		for range delivered {
			if _, err := l.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		text, _ := l.AppendState(nil)
		args := o.args()
		var read []object
		for i, s := range streamsOf(t, string(text)) {
			read = append(read, object{"stream": i, "items": s.Items, "iterator": s.Iterator})
		}
		if err := errors.Join(l.Start(t.Context()), l.Restart(t.Context())); delivered == 0 && err != nil {
			t.Fatal(err)
		}
		if delivered > 0 {
			l = o.open(t)
			if err := errors.Join(l.SetState(text), l.Start(t.Context()), l.Restart(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		args["read"], args["delivered"], args["leave"] = read, delivered, true
		var got streamsDescribed
		c.call("loader.streams", args).into(t, &got)
		if want, _ := l.AppendState(nil); got.State != string(want) || got.Epoch != 1 {
			t.Errorf("got\n%s\nwant\n%s", got.State, want)
		}
	}
}

// TestStreamsRefuse checks what loader.streams does not take.
func TestStreamsRefuse(t *testing.T) {
	c := served(t)
	o := streamOptions{size: 20, kind: "iterator", streams: 4, batch: 3, world: 2}
	var first streamsDescribed
	c.call("loader.streams", o.args()).into(t, &first)
	for _, tt := range []struct {
		name    string
		value   any
		kind    errs.Kind
		subject string
	}{
		{"streams", 0, errs.Invalid, "argument streams"}, {"streams", 5, errs.Invalid, "Streams"},
		{"streams", 1 << 20, errs.Invalid, "argument streams"}, {"delivered", 1, errs.Invalid, "argument delivered"},
		{"delivered", -1, errs.Invalid, "argument delivered"}, {"end", true, errs.Invalid, "argument read"},
		{"read", []object{{"stream": 0, "items": -1}}, errs.Invalid, "argument read"},
		{"read", []object{{"stream": 0, "items": 1 << 30}}, errs.Invalid, "argument read"},
		{"seed", 1, errs.Mismatch, "seed"}, {"fingerprint", "other", errs.Mismatch, "data set fingerprint"},
		{"state", "{}", errs.Corrupt, "version"}, {"samples", 3, errs.Invalid, "argument samples"},
	} {
		args := o.args()
		args["state"] = first.State
		args[tt.name] = tt.value
		if f := c.refused(tt.kind, "loader.streams", args); f.Subject != tt.subject {
			t.Errorf("%s %v: %s", tt.name, tt.value, f.Text)
		}
	}
	args := o.args()
	args["delivered"], args["read"] = 2, []object{{"stream": 0, "items": 3}}
	c.refused(errs.Invalid, "loader.streams", args)
	args["read"] = []object{{"stream": 0, "items": 3, "ended": true}, {"stream": 2, "items": 0, "ended": true}}
	c.refused(errs.Invalid, "loader.streams", args)
}

// FuzzStreams checks that no arguments make loader.streams panic or wait, and that the state that
// is answered is taken again. The bytes of counts are the items of streams; bits choose flags.
func FuzzStreams(f *testing.F) {
	f.Fuzz(func(t *testing.T, streams, batch, world, rank int16, seed uint64, bits uint8, delivered int16, counts []byte,
		saved string,
	) {
		read := []object{}
		for i, n := range counts {
			one := object{"stream": i, "items": int8(n), "ended": n&1 != 0}
			if bits&1 != 0 {
				one["iterator"] = saved
			}
			if bits&2 != 0 {
				one["dataset"], one["initial"] = saved, "0"
			}
			read = append(read, one)
		}
		args := object{"streams": streams, "batch_size": batch, "world": world, "rank": rank, "seed": seed,
			"delivered": delivered, "read": read, "iterator": bits&1 != 0, "dataset": bits&2 != 0, "self": bits&4 != 0, "end": bits&8 != 0,
			"leave": bits&16 != 0, "drop_last": bits&32 != 0}
		if bits&64 != 0 {
			args["state"] = saved
		}
		ask := func() (reply, error) {
			text, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			k := &call{connection: &connection{Options: Options{}.withDefaults()}, ctx: t.Context(), args: newArgs(text)}
			return loaderStreams(k)
		}
		r, err := ask()
		if err != nil {
			if errs.KindOf(err) == errs.Other {
				t.Fatalf("%v: %v", args, err)
			}
			return
		}
		var got struct{ State string }
		if err := json.Unmarshal(r.json, &got); err != nil {
			t.Fatal(err)
		}
		args["state"], args["read"], args["delivered"], args["end"], args["leave"] = got.State, nil, 0, false, false
		if _, err := ask(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	})
}

// TestSeedsAndMerge compares both calls with package loader.
func TestSeedsAndMerge(t *testing.T) {
	c := served(t)
	var v struct{ Seeds []byte }
	c.call("loader.seeds", object{"seed": uint64(1) << 63, "at": 5, "n": 3}).into(t, &v)
	for i := range 3 {
		want := loader.WorkerInfo{Seed: 1 << 63}.Random(int64(5 + i)).Seed()
		if got := binary.LittleEndian.Uint64(v.Seeds[8*i:]); got != want {
			t.Errorf("seed %d: %d, want %d", i, got, want)
		}
	}
	c.refused(errs.Invalid, "loader.seeds", object{"seed": 1, "at": -1, "n": 3})
	c.refused(errs.Invalid, "loader.seeds", object{"seed": 1, "n": 1 << 20})
	var states [][]byte
	var texts []string
	for rank := range 2 {
		l := streamOptions{size: 40, kind: "iterator", streams: 4, batch: 3, world: 2, rank: rank}.open(t)
		if _, err := l.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := l.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		states, texts = append(states, text), append(texts, string(text))
	}
	want, err := loader.Merge(states...)
	if err != nil {
		t.Fatal(err)
	}
	var merged struct{ State string }
	c.call("loader.merge", object{"states": texts}).into(t, &merged)
	if merged.State != string(want) {
		t.Errorf("%s, want %s", merged.State, want)
	}
	c.refused(errs.Invalid, "loader.merge", object{})
	c.refused(errs.Mismatch, "loader.merge", object{"states": []string{texts[1], texts[0]}})
}
