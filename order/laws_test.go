package order

import (
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

var (
	_ Epochs = Cycle{}
	_ Epochs = (*Shuffled)(nil)
	_ Epochs = (*Windows)(nil)
	_ Epochs = (*Repeated)(nil)
	_ Epochs = (*Selected)(nil)
	_ Epochs = (*Filtered)(nil)
	_ Epochs = (*Packs)(nil)
	_ Epochs = (*Buckets)(nil)
	_ Order  = (*Mixture)(nil)
	_ Order  = (*Segments)(nil)
	_ Order  = (*Rank)(nil)
)

// scan returns the first n ids of an order, or fewer if the order ends.
func scan(o Order, n int) []int64 {
	ids := make([]int64, n)
	return ids[:o.Fill(0, ids)]
}

// checkSeek compares blocks from random positions, and the length, with the result of a scan.
func checkSeek(t *rapid.T, o Order, n int) {
	t.Helper()
	all := scan(o, n)
	if length, ok := o.Len(); ok && int64(len(all)) != min(length, int64(n)) || !ok && len(all) != n {
		t.Fatalf("%s: %d ids of %d, length %d, %t", o, len(all), n, length, ok)
	}
	for range 5 {
		pos := rapid.IntRange(0, n).Draw(t, "pos")
		got := make([]int64, rapid.IntRange(0, n-pos).Draw(t, "block"))
		k := o.Fill(int64(pos), got)
		if want := all[min(pos, len(all)):min(pos+len(got), len(all))]; !slices.Equal(got[:k], want) {
			t.Fatalf("%s from %d: %v, want %v", o, pos, got[:k], want)
		}
	}
	if k := o.Fill(-1, make([]int64, 3)); k != 0 {
		t.Fatalf("%s: %d ids from -1", o, k)
	}
}

// checkOnce fails unless ids has each id from 0 to n-1 once.
func checkOnce(t *rapid.T, ids []int64, n int64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(ids))
	for i, id := range sorted {
		if id != int64(i) {
			t.Fatalf("%v are not the ids below %d", sorted, n)
		}
	}
	if int64(len(ids)) != n {
		t.Fatalf("%d ids of %d", len(ids), n)
	}
}

func drawEpochs(t *rapid.T) Epochs {
	n := rapid.Int64Range(1, 60).Draw(t, "n")
	seed := rapid.Uint64().Draw(t, "seed")
	switch rapid.IntRange(0, 3).Draw(t, "order") {
	case 0:
		return NewCycle(n)
	case 1:
		r, err := Repeat(NewPermutation(n, seed), rapid.Int64Range(1, 4).Draw(t, "epochs"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	case 2:
		return drawWindows(t)
	}
	return NewShuffled(n, seed, "d")
}

// Batches cover an epoch as their tail says. Ranks divide each batch, for any world size.
func TestBatchesLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawEpochs(t)
		size := rapid.Int64Range(1, 12).Draw(t, "size")
		tail := Tail(rapid.IntRange(0, 3).Draw(t, "tail"))
		b, err := NewBatches(o, size, tail)
		if err != nil {
			if tail != Drop || size <= o.EpochLen() {
				t.Fatal(err)
			}
			return
		}
		count := 3 * min(b.PerEpoch(), 14)
		if all, ok := b.Len(); ok {
			count = min(count, all)
			if _, ok := b.At(all); ok {
				t.Fatalf("%s has batch %d", b, all)
			}
		}
		var whole []int64
		batches := make([][]int64, count)
		for i := range batches {
			at, ok := b.At(int64(i))
			batches[i] = make([]int64, at.Len+2)
			batches[i] = batches[i][:b.Fill(int64(i), 0, batches[i])]
			if !ok || int64(len(batches[i])) != at.Len || at.Len < size && tail != Short && (tail != Span || int64(i) != count-1) {
				t.Fatalf("%s: batch %d has %d samples, want %+v", b, i, len(batches[i]), at)
			}
			place := rapid.Int64Range(0, at.Len).Draw(t, "place")
			rest := make([]int64, at.Len-place)
			if b.Fill(int64(i), place, rest); !slices.Equal(rest, batches[i][place:]) {
				t.Fatalf("%s: batch %d from %d: %v of %v", b, i, place, rest, batches[i])
			}
			whole = append(whole, batches[i]...)
		}
		checkTail(t, b, o, whole)
		world := rapid.Int64Range(1, size).Draw(t, "world")
		checkRanks(t, b, world, batches)
	})
}

