package loader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// named is a data set with a fingerprint.
type named struct {
	loader.Slice[int64]
	print string
}

func (n named) Fingerprint() string { return n.print }

// A state of another stream is refused: the field is named, the loader stays where it is.
func TestStateOfAnotherStream(t *testing.T) {
	shuffled := options{BatchSize: 4, Shuffle: true, Seed: 7}
	a := open(t, named{ids(100), "a"}, shuffled)
	take(t, a, 3)
	saved := snapshot(t, a)
	sampled := options{BatchSize: 4, Sampler: listSampler{3, 1, 2}}
	for name, c := range map[string]struct {
		ds   loader.Map[int64]
		o    options
		want string
	}{
		"data set":     {named{ids(100), "b"}, shuffled, "data set fingerprint: mismatch: want b, got a"},
		"length":       {named{ids(99), "a"}, shuffled, "n=99"},
		"seed":         {named{ids(100), "a"}, options{BatchSize: 4, Shuffle: true, Seed: 8}, "seed"},
		"not shuffled": {named{ids(100), "a"}, options{BatchSize: 4, Seed: 7}, "order"},
		"sampler":      {named{ids(100), "a"}, sampled, "sampler"},
	} {
		l := open(t, c.ds, c.o)
		take(t, l, 1)
		before := snapshot(t, l)
		err := l.SetState(saved)
		if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(before, snapshot(t, l)) {
			t.Errorf("%s: moved by a state that was refused", name)
		}
	}
	l := openIterable(t, plain(100), options{BatchSize: 4})
	if err := l.SetState(saved); !errors.Is(err, errs.Mismatch) {
		t.Errorf("iterable: %v", err)
	}
	// What may change is accepted.
	for _, o := range []options{{BatchSize: 9}, {GlobalBatch: 10, World: 3}, {Workers: 2, OutOfOrder: true},
		{Tail: order.Drop, BatchSize: 5}, {SnapshotEvery: 9}} {
		o.Shuffle, o.Seed = true, 7
		restore(t, open(t, named{ids(100), "a"}, o), saved)
	}
}

// listSampler gives its ids each epoch.
type listSampler []int64

func (s listSampler) Len() int64                { return int64(len(s)) }
func (s listSampler) Open() order.Cursor[int64] { return &listCursor[int64]{list: s} }

type listCursor[T any] struct {
	list []T
	at   int
}

func (c *listCursor[T]) Next() (item T, ok bool, err error) {
	if c.at == len(c.list) {
		return item, false, nil
	}
	c.at++
	return c.list[c.at-1], true, nil
}

func TestStateThatIsNone(t *testing.T) {
	l := openIterable(t, seekable{size: 50}, options{BatchSize: 4, Streams: 2})
	take(t, l, 3)
	sealed := snapshot(t, l)
	saved := first(t, sealed) // without a checksum, which would refuse all alike
	refuse := func(b []byte, kind errs.Kind, want string) {
		t.Helper()
		before := snapshot(t, l)
		if err := l.SetState(b); !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %v %s", b, err, kind, want)
		}
		if !bytes.Equal(before, snapshot(t, l)) {
			t.Error("moved by a state that was refused")
		}
	}
	for cut := range len(saved) {
		refuse(saved[:cut], errs.Corrupt, "")
	}
	edit := func(old, new string) []byte {
		t.Helper()
		b := bytes.Replace(saved, []byte(old), []byte(new), 1)
		if bytes.Equal(b, saved) {
			t.Fatalf("no %s in %s", old, saved)
		}
		return b
	}
	refuse(edit(`"version":1`, `"version":3`), errs.Unsupported, "newer")
	refuse(edit(`"version":1`, `"version":2`), errs.Corrupt, "checksum")
	refuse(bytes.Replace(sealed, []byte(`"index":12`), []byte(`"index":8`), 1), errs.Corrupt, "checksum")
	refuse(edit(`"kind":"loader"`, `"kind":"pipeline"`), errs.Mismatch, "kind")
	refuse(edit(`"position":12`, `"position":-1`), errs.Corrupt, "position")
	refuse(edit(`"position":12`, `"position":11`), errs.Corrupt, "extra.index")
	refuse(edit(`"index":12`, `"index":-12`), errs.Corrupt, "extra.index")
	refuse(edit(`"index":12`, `"index":"12"`), errs.Corrupt, "extra")
	refuse(edit(`"index":12`, `"indices":12`), errs.Corrupt, "extra")
	refuse(edit(`"turn":3`, `"turn":-3`), errs.Corrupt, "extra.turn")
	refuse(edit(`"step":3`, `"since":-3,"step":3`), errs.Corrupt, "extra.since")
	refuse(edit(`"items":8`, `"items":-8`), errs.Corrupt, "extra.streams[0]")
	refuse(edit(`"items":8`, `"alike":9000000,"items":8`), errs.Corrupt, "extra.streams[0]")
	refuse(edit(`"iterator":"{`, `"iterator":"base64:{`), errs.Corrupt, "extra.streams[0].iterator")
	refuse(edit(`"history":[[0,0,4]]`, `"history":[]`), errs.Corrupt, "extra.history")
	refuse(edit(`"history":[[0,0,4]]`, `"history":[[0,-1,4]]`), errs.Corrupt, "extra.history")
	refuse(edit(`"turn":3`, `"turn":3,"window":{"bits":"012","global":4,"world":1}`), errs.Corrupt, "extra.window")
	refuse(edit(`"turn":3`, `"turn":3,"window":{"bits":"01","global":0,"world":1}`), errs.Corrupt, "extra.window")
	refuse(edit(`"digest":"`, `"digest":"zz`), errs.Corrupt, "")

	// The state of the user's own iterator is judged by it, when it is opened.
	restore(t, l, edit(`"iterator":"{`, `"iterator":"[`))
	if _, err := l.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "state of the iterator") {
		t.Errorf("error %v", err)
	}
	restore(t, l, saved)
	take(t, l, 1)

	m := open(t, ids(10), options{BatchSize: 2})
	take(t, m, 2)
	b := bytes.Replace(first(t, snapshot(t, m)), []byte(`"index":4`), []byte(`"index":11`), 1)
	b = bytes.Replace(b, []byte(`"position":4`), []byte(`"position":11`), 1)
	if err := m.SetState(b); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "extra.index") {
		t.Errorf("an index behind the end: %v", err)
	}
}

