package order

import (
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Source is one of the orders of a mixture.
type Source struct {
	Order  Order
	Weight float64
	// Samples is the number of ids of Order, which are 0 to Samples-1. 0 means the length of an epoch
	// of Order, or of the whole Order if it has no epochs.
	Samples int64
	// Name, if not empty, enters the domains of the shuffles of Order. Without names, sources of equal
	// length under one seed and domain have the same order.
	Name string
}

// Phase changes the weights of a mixture from a position on.
type Phase struct {
	From    int64
	Weights []float64 // one for each source
}

// Exhaustion says what happens to a mixture when one of its sources ends.
type Exhaustion uint8

// The policies. A source that never ends is never exhausted.
const (
	StopFirst Exhaustion = iota // the mixture ends at the first draw from a source that has ended
	DropEnded                   // the other sources continue by their weights; the mixture ends with the last source
	CycleAll                    // sources begin again; the mixture ends when each source has ended once
	CycleOn                     // sources begin again, without end
)

// Mixture draws positions from several orders by weight. Among the first t positions after the last
// change of weights, a source of weight w (a part of 1) has t*w positions, with an error below one
// position. Ids number the samples of source 0 first, then the samples of source 1, and so on.
// Samples that Extend added have ids after all other samples. Split returns the source of an id and
// its index there.
//
// Weights are exact if they are whole numbers whose sum, after division by their greatest common
// divisor, is at most MixtureParts. Decimal numbers and fractions that stand for such numbers are
// exact too: .62, .3 and .08 count as 31, 15 and 4. Other weights are rounded to parts of
// MixtureParts. A Mixture seeks in logarithmic time; its state is the position. For each set of
// weights it holds a table of 6 bytes a part, which NewMixture makes. It is immutable and safe for
// concurrent use.
type Mixture struct {
	version    int
	sources    []Source
	ends       []int64 // length of each source, or of its first pass; math.MaxInt64 if it never ends
	turn       []int64 // positions after which a source begins again; math.MaxInt64 if it never does
	blocks     []idBlock
	pieces     [][]idBlock // of each source
	cycle      bool
	segments   []mixSegment
	n          int64 // math.MaxInt64 if the mixture never ends
	exhaustion Exhaustion
	phases     []Phase
	origins    []origin // the mixtures on which Extend was called
	scratch    sync.Pool
}

// MixtureParts is the number of parts that weights are rounded to.
const MixtureParts = 1 << 14

// maxSources bounds the number of sources, because the number of a source takes two bytes.
const maxSources = 4096

// mixSegment is a range of positions with the same weights. It ends where the next segment begins.
type mixSegment struct {
	start int64
	drawn []int64 // how many ids were drawn from each source before start
	*turns
}

// count returns how many positions before pos belong to a source.
func (s *mixSegment) count(source int, pos int64) int64 {
	period := int64(len(s.pick))
	places := s.places[source]
	at := int32((pos - s.start) % period)
	return s.drawn[source] + (pos-s.start)/period*int64(len(places)) + int64(sort.Search(len(places), func(i int) bool { return places[i] >= at }))
}

// place returns the position at which the sample with the given index of a source is drawn. The
// position may lie after the segment. ok is false if the sample is never drawn.
func (s *mixSegment) place(source int, index int64) (pos int64, ok bool) {
	places := s.places[source]
	if index -= s.drawn[source]; index < 0 || len(places) == 0 {
		return 0, false
	}
	periods := index / int64(len(places))
	if periods > (math.MaxInt64-s.start)/int64(len(s.pick))-1 {
		return 0, false
	}
	return s.start + periods*int64(len(s.pick)) + int64(places[index%int64(len(places))]), true
}

// NewMixture mixes sources by their weights. From the position of each phase on it uses the weights
// of the phase. The positions of phases must ascend. The error is of kind errs.Invalid in these
// cases:
//   - weights that are negative, not finite, or all 0
//   - a source that is empty or has ids that are not known
//   - no sources, or too many
func NewMixture(sources []Source, exhaustion Exhaustion, phases ...Phase) (*Mixture, error) {
	m := &Mixture{sources: append([]Source(nil), sources...), version: Version}
	if err := m.init(exhaustion, phases); err != nil {
		return nil, err
	}
	return m, nil
}

// init lays out a mixture whose sources and version are set.
func (m *Mixture) init(exhaustion Exhaustion, phases []Phase) error {
	m.exhaustion, m.cycle, m.n = exhaustion, exhaustion == CycleAll || exhaustion == CycleOn, math.MaxInt64
	if err := m.check(phases); err != nil {
		return err
	}
	weights := make([]float64, len(m.sources))
	for i, s := range m.sources {
		weights[i] = s.Weight
		if s.Name != "" {
			m.sources[i].Order = rebuild(s.Order, 0, s.Name)
		}
	}
	m.phases = append([]Phase{{0, weights}}, phases...)
	if exhaustion == DropEnded {
		m.layDropping()
	} else {
		m.layPhases()
	}
	m.scratch.New = func() any {
		return &mixScratch{next: make([]int64, len(m.sources)), first: make([]int64, len(m.sources))}
	}
	return nil
}

func (m *Mixture) check(phases []Phase) error {
	invalid := func(subject, want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "order.NewMixture", Subject: subject, Want: want, Got: fmt.Sprint(got)}
	}
	if k := len(m.sources); k == 0 || k > maxSources || m.exhaustion > CycleOn {
		return invalid("", fmt.Sprintf("1 to %d sources and a policy", maxSources),
			fmt.Sprintf("%d sources, policy %d", k, m.exhaustion))
	}
	sum, total := 0.0, int64(0)
	for i := range m.sources {
		s, name := &m.sources[i], fmt.Sprintf("source %d", i)
		if s.Samples == 0 {
			s.Samples = epochLen(s.Order)
		}
		n, ends := s.Order.Len()
		if !ends {
			n = math.MaxInt64
		}
		turn, g := n, (*grown)(nil)
		if g, _ = s.Order.(*grown); g != nil && g.once {
			n = g.stages[0].n
		}
		switch {
		case n == 0:
			return invalid(name, "an order that is not empty", s.Order)
		case s.Samples < 1 || s.Samples > math.MaxInt64-total:
			return invalid(name, "a number of ids whose sum over all sources is below 2^63", s.Samples)
		case g != nil && g.once && !m.cycle:
			return &errs.Error{Kind: errs.Invalid, Op: "order.NewMixture", Subject: name, Got: s.Order.String(),
				Want:   "an order that never ends, or the policy CycleAll or CycleOn (added samples come with the next pass over a source)",
				Remedy: "add the samples as a source of their own"}
		case !validWeight(s.Weight):
			return invalid(name, "a weight of at least 0", s.Weight)
		}
		if !m.cycle {
			turn = math.MaxInt64
		}
		m.ends, m.turn = append(m.ends, n), append(m.turn, turn)
		total += s.Samples
		sum += s.Weight
	}
	if err := m.layIDs(); err != nil {
		return err
	}
	if sum == 0 || math.IsInf(sum, 1) {
		return invalid("", "weights with a sum above 0", sum)
	}
	before := int64(0)
	for i, p := range phases {
		name, sum := fmt.Sprintf("phase %d", i), 0.0
		for _, w := range p.Weights {
			if !validWeight(w) {
				return invalid(name, "weights of at least 0", w)
			}
			sum += w
		}
		if p.From <= before || len(p.Weights) != len(m.sources) || sum == 0 || math.IsInf(sum, 1) {
			return invalid(name, fmt.Sprintf("a position above %d and %d weights with a sum above 0", before, len(m.sources)),
				fmt.Sprintf("%+v", p))
		}
		before = p.From
	}
	return nil
}

