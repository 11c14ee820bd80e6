package order

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Segment is a piece of an order: Len positions, starting at First.
type Segment struct {
	Order Order
	First int64
	Len   int64 // 0: up to the end of the order
}

// Segments is a curriculum: pieces of orders over the same samples, one after the other. For
// example, it can read the easy samples once and then all samples for several epochs. It seeks in
// logarithmic time. It is immutable.
type Segments struct {
	segments []Segment
	ends     []int64 // where each segment ends; the last is math.MaxInt64 if the segments never end
}

// NewSegments joins pieces of orders. The error is of kind errs.Invalid if there are no pieces, if
// a
// piece before the last never ends, or if an order has fewer positions than its piece.
func NewSegments(segments ...Segment) (*Segments, error) {
	s := &Segments{segments: append([]Segment(nil), segments...)}
	invalid := func(i int, want string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "order.NewSegments", Subject: fmt.Sprintf("segment %d", i), Want: want}
	}
	end := int64(0)
	for i := range s.segments {
		part := &s.segments[i]
		n, ends := part.Order.Len()
		switch {
		case part.First < 0 || part.Len < 0 || ends && part.Len > n-part.First || ends && part.First > n:
			return nil, invalid(i, "only positions that the order has")
		case part.Len == 0 && ends:
			part.Len = n - part.First
		case part.Len == 0 && i < len(s.segments)-1:
			return nil, invalid(i, "a length (the order never ends, and other segments follow)")
		case part.Len == 0:
			part.Len = math.MaxInt64 - max(end, part.First)
		}
		if part.Len > math.MaxInt64-end {
			return nil, invalid(i, "fewer than 2^63 positions in all segments together")
		}
		end += part.Len
		if !ends && segments[i].Len == 0 {
			end = math.MaxInt64
		}
		s.ends = append(s.ends, end)
	}
	if len(s.segments) == 0 {
		return nil, invalid(0, "at least one segment")
	}
	return s, nil
}

// Locate returns the segment of a position, and the position in the order of that segment. After
// the end, segment is the number of segments.
func (s *Segments) Locate(pos int64) (segment int, at int64) {
	segment = sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > pos })
	if segment == len(s.segments) {
		return segment, 0
	}
	if segment > 0 {
		pos -= s.ends[segment-1]
	}
	return segment, s.segments[segment].First + pos
}

// Fill implements Order.
func (s *Segments) Fill(pos int64, dst []int64) int {
	if pos < 0 {
		return 0
	}
	done := 0
	for segment, at := s.Locate(pos); segment < len(s.segments) && done < len(dst); segment, at = s.Locate(pos + int64(done)) {
		part := s.segments[segment]
		want := min(int64(len(dst)-done), part.First+part.Len-at)
		got := part.Order.Fill(at, dst[done:int64(done)+want])
		done += got
		if int64(got) < want {
			break
		}
	}
	return done
}

// Len implements Order.
func (s *Segments) Len() (n int64, ok bool) {
	if n = s.ends[len(s.ends)-1]; n == math.MaxInt64 {
		return 0, false
	}
	return n, true
}

// String implements Order.
func (s *Segments) String() string {
	parts := make([]string, len(s.segments))
	for i, p := range s.segments {
		parts[i] = fmt.Sprintf("%d+%d of %s", p.First, p.Len, p.Order)
	}
	return "segments(" + strings.Join(parts, "; ") + ")"
}

// Repeated is an order that repeats another order. All its epochs are the same. It is immutable.
type Repeated struct {
	order     Order
	n, epochs int64
}

// Repeat returns an order that repeats o for the given number of epochs, or without end if epochs
// is 0. The error is of kind errs.Invalid if o never ends, if epochs is negative, or if there are
// 2^63 positions or more.
func Repeat(o Order, epochs int64) (*Repeated, error) {
	n, ends := o.Len()
	if !ends || epochs < 0 || epochs > 0 && n > math.MaxInt64/epochs {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.Repeat",
			Want: "an order that ends, at least 0 epochs and fewer than 2^63 positions",
			Got:  fmt.Sprintf("%d epochs of %s", epochs, o)}
	}
	return &Repeated{order: o, n: n, epochs: epochs}, nil
}

// Fill implements Order.
func (r *Repeated) Fill(pos int64, dst []int64) int {
	if n, ok := r.Len(); ok {
		dst = dst[:min(int64(len(dst)), max(n-pos, 0))]
	}
	return fillEpochs(r.n, pos, dst, func(_, i int64, part []int64) { r.order.Fill(i, part) })
}

// Len implements Order.
func (r *Repeated) Len() (n int64, ok bool) {
	return r.n * r.epochs, r.epochs > 0 || r.n == 0
}

// EpochLen implements Epochs.
func (r *Repeated) EpochLen() int64 { return r.n }

// String implements Order.
func (r *Repeated) String() string { return fmt.Sprintf("repeat(epochs=%d of %s)", r.epochs, r.order) }