// A state is canonical JSON, as state.Document would write it, whatever is in it.
func TestStateIsADocument(t *testing.T) {
	check := func(b []byte) state.Document {
		t.Helper()
		d, err := state.Unmarshal(b)
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		again, err := d.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(again), string(b)); diff != "" {
			t.Error(diff)
		}
		return d
	}
	for _, n := range []int64{1e3, 1e9} {
		l := open(t, numbers(n), options{BatchSize: 10, Shuffle: true, Seed: 1})
		check(snapshot(t, l))
		take(t, l, 30)
		if d := check(snapshot(t, l)); d.Position != 300 || len(snapshot(t, l)) > 1024 {
			t.Errorf("%d bytes: %s", len(snapshot(t, l)), snapshot(t, l))
		}
	}
	l := openIterable(t, &counted{size: 30}, options{BatchSize: 3, Streams: 64, SnapshotEvery: 4})
	take(t, l, 6)
	check(snapshot(t, l))
	l = openIterable(t, plain(1e6), options{BatchSize: 3, Streams: 64})
	take(t, l, 100)
	if b := snapshot(t, l); len(b) > 1024 {
		t.Errorf("%d bytes", len(b))
	}
	check(snapshot(t, l))
	m := open(t, failing(40, 3, always), options{BatchSize: 2, Sampler: &countingSampler{n: 40},
		OnError: faults.Policy{Action: faults.Skip}})
	take(t, m, 5)
	check(snapshot(t, m))
	o := open(t, newGate(40, 2), options{BatchSize: 2, Workers: 2, OutOfOrder: true})
	take(t, o, 2)
	check(snapshot(t, o))
	check(snapshot(t, open(t, ids(4), options{NoDigest: true})))
}