func validWeight(w float64) bool { return w >= 0 && !math.IsInf(w, 1) }

// parts returns the weights as whole numbers.
func (m *Mixture) parts(weights []float64) []int64 {
	if m.version > 1 {
		if parts, ok := decimalParts(weights); ok {
			return parts
		}
	}
	return wholeParts(weights)
}

// layPhases makes a segment of each phase, and ends the mixture where its sources end.
func (m *Mixture) layPhases() {
	drawn := make([]int64, len(m.sources))
	for i, p := range m.phases {
		s := mixSegment{p.From, drawn, newTurns(m.parts(p.Weights))}
		m.segments = append(m.segments, s)
		if i+1 < len(m.phases) {
			drawn = m.drawnAt(&s, m.phases[i+1].From)
		}
	}
	switch m.exhaustion {
	case StopFirst:
		for i, end := range m.ends {
			if pos, ok := m.Locate(i, end); ok && end < math.MaxInt64 {
				m.n = min(m.n, pos)
			}
		}
	case CycleAll:
		last := int64(0)
		for i, end := range m.ends {
			pos, ok := m.Locate(i, end-1)
			if end == math.MaxInt64 || !ok {
				return // it never ends
			}
			last = max(last, pos+1)
		}
		m.n = last
	}
}

func (m *Mixture) drawnAt(s *mixSegment, pos int64) []int64 {
	drawn := make([]int64, len(m.sources))
	for i := range drawn {
		drawn[i] = s.count(i, pos)
	}
	return drawn
}

// layDropping begins a segment at each position where weights change or after which a source has
// ended.
func (m *Mixture) layDropping() {
	drawn, start := make([]int64, len(m.sources)), int64(0)
	for phase := 0; ; {
		for phase+1 < len(m.phases) && m.phases[phase+1].From <= start {
			phase++
		}
		weights, sum := append([]float64(nil), m.phases[phase].Weights...), 0.0
		for i := range weights {
			if drawn[i] >= m.ends[i] {
				weights[i] = 0
			}
			sum += weights[i]
		}
		if sum == 0 {
			m.n = start
			return
		}
		s := mixSegment{start, drawn, newTurns(m.parts(weights))}
		m.segments = append(m.segments, s)
		next := int64(math.MaxInt64)
		if phase+1 < len(m.phases) {
			next = m.phases[phase+1].From
		}
		for i, end := range m.ends {
			if end == math.MaxInt64 || weights[i] == 0 {
				continue
			}
			if pos, ok := s.place(i, end-1); ok {
				next = min(next, pos+1)
			}
		}
		if next == math.MaxInt64 {
			return
		}
		drawn, start = m.drawnAt(&s, next), next
	}
}

