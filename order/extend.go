package order

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Extension says how a mixture continues from a position on.
//
// No id changes. The ids of added samples come after the existing ids: first the samples of Grown,
// then the samples of Sources, each in the order of its list. Mixture.Split returns the source and
// the sample of an id.
type Extension struct {
	// Sources are appended to the existing sources. If Phases do not begin at the position of the
	// extension, the new sources are drawn from that position on by their Weight. The existing sources
	// keep their weights.
	Sources []Source
	// Phases replace all phases from the position of the extension on. Each phase has a weight for
	// every source, added sources included. Without Phases and Sources the mixture keeps its phases.
	Phases []Phase
	// Grown lists the existing sources that get more samples.
	Grown []Growth
}

// Growth adds samples to a source of a mixture. A pass over the source that has begun before the
// position of the extension continues unchanged. Later passes have all samples. A pass from which
// no sample was drawn before that position counts as a later pass. A data set that is not a mixture
// grows in the same way.
type Growth struct {
	Source int // its number in the mixture
	// Order is the order of all samples of the source. First, called with it and the old number of
	// samples, must return the old order of the source. The Name of the source enters its domains, as
	// before.
	Order Order
	// Samples is the number of ids of the source, added ids included. 0 means the length of an epoch
	// of Order, or of the whole Order if it has no epochs.
	Samples int64
}

// Extend returns the mixture with another continuation: its positions before from (at least 1) are
// the same as in m, and e decides the positions from there on. Each source continues where it is.
// The error is of kind errs.Invalid in these cases:
//   - e would change positions before from.
//   - m ends before from.
//   - The mixture ends before the next pass over a source that grows.
//   - NewMixture would fail.
func (m *Mixture) Extend(from int64, e Extension) (*Mixture, error) {
	if from < 1 || from > m.n {
		return nil, notExtended("from", fmt.Sprintf("a position from 1 to %d", m.n), from)
	}
	if len(e.Sources) == 0 && len(e.Phases) == 0 && len(e.Grown) == 0 {
		return nil, notExtended("extension", "at least one source, phase or growth", "an empty extension")
	}
	next := &Mixture{version: m.version, sources: slices.Concat(m.sources, e.Sources), blocks: slices.Clone(m.blocks)}
	starts := make([]int64, len(e.Grown)) // for each growth, the position in the source from which on it has all samples
	for i, g := range e.Grown {
		if slices.ContainsFunc(e.Grown[:i], func(other Growth) bool { return other.Source == g.Source }) {
			return nil, notExtended(fmt.Sprintf("growth %d", i), "each source at most once",
				fmt.Sprintf("source %d again", g.Source))
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
			next.sources[i].Name = "" // the domains contain it already
		} else {
			next.sources[i].Weight = 0 // the weight before the extension
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
				"a mixture that reaches the next pass over the source, where the added samples begin",
				fmt.Sprintf("a mixture that ends at position %d, before that pass", next.n))
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

// phasesFrom returns the phases of the mixture after an extension at a position.
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
			return nil, notExtended(fmt.Sprintf("phase %d", i),
				fmt.Sprintf("a position of at least %d (earlier positions do not change)", from), p.From)
		}
		phases = append(phases, p)
	}
	return phases, nil
}

// grow adds samples to a source of was. It changes m, which has no layout yet. It returns the
// position in the source from which on the source has all samples.
func (m *Mixture) grow(was *Mixture, from int64, g Growth) (start int64, err error) {
	invalid := func(want string, got any) (int64, error) {
		return 0, &errs.Error{Kind: errs.Invalid, Want: want, Got: fmt.Sprint(got)}
	}
	switch {
	case g.Source < 0 || g.Source >= len(was.sources):
		return invalid(fmt.Sprintf("a source number from 0 to %d", len(was.sources)-1), g.Source)
	case g.Order == nil:
		return invalid("an order of all samples", "no order")
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
		return invalid(fmt.Sprintf("more samples than the source has (%d)", had), samples)
	case !ok:
		return invalid("an order that order.First supports", more)
	case first.String() != as.String():
		return invalid(fmt.Sprintf("an order that equals %s for the first %d samples", as, had), first)
	case more.String() == as.String():
		return invalid("an order with more samples than before", more)
	}
	at := &was.segments[was.segmentOf(from)]
	if s.Order, start, err = growTo(s.Order, had, more, samples, at.count(g.Source, from)); err != nil {
		return 0, err
	}
	s.Samples = samples
	m.blocks = append(m.blocks, idBlock{source: g.Source, n: samples - had})
	return start, nil
}

// samples returns the number of ids.
func (m *Mixture) samples() int64 {
	last := m.blocks[len(m.blocks)-1]
	return last.id + last.n
}

// weightsAt returns the weights of the phase that contains a position.
func (m *Mixture) weightsAt(pos int64) []float64 {
	weights := m.phases[0].Weights
	for _, p := range m.phases[1:] {
		if p.From <= pos {
			weights = p.Weights
		}
	}
	return weights
}
