package order

import (
	"fmt"
	"math/bits"
	"sort"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// Selection is a subset of [0, n). It is a bitmap with an index for rank and select, which takes
// 1.13 bits an id. It is immutable.
type Selection struct {
	n     int64
	words []uint64
	ranks []int64 // the number of ids selected before each block of words, and in total
	hash  uint64
}

const selectionBlock = 8 // words between two entries of ranks

// NewSelection returns the ids below n that keep accepts. It calls keep once for each id, in order.
// The selection is empty if n < 1.
func NewSelection(n int64, keep func(id int64) bool) *Selection {
	s := &Selection{n: max(n, 0)}
	s.words = make([]uint64, (s.n+63)/64)
	for id := range s.n {
		if keep(id) {
			s.words[id/64] |= 1 << (id % 64)
		}
	}
	s.index()
	return s
}

// SelectIDs returns the selection of ids. They may come in any order and more than once. The error
// is of kind errs.Invalid if an id is outside [0, n).
func SelectIDs(n int64, ids []int64) (*Selection, error) {
	s := &Selection{n: max(n, 0)}
	s.words = make([]uint64, (s.n+63)/64)
	for _, id := range ids {
		if id < 0 || id >= n {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "order.SelectIDs", Want: fmt.Sprintf("ids from 0 to below %d", n),
				Got: fmt.Sprint(id)}
		}
		s.words[id/64] |= 1 << (id % 64)
	}
	s.index()
	return s, nil
}

func (s *Selection) index() {
	count := int64(0)
	s.hash = uint64(s.n)
	for i, w := range s.words {
		if i%selectionBlock == 0 {
			s.ranks = append(s.ranks, count)
		}
		count += int64(bits.OnesCount64(w))
		s.hash = rng.Mix(s.hash ^ w)
	}
	s.ranks = append(s.ranks, count)
}

// Of returns the number of ids that the selection chooses from.
func (s *Selection) Of() int64 { return s.n }

// Count returns the number of selected ids.
func (s *Selection) Count() int64 { return s.ranks[len(s.ranks)-1] }

// Has reports whether an id is selected.
func (s *Selection) Has(id int64) bool {
	return id >= 0 && id < s.n && s.words[id/64]>>(id%64)&1 == 1
}

// Rank returns how many ids below id are selected, in constant time.
func (s *Selection) Rank(id int64) int64 {
	if id >= s.n {
		return s.Count()
	}
	word := max(id, 0) / 64
	count := s.ranks[word/selectionBlock]
	for _, w := range s.words[word/selectionBlock*selectionBlock : word] {
		count += int64(bits.OnesCount64(w))
	}
	return count + int64(bits.OnesCount64(s.words[word]&(1<<(max(id, 0)%64)-1)))
}

// Select returns the selected id that has k selected ids below it, in logarithmic time. It returns
// -1 if k is not in [0, Count).
func (s *Selection) Select(k int64) int64 {
	if k < 0 || k >= s.Count() {
		return -1
	}
	block := sort.Search(len(s.ranks), func(i int) bool { return s.ranks[i] > k }) - 1
	k -= s.ranks[block]
	for word := block * selectionBlock; ; word++ {
		w := s.words[word]
		if c := int64(bits.OnesCount64(w)); k >= c {
			k -= c
			continue
		}
		for range k {
			w &= w - 1
		}
		return int64(word)*64 + int64(bits.TrailingZeros64(w))
	}
}

// String describes the selection. Equal strings mean equal selections, unless hashes of 64 bits
// collide.
func (s *Selection) String() string {
	return fmt.Sprintf("selection(%d/%d hash=%016x)", s.Count(), s.n, s.hash)
}

// Selected maps the ids of the order below to selected ids: id k becomes the selected id of rank k.
// Over NewShuffled(s.Count(), …) it is a shuffle of the selected ids, whose epochs have one
// position for each selected id. Each position takes logarithmic time in addition. Selected is
// immutable.
type Selected struct {
	order     Order
	selection *Selection
}

