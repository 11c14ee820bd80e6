package timeline

import (
	"math"
	"sort"

	"github.com/bivouac-ml/bivouac/order"
)

// era is a range of epochs with one length and one order. When a data set grows, another era
// begins.
type era struct {
	epoch    int64 // the first epoch
	position int64 // position of the run where the era begins
	length   int64 // samples of each of its epochs
	order    order.Order
	start    int64 // position of the order where the era begins
	once     bool  // the order covers one epoch and holds for all
}

// oneEra makes all epochs equally long.
func (t *Timeline) oneEra(o order.Order, length int64, once bool) {
	t.eras = []era{{length: length, order: o, once: once}}
}

// eraOf returns the era of an epoch.
func (t *Timeline) eraOf(epoch int64) *era {
	i := sort.Search(len(t.eras), func(i int) bool { return t.eras[i].epoch > epoch })
	return &t.eras[max(i-1, 0)]
}

// lengthOf returns the number of samples of an epoch.
func (t *Timeline) lengthOf(epoch int64) int64 {
	if t.shards != nil {
		return t.shards.EpochLength(epoch)
	}
	return t.eraOf(epoch).length
}

// begin returns the position of the run at which an epoch begins, if no epoch before it was broken
// off. ok is false beyond the largest position.
func (t *Timeline) begin(epoch int64) (position int64, ok bool) {
	if t.shards != nil {
		return t.shards.Begin(epoch), epoch < math.MaxInt32
	}
	e := t.eraOf(epoch)
	if epoch-e.epoch > (math.MaxInt64-e.position)/max(1, e.length)-1 {
		return 0, false
	}
	return e.position + (epoch-e.epoch)*e.length, true
}

// locate returns the epoch of a position of the run, and how many samples of the epoch come before
// it.
func (t *Timeline) locate(position int64) (epoch, index int64) {
	if t.shards != nil {
		return t.shards.Locate(position)
	}
	i := sort.Search(len(t.eras), func(i int) bool { return t.eras[i].position > position })
	e := &t.eras[max(i-1, 0)]
	if e.length == 0 {
		return e.epoch, 0
	}
	at := position - e.position
	return e.epoch + at/e.length, at % e.length
}

// orderAt returns the order of an epoch, and the position in the order at which the epoch begins.
func (t *Timeline) orderAt(epoch int64) (o order.Order, first int64, ok bool) {
	e := t.eraOf(epoch)
	switch {
	case e.once:
		return e.order, 0, true
	case t.shards != nil:
		first, ok = t.begin(epoch)
		return e.order, first, ok
	case epoch-e.epoch > (math.MaxInt64-e.start)/max(1, e.length)-1:
		return nil, 0, false
	}
	return e.order, e.start + (epoch-e.epoch)*e.length, true
}

// alike returns how many epochs in a row, from the given one on, have the same number of batches,
// if they begin with their first sample. It returns 1 if only the order tells.
func (t *Timeline) alike(epoch int64) int64 {
	if t.shards != nil || t.packs {
		return 1
	}
	for _, next := range t.eras {
		if next.epoch > epoch {
			return next.epoch - epoch
		}
	}
	return math.MaxInt64 - epoch
}

// batches returns how many batches of a size n samples make.
func (t *Timeline) batches(n, global int64) int64 {
	if t.tail == order.Drop {
		return n / global
	}
	return (n + global - 1) / global
}

// count returns how many batches of a size an epoch has from an index on.
func (t *Timeline) count(epoch, index, global int64) (int64, error) {
	if t.packs {
		return t.packedCount(walkKey{epoch, index, global})
	}
	return t.batches(t.lengthOf(epoch)-index, global), nil
}

// batchOf returns where batch k after an index of an epoch begins, and how many samples it has. If
// there is no such batch, ok is false and total is the number of batches.
func (t *Timeline) batchOf(epoch, index, global, k int64) (first, n, total int64, ok bool, err error) {
	if t.packs {
		return t.packedBatch(walkKey{epoch, index, global}, k)
	}
	length := t.lengthOf(epoch)
	if total = t.batches(length-index, global); k >= total {
		return 0, 0, total, false, nil
	}
	first = index + k*global
	return first, min(global, length-first), total, true, nil
}

// number returns the number k of the batch that contains an index, counted from another index of
// the epoch. ok is false if that batch is left out.
func (t *Timeline) number(epoch, from, global, index int64) (k int64, ok bool, err error) {
	if t.packs {
		return t.packedNumber(walkKey{epoch, from, global}, index)
	}
	k = (index - from) / global
	return k, t.tail != order.Drop || from+(k+1)*global <= t.lengthOf(epoch), nil
}

