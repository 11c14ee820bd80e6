package order

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func drawLengths(t *rapid.T, n int64) *Lengths {
	l, err := NewLengths(rapid.SliceOfN(rapid.Int32Range(0, 12), int(n), int(n)).Draw(t, "lengths"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkBlocks checks an order that rearranges blocks against the order below.
func checkBlocks(t *rapid.T, o, below Epochs, block, n int64) {
	t.Helper()
	all, old := scan(o, int(n)), scan(below, int(n))
	for epoch := int64(0); epoch < n; epoch += o.EpochLen() {
		for first := epoch; first < min(epoch+o.EpochLen(), n); first += block {
			end := min(first+block, epoch+o.EpochLen())
			if end > int64(len(all)) {
				break
			}
			if got, want := slices.Sorted(slices.Values(all[first:end])), slices.Sorted(slices.Values(old[first:end])); !slices.Equal(got, want) {
				t.Fatalf("%s: block at %d is %v, want %v", o, first, got, want)
			}
		}
	}
	checkSeek(t, o, int(n))
}

// The packs of a block hold all its samples, hold at most their capacity, and no two of them fit
// into one.
func TestPacksLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		below := drawEpochs(t)
		lengths := drawLengths(t, below.EpochLen())
		options := PackOptions{
			Capacity: rapid.Int64Range(1, 20).Draw(t, "capacity"), Block: rapid.Int64Range(1, 25).Draw(t, "block"),
			Most: rapid.Int64Range(0, 6).Draw(t, "most"), Padded: rapid.Bool().Draw(t, "padded"),
		}
		p, err := NewPacks(below, lengths, options)
		if err != nil {
			t.Fatal(err)
		}
		n := 2 * p.EpochLen()
		if length, ok := p.Len(); ok {
			n = min(n, length)
		}
		checkBlocks(t, p, below, options.Block, n)
		all := scan(p, int(n))
		least := map[int64]int64{} // for each block, its smallest pack, except packs with the most samples
		for pos := int64(0); pos < n; {
			first, count, ok := p.Pack(pos)
			if !ok || first != pos || count < 1 {
				t.Fatalf("%s: pack at %d is [%d, %d), %t", p, pos, first, first+count, ok)
			}
			if inner, c, _ := p.Pack(pos + count - 1); inner != first || c != count {
				t.Fatalf("%s: pack at %d begins at %d", p, pos+count-1, inner)
			}
			sum, longest := int64(0), int64(0)
			for _, id := range all[first : first+count] {
				sum += lengths.Of(id)
				longest = max(longest, lengths.Of(id))
			}
			if options.Padded {
				sum = longest * count
			}
			if sum > options.Capacity && count > 1 || options.Most > 0 && count > options.Most {
				t.Fatalf("%s: %d samples of %d at %d", p, count, sum, pos)
			}
			if block := pos/p.EpochLen()*1000 + pos%p.EpochLen()/options.Block; !options.Padded && count != options.Most {
				if other, ok := least[block]; ok && other+sum <= options.Capacity && options.Most == 0 {
					t.Fatalf("%s: packs of %d and %d would fit into one", p, other, sum)
				}
				if other, ok := least[block]; !ok || sum < other {
					least[block] = sum
				}
			}
			pos += count
		}
		if _, _, ok := p.Pack(-1); ok {
			t.Fatal("a pack at -1")
		}
	})
}

// Batches of buckets are whole. A batch mixes buckets only where a bucket ends.
func TestBucketsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		below := drawEpochs(t)
		lengths := drawLengths(t, below.EpochLen())
		batch := rapid.Int64Range(1, 6).Draw(t, "batch")
		block := batch * rapid.Int64Range(1, 6).Draw(t, "batches")
		b, err := NewBuckets(below, lengths, []int64{2, 5, 9}, batch, block)
		if err != nil {
			t.Fatal(err)
		}
		n := 2 * b.EpochLen()
		if length, ok := b.Len(); ok {
			n = min(n, length)
		}
		checkBlocks(t, b, below, block, n)
		all := scan(b, int(n))
		mixed := map[int64]int{}
		for epoch := int64(0); epoch < n; epoch += b.EpochLen() {
			for first := epoch; first < min(epoch+b.EpochLen(), n); first += batch {
				end := min(first+batch, epoch+b.EpochLen())
				low, high := len(b.bounds), 0
				for _, id := range all[first:end] {
					low, high = min(low, b.Bucket(lengths.Of(id))), max(high, b.Bucket(lengths.Of(id)))
				}
				mixed[epoch*1000+(first-epoch)/block] += high - low
			}
		}
		for _, borders := range mixed {
			if borders > len(b.bounds) {
				t.Fatalf("%s: %d borders of buckets within batches", b, borders)
			}
		}
	})
}

