package order_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/order"
)

// The windows of the first samples are the windows of the old shards, whether the data set got more
// shards or its last shard got longer.
func TestFirstOfWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 12).Draw(t, "sizes")
		more := append(append([]int64(nil), sizes...), rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 9).Draw(t, "more")...)
		more[len(sizes)-1] += rapid.Int64Range(0, 9).Draw(t, "longer")
		was, err := order.NewWindows(sizes, 3, 7, "w")
		if err != nil {
			t.Fatal(err)
		}
		is, err := order.NewWindows(more, 3, 7, "w")
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []int{1, order.Version} {
			first, ok := order.First(order.At(is, version), was.EpochLen())
			if want := order.At(was, version); !ok || first.String() != want.String() {
				// They differ only in empty shards, which did not exist before.
				if is.EpochLen() != was.EpochLen() {
					t.Fatalf("%v, want %v", first, want)
				}
				continue
			}
			if diff := cmp.Diff(idsUpTo(order.At(was, version), 60), idsUpTo(first, 60)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// First says that it does not know: a mixture does not record which samples it had.
func TestFirstIsNotKnown(t *testing.T) {
	m, err := order.NewMixture([]order.Source{{Order: order.NewShuffled(9, 1, "a"), Weight: 1}}, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := order.NewLengths(make([]int32, 9))
	if err != nil {
		t.Fatal(err)
	}
	p, err := order.NewPacks(m, l, order.PackOptions{Capacity: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []order.Order{m, p} {
		if first, ok := order.First(o, 5); ok {
			t.Errorf("%s", first)
		}
	}
	for _, samples := range []int64{-3, 0, 4, 9, 100} {
		for _, o := range []order.Order{order.Sequential(9), order.NewCycle(9), order.NewShuffled(9, 1, "a"), order.NewPermutation(9, 4)} {
			first, ok := order.First(o, samples)
			n, _ := first.Len()
			if e, endless := first.(order.Epochs); endless {
				n = e.EpochLen()
			}
			if !ok || n != max(0, min(9, samples)) {
				t.Errorf("the first %d of %s are %d", samples, o, n)
			}
		}
	}
}