// checkTail checks the batches of one epoch, or all batches if they span epochs, against the order.
func checkTail(t *rapid.T, b *Batches, o Epochs, whole []int64) {
	t.Helper()
	n := o.EpochLen()
	per := n
	switch b.tail {
	case Span:
		if want := scan(o, len(whole)); !slices.Equal(whole, want) {
			t.Fatalf("%s: %v, want %v", b, whole, want)
		}
		return
	case Drop:
		per = n / b.size * b.size
	case Pad:
		per = (n + b.size - 1) / b.size * b.size
	}
	for epoch := int64(0); (epoch+1)*per <= int64(len(whole)); epoch++ {
		got, want := whole[epoch*per:(epoch+1)*per], make([]int64, n)
		o.Fill(epoch*n, want)
		for i, id := range got {
			if id != want[int64(i)%n] {
				t.Fatalf("%s: epoch %d has %v of %v", b, epoch, got, want)
			}
		}
	}
}

func checkRanks(t *rapid.T, b *Batches, world int64, batches [][]int64) {
	t.Helper()
	total := 0
	for _, batch := range batches {
		total += len(batch)
	}
	shared := make([][]int64, len(batches))
	for rank := range world {
		r, err := NewRank(b, rank, world)
		if err != nil {
			t.Fatal(err)
		}
		own := scan(r, total)
		used := int64(0)
		for i := range batches {
			first, n, ok := r.Batch(int64(i))
			if !ok || first != used {
				t.Fatalf("%s: batch %d begins at %d, want %d", r, i, first, used)
			}
			shared[i] = append(shared[i], own[first:first+n]...)
			used += n
		}
		checkSeek(t, r, int(used))
	}
	for i, batch := range batches {
		if !slices.Equal(shared[i], batch) {
			t.Fatalf("%s of %d ranks: batch %d is %v, want %v", b, world, i, shared[i], batch)
		}
	}
}

func drawWindows(t *rapid.T) *Windows {
	sizes := rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 12).Draw(t, "sizes")
	if rapid.Bool().Draw(t, "uniform") {
		for i := range sizes {
			sizes[i] = 5
		}
		sizes[len(sizes)-1] = rapid.Int64Range(0, 5).Draw(t, "last")
	}
	sizes[0]++
	w, err := NewWindows(sizes, rapid.Int64Range(1, 5).Draw(t, "window"), rapid.Uint64().Draw(t, "seed"), "d")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// An epoch of windows has every id once, and a window has only ids of its shards.
func TestWindowsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindows(t)
		n := w.EpochLen()
		all := scan(w, int(3*n))
		opened := map[int64]bool{}
		for epoch := range int64(3) {
			checkOnce(t, all[epoch*n:(epoch+1)*n], n)
		}
		for pos := int64(0); pos < n; {
			shards, first, count := w.Shards(pos)
			if first != pos || int64(len(shards)) > w.window {
				t.Fatalf("%s: window of %v at %d, want %d", w, shards, first, pos)
			}
			for _, id := range all[pos : pos+count] {
				shard := int64(sort.Search(len(w.first), func(i int) bool { return w.first[i] > id })) - 1
				if !slices.Contains(shards, shard) {
					t.Fatalf("%s: id %d of shard %d in the window of %v", w, id, shard, shards)
				}
			}
			for _, shard := range shards {
				if opened[shard] {
					t.Fatalf("%s: shard %d in two windows", w, shard)
				}
				opened[shard] = true
			}
			if inner, begin, _ := w.Shards(pos + count - 1); begin != pos || !slices.Equal(inner, shards) {
				t.Fatalf("%s: another window at %d", w, pos+count-1)
			}
			pos += count
		}
		checkSeek(t, w, int(3*n))
	})
}

