package timeline

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// Seen is a place at which a sample is delivered.
type Seen struct {
	Place     // of its batch
	Row   int // in the global batch
	Size  int // of that batch
}

// Rank returns the rank, of so many, that gets the sample, and the row in its batch.
func (s Seen) Rank(world int) (rank, row int) {
	rank = s.Row * world / s.Size
	for s.Size*(rank+1)/world <= s.Row {
		rank++
	}
	for s.Size*rank/world > s.Row {
		rank--
	}
	return rank, s.Row - s.Size*rank/world
}

// In returns where in an epoch a sample is delivered first; ok is false where it is not:
// in a short batch that is left out, before FirstStep, or in an epoch that does not have
// it. An order that cannot be inverted is looked through. The error is of kind
// errs.Invalid for an id that the data set does not have.
func (t *Timeline) In(epoch, id int64) (s Seen, ok bool, err error) {
	all, err := t.All(context.Background(), epoch, id, 1)
	if len(all) == 0 || err != nil {
		return s, false, err
	}
	return all[0], true, nil
}

// All returns the places of an epoch at which a sample is delivered, at most so many: a
// mixture may have it often, a selection never. Otherwise it is as In.
func (t *Timeline) All(ctx context.Context, epoch, id int64, most int) (all []Seen, err error) {
	if id < 0 || id >= t.samples && t.samples > 0 || t.length == 0 || epoch < 0 {
		want := fmt.Sprintf("a sample of 0 to %d", t.samples-1)
		if t.samples == 0 {
			want = "a sample from 0 on"
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: "timeline.In", Subject: fmt.Sprint("sample ", id, " in epoch ", epoch), Want: want}
	}
	if t.alone && epoch > 0 {
		return nil, nil
	}
	err = t.indices(ctx, epoch, id, func(index int64) bool {
		if s, ok := t.find(epoch, index); ok {
			all = append(all, s)
		}
		return len(all) < most
	})
	return all, err
}

// indices yields where in an epoch's order a sample is, until yield says that it is enough.
func (t *Timeline) indices(ctx context.Context, epoch, id int64, yield func(int64) bool) error {
	index := int64(-1)
	switch o := t.order.(type) {
	case order.Sequential, order.Cycle:
		index = id
	case *order.Permutation:
		index = o.Inverse(id)
	case *order.Shuffled:
		index = o.Epoch(epoch).Inverse(id)
	}
	if index >= 0 && t.own == t.length {
		yield(index)
		return nil
	}
	block := make([]int64, min(t.length, 1<<16))
	for i := int64(0); i < t.length; i += int64(len(block)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		block = block[:min(int64(len(block)), t.length-i)]
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

// find returns the batch that holds an index of an epoch.
func (t *Timeline) find(epoch, index int64) (Seen, bool) {
	if t.wrap {
		return t.findAround(epoch, index), true
	}
	for i, s := range t.segments {
		if before(epoch, index, s.Place) {
			return Seen{}, false
		}
		if i+1 < len(t.segments) && !before(epoch, index, t.segments[i+1].Place) {
			continue
		}
		step, start := s.Step, s.Index
		if epoch > s.Epoch {
			step += t.batches(t.length-s.Index, s.global) + (epoch-s.Epoch-1)*t.batches(t.length, s.global)
			start = 0
		}
		batch := (index - start) / s.global
		from := start + batch*s.global
		size := min(s.global, t.length-from)
		if size < s.global && t.dropLast {
			return Seen{}, false
		}
		return Seen{Place{step + batch, epoch, from}, int(index - from), int(size)}, true
	}
	return Seen{}, false
}

// before reports whether a sample comes before a place.
func before(epoch, index int64, p Place) bool {
	return epoch < p.Epoch || epoch == p.Epoch && index < p.Index
}

// Delivered reports whether the run had delivered a batch when the document was written.
func (t *Timeline) Delivered(p Place) bool { return p.Step < t.here.Step }

// Begin returns where an epoch begins; ok is false where the document does not tell.
func (t *Timeline) Begin(epoch int64) (p Place, ok bool, err error) {
	if epoch < 0 {
		return p, false, &errs.Error{Kind: errs.Invalid, Op: "timeline.Begin", Subject: fmt.Sprint("epoch ", epoch), Want: "0 or more"}
	}
	s, ok := t.find(epoch, 0)
	return s.Place, ok, nil
}
