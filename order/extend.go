package order

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Extension is another future of a mixture.
//
// No id changes. The ids of added samples come after the existing ids: first the samples of Grown,
// then the samples of Sources, each in the order of its list. Mixture.Split returns the source and
// the sample of an id.
type Extension struct {
	// Sources are appended to the existing sources. If Phases do not begin at the position of the
	// extension, the new sources are drawn from that position on by their Weight, beside the present
	// weights of the others.
	Sources []Source
	// Phases take the place of all phases from the position of the extension on. Each has a
	// weight for every source, added ones included. Without Phases and Sources the mixture
	// keeps those that it has.
	Phases []Phase
	// Grown are sources that the mixture has and that get more samples.
	Grown []Growth
}

// Growth adds samples to a source of a mixture. A pass over the source that has begun before the
// position of the extension continues unchanged. Later passes have all samples, and so has a pass
// of which nothing was drawn. A data set that is not a mixture grows in the same way.
type Growth struct {
	Source int // its number in the mixture
	// Order is the order of all samples of the source. First, called with it and the old number of
	// samples, must return the old order of the source. The Name of the source enters its domains, as
	// before.
	Order Order
	// Samples is the number of ids of the source, with those added; 0: the length of the
	// epochs of Order, or of all of it.
	Samples int64
}

// Extend returns the mixture with another future: its positions before from (at least 1) are the
// same as in m, and e decides the positions from there on. Each source continues where it is. The
// error is of kind errs.Invalid if e would change positions before from, if m ends before from, if
// the mixture ends before the next pass over a source that grows, and in the cases of NewMixture.
func (m *Mixture) Extend(from int64, e Extension) (*Mixture, error) {
	if from < 1 || from > m.n {
		return nil, notExtended("from", fmt.Sprintf("a position from 1 to %d", m.n), from)
	}
	if len(e.Sources) == 0 && len(e.Phases) == 0 && len(e.Grown) == 0 {
		return nil, notExtended("extension", "sources, phases or sources that grow", "none")
	}
	next := &Mixture{version: m.version, sources: slices.Concat(m.sources, e.Sources), blocks: slices.Clone(m.blocks)}
	starts := make([]int64, len(e.Grown)) // of each, the position in the source from which on it has all samples
	for i, g := range e.Grown {
		if slices.ContainsFunc(e.Grown[:i], func(other Growth) bool { return other.Source == g.Source }) {
			return nil, notExtended(fmt.Sprintf("growth %d", i), "each source once", fmt.Sprintf("source %d again", g.Source))
		}
		var err error
		if starts[i], err = next.grow(m, from, g); err != nil {
			return nil, errs.Wrap("order.Mixture.Extend", fmt.Sprintf("growth %d, of source %d", i, g.Source), err)
		}
	}
	phases, err := m.phasesFrom(from, e)
	if err != nil {
		return nil, err
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
	until := from
	if len(e.Sources) == 0 && len(e.Phases) == 0 {
		until = math.MaxInt64
	}
	for i, g := range e.Grown {
		pos, drawn := next.Locate(g.Source, starts[i])
		switch {
		case drawn:
			until = max(from, min(until, pos))
		case next.n < math.MaxInt64:
			return nil, notExtended(fmt.Sprintf("growth %d, of source %d", i, g.Source),
				"a mixture that comes to the next pass over the source, which has the added samples", fmt.Sprintf("one that ends at position %d, before", next.n))
		}
	}
	next.origins = append(next.origins, origin{Origin{m.String(), until}, m.samples()})
	for _, o := range m.origins {
		o.Until = min(o.Until, until)
		next.origins = append(next.origins, o)
	}
	return next, nil
}

func notExtended(subject, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "order.Mixture.Extend", Subject: subject, Want: want, Got: fmt.Sprint(got)}
}

// phasesFrom returns the phases of a mixture that is extended from a position on.
func (m *Mixture) phasesFrom(from int64, e Extension) ([]Phase, error) {
	if len(e.Sources) == 0 && len(e.Phases) == 0 {
		return slices.Clone(m.phases), nil
	}
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
			return nil, notExtended(fmt.Sprintf("phase %d", i), fmt.Sprintf("a position from %d on (earlier positions do not change)", from), p.From)
		}
		phases = append(phases, p)
	}
	return phases, nil
}

// grow gives a source of was more samples, in m, which is not laid out yet. It returns the
// position in the source from which on it has all of them.
func (m *Mixture) grow(was *Mixture, from int64, g Growth) (start int64, err error) {
	invalid := func(want string, got any) (int64, error) {
		return 0, &errs.Error{Kind: errs.Invalid, Want: want, Got: fmt.Sprint(got)}
	}
	switch {
	case g.Source < 0 || g.Source >= len(was.sources):
		return invalid(fmt.Sprintf("a source from 0 to %d", len(was.sources)-1), g.Source)
	case g.Order == nil:
		return invalid("an order of all samples", "none")
	}
	s := &m.sources[g.Source]
	more := rebuild(g.Order, 0, s.Name)
	samples := g.Samples
	if samples == 0 {
		samples = epochLen(more)
	}
	had, as := s.Samples, whole(s.Order)
	first, ok := First(more, had)
	switch {
	case samples <= had:
		return invalid(fmt.Sprintf("more than the %d samples that the source has", had), samples)
	case !ok:
		return invalid("an order of which order.First tells the first samples", more)
	case first.String() != as.String():
		return invalid(fmt.Sprintf("an order that is %s for the first %d samples", as, had), first)
	case more.String() == as.String():
		return invalid("an order of more samples", more)
	}
	at := &was.segments[was.segmentOf(from)]
	if s.Order, start, err = growTo(s.Order, had, more, samples, at.count(g.Source, from)); err != nil {
		return 0, err
	}
	s.Samples = samples
	m.blocks = append(m.blocks, idBlock{source: g.Source, n: samples - had})
	return start, nil
}

// samples is the number of ids.
func (m *Mixture) samples() int64 {
	last := m.blocks[len(m.blocks)-1]
	return last.id + last.n
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
