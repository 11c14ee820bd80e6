package timeline

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// The number of samples in a batch of packs is not known before. So the timeline walks through the
// packs of an epoch, up to the batch that is asked for. It keeps where the batches of the latest
// epochs begin, and the number of batches of other epochs that have ended.

// walkKey is an epoch in batches of global packs, from an index on.
type walkKey struct{ epoch, from, global int64 }

// walked holds the batches of an epoch through which the timeline has walked.
type walked struct {
	walkKey
	starts []int64 // where each whole batch begins, and the end of the last one
	packs  int64   // packs in the batch after them
	at     int64   // index of the next pack
	ended  bool    // there are no more
	short  bool    // if ended: the last batch has fewer packs than the others
}

// batches returns the number of whole batches walked through.
func (w *walked) batches() int64 { return int64(len(w.starts) - 1) }

// walker walks through the packs of epochs.
type walker struct {
	mu       sync.Mutex
	latest   []*walked
	counts   map[walkKey]int64 // batches of epochs that were walked to the end
	told     func(epoch, done, total int64) error
	resolved bool // whether short batches are left out
	drop     bool
	past     *error // result of checkPast, or nil if it was not called
}

// mostWalked is the number of epochs for which the starts of batches are kept.
const mostWalked = 4

// walkTo walks through the packs of an epoch until it has passed both batch k and an index, or to
// the end. The caller holds the lock.
func (t *Timeline) walkTo(key walkKey, k, index int64) (w *walked, err error) {
	for i, known := range t.walker.latest {
		if known.walkKey == key {
			w = known
			t.walker.latest = slices.Delete(t.walker.latest, i, i+1)
			break
		}
	}
	if w == nil {
		w = &walked{walkKey: key, starts: []int64{key.from}, at: key.from}
	}
	if t.walker.latest = append(t.walker.latest, w); len(t.walker.latest) > mostWalked {
		t.walker.latest = slices.Delete(t.walker.latest, 0, 1)
	}
	o, begin, ok := t.orderAt(key.epoch)
	packs, are := o.(order.Packer)
	if !ok || !are {
		return nil, corrupt("fields: order", "at least one pack in the epoch", key.epoch)
	}
	length := t.lengthOf(key.epoch)
	total := length
	if index >= 0 && index < length {
		total = index
	}
	if total == math.MaxInt64 {
		total = 0 // the total is not known
	}
	const often = 1 << 16 // packs
	told := false
	defer func() {
		if told && err == nil {
			err = t.walker.told(key.epoch, w.at, w.at)
		}
	}()
	for n := 0; !w.ended && (w.batches() <= k || w.starts[len(w.starts)-1] <= index); n++ {
		if w.at >= length {
			w.ended, w.short = true, w.packs > 0
			if w.short {
				w.starts = append(w.starts, w.at)
			}
			break
		}
		if t.walker.told != nil && n%often == often-1 {
			told = true
			if err := t.walker.told(key.epoch, w.at, total); err != nil {
				return nil, err
			}
		}
		first, size, ok := packs.Pack(begin + w.at)
		if !ok || size < 1 || first != begin+w.at {
			return nil, corrupt("extra.index", fmt.Sprint("the beginning of a pack, in an epoch of ", length, " samples"),
				fmt.Sprintf("sample %d of epoch %d", w.at, key.epoch))
		}
		w.at += size
		if w.packs++; w.packs == key.global {
			w.starts, w.packs = append(w.starts, w.at), 0
		}
	}
	return w, nil
}

// packedBatch returns where batch k of an epoch begins, and the number of its samples. If there is
// no such batch, ok is false and total is the number of batches.
func (t *Timeline) packedBatch(key walkKey, k int64) (first, n, total int64, ok bool, err error) {
	t.walker.mu.Lock()
	defer t.walker.mu.Unlock()
	if total, ok := t.walker.counts[key]; ok && k >= total {
		return 0, 0, total, false, nil
	}
	w, err := t.walkTo(key, k, -1)
	if err != nil {
		return 0, 0, 0, false, err
	}
	if total = w.batches(); w.ended {
		if total, err = t.whole(w); err != nil {
			return 0, 0, 0, false, err
		}
	}
	if k >= total {
		return 0, 0, total, false, nil
	}
	return w.starts[k], w.starts[k+1] - w.starts[k], total, true, nil
}

