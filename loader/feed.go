package loader

import (
	"fmt"
	"io"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// feed draws the ids of global batches in one epoch.
type feed interface {
	// draw fills a record with the next batch. global is the number of samples over all ranks, unless
	// the feed decides it. draw returns io.EOF at the end of the epoch.
	draw(r *record, global int) error
}

// orderFeed draws from an order.
type orderFeed struct {
	order   order.Order
	start   int64 // position in the order where the epoch begins
	length  int64 // length of the epoch
	index   int64
	samples int64 // samples of the data set
	dealer
	tail  order.Tail
	packs order.Packer // nil if batches count samples
}

func (f *orderFeed) draw(r *record, global int) error {
	if f.packs != nil {
		return f.drawPacks(r, global)
	}
	n := int(min(int64(global), f.length-f.index))
	if n <= 0 || n < global && f.tail == order.Drop {
		return io.EOF
	}
	if cap(r.ids) < n {
		r.ids = make([]int64, n)
	}
	r.ids = r.ids[:n]
	if got := f.order.Fill(f.start+f.index, r.ids); got < n {
		return &errs.Error{Kind: errs.Invalid, Subject: "order", Want: fmt.Sprint(n, " ids at position ", f.start+f.index),
			Got: strconv.Itoa(got)}
	}
	f.deal(r)
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	f.index += int64(n)
	return nil
}

// drawPacks draws the given number of packs.
func (f *orderFeed) drawPacks(r *record, global int) error {
	at := f.start + f.index
	pos, end := at, f.start+f.length
	for len(r.ends) < global && pos < end {
		first, n, ok := f.packs.Pack(pos)
		switch {
		case !ok || n < 1:
			return &errs.Error{Kind: errs.Invalid, Subject: "order", Want: fmt.Sprint("a pack at position ", pos),
				Got: "no pack"}
		case first != pos:
			return &errs.Error{Kind: errs.Mismatch, Subject: "position",
				Want: fmt.Sprint("the beginning of a pack, ", first, " or ", first+n), Got: fmt.Sprint(pos),
				Remedy: "use the order of packs that wrote the state"}
		}
		pos += n
		r.ends = append(r.ends, int(pos-at))
	}
	if len(r.ends) == 0 || len(r.ends) < global && f.tail == order.Drop {
		return io.EOF
	}
	n := int(pos - at)
	if cap(r.ids) < n {
		r.ids = make([]int64, n)
	}
	r.ids = r.ids[:n]
	if got := f.order.Fill(at, r.ids); got < n {
		return &errs.Error{Kind: errs.Invalid, Subject: "order", Want: fmt.Sprint(n, " ids at position ", at),
			Got: strconv.Itoa(got)}
	}
	f.deal(r)
	f.index += int64(n)
	return checkIDs(r.ids, f.samples)
}

// dealer gives each rank its slice of a global batch.
type dealer struct {
	rank, world int
	even        bool // a rank that would get nothing repeats a sample of another rank
}

// deal sets the slice of the rank, counted in samples or in packs.
func (d dealer) deal(r *record) {
	n := len(r.ids)
	if len(r.ends) > 0 {
		n = len(r.ends)
	}
	lo, hi := order.Slice(n, d.rank, d.world)
	if d.even && n > 0 && n < d.world {
		r.repeats = d.world - n
		if lo == hi {
			hi, r.repeated = lo+1, true
		}
	}
	if r.lo, r.hi = lo, hi; len(r.ends) == 0 {
		return
	}
	r.lo, r.hi = r.begin(lo), r.begin(hi)
	for _, end := range r.ends[lo:hi] {
		r.own = append(r.own, end-r.lo)
	}
}

// begin returns where a pack of the record begins.
func (r *record) begin(pack int) int {
	if pack == 0 {
		return 0
	}
	return r.ends[pack-1]
}

// checkIDs returns an error for ids that the data set does not have.
func checkIDs(ids []int64, samples int64) error {
	for _, id := range ids {
		if uint64(id) >= uint64(samples) {
			return &errs.Error{Kind: errs.Invalid, Subject: "id " + strconv.FormatInt(id, 10) + " from the order",
				Want: "an id from 0 to " + strconv.FormatInt(samples-1, 10), Got: "an id that the data set does not have"}
		}
	}
	return nil
}

// samplerFeed draws from the sampler in Options.
type samplerFeed struct {
	sampler order.Sampler
	cursor  order.Cursor[int64]
	samples int64
	dealer
	tail order.Tail
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
	if n := len(r.ids); n == 0 || n < global && f.tail == order.Drop {
		return io.EOF
	}
	r.draws = int64(len(r.ids))
	f.deal(r)
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	return r.remember(f.sampler, f.cursor)
}

// batchFeed draws from the batch sampler in Options: one batch for each rank.
type batchFeed struct {
	sampler order.BatchSampler
	cursor  order.Cursor[[]int64]
	samples int64
	dealer
}

func (f *batchFeed) draw(r *record, _ int) error {
	r.ids, r.lo, r.hi = r.ids[:0], 0, 0
	for rank := range f.world {
		if rank > 0 {
			r.ends = append(r.ends, len(r.ids))
		}
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
	if drawn := int(r.draws); drawn < f.world && f.even {
		if r.repeats = f.world - drawn; f.rank >= drawn {
			again := f.rank % drawn
			r.lo, r.hi, r.repeated = r.begin(again), r.ends[again], true
		}
	}
	r.ends = r.ends[:0]
	if err := checkIDs(r.ids, f.samples); err != nil {
		return err
	}
	return r.remember(f.sampler, f.cursor)
}

// remember stores the states of a sampler and its cursor, if they have one.
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
func openCursor[T any](sampler any, open func() order.Cursor[T], at *document.Place) (order.Cursor[T], error) {
	if at.Sampler != nil {
		if err := setState(sampler, "sampler", at.Sampler); err != nil {
			return nil, err
		}
	}
	if s, ok := sampler.(order.EpochSetter); ok {
		s.SetEpoch(at.Epoch)
	}
	c := open()
	if c == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "sampler", Want: "a cursor from Open", Got: "nil"}
	}
	if at.Cursor != nil {
		return c, setState(c, "sampler's iteration", at.Cursor)
	}
	short := func(err error) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: "sampler",
			Want: fmt.Sprint("at least ", at.Draws, " draws, as in the state"), Got: "an end before", Err: err}
	}
	if s, ok := c.(interface{ Skip(n int64) bool }); ok {
		if !s.Skip(at.Draws) {
			return nil, short(nil)
		}
		return c, nil
	}
	for range at.Draws {
		if _, ok, err := c.Next(); err != nil || !ok {
			return nil, short(err)
		}
	}
	return c, nil
}