// NewSelected maps the ids of an order to selected ids. The ids of the order must be below
// s.Count().
func NewSelected(o Order, s *Selection) *Selected { return &Selected{o, s} }

// Fill implements Order.
func (s *Selected) Fill(pos int64, dst []int64) int {
	n := s.order.Fill(pos, dst)
	for i, k := range dst[:n] {
		dst[i] = s.selection.Select(k)
	}
	return n
}

// Len implements Order.
func (s *Selected) Len() (n int64, ok bool) { return s.order.Len() }

// EpochLen implements Epochs.
func (s *Selected) EpochLen() int64 { return epochLen(s.order) }

// String implements Order.
func (s *Selected) String() string { return fmt.Sprintf("selected(%s of %s)", s.selection, s.order) }

// Filtered is an order without the ids that are not selected. The other ids keep their order, so
// that a run can be filtered after it has begun. Its epochs have one position for each selected id.
//
// On entry to an epoch, Filtered makes an index of it, in linear time and with 1.13 bits a
// position. From then on it seeks in logarithmic time. Use Selected if the order may change.
// Filtered is immutable except for the index, and safe for concurrent use.
type Filtered struct {
	order     Epochs
	selection *Selection
	latest    atomic.Pointer[epochIndex]
}

type epochIndex struct {
	epoch  int64
	places *Selection // the places in the epoch whose ids are selected
}

// NewFiltered leaves the ids that are not selected out of each epoch of an order. Each epoch must
// have every id below s.Of() once, as in Cycle, Shuffled and Windows. The error is of kind
// errs.Mismatch if the epochs have another length.
func NewFiltered(o Epochs, s *Selection) (*Filtered, error) {
	if o.EpochLen() != s.n {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "order.NewFiltered",
			Want: fmt.Sprintf("epochs of %d positions, one for each id that the selection chooses from", s.n), Got: fmt.Sprint(o.EpochLen())}
	}
	return &Filtered{order: o, selection: s}, nil
}

// Fill implements Order.
func (f *Filtered) Fill(pos int64, dst []int64) int {
	if n, ok := f.Len(); ok {
		dst = dst[:min(int64(len(dst)), max(n-pos, 0))]
	}
	return fillEpochs(f.selection.Count(), pos, dst, func(epoch, i int64, part []int64) {
		at, end := f.index(epoch).Select(i)+epoch*f.selection.n, (epoch+1)*f.selection.n
		for done := 0; done < len(part) && at < end; {
			// Read only as many ids as are missing, into their place, and close the gaps.
			block := part[done:][:min(int64(len(part)-done), end-at)]
			got := f.order.Fill(at, block)
			at += int64(got)
			for _, id := range block[:got] {
				if f.selection.Has(id) {
					part[done] = id
					done++
				}
			}
			if got == 0 {
				return
			}
		}
	})
}

// index returns the index of an epoch.
func (f *Filtered) index(epoch int64) *Selection {
	if latest := f.latest.Load(); latest != nil && latest.epoch == epoch {
		return latest.places
	}
	var block [256]int64
	places := NewSelection(f.selection.n, func(i int64) bool {
		if i%int64(len(block)) == 0 {
			f.order.Fill(epoch*f.selection.n+i, block[:])
		}
		return f.selection.Has(block[i%int64(len(block))])
	})
	f.latest.Store(&epochIndex{epoch, places})
	return places
}

// Len implements Order.
func (f *Filtered) Len() (n int64, ok bool) {
	n, ok = f.order.Len()
	if f.selection.n == 0 {
		return 0, true
	}
	return n / f.selection.n * f.selection.Count(), ok || f.selection.Count() == 0
}

// EpochLen implements Epochs.
func (f *Filtered) EpochLen() int64 { return f.selection.Count() }

// String implements Order.
func (f *Filtered) String() string { return fmt.Sprintf("filtered(%s of %s)", f.selection, f.order) }