func TestStateAllocatesNothing(t *testing.T) {
	l := open(t, numbers(1e9), options{BatchSize: 64, Shuffle: true})
	take(t, l, 2)
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := l.AppendState(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Samplers and orders that give ids which the data set does not have fail at their batch.
func TestIDOutOfRange(t *testing.T) {
	for name, o := range map[string]options{
		"sampler": {BatchSize: 2, Sampler: listSampler{0, 1, 9, 2}},
		"batches": {BatchSampler: batchList{{0, 1}, {-1}}},
	} {
		l := open(t, ids(4), o)
		take(t, l, 1)
		for range 2 {
			if _, err := l.Next(context.Background()); !errors.Is(err, errs.Invalid) ||
				!strings.Contains(err.Error(), "from the order") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

type batchList [][]int64

func (s batchList) Len() int64                  { return int64(len(s)) }
func (s batchList) Open() order.Cursor[[]int64] { return &listCursor[[]int64]{list: s} }

// resized is a data set whose length changes.
type resized struct{ n int64 }

func (r *resized) Len() int64 { return r.n }
func (r *resized) At(_ context.Context, id int64, _ loader.Random) (int64, error) {
	if id >= r.n {
		return 0, errors.New("there is no such sample any more")
	}
	return id, nil
}

// A data set that grows or shrinks does so from one epoch to the next; within one,
// what is not there any more is an error at its position.
func TestDataSetThatChangesItsLength(t *testing.T) {
	ds := &resized{8}
	l := open(t, ds, options{BatchSize: 2})
	take(t, l, 2)
	ds.n = 10
	if n := len(take(t, l, -1)); n != 2 {
		t.Errorf("%d more batches of the epoch", n)
	}
	if n := len(take(t, l, -1)); n != 5 {
		t.Errorf("%d batches of the next epoch", n)
	}
	take(t, l, 3)
	ds.n = 7
	if _, err := l.Next(context.Background()); err == nil || !strings.Contains(err.Error(), "sample 7") {
		t.Errorf("error %v", err)
	}

	ds = &resized{10}
	l = open(t, ds, options{BatchSize: 2})
	take(t, l, -1)
	ds.n = 8
	take(t, l, 1)
	restore(t, open(t, ds, options{BatchSize: 2}), first(t, snapshot(t, l)))

	ds = &resized{8}
	l = open(t, ds, options{BatchSize: 2})
	take(t, l, 1)
	saved := snapshot(t, l)
	ds.n = 9
	if err := open(t, ds, options{BatchSize: 2}).SetState(saved); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "samples") {
		t.Errorf("error %v", err)
	}
	short := openIterable(t, plain(20), options{BatchSize: 4})
	take(t, short, 3)
	other := openIterable(t, plain(10), options{BatchSize: 4})
	restore(t, other, snapshot(t, short))
	if _, err := other.Next(context.Background()); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "fewer items than before") {
		t.Errorf("error %v", err)
	}
}

// Digest and coverage may be switched on within an epoch, whatever the batch size.
func TestDigestThatIsSwitchedOnLater(t *testing.T) {
	l := open(t, ids(23), options{BatchSize: 2, NoDigest: true})
	take(t, l, -1)
	take(t, l, -1)
	take(t, l, 2)
	for range 3 { // within this epoch, and in two after it
		next := open(t, ids(23), options{BatchSize: 5})
		restore(t, next, first(t, snapshot(t, l)))
		take(t, next, 1)
		restore(t, open(t, ids(23), options{BatchSize: 5}), first(t, snapshot(t, next)))
		take(t, next, -1)
		take(t, next, 1)
		l = next
	}
}

// FuzzSetState sets whatever there is: it is refused with a kind, or the loader
// goes on from it to an end.
func FuzzSetState(f *testing.F) {
	for _, ds := range []loader.Iterable[int64]{seekable{size: 20}, plain(20)} {
		l, err := loader.NewIterable[int64, tensor.Tensor](ds, options{BatchSize: 3, Streams: 2, SnapshotEvery: 2})
		if err != nil {
			f.Fatal(err)
		}
		take(f, l, 3)
		f.Add(snapshot(f, l))
		l.Close()
	}
	m, _ := loader.New(named{ids(20), "a"}, options{BatchSize: 3, OutOfOrder: true})
	take(f, m, 2)
	f.Add(snapshot(f, m))
	m.Close()
	f.Fuzz(func(t *testing.T, b []byte) {
		it, _ := loader.NewIterable(plain(20), options{BatchSize: 3, Streams: 2, SnapshotEvery: 2})
		defer it.Close()
		ma, _ := loader.New(named{ids(20), "a"}, options{BatchSize: 3})
		defer ma.Close()
		for _, l := range []*loader.Loader[int64, tensor.Tensor]{it, ma} {
			if err := l.SetState(b); err != nil {
				if errs.KindOf(err) == errs.Other {
					t.Fatalf("no kind: %v", err)
				}
				continue
			}
			saved, err := l.AppendState(nil)
			if err != nil || !json.Valid(saved) {
				t.Fatalf("%v: %s", err, saved)
			}
			for range 100 {
				if _, err := l.Next(context.Background()); errors.Is(err, io.EOF) || err != nil {
					break
				}
			}
		}
	})
}

// A state without a fingerprint, such as Python writes, fits a data set that has none of its own,
// and its later states have the hash of the type. A data set with a fingerprint refuses it.
func TestStateWithoutAFingerprint(t *testing.T) {
	o := options{BatchSize: 4, Shuffle: true, Seed: 7}
	whole := take(t, open(t, ids(100), o), -1)
	a := open(t, named{ids(100), ""}, o)
	take(t, a, 3)
	saved := snapshot(t, a)
	if bytes.Contains(saved, []byte("fingerprint")) {
		t.Fatalf("%s", saved)
	}
	for name, ds := range map[string]loader.Map[int64]{
		"plain":   ids(100),
		"factory": loader.Factory(ids(100), func(context.Context) (loader.Map[int64], error) { return ids(100), nil }),
		"named":   named{ids(100), ""},
	} {
		l := open(t, ds, o)
		restore(t, l, saved)
		if d := cmp.Diff(whole[3:], take(t, l, -1)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		if later := snapshot(t, l); name == "plain" && !bytes.Contains(later, []byte("fingerprint")) {
			t.Errorf("%s", later)
		}
	}
	for name, ds := range map[string]loader.Map[int64]{
		"named":   named{ids(100), "b"},
		"factory": loader.Factory(named{ids(100), "b"}, func(context.Context) (loader.Map[int64], error) { return nil, nil }),
	} {
		err := open(t, ds, o).SetState(saved)
		if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "fingerprint") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
