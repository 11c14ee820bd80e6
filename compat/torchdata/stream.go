package torchdata

import (
	"math/bits"
	"sync"
)

// stream is a generator's numbers by their place. It keeps where it was used
// last and where it was asked for last, from where later numbers are found. It is
// safe for concurrent use.
type stream struct {
	start      Generator
	mu         sync.Mutex
	used, seen place
}

// place is a generator that stands before a word.
type place struct {
	word uint64
	g    Generator
}

func newStream(g Generator) *stream {
	first := place{g: g}
	return &stream{start: g, used: first, seen: first}
}

// draw calls f with the generator that stands before a word; f draws that many.
func (s *stream) draw(word, draws uint64, f func(*Generator)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if word != s.used.word {
		s.used = s.nearest(word)
		s.used.g.Discard(word - s.used.word)
	}
	f(&s.used.g)
	s.used.word = word + draws
}

// at returns the generator that stands before a word.
func (s *stream) at(word uint64) Generator {
	s.mu.Lock()
	defer s.mu.Unlock()
	if word != s.seen.word {
		s.seen = s.nearest(word)
		s.seen.g.Discard(word - s.seen.word)
		s.seen.word = word
	}
	return s.seen.g
}

// nearest returns the last place that is known and not beyond a word.
func (s *stream) nearest(word uint64) place {
	best := place{g: s.start}
	for _, p := range []*place{&s.used, &s.seen} {
		if p.word <= word && p.word > best.word {
			best = *p
		}
	}
	return best
}

// last keeps the result that was computed last. It is safe for concurrent use,
// and what it returns is not changed any more.
type last[K comparable] struct {
	mu   sync.Mutex
	full bool
	key  K
	ids  []uint32
}

func (l *last[K]) get(key K, compute func() []uint32) []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.full || l.key != key {
		l.ids, l.key, l.full = compute(), key, true
	}
	return l.ids
}

// product multiplies; ok is false where the result is not below 2^63.
func product(a, b uint64) (p uint64, ok bool) {
	high, low := bits.Mul64(a, b)
	return low, high == 0 && low < 1<<63
}
