package order

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Extension is another future of a mixture.
type Extension struct {
	// Sources are put behind those that there are, so that no id changes. Where Phases do
	// not begin at the position of the extension, they are drawn from there on by their
	// Weight beside the weights that the others have.
	Sources []Source
	// Phases take the place of all phases from the position of the extension on. Each has a
	// weight for every source, added ones included.
	Phases []Phase
}

// Extend returns the mixture with another future: its positions before from (at least 1)
// are those of m, and from there on e decides. Each source goes on where it is. The error
// is of kind errs.Invalid where e would change what lies before from, where m ends before,
// and as for NewMixture.
func (m *Mixture) Extend(from int64, e Extension) (*Mixture, error) {
	invalid := func(subject, want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "order.Mixture.Extend", Subject: subject, Want: want, Got: fmt.Sprint(got)}
	}
	if from < 1 || from > m.n {
		return nil, invalid("from", fmt.Sprintf("a position from 1 to %d", m.n), from)
	}
	if len(e.Sources) == 0 && len(e.Phases) == 0 {
		return nil, invalid("extension", "sources or phases", "neither")
	}
	next := &Mixture{version: m.version, sources: slices.Concat(m.sources, e.Sources)}
	var phases []Phase
	for _, p := range m.phases {
		if p.From < from {
			phases = append(phases, Phase{p.From, slices.Concat(p.Weights, make([]float64, len(e.Sources)))})
		}
	}
	if len(e.Sources) > 0 && (len(e.Phases) == 0 || e.Phases[0].From > from) {
		weights := slices.Clone(m.weightsAt(from))
		for _, s := range e.Sources {
			weights = append(weights, s.Weight)
		}
		phases = append(phases, Phase{from, weights})
	}
	for i, p := range e.Phases {
		if p.From < from {
			return nil, invalid(fmt.Sprintf("phase %d", i), fmt.Sprintf("a position from %d on: what lies before does not change", from), p.From)
		}
		phases = append(phases, p)
	}
	for i := range next.sources {
		if i < len(m.sources) {
			next.sources[i].Name = "" // it is in the domains already
		} else {
			next.sources[i].Weight = 0 // before the extension
		}
	}
	if err := next.init(m.exhaustion, phases[1:]); err != nil {
		return nil, errs.Wrap("order.Mixture.Extend", "", err)
	}
	for i, s := range m.sources {
		next.sources[i].Name = s.Name
	}
	next.origins = append(next.origins, Origin{m.String(), from})
	for _, o := range m.origins {
		next.origins = append(next.origins, Origin{o.Description, min(o.Until, from)})
	}
	return next, nil
}

// weightsAt returns the weights of the phase that has a position.
func (m *Mixture) weightsAt(pos int64) []float64 {
	weights := m.phases[0].Weights
	for _, p := range m.phases[1:] {
		if p.From <= pos {
			weights = p.Weights
		}
	}
	return weights
}

// Origin is an order that another one goes on from: their positions before Until are the
// same.
type Origin struct {
	Description string // the String of the order
	Until       int64
}

// Origins returns the orders that o is an extension of, as far as o shows them: mixtures
// with fewer phases, and without the sources that have no weight before these; those that
// Mixture.Extend was called of; and packs and buckets of such. They are at the version of
// o. What At returns of o has those that it shows itself, and not what Extend has noted.
func Origins(o Order) []Origin {
	switch o := o.(type) {
	case *Mixture:
		return slices.Concat(o.origins, o.shown())
	case *Packs:
		return below(o, o.order, o.block)
	case *Buckets:
		return below(o, o.order, o.block)
	}
	return nil
}

// below returns the origins of blocks of positions over an inner order: a block that one
// position of has changed may be another from its start on.
func below(o, inner Order, block int64) (origins []Origin) {
	outer, ok := strings.CutSuffix(o.String(), inner.String()+")")
	if !ok {
		return nil
	}
	for _, origin := range Origins(inner) {
		origins = append(origins, Origin{outer + origin.Description + ")", origin.Until / block * block})
	}
	return origins
}

// mostOrigins bounds the origins that a mixture shows.
const mostOrigins = 256

// shown returns the mixtures with the first of the phases, each with all sources and
// without the last ones, as far as these have no weight in those phases.
func (m *Mixture) shown() (origins []Origin) {
	until := int64(math.MaxInt64)
	for kept := len(m.phases); kept > 0; kept-- {
		if kept < len(m.phases) {
			until = m.phases[kept].From
		}
		for sources := len(m.sources); sources > 0 && len(origins) < mostOrigins; sources-- {
			if sources < len(m.sources) && m.exhaustion == CycleAll {
				break // without them it would have ended
			}
			if sources < len(m.sources) && slices.ContainsFunc(m.phases[:kept], func(p Phase) bool { return p.Weights[sources] != 0 }) {
				break
			}
			if kept < len(m.phases) || sources < len(m.sources) {
				origins = append(origins, Origin{m.describe(kept, sources), until})
			}
		}
	}
	return origins
}

// describe is the String of the mixture with its first phases and sources.
func (m *Mixture) describe(phases, sources int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mixture(v%d exhaustion=%d", m.version, m.exhaustion)
	for _, p := range m.phases[:phases] {
		fmt.Fprintf(&b, " %d:%v", p.From, p.Weights[:sources])
	}
	for _, s := range m.sources[:sources] {
		fmt.Fprintf(&b, "; %d of %s", s.Samples, s.Order)
	}
	b.WriteByte(')')
	return b.String()
}
