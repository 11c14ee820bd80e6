package timeline

import (
	"context"
	"fmt"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// Seen is a place at which a sample is delivered.
type Seen struct {
	Place       // where its batch begins
	Row   int   // row in the global batch
	Size  int   // size of that batch
	Packs []int // for a batch of packs: where each pack ends in it
}

// Rank returns which of world ranks gets the sample, and the row of the sample in the rank's batch.
// For packs it is the row of the sample's pack.
func (s Seen) Rank(world int) (rank, row int) {
	row, size := s.Row, s.Size
	if s.Packs != nil {
		row, size = sort.SearchInts(s.Packs, s.Row+1), len(s.Packs)
	}
	rank = ((row+1)*world - 1) / size
	first, _ := order.Slice(size, rank, world)
	return rank, row - first
}

// In returns where in an epoch a sample is delivered first. ok is false if it is not delivered: it
// may be in a short batch that is left out, before FirstStep, or in no batch of the epoch. An order
// that cannot be inverted is searched. The error is of kind errs.Invalid for an id that the data
// set does not have.
func (t *Timeline) In(epoch, id int64) (s Seen, ok bool, err error) {
	all, err := t.All(context.Background(), epoch, id, 1)
	if len(all) == 0 || err != nil {
		return s, false, err
	}
	return all[0], true, nil
}

// All returns up to most places of an epoch at which a sample is delivered. A mixture may deliver
// it several times, a selection never. Otherwise All works like In.
func (t *Timeline) All(ctx context.Context, epoch, id int64, most int) (all []Seen, err error) {
	if id < 0 || id >= t.samples && t.samples > 0 || epoch < 0 || t.lengthOf(epoch) == 0 {
		want := fmt.Sprintf("a sample from 0 to %d", t.samples-1)
		if t.samples == 0 {
			want = "a sample of at least 0"
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: "timeline.In",
			Subject: fmt.Sprint("sample ", id, " in epoch ", epoch), Want: want}
	}
	if t.alone && epoch > 0 {
		return nil, nil
	}
	var failed error
	err = t.indices(ctx, epoch, id, func(index int64) bool {
		s, ok, err := t.find(epoch, index)
		if failed = err; ok && err == nil {
			all = append(all, s)
		}
		return failed == nil && len(all) < most
	})
	if err == nil {
		err = failed
	}
	return all, err
}

// indices yields the indices of a sample in an epoch's order, until yield returns false.
func (t *Timeline) indices(ctx context.Context, epoch, id int64, yield func(int64) bool) error {
	index, length := int64(-1), t.lengthOf(epoch)
	o, first, _ := t.orderAt(epoch)
	switch o := o.(type) {
	case order.Sequential, order.Cycle:
		index = id
	case *order.Permutation:
		index = o.Inverse(id)
	case *order.Shuffled:
		if o.EpochLen() == length {
			index = o.Epoch(first / length).Inverse(id)
		}
	}
	if n, ends := epochLen(o); index >= 0 && index < length && ends && n == length {
		yield(index)
		return nil
	}
	block := make([]int64, min(length, 1<<16))
	for i := int64(0); i < length; i += int64(len(block)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		block = block[:min(int64(len(block)), length-i)]
		if err := t.fill(epoch, i, block); err != nil {
			return err
		}
		for k, got := range block {
			if got == id && !yield(i+int64(k)) {
				return nil
			}
		}
	}
	return nil
}

// find returns the batch that contains an index of an epoch.
func (t *Timeline) find(epoch, index int64) (seen Seen, ok bool, err error) {
	if t.tail == order.Span {
		return t.findAround(epoch, index), true, nil
	}
	for i, s := range t.segments {
		if before(epoch, index, s.Place) {
			return Seen{}, false, nil
		}
		if i+1 < len(t.segments) && !before(epoch, index, t.segments[i+1].Place) {
			continue
		}
		if err := t.checkPast(s); err != nil {
			return Seen{}, false, err
		}
		step, from, err := t.stepsTo(s, epoch)
		if err != nil {
			return Seen{}, false, err
		}
		k, ok, err := t.number(epoch, from, s.global, index)
		if err != nil || !ok {
			return Seen{}, false, err
		}
		first, size, _, _, err := t.batchOf(epoch, from, s.global, k)
		if err != nil {
			return Seen{}, false, err
		}
		seen = Seen{Place: Place{step + k, epoch, first}, Row: int(index - first), Size: int(size)}
		seen.Packs, err = t.packEnds(seen.Place, size)
		return seen, err == nil, err
	}
	return Seen{}, false, nil
}

// before reports whether a sample comes before a place.
func before(epoch, index int64, p Place) bool {
	return epoch < p.Epoch || epoch == p.Epoch && index < p.Index
}

// Delivered reports whether the run had delivered a batch when the document was written.
func (t *Timeline) Delivered(p Place) bool { return p.Step < t.here.Step }

// Begin returns where an epoch begins. ok is false if the document does not tell.
func (t *Timeline) Begin(epoch int64) (p Place, ok bool, err error) {
	if epoch < 0 {
		return p, false, &errs.Error{Kind: errs.Invalid, Op: "timeline.Begin", Subject: fmt.Sprint("epoch ", epoch),
			Want: "an epoch of at least 0"}
	}
	s, ok, err := t.find(epoch, 0)
	return s.Place, ok, err
}
