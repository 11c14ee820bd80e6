package torchdata

import (
	"math/bits"
	"sync"
)

// stream gives the numbers of a generator by their place. It keeps the last place that was used and
// the last place that was requested, to find later numbers from there. It is safe for concurrent
// use.
type stream struct {
	start      Generator
	mu         sync.Mutex
	used, seen place
}

// place is a generator at the position before a word.
type place struct {
	word uint64
	g    Generator
}

func newStream(g Generator) *stream {
	first := place{g: g}
	return &stream{start: g, used: first, seen: first}
}

// draw calls f with the generator at the position before a word. f draws the given number of words.
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

// at returns the generator at the position before a word.
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

// nearest returns the last known place that is not after a word.
func (s *stream) nearest(word uint64) place {
	best := place{g: s.start}
	for _, p := range []*place{&s.used, &s.seen} {
		if p.word <= word && p.word > best.word {
			best = *p
		}
	}
	return best
}

// last keeps the latest result. It is safe for concurrent use, and its results are not changed any
// more.
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

// product multiplies two numbers. ok is false if the result is not below 2^63.
func product(a, b uint64) (p uint64, ok bool) {
	high, low := bits.Mul64(a, b)
	return low, high == 0 && low < 1<<63
}
