package order

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// grown is the order of a source of a mixture that got more samples during the run. Each pass has
// either only the first samples, in the order that First returns, or all samples. A pass that has
// begun keeps its samples, and later passes have the added samples too.
//
//	stages 0:7 3:12 of an order    passes 0 to 2 have the first 7 samples,
//	                               pass 3 and all later passes have 12
//
// A pass keeps its number: pass 3 is epoch 3 of the order. An order that ends begins again with
// each pass. grown never ends and is immutable.
type grown struct {
	order  Order // the order of all samples
	stages []grownStage
	once   bool // the order ends
}

// grownStage is a range of passes with the same samples. It ends where the next stage begins.
type grownStage struct {
	pass, samples int64
	order         Order // the order of these samples
	start         int64 // the position at which its first pass begins
	n             int64 // positions of a pass
}

// newGrown returns the order of o with the given stages. Each stage names its first pass and its
// samples. The error is of kind errs.Invalid.
func newGrown(o Order, stages []grownStage) (*grown, error) {
	invalid := func(want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Subject: o.String(), Want: want, Got: fmt.Sprint(got)}
	}
	g := &grown{order: o, stages: stages}
	if len(stages) < 2 || stages[0].pass != 0 {
		return nil, invalid("at least two stages, the first from pass 0 on", len(stages))
	}
	for i := range stages {
		s := &stages[i]
		var ok bool
		if s.order, ok = First(o, s.samples); !ok {
			return nil, invalid("an order that order.First supports", o)
		}
		if i == len(stages)-1 && s.order.String() != o.String() {
			return nil, invalid(fmt.Sprintf("an order of %d samples, the number of the last stage", s.samples), o)
		}
		n, once := s.order.Len()
		if s.n = n; !once {
			s.n = epochLen(s.order)
		}
		if s.n < 1 || s.n == math.MaxInt64 || i > 0 && once != g.once {
			return nil, invalid("passes that have samples and end", s.order)
		}
		g.once = once
		if i == 0 {
			continue
		}
		last := stages[i-1]
		if s.pass <= last.pass || s.samples <= last.samples {
			return nil, invalid("stages whose first passes and samples rise",
				fmt.Sprintf("%d samples from pass %d on", s.samples, s.pass))
		}
		if s.pass > math.MaxInt64/2/max(s.n, last.n) {
			return nil, invalid("fewer positions than 2^62 up to the last stage", fmt.Sprint("pass ", s.pass))
		}
		s.start = last.start + (s.pass-last.pass)*last.n
	}
	return g, nil
}

// stageOf returns the stage of a position.
func (g *grown) stageOf(pos int64) int {
	return sort.Search(len(g.stages), func(i int) bool { return g.stages[i].start > pos }) - 1
}

// Fill implements Order.
func (g *grown) Fill(pos int64, dst []int64) int {
	if pos < 0 {
		return 0
	}
	done := 0
	for k := g.stageOf(pos); done < len(dst); {
		s := &g.stages[k]
		i := pos + int64(done) - s.start
		want, at := int64(len(dst)-done), i
		if k+1 < len(g.stages) {
			want = min(want, g.stages[k+1].start-pos-int64(done))
		}
		if g.once {
			at = i % s.n
			want = min(want, s.n-at)
		} else {
			at += min(s.pass*s.n, math.MaxInt64-i) // a position is at most math.MaxInt64
		}
		got := s.order.Fill(at, dst[done:int64(done)+want])
		if done += got; int64(got) < want {
			break
		}
		if k+1 < len(g.stages) && pos+int64(done) == g.stages[k+1].start {
			k++
		}
	}
	return done
}

// Len implements Order. The order never ends.
func (g *grown) Len() (n int64, ok bool) { return 0, false }

// String implements Order.
func (g *grown) String() string {
	var b strings.Builder
	b.WriteString("grown(")
	for _, s := range g.stages {
		fmt.Fprintf(&b, "%d:%d ", s.pass, s.samples)
	}
	fmt.Fprintf(&b, "of %s)", g.order)
	return b.String()
}

// passes returns the stages of an order of samples, with the lengths of their passes. ok is false
// if the order has no passes.
func passes(o Order, samples int64) (stages []grownStage, ok bool) {
	if g, is := o.(*grown); is {
		return g.stages, true
	}
	n, once := o.Len()
	if !once {
		n = epochLen(o)
	}
	return []grownStage{{samples: samples, order: o, n: n}}, n > 0 && n < math.MaxInt64
}

// whole returns the order of all samples that o has after it grew.
func whole(o Order) Order {
	if g, ok := o.(*grown); ok {
		return g.order
	}
	return o
}

// growTo returns an order that begins as o and has all samples of next from a later pass on. That
// pass is the first one that has not begun after the given number of draws. start is the position
// at which it begins.
func growTo(o Order, had int64, next Order, samples, given int64) (more Order, start int64, err error) {
	stages, ok := passes(o, had)
	if !ok {
		return nil, 0, &errs.Error{Kind: errs.Invalid, Want: "an order whose passes end", Got: o.String()}
	}
	k := sort.Search(len(stages), func(i int) bool { return stages[i].start > given }) - 1
	s := stages[k]
	begun := (given - s.start) / s.n
	if (given-s.start)%s.n > 0 {
		begun++
	}
	pass := s.pass + begun
	kept := make([]grownStage, 0, k+2)
	for _, s := range stages {
		if s.pass < pass {
			kept = append(kept, grownStage{pass: s.pass, samples: s.samples})
		}
	}
	if len(kept) == 0 {
		return next, 0, nil
	}
	g, err := newGrown(next, append(kept, grownStage{pass: pass, samples: samples}))
	if err != nil {
		return nil, 0, err
	}
	return g, g.stages[len(g.stages)-1].start, nil
}

// shrinkTo returns the order that o was when it had only the given number of samples, and the first
// position at which the two differ.
func shrinkTo(o Order, samples int64) (fewer Order, until int64, ok bool) {
	first, ok := First(whole(o), samples)
	g, is := o.(*grown)
	if !ok || !is {
		return first, 0, ok
	}
	k := sort.Search(len(g.stages)-1, func(i int) bool { return g.stages[i].samples >= samples })
	var kept []grownStage
	for _, s := range g.stages[:k+1] {
		kept = append(kept, grownStage{pass: s.pass, samples: min(s.samples, samples)})
	}
	if until = g.stages[k].start; g.stages[k].samples == samples && k+1 < len(g.stages) {
		until = g.stages[k+1].start
	}
	if len(kept) == 1 {
		return first, until, true
	}
	g, err := newGrown(first, kept)
	return g, until, err == nil
}
