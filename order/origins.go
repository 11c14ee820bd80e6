package order

import (
	"math"
	"slices"
)

// Origin is an earlier order that another order continues: their positions before Until are the
// same.
type Origin struct {
	Description string // the String of the order
	Until       int64
}

// origin is an Origin with the number of its ids.
type origin struct {
	Origin
	samples int64
}

// Origins returns the orders that o extends, if o shows them:
//   - mixtures with fewer phases, with fewer samples of sources that grew, and without the
//     sources that have no weight in those phases
//   - mixtures on which Mixture.Extend was called
//   - packs and buckets of such mixtures, with the lengths of the samples that existed then
//
// They have the version of o. The result of At has only the origins that the order itself shows,
// without those that Extend noted.
func Origins(o Order) (all []Origin) {
	for _, origin := range originsOf(o) {
		all = append(all, origin.Origin)
	}
	return all
}

func originsOf(o Order) []origin {
	switch o := o.(type) {
	case *Mixture:
		return slices.Concat(o.origins, o.shown())
	case *Packs:
		return below(o.order, o.block, o.lengths, o.describe)
	case *Buckets:
		return below(o.order, o.block, o.lengths, o.describe)
	}
	return nil
}

// below returns the origins of an order that rearranges blocks of positions of an inner order. If
// one position of a block has changed, the block may differ from its start on.
func below(inner Order, block int64, lengths *Lengths, describe func(*Lengths, string) string) (origins []origin) {
	fewer := lengths // the lengths of the samples of an origin
	for _, o := range originsOf(inner) {
		if o.Until != math.MaxInt64 {
			o.Until = o.Until / block * block
		}
		description := o.Description
		o.Description = describe(lengths, description)
		origins = append(origins, o)
		if o.samples >= int64(len(lengths.of)) {
			continue
		}
		if int64(len(fewer.of)) != o.samples {
			fewer = lengths.first(o.samples)
		}
		o.Description = describe(fewer, description)
		origins = append(origins, o)
	}
	return origins
}

// mostOrigins bounds the origins that a mixture shows.
const mostOrigins = 256

// earlier is an earlier form of a mixture, with its first sources and ids. From position until on,
// the mixture differs from it whatever the weights are.
type earlier struct {
	sources []Source
	blocks  []idBlock
	until   int64
}

// before returns the form that the mixture had before the last ids were added. ok is false if there
// was no mixture then.
func (m *Mixture) before(e earlier) (was earlier, ok bool) {
	last := len(e.blocks) - 1
	b := e.blocks[last]
	if was = (earlier{e.sources, e.blocks[:last], e.until}); b.own == 0 {
		was.sources = e.sources[:len(e.sources)-1]
		return was, b.source > 0
	}
	was.sources = slices.Clone(e.sources)
	s := &was.sources[b.source]
	var start int64
	if s.Samples -= b.n; s.Samples < 1 {
		return was, false
	}
	if s.Order, start, ok = shrinkTo(s.Order, s.Samples); !ok {
		return was, false
	}
	if pos, drawn := m.Locate(b.source, start); drawn {
		was.until = min(was.until, pos)
	}
	return was, true
}

// shown returns the mixtures that have only the first phases. Each comes with all samples and
// sources, and also without the sources and samples that were added last, if these have no weight
// in those phases.
func (m *Mixture) shown() (origins []origin) {
	steps := []earlier{{m.sources, m.blocks, math.MaxInt64}}
	until := int64(math.MaxInt64)
	for kept := len(m.phases); kept > 0; kept-- {
		if kept < len(m.phases) {
			until = m.phases[kept].From
		}
		for i := 0; len(origins) < mostOrigins; i++ {
			if i == len(steps) {
				was, ok := m.before(steps[i-1])
				if !ok {
					break
				}
				steps = append(steps, was)
			}
			e := &steps[i]
			if n := len(e.sources); i > 0 && n < len(steps[i-1].sources) {
				if m.exhaustion == CycleAll {
					break // without these samples the mixture would have ended
				}
				if slices.ContainsFunc(m.phases[:kept], func(p Phase) bool { return p.Weights[n] != 0 }) {
					break
				}
			}
			if kept < len(m.phases) || i > 0 {
				last := e.blocks[len(e.blocks)-1]
				origins = append(origins, origin{Origin{m.describe(kept, e.sources, e.blocks), min(until, e.until)}, last.id + last.n})
			}
		}
	}
	return origins
}
