package loader_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

func openIterable(t testing.TB, ds loader.Iterable[int64], o options) *loader.Loader[int64, tensor.Tensor] {
	t.Helper()
	l, err := loader.NewIterable(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// kinds are the iterable data sets, by how they keep a state.
var kinds = map[string]func() loader.Iterable[int64]{
	"plain":    func() loader.Iterable[int64] { return plain(61) },
	"iterator": func() loader.Iterable[int64] { return seekable{size: 61} },
	"itself":   func() loader.Iterable[int64] { return newOwn(61) },
	"stream":   func() loader.Iterable[int64] { return loader.FromStream(numberStream(61)) },
	"uneven":   func() loader.Iterable[int64] { return uneven(0, 40, 21) },
}

// Families S1, S2, S6, S7, S13: any kind of data set, interrupted twice at any
// batch, with any number of goroutines and any interval of snapshots before and after,
// goes on with the item that was not delivered yet; and the next epoch is whole.
func TestStreamsGoOnWhereTheyWere(t *testing.T) {
	for kind, dataset := range kinds {
		streams := 3
		if kind == "stream" {
			streams = 1
		}
		whole := epochs(t, openIterable(t, dataset(), options{BatchSize: 4, Streams: streams}), 2)
		if n := len(slices.Concat(whole[0]...)); n != 61 {
			t.Fatalf("%s: %d items", kind, n)
		}
		for _, o := range []options{{}, {Workers: 1}, {Workers: 2, Prefetch: 3}, {Workers: 3, Persistent: true},
			{SnapshotEvery: 5}, {Workers: 2, SnapshotEvery: 4}, {SnapshotEvery: loader.SnapshotNever}} {
			o.BatchSize, o.Streams = 4, streams
			t.Run(fmt.Sprintf("%s workers=%d every=%d", kind, o.Workers, o.SnapshotEvery), func(t *testing.T) {
				for k := range len(whole[0]) + 1 {
					a := openIterable(t, dataset(), o)
					got := take(t, a, k)
					b := openIterable(t, dataset(), options{BatchSize: 4, Workers: (o.Workers + 1) % 4,
						SnapshotEvery: o.SnapshotEvery})
					restore(t, b, snapshot(t, a))
					more := min(2, len(whole[0])-k)
					got = append(got, take(t, b, more)...)
					c := openIterable(t, dataset(), options{BatchSize: 4, Workers: 2})
					restore(t, c, snapshot(t, b))
					got = append(got, take(t, c, -1)...)
					if diff := cmp.Diff(whole[0], got); diff != "" {
						t.Fatalf("after %d: %s", k, diff)
					}
					if diff := cmp.Diff(whole[1], take(t, c, -1)); diff != "" {
						t.Fatalf("after %d, next epoch: %s", k, diff)
					}
				}
			})
		}
	}
}

// numberStream is a loader of single numbers, as a stream.
func numberStream(n int) *loader.Loader[int64, int64] {
	l, err := loader.New[int64, int64](ids(n), loader.Options[int64, int64]{BatchSize: loader.NoBatching, Shuffle: true})
	if err != nil {
		panic(err)
	}
	return l
}

// S7 costs what it must: an iterator with a state reads nothing again.
func TestAnIteratorWithAStateReadsNothingAgain(t *testing.T) {
	a := openIterable(t, seekable{size: 1000}, options{BatchSize: 10})
	take(t, a, 50)
	var read int64
	b := openIterable(t, seekable{size: 1000, read: &read}, options{BatchSize: 10})
	restore(t, b, snapshot(t, a))
	take(t, b, 1)
	if read != 10 {
		t.Errorf("%d items read for a batch of 10", read)
	}
}

// S22: the state of a data set goes on from epoch to epoch, whether workers keep
// it or not.
func TestStateOfTheDataSetOutlivesEpochs(t *testing.T) {
	for _, o := range []options{{}, {Workers: 2}, {Workers: 2, Persistent: true}} {
		l := openIterable(t, &counted{size: 4}, o)
		for epoch := range int64(3) {
			got := slices.Concat(take(t, l, -1)...)
			slices.Sort(got)
			base := (epoch + 1) * 1_000_000
			if diff := cmp.Diff([]int64{base, base + 1, base + 2, base + 3}, got); diff != "" {
				t.Errorf("workers %d persistent %t epoch %d: %s", o.Workers, o.Persistent, epoch, diff)
			}
		}
	}
}

// S20 and S10: in the loop, at the last batch, the epoch is not over; after it, it is.
func TestEndOfAnEpochIsUnambiguous(t *testing.T) {
	for _, iterable := range []bool{false, true} {
		make := func() *loader.Loader[int64, tensor.Tensor] {
			if iterable {
				return openIterable(t, plain(12), options{BatchSize: 4})
			}
			return open(t, ids(12), options{BatchSize: 4, Shuffle: true})
		}
		a := make()
		take(t, a, 3)
		inLoop := snapshot(t, a)
		if rest := take(t, a, -1); len(rest) != 0 {
			t.Fatal(rest)
		}
		after := snapshot(t, a)
		second := take(t, a, -1)

		b := make()
		restore(t, b, inLoop)
		if rest := take(t, b, -1); len(rest) != 0 {
			t.Errorf("iterable=%t: %d batches after the last", iterable, len(rest))
		}
		if diff := cmp.Diff(string(after), string(snapshot(t, b))); diff != "" {
			t.Error(diff)
		}
		restore(t, b, after)
		if diff := cmp.Diff(second, take(t, b, -1)); diff != "" {
			t.Error(diff)
		}
	}
}

// S12: two loaders do not disturb each other.
func TestTwoLoadersAtOnce(t *testing.T) {
	a := openIterable(t, plain(40), options{BatchSize: 3, Workers: 2})
	b := openIterable(t, plain(40), options{BatchSize: 3, Workers: 2})
	for range 7 {
		if diff := cmp.Diff(take(t, a, 1), take(t, b, 1)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// S23: a data set is opened once for each stream and epoch.
func TestOpenedOncePerStream(t *testing.T) {
	var opened [3]int
	ds := openCounter{opened: &opened}
	l := openIterable(t, ds, options{Streams: 3})
	epochs(t, l, 2)
	if opened != [3]int{2, 2, 2} {
		t.Errorf("opened %v times in two epochs", opened)
	}
}

type openCounter struct{ opened *[3]int }

func (o openCounter) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	o.opened[w.ID]++
	return plain(9).Open(ctx)
}

// TestSeedIsANumberOfTheSample checks that Seed is the first number of Stream("seed"), also for the
// zero Random.
func TestSeedIsANumberOfTheSample(t *testing.T) {
	for _, r := range []loader.Random{{}, loader.NewRandom(7, 0), loader.NewRandom(1<<63, 1<<40)} {
		s := r.Stream("seed")
		if want := s.Uint64(); r.Seed() != want {
			t.Errorf("position %d: %d, want %d", r.Position(), r.Seed(), want)
		}
	}
}