// At returns the source of a position and the position in that source. ok is false after the end.
func (m *Mixture) At(pos int64) (source int, index int64, ok bool) {
	if pos < 0 || pos >= m.n {
		return 0, 0, false
	}
	s := &m.segments[m.segmentOf(pos)]
	period := int64(len(s.pick))
	at := (pos - s.start) % period
	source = int(s.pick[at])
	index = s.drawn[source] + (pos-s.start)/period*int64(len(s.places[source])) + int64(s.rank[at])
	return source, m.wrap(source, index), true
}

func (m *Mixture) segmentOf(pos int64) int {
	return sort.Search(len(m.segments), func(i int) bool { return m.segments[i].start > pos }) - 1
}

// wrap returns the index in the present pass of a source, if the policy lets sources begin again.
func (m *Mixture) wrap(source int, index int64) int64 {
	if n := m.turn[source]; n < math.MaxInt64 {
		return index % n
	}
	return index
}

// Locate returns the position at which the mixture draws from a source after index earlier draws
// from it. ok is false if there is no such draw.
func (m *Mixture) Locate(source int, index int64) (pos int64, ok bool) {
	for i := range m.segments {
		pos, ok = m.segments[i].place(source, index)
		if ok && (i+1 == len(m.segments) || pos < m.segments[i+1].start) {
			return pos, pos < m.n
		}
	}
	return 0, false
}

// mixScratch is the memory that Fill needs for a block of positions.
type mixScratch struct {
	sources     [walkBlock]uint16
	ids         [walkBlock]int64
	first, next []int64  // by source: the first index in the block, and where its ids begin in ids
	drawn       []uint16 // the sources that occur in the block; next is 0 for all other sources
}

// Fill implements Order. It asks each source once for all its ids in a block.
func (m *Mixture) Fill(pos int64, dst []int64) int {
	if pos < 0 || pos >= m.n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), m.n-pos)]
	scratch, _ := m.scratch.Get().(*mixScratch)
	defer m.scratch.Put(scratch)
	for done := 0; done < len(dst); {
		block := dst[done:min(done+walkBlock, len(dst))]
		got := m.fillBlock(scratch, pos+int64(done), block)
		if done += got; got < len(block) {
			return done
		}
	}
	return len(dst)
}

func (m *Mixture) fillBlock(b *mixScratch, pos int64, dst []int64) int {
	for _, source := range b.drawn { // not all sources: a mixture may have thousands
		b.next[source] = 0
	}
	b.drawn = b.drawn[:0]
	for i := 0; i < len(dst); {
		i = m.draw(b, pos, i, len(dst))
	}
	place := int64(0)
	for _, source := range b.drawn {
		n := b.next[source]
		ids := b.ids[place : place+n]
		for done := int64(0); done < n; {
			got := m.sources[source].Order.Fill(m.wrap(int(source), b.first[source]+done), ids[done:])
			if got == 0 {
				return 0 // an order that ends before its Len
			}
			done += int64(got)
		}
		m.number(int(source), ids)
		b.next[source] = place
		place += n
	}
	for i, source := range b.sources[:len(dst)] {
		dst[i] = b.ids[b.next[source]]
		b.next[source]++
	}
	return len(dst)
}

// draw notes the sources of the positions from pos+i on, up to the end of the segment or to pos+n.
// It returns how many of the n positions are noted then.
func (m *Mixture) draw(b *mixScratch, pos int64, i, n int) int {
	k := m.segmentOf(pos + int64(i))
	s := &m.segments[k]
	if k+1 < len(m.segments) {
		n = int(min(int64(n), m.segments[k+1].start-pos))
	}
	period := int64(len(s.pick))
	periods, at := (pos+int64(i)-s.start)/period, (pos+int64(i)-s.start)%period
	for ; i < n; i++ {
		source := s.pick[at]
		if b.next[source] == 0 {
			b.drawn = append(b.drawn, source)
			b.first[source] = s.drawn[source] + periods*int64(len(s.places[source])) + int64(s.rank[at])
		}
		b.sources[i] = source
		b.next[source]++
		if at++; at == period {
			periods, at = periods+1, 0
		}
	}
	return n
}

// Len implements Order.
func (m *Mixture) Len() (n int64, ok bool) {
	if m.n == math.MaxInt64 {
		return 0, false
	}
	return m.n, true
}

// String implements Order.
func (m *Mixture) String() string { return m.describe(len(m.phases), m.sources, m.blocks) }
