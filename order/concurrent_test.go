package order

import (
	"slices"
	"sync"
	"testing"
)

// Orders that cache their last result give the same ids to many goroutines that read at random
// positions at once.
func TestConcurrentFill(t *testing.T) {
	of, sizes := make([]int32, 500), make([]int64, 25)
	for i := range of {
		of[i] = int32(i * 7 % 13)
	}
	for i := range sizes {
		sizes[i] = 20 + int64(i%3-1)
	}
	sizes[24] += 500 - sum(sizes)
	windows, err := NewWindows(sizes, 4, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := NewLengths(of)
	if err != nil {
		t.Fatal(err)
	}
	packs, err := NewPacks(windows, lengths, PackOptions{Capacity: 20, Block: 64})
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := NewBuckets(windows, lengths, []int64{4, 8}, 8, 64)
	if err != nil {
		t.Fatal(err)
	}
	filtered, err := NewFiltered(windows, NewSelection(500, func(id int64) bool { return id%3 > 0 }))
	if err != nil {
		t.Fatal(err)
	}
	mixture, err := NewMixture([]Source{{Order: packs, Weight: 2}, {Order: filtered, Weight: 1, Samples: 500}}, StopFirst)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	for _, o := range []Order{windows, packs, buckets, filtered, mixture} {
		want := scan(o, n)
		var wait sync.WaitGroup
		for g := range 8 {
			wait.Go(func() {
				got := make([]int64, 100)
				for k := range 60 {
					pos := (g*997 + k*1231) % (n - 100)
					if o.Fill(int64(pos), got); !slices.Equal(got, want[pos:pos+100]) {
						t.Errorf("%s from %d: %v, want %v", o, pos, got, want[pos:pos+100])
						return
					}
				}
			})
		}
		wait.Wait()
	}
}

func sum(x []int64) (s int64) {
	for _, v := range x {
		s += v
	}
	return s
}

// Fill allocates nothing where the documents say so.
func TestFillAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools give less back to the race detector")
	}
	sizes := slices.Repeat([]int64{50}, 40)
	windows, err := NewWindows(sizes, 4, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	mixture, err := NewMixture([]Source{{Order: NewShuffled(1000, 1, ""), Weight: 2}, {Order: windows, Weight: 1}}, StopFirst)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := NewBatches(mixture, 30, Span)
	if err != nil {
		t.Fatal(err)
	}
	rank, err := NewRank(batches, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int64, 300)
	for _, o := range []Order{NewShuffled(1000, 1, ""), windows, rank, NewSelected(NewCycle(10), NewSelection(20, func(id int64) bool { return id%2 == 0 }))} {
		o.Fill(0, dst)
		if n := testing.AllocsPerRun(50, func() { o.Fill(100, dst) }); n >= 1 {
			t.Errorf("%s: %.1f allocations", o, n)
		}
	}
}