func TestOrderRefusals(t *testing.T) {
	cycle := NewCycle(8)
	lengths, err := NewLengths(make([]int32, 8))
	if err != nil {
		t.Fatal(err)
	}
	batches, err := NewBatches(cycle, 4, Short)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"length":          func() error { _, err := NewLengths([]int32{3, -1}); return err },
		"capacity":        func() error { _, err := NewPacks(cycle, lengths, PackOptions{}); return err },
		"block":           func() error { _, err := NewPacks(cycle, lengths, PackOptions{Capacity: 1, Block: -1}); return err },
		"bounds":          func() error { _, err := NewBuckets(cycle, lengths, []int64{3, 3}, 2, 4); return err },
		"uneven block":    func() error { _, err := NewBuckets(cycle, lengths, nil, 2, 5); return err },
		"batch":           func() error { _, err := NewBuckets(cycle, lengths, nil, 0, 0); return err },
		"batch size":      func() error { _, err := NewBatches(cycle, 0, Short); return err },
		"tail":            func() error { _, err := NewBatches(cycle, 1, Pad+1); return err },
		"all dropped":     func() error { _, err := NewBatches(cycle, 9, Drop); return err },
		"tail's name":     func() error { _, err := ParseTail("long"); return err },
		"rank":            func() error { _, err := NewRank(batches, 2, 2); return err },
		"too many ranks":  func() error { _, err := NewRank(batches, 2, 5); return err },
		"window":          func() error { _, err := NewWindows([]int64{3}, 0, 1, ""); return err },
		"shard":           func() error { _, err := NewWindows([]int64{3, -1}, 1, 1, ""); return err },
		"no segments":     func() error { _, err := NewSegments(); return err },
		"endless segment": func() error { _, err := NewSegments(Segment{Order: cycle}, Segment{Order: cycle}); return err },
		"long segment":    func() error { _, err := NewSegments(Segment{Order: Sequential(3), First: 2, Len: 2}); return err },
		"endless repeat":  func() error { _, err := Repeat(cycle, 2); return err },
		"id":              func() error { _, err := SelectIDs(3, []int64{3}); return err },
	} {
		if err := call(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewFiltered(cycle, NewSelection(7, func(int64) bool { return true })); !errors.Is(err, errs.Mismatch) {
		t.Errorf("filter of another length: %v", err)
	}
	for tail := Short; tail <= Pad; tail++ {
		if got, err := ParseTail(tail.String()); got != tail || err != nil {
			t.Errorf("%s: %s, %v", tail, got, err)
		}
	}
}

func BenchmarkPacks(b *testing.B) {
	of := make([]int32, 1e6)
	for i := range of {
		of[i] = int32(uint64(i) * 0x9E3779B97F4A7C15 >> 54)
	}
	lengths, err := NewLengths(of)
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPacks(NewShuffled(1e6, 1, ""), lengths, PackOptions{Capacity: 2048})
	if err != nil {
		b.Fatal(err)
	}
	for name, step := range map[string]int64{"scan": 1000, "seek": 123_457_000} {
		b.Run(name, func(b *testing.B) {
			dst := make([]int64, 1000)
			var pos int64
			for b.Loop() {
				p.Fill(pos, dst)
				pos += step
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/index")
		})
	}
}

func BenchmarkWindows(b *testing.B) {
	for name, c := range map[string]struct {
		shards int
		uneven int64
	}{"even": {1e5, 0}, "uneven": {1e5, 1}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			sizes := make([]int64, c.shards)
			for i := range sizes {
				sizes[i] = 1e4 + c.uneven*int64(i%7)
			}
			w, err := NewWindows(sizes, 16, 1, "")
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]int64, 1000)
			var pos int64
			for b.Loop() {
				w.Fill(pos, dst)
				pos = (pos + 123_457_000) % w.EpochLen()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/index")
		})
	}
}