// packedNumber returns the number of the batch that contains an index of an epoch. ok is false if
// that batch is left out.
func (t *Timeline) packedNumber(key walkKey, index int64) (k int64, ok bool, err error) {
	t.walker.mu.Lock()
	defer t.walker.mu.Unlock()
	w, err := t.walkTo(key, -1, index)
	if err != nil {
		return 0, false, err
	}
	total := w.batches()
	if w.ended {
		if total, err = t.whole(w); err != nil {
			return 0, false, err
		}
	}
	k = int64(sort.Search(len(w.starts), func(i int) bool { return w.starts[i] > index })) - 1
	return k, k >= 0 && k < total, nil
}

// packedCount returns how many batches an epoch has.
func (t *Timeline) packedCount(key walkKey) (int64, error) {
	if t.lengthOf(key.epoch) == math.MaxInt64 {
		return 0, &errs.Error{Kind: errs.Unsupported, Op: "timeline", Subject: fmt.Sprint("epoch ", key.epoch),
			Want: "an epoch that ends", Got: "an epoch that never ends"}
	}
	_, _, total, _, err := t.packedBatch(key, math.MaxInt64)
	return total, err
}

// whole returns the number of batches of an epoch that was walked to its end. The caller holds the
// lock.
func (t *Timeline) whole(w *walked) (int64, error) {
	total := w.batches()
	if w.short {
		drop, err := t.dropsPacks()
		if err != nil {
			return 0, err
		}
		if drop {
			total--
		}
	}
	t.walker.counts[w.walkKey] = total
	return total, nil
}

// dropsPacks reports whether short batches of packs are left out. The coverage of the epoch before
// tells it. If that epoch had no short batch, the options decide. The caller holds the lock.
func (t *Timeline) dropsPacks() (bool, error) {
	w := t.walker
	if w.resolved {
		return w.drop, nil
	}
	before := t.here.Epoch - 1
	for _, c := range t.extra.Coverage {
		if before < 0 || c.Epoch != before || c.Count == 0 {
			continue
		}
		if c.Count < t.lengthOf(before) {
			w.drop = true
		} else if w.drop {
			s, from := t.lastOf(before)
			made, err := t.walkTo(walkKey{before, from, s.global}, math.MaxInt64, math.MaxInt64)
			if err != nil {
				return false, err
			}
			w.drop = !made.short
		}
	}
	w.resolved = true
	return w.drop, nil
}

// lastOf returns the segment that contains the end of an epoch, and the index of the epoch from
// which its batches count.
func (t *Timeline) lastOf(epoch int64) (s segment, from int64) {
	s = t.segments[0]
	for _, next := range t.segments {
		if next.Epoch < epoch || next.Epoch == epoch && next.Index < t.lengthOf(epoch) {
			s = next
		}
	}
	if s.Epoch == epoch {
		from = s.Index
	}
	return s, from
}

// checkPast checks once whether the steps before the epoch of the state lead to that epoch, before
// any of these steps is returned. They do not if an epoch was broken off.
func (t *Timeline) checkPast(s segment) error {
	if !t.packs || s.Epoch == t.here.Epoch {
		return nil
	}
	w := t.walker
	w.mu.Lock()
	past := w.past
	w.mu.Unlock()
	if past != nil {
		return *past
	}
	ok, err := t.consistent(Place{Step: t.epochStep, Epoch: t.here.Epoch})
	if err == nil && !ok {
		err = &errs.Error{Kind: errs.Unsupported, Op: "timeline", Subject: fmt.Sprint("steps before ", t.epochStep),
			Want:   "batches of packs that lead to the epoch of the state",
			Got:    "another number of batches (Options.Tail may be wrong, or an epoch was broken off)",
			Remedy: "set Options.Tail, or --drop-last, if the loader leaves short batches out"}
	}
	w.mu.Lock()
	w.past = &err
	w.mu.Unlock()
	return err
}

// packEnds returns where each pack of a batch ends in the ids of the batch, or nil if batches count
// samples.
func (t *Timeline) packEnds(p Place, n int64) (ends []int, err error) {
	if !t.packs {
		return nil, nil
	}
	o, begin, _ := t.orderAt(p.Epoch)
	packs, _ := o.(order.Packer)
	for at := int64(0); at < n; {
		_, size, ok := packs.Pack(begin + p.Index + at)
		if !ok || size < 1 {
			return nil, corrupt("fields: order", fmt.Sprint("a pack at sample ", p.Index+at, " of epoch ", p.Epoch), "no pack")
		}
		at += size
		ends = append(ends, int(at))
	}
	return ends, nil
}
