package writer

import (
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/tree"
)

// Status receives the progress of leaves, from several goroutines. Each method is called once for
// each leaf that stores something, unless the save fails before.
type Status interface {
	// OnTransferEnd is called when the memory of the leaf is not needed any more.
	OnTransferEnd(tree.Path)
	// OnWriteEnd is called when all bytes of the leaf are with the store.
	OnWriteEnd(tree.Path)
}

// tracked is the progress of an array in data files.
type tracked struct {
	path              tree.Path
	apart             bool // its memory is not needed any more
	unread, unwritten atomic.Int64
}

// status reports the leaves of a save to Options.Status. Without a Status it does nothing.
type status struct{ tell Status }

// track counts the units and packed chunks of arrays.
func (s status) track(t *treePlan) {
	if s.tell == nil {
		return
	}
	for _, a := range t.arrays {
		if a.varies() {
			a.count(int64(len(a.chunks)))
		}
	}
	for _, f := range t.files {
		for _, u := range f.units {
			for a := range u.arrays() {
				a.count(1)
			}
		}
	}
}

func (a *array) count(n int64) {
	if a.tracked == nil {
		a.tracked = &tracked{path: a.path}
	}
	a.tracked.unread.Add(n)
	a.tracked.unwritten.Add(n)
}

// arrays yields the arrays that have a piece in the unit, each once.
func (u *unit) arrays() func(yield func(*array) bool) {
	return func(yield func(*array) bool) {
		var last *array
		for _, p := range u.pieces {
			if p.chunk != nil && p.chunk.array != last {
				last = p.chunk.array
				if !yield(last) {
					return
				}
			}
		}
	}
}

// apart reports the leaves whose memory is not needed after Snapshot: leaves in the snapshot, and
// leaves outside of data files.
func (s status) apart(w *Writer, copied func(*array) bool) {
	if s.tell == nil {
		return
	}
	for i, t := range w.plans() {
		for _, l := range t.leaves {
			if _, handled := w.items[i].Foreign[l.node]; handled || l.small() {
				s.tell.OnTransferEnd(l.entry.Path)
			}
		}
		for _, a := range t.arrays {
			switch {
			case a.src.read != nil:
			case a.tracked == nil:
				s.tell.OnTransferEnd(a.path)
			case copied(a):
				a.tracked.apart = true
				s.tell.OnTransferEnd(a.path)
			}
		}
	}
}

// small reports whether a document holds the leaf.
func (l *leaf) small() bool { return !l.isArray && !l.entry.Skip && l.node == nil }

// read reports that a unit was encoded.
func (s status) read(u *unit) {
	if s.tell == nil {
		return
	}
	for a := range u.arrays() {
		s.readOne(a)
	}
}

func (s status) readOne(a *array) {
	if s.tell != nil && a.tracked.unread.Add(-1) == 0 && !a.tracked.apart {
		s.tell.OnTransferEnd(a.path)
	}
}

// written reports that a unit was given to the store.
func (s status) written(u *unit) {
	if s.tell == nil {
		return
	}
	for a := range u.arrays() {
		s.writtenOne(a)
	}
}

func (s status) writtenOne(a *array) {
	if s.tell != nil && a.tracked.unwritten.Add(-1) == 0 {
		s.tell.OnWriteEnd(a.path)
	}
}

// handled reports that the handlers have written the leaves of their types.
func (s status) handled(w *Writer) {
	if s.tell == nil {
		return
	}
	for i, t := range w.plans() {
		for _, l := range t.leaves {
			if _, foreign := w.items[i].Foreign[l.node]; foreign {
				s.tell.OnWriteEnd(l.entry.Path)
			}
		}
	}
}

// documents reports that the small files, with their leaves, were given to the store. The memory of
// leaves that were read for them is not needed any more either.
func (s status) documents(w *Writer) {
	if s.tell == nil {
		return
	}
	for _, t := range w.plans() {
		for _, l := range t.leaves {
			if l.small() {
				s.tell.OnWriteEnd(l.entry.Path)
			}
		}
		for _, a := range t.arrays {
			if a.tracked != nil {
				continue
			}
			if a.src.read != nil {
				s.tell.OnTransferEnd(a.path)
			}
			s.tell.OnWriteEnd(a.path)
		}
	}
}