// at returns where a step of a segment begins.
func (t *Timeline) at(s segment, step int64) (Place, error) {
	if t.tail == order.Span {
		return t.around(s, step), nil
	}
	p, _, err := t.place(s, step)
	return p, err
}

// place returns where a step of a segment begins, and the number of its samples, if batches do not
// continue over the end of an epoch.
func (t *Timeline) place(s segment, step int64) (Place, int64, error) {
	if err := t.checkPast(s); err != nil {
		return Place{}, 0, err
	}
	return t.placeUnchecked(s, step)
}

func (t *Timeline) placeUnchecked(s segment, step int64) (Place, int64, error) {
	p, d := s.Place, step-s.Step
	for empty := 0; ; {
		first, size, n, ok, err := t.batchOf(p.Epoch, p.Index, s.global, d)
		if ok || err != nil {
			return Place{step, p.Epoch, first}, size, err
		}
		d -= n
		if empty++; n > 0 {
			empty = 0
		}
		if t.alike(p.Epoch) > math.MaxInt64/2 && n == 0 && (p.Index == 0 || empty > 1) || empty > mostEmpty {
			return Place{step, p.Epoch, t.lengthOf(p.Epoch)}, 0, nil // no batch follows
		}
		p.Epoch, p.Index = p.Epoch+1, 0
		if err := t.skipEpochs(&p, &d, s.global); err != nil {
			return p, 0, err
		}
	}
}

// skipEpochs skips whole epochs that have fewer than d batches together, if it can do so without
// walking through them. The rest of d is less than the number of batches of a period.
func (t *Timeline) skipEpochs(p *Place, d *int64, global int64) error {
	if period := t.period(); period > 0 {
		if *d < period {
			return nil
		}
		n, err := t.countPeriod(p.Epoch, global)
		if n > 0 {
			p.Epoch, *d = p.Epoch+*d/n*period, *d%n
		}
		return err
	}
	alike := t.alike(p.Epoch)
	if alike == 1 {
		return nil
	}
	n, err := t.count(p.Epoch, 0, global)
	if n > 0 {
		skip := min(*d/n, alike-1)
		p.Epoch, *d = p.Epoch+skip, *d-skip*n
	}
	return err
}

// stepsTo returns the step with which an epoch begins, and the index from which its batches count.
// The epoch is not before the segment's epoch; in the segment's own epoch the index is the
// segment's.
func (t *Timeline) stepsTo(s segment, epoch int64) (step, from int64, err error) {
	step, from = s.Step, s.Index
	for e := s.Epoch; e < epoch; from = 0 {
		n, skip := int64(0), int64(1)
		switch period := t.period(); {
		case from == 0 && period > 0 && epoch-e >= period:
			if n, err = t.countPeriod(e, s.global); err == nil {
				n, skip = n*((epoch-e)/period), (epoch-e)/period*period
			}
		case from == 0:
			skip = min(t.alike(e), epoch-e)
			n, err = t.count(e, 0, s.global)
			n *= skip
		default:
			n, err = t.count(e, from, s.global)
		}
		if err != nil {
			return 0, 0, err
		}
		step, e = step+n, e+skip
	}
	return step, from, nil
}

// period returns the number of epochs after which their lengths repeat, if shards define the
// lengths, else 0.
func (t *Timeline) period() int64 {
	if t.shards == nil {
		return 0
	}
	return t.shards.Count
}

// countPeriod returns the number of batches in the epochs of a period.
func (t *Timeline) countPeriod(epoch, global int64) (sum int64, err error) {
	for e := epoch; e < epoch+t.period(); e++ {
		n, err := t.count(e, 0, global)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// mostEmpty bounds how many epochs without a batch may follow each other.
const mostEmpty = 1 << 20

// normal maps a place after the last batch of an epoch to the start of the next epoch that has a
// batch.
func (t *Timeline) normal(p Place, global int64) (Place, error) {
	for range mostEmpty {
		_, _, _, ok, err := t.batchOf(p.Epoch, p.Index, global, 0)
		alike := t.alike(p.Epoch)
		if ok || err != nil || p.Index == 0 && alike > math.MaxInt64/2 {
			return p, err
		}
		if p.Index > 0 {
			alike = 1
		}
		p.Epoch, p.Index = p.Epoch+alike, 0
	}
	return p, nil
}

// span returns where a step begins, and the number of its samples.
func (t *Timeline) span(step int64) (p Place, n int64, err error) {
	s := t.segmentOf(step)
	if t.tail == order.Span {
		return t.around(s, step), s.global, nil
	}
	return t.place(s, step)
}

// around does the same as at for batches that continue over the end of an epoch.
func (t *Timeline) around(s segment, step int64) Place {
	begin, _ := t.begin(s.Epoch)
	epoch, index := t.locate(begin + s.Index + (step-s.Step)*s.global)
	return Place{step, epoch, index}
}
