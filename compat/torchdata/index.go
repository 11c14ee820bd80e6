package torchdata

import (
	"encoding/json"
	"slices"

	"github.com/bivouac-ml/bivouac/order"
)

// index is torch's _index_sampler: the batch sampler, or the sampler if items are not collated.
type index interface {
	open() indexCursor
	sampler() any
}

// indexCursor yields the ids of a task. For iterables it yields one id per wanted item.
type indexCursor interface {
	next() (ids []int64, ok bool, err error)
	cursor() any
}

type batchIndex struct{ of order.BatchSampler }

func (x batchIndex) open() indexCursor { return batchIndexCursor{x.of.Open()} }
func (x batchIndex) sampler() any      { return x.of }

type batchIndexCursor struct{ of order.Cursor[[]int64] }

func (c batchIndexCursor) cursor() any { return c.of }

func (c batchIndexCursor) next() ([]int64, bool, error) {
	ids, ok, err := c.of.Next()
	return slices.Clone(ids), ok, err
}

type singleIndex struct{ of order.Sampler }

func (x singleIndex) open() indexCursor { return singleIndexCursor{x.of.Open()} }
func (x singleIndex) sampler() any      { return x.of }

type singleIndexCursor struct{ of order.Cursor[int64] }

func (c singleIndexCursor) cursor() any { return c.of }

func (c singleIndexCursor) next() ([]int64, bool, error) {
	id, ok, err := c.of.Next()
	if !ok || err != nil {
		return nil, false, err
	}
	return []int64{id}, true, nil
}

// drawing is the index of a pass, with its cursor and the number of draws.
type drawing struct {
	of    index
	at    indexCursor
	drawn int64
}

// restart begins an iteration of the sampler.
func (d *drawing) restart() { d.at, d.drawn = d.of.open(), 0 }

func (d *drawing) next() ([]int64, bool, error) {
	ids, ok, err := d.at.next()
	if ok && err == nil {
		d.drawn++
	}
	return ids, ok, err
}

// states returns the states of the sampler and of its cursor.
func (d *drawing) states() (sampler, cursor json.RawMessage, err error) {
	if sampler, err = stateOf(d.of.sampler()); err != nil {
		return nil, nil, err
	}
	cursor, err = stateOf(d.at.cursor())
	return sampler, cursor, err
}

// resume continues from states. Without states it skips the ids that were drawn.
func (d *drawing) resume(drawn int64, sampler, cursor json.RawMessage) error {
	stateful := isStateful(d.of.sampler()) || isStateful(d.at.cursor())
	d.drawn = drawn
	switch s := d.of.(type) {
	case batchIndex:
		if !stateful {
			d.at = batchIndexCursor{skipping(s.of.Open(), drawn)}
			return nil
		}
	case singleIndex:
		if _, endless := s.of.(constant); endless {
			return nil
		}
		if !stateful {
			d.at = singleIndexCursor{skipping(s.of.Open(), drawn)}
			return nil
		}
	}
	if isStateful(d.of.sampler()) {
		if isNull(sampler) {
			return unexpected("torchdata.SetState", "_index_sampler_state", "a state of a sampler that has no state")
		}
		if err := restoreAt(d.of.sampler(), sampler, drawn); err != nil {
			return err
		}
	}
	d.at = d.of.open()
	if isNull(cursor) {
		return nil
	}
	return restore(d.at.cursor(), cursor)
}
