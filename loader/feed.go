package loader

import (
	"fmt"
	"io"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// feed draws the ids of global batches in one epoch.
type feed interface {
	// draw fills a record with the next batch, of global samples over all ranks where
	// the feed does not say itself how many. It returns io.EOF at the end of the epoch.
	draw(r *record, global int) error
}

// orderFeed draws from an order.
type orderFeed struct {
	order       order.Order
	start       int64 // position of the epoch in the order
	length      int64 // of the epoch
	index       int64
	samples     int64 // of the data set
	rank, world int
	dropLast    bool
}

func (f *orderFeed) draw(r *record, global int) error {
	n := int(min(int64(global), f.length-f.index))
	if n <= 0 || n < global && f.dropLast {
		return io.EOF
	}
	if cap(r.ids) < n {
		r.ids = make([]int64, n)
	}
	r.ids = r.ids[:n]
	if got := f.order.Fill(f.start+f.index, r.ids); got < n {
		return &errs.Error{Kind: errs.Invalid, Subject: "order", Want: fmt.Sprint(n, " ids at position ", f.start+f.index), Got: strconv.Itoa(got)}
	}
	r.lo, r.hi = share(n, f.rank, f.world)
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	f.index += int64(n)
	return nil
}

// checkIDs refuses ids that the data set does not have.
func checkIDs(ids []int64, samples int64) error {
	for _, id := range ids {
		if uint64(id) >= uint64(samples) {
			return &errs.Error{Kind: errs.Invalid, Subject: "id " + strconv.FormatInt(id, 10) + " from the order",
				Want: "0 to " + strconv.FormatInt(samples-1, 10), Got: "one that the data set does not have"}
		}
	}
	return nil
}

// samplerFeed draws from a sampler of the user.
type samplerFeed struct {
	sampler     Sampler
	cursor      Cursor[int64]
	samples     int64
	rank, world int
	dropLast    bool
}

func (f *samplerFeed) draw(r *record, global int) error {
	r.ids = r.ids[:0]
	for len(r.ids) < global {
		id, ok, err := f.cursor.Next()
		if err != nil {
			return errs.Wrap("", "sampler", err)
		}
		if !ok {
			break
		}
		r.ids = append(r.ids, id)
	}
	if n := len(r.ids); n == 0 || n < global && f.dropLast {
		return io.EOF
	}
	r.draws = int64(len(r.ids))
	r.lo, r.hi = share(len(r.ids), f.rank, f.world)
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	return r.remember(f.sampler, f.cursor)
}

// batchFeed draws from a batch sampler of the user: a batch for each rank.
type batchFeed struct {
	sampler     BatchSampler
	cursor      Cursor[[]int64]
	samples     int64
	rank, world int
}

func (f *batchFeed) draw(r *record, _ int) error {
	r.ids, r.lo, r.hi = r.ids[:0], 0, 0
	for rank := range f.world {
		ids, ok, err := f.cursor.Next()
		if err != nil {
			return errs.Wrap("", "batch sampler", err)
		}
		if !ok && rank == 0 {
			return io.EOF
		}
		if !ok {
			break
		}
		r.draws = int64(rank + 1)
		if rank == f.rank {
			r.lo, r.hi = len(r.ids), len(r.ids)+len(ids)
		}
		r.ids = append(r.ids, ids...)
	}
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	return r.remember(f.sampler, f.cursor)
}

// remember takes the states of a sampler and its cursor, where they have one.
func (r *record) remember(sampler, cursor any) (err error) {
	if s, ok := sampler.(state.Stateful); ok {
		if r.sampler, err = s.AppendState(r.sampler[:0]); err != nil {
			return errs.Wrap("", "state of the sampler", err)
		}
	}
	if s, ok := cursor.(state.Stateful); ok {
		if r.cursor, err = s.AppendState(r.cursor[:0]); err != nil {
			return errs.Wrap("", "state of the sampler's iteration", err)
		}
	}
	return nil
}

// openCursor opens a sampler at a place in an epoch.
func openCursor[T any](sampler any, open func() Cursor[T], at *place) (Cursor[T], error) {
	if at.sampler != nil {
		if err := setState(sampler, "sampler", at.sampler); err != nil {
			return nil, err
		}
	}
	if s, ok := sampler.(EpochSetter); ok {
		s.SetEpoch(at.epoch)
	}
	c := open()
	if c == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "sampler", Want: "a cursor from Open", Got: "nil"}
	}
	if at.cursor != nil {
		return c, setState(c, "sampler's iteration", at.cursor)
	}
	for range at.draws {
		if _, ok, err := c.Next(); err != nil || !ok {
			return nil, &errs.Error{Kind: errs.Mismatch, Subject: "sampler", Want: fmt.Sprint(at.draws, " draws, as many as the state says"), Got: "an end before", Err: err}
		}
	}
	return c, nil
}