// Tables and arithmetic give the same windows.
func TestUniformWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindows(t)
		if !w.uniform {
			return
		}
		seed, domain := w.seed, w.domain
		sizes := make([]int64, len(w.first)-1)
		for i := range sizes {
			sizes[i] = w.first[i+1] - w.first[i]
		}
		other, err := NewWindows(sizes, w.window, seed, domain)
		if err != nil {
			t.Fatal(err)
		}
		other.uniform = false
		if n := int(2 * w.EpochLen()); !slices.Equal(scan(w, n), scan(other, n)) {
			t.Fatalf("%s differs", w)
		}
	})
}

// Rank and select are inverse, and selected orders have each selected id once.
func TestSelectionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1500).Draw(t, "n")
		every := rapid.Uint64Range(1, 9).Draw(t, "every")
		keep := func(id int64) bool { return uint64(id)*0x9E3779B97F4A7C15>>32%every == 0 }
		s := NewSelection(n, keep)
		var want []int64
		for id := range n {
			if s.Rank(id) != int64(len(want)) || s.Has(id) != keep(id) {
				t.Fatalf("rank of %d is %d, want %d; has %t", id, s.Rank(id), len(want), s.Has(id))
			}
			if keep(id) {
				want = append(want, id)
			}
		}
		for k, id := range want {
			if s.Select(int64(k)) != id {
				t.Fatalf("select %d is %d, want %d", k, s.Select(int64(k)), id)
			}
		}
		again, err := SelectIDs(n, want)
		if err != nil || again.String() != s.String() || s.Select(-1) != -1 || s.Select(s.Count()) != -1 || s.Rank(n) != s.Count() {
			t.Fatalf("%s, %s, %v", again, s, err)
		}
		if len(want) == 0 {
			return
		}
		o := NewSelected(NewShuffled(s.Count(), 1, "d"), s)
		if got := slices.Sorted(slices.Values(scan(o, len(want)))); !slices.Equal(got, want) {
			t.Fatalf("%s has %v, want %v", o, got, want)
		}
		checkSeek(t, o, 2*len(want)+1)
	})
}

// A filtered order is the order below without the ids that are left out.
func TestFilteredLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawEpochs(t)
		n := o.EpochLen()
		every := rapid.Int64Range(1, 9).Draw(t, "every")
		f, err := NewFiltered(o, NewSelection(n, func(id int64) bool { return id%every == 0 }))
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, id := range scan(o, int(3*n)) {
			if id%every == 0 {
				want = append(want, id)
			}
		}
		if got := scan(f, len(want)); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", f, got, want)
		}
		checkSeek(t, f, len(want))
	})
}

// Segments equal the named pieces of their orders, and Repeat equals the repeated order.
func TestSegmentsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var segments []Segment
		var want []int64
		for range rapid.IntRange(1, 4).Draw(t, "segments") {
			o := drawEpochs(t)
			s := Segment{Order: o, First: rapid.Int64Range(0, o.EpochLen()).Draw(t, "first")}
			if n, ends := o.Len(); !ends || rapid.Bool().Draw(t, "cut") {
				s.Len = rapid.Int64Range(1, 30).Draw(t, "len")
				if ends && s.Len > n-s.First {
					s.Len = n - s.First
				}
			}
			part := scan(o, int(s.First+s.Len))
			if n, ends := o.Len(); s.Len == 0 && ends {
				part = scan(o, int(n))
			}
			segments, want = append(segments, s), append(want, part[s.First:]...)
		}
		s, err := NewSegments(segments...)
		if err != nil {
			t.Fatal(err)
		}
		if got := scan(s, len(want)+3); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", s, got, want)
		}
		checkSeek(t, s, len(want)+3)
		if len(want) == 0 {
			return
		}
		epochs := rapid.Int64Range(1, 3).Draw(t, "epochs")
		r, err := Repeat(s, epochs)
		if err != nil {
			t.Fatal(err)
		}
		if got := scan(r, 4*len(want)); !slices.Equal(got, slices.Repeat(want, int(epochs))) {
			t.Fatalf("%s: %v", r, got)
		}
		checkSeek(t, r, 3*len(want))
	})
}
