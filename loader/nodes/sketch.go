package nodes

import (
	"bytes"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// The state of a node over several sources is as long as the states of all its sources. A node
// above that runs ahead or makes batches takes a state after every value. So that the cost of a
// value depends only on what changed, such a node asks for a sketch. A sketch is the state with a
// mark in place of the state of each node over several sources, and a version for each mark. A
// version shares all unchanged parts with the version before. A state that leaves the nodes is
// written out in full.
//
//	{"source":␀}           the sketch, and
//	[version]               the versions of its marks, in their order

// mark takes the place of a version. JSON never contains this byte.
const mark = 0

// version is the state of a node over several sources at one time. It is immutable.
type version interface {
	// appendTo appends the state.
	appendTo(dst []byte) []byte
}

// book collects the versions of a sketch, in the order of the marks.
type book struct{ versions []version }

// sketcher is a node that can write sketches, or that has nodes below that can.
type sketcher interface {
	// sketch makes AppendState write marks and append their versions to a book.
	sketch(b *book)
}

// sketched makes a node write sketches if it can.
func sketched(node any, b *book) {
	if s, ok := node.(sketcher); ok {
		s.sketch(b)
	}
}

// snapshot is a state that a node keeps.
type snapshot struct {
	text     []byte
	versions []version
}

// keeper takes and keeps snapshots of a source.
type keeper struct {
	book  book
	above *book // the book of the node above if it wants sketches, or nil
}

func (k *keeper) sketch(above *book) { k.above = above }

// take stores the current state of a source in s.
func (k *keeper) take(s *snapshot, source appender) (err error) {
	k.book.versions = nil
	s.text, err = source.AppendState(s.text[:0])
	s.versions = k.book.versions
	return err
}

// append appends a snapshot.
func (k *keeper) append(dst []byte, s *snapshot) ([]byte, error) {
	if k.above != nil {
		k.above.versions = append(k.above.versions, s.versions...)
		return append(dst, s.text...), nil
	}
	if n := bytes.Count(s.text, []byte{mark}); n != len(s.versions) {
		return dst, &errs.Error{Kind: errs.Corrupt, Op: "nodes", Subject: "state of a source", Want: "JSON",
			Got: "a text with a byte 0"}
	}
	rest := s.text
	for _, v := range s.versions {
		at := bytes.IndexByte(rest, mark)
		dst = v.appendTo(append(dst, rest[:at]...))
		rest = rest[at+1:]
	}
	return append(dst, rest...), nil
}

// appendNow appends the current state of a source.
func (k *keeper) appendNow(dst []byte, source appender) ([]byte, error) {
	var s snapshot
	if err := k.take(&s, source); err != nil {
		return dst, err
	}
	return k.append(dst, &s)
}

// sourceState is the state of one of several sources.
type sourceState struct {
	text      []byte
	exhausted bool
}

const (
	fanBits = 5
	fan     = 1 << fanBits
)

// shelf is a list of states of sources, stored as a tree. It is immutable: put returns a new shelf
// that shares everything with the old one except one path.
type shelf struct {
	below  []*shelf      // children of an inner node
	states []sourceState // states of a leaf
}

// newShelf returns a shelf with the given states.
func newShelf(states []sourceState) *shelf {
	var level []*shelf
	for part := range slices.Chunk(states, fan) {
		level = append(level, &shelf{states: part})
	}
	for len(level) > 1 {
		var next []*shelf
		for part := range slices.Chunk(level, fan) {
			next = append(next, &shelf{below: part})
		}
		level = next
	}
	return level[0]
}

// height returns how many levels are above the leaves.
func (s *shelf) height() (n int) {
	for ; s.below != nil; s = s.below[0] {
		n++
	}
	return n
}

// put returns a shelf with another state at i.
func (s *shelf) put(i, height int, state sourceState) *shelf {
	at := i >> (height * fanBits) % fan
	if height == 0 {
		states := slices.Clone(s.states)
		states[at] = state
		return &shelf{states: states}
	}
	below := slices.Clone(s.below)
	below[at] = below[at].put(i, height-1, state)
	return &shelf{below: below}
}

// each calls do for all states in their order.
func (s *shelf) each(do func(sourceState)) {
	for _, b := range s.below {
		b.each(do)
	}
	for _, state := range s.states {
		do(state)
	}
}
