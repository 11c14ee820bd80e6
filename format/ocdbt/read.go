package ocdbt

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

// Get finds the value of key. ok is false if the key is not there. An inline
// value belongs to the database and must not be changed.
func (db *DB) Get(ctx context.Context, key string) (ref Ref, ok bool, err error) {
	if db.version.Empty() {
		return Ref{}, false, nil
	}
	if last := db.last.Load(); last != nil {
		if i, in := last.find(key); in {
			return last.value(i)
		}
	}
	at := step{ref: db.version.Root, rest: key}
	for {
		n, err := db.load(ctx, at.ref, at.bounds())
		if err != nil {
			return Ref{}, false, err
		}
		if n.height == 0 {
			here := &leafNode{node: n, prefix: key[:at.prefix]}
			db.last.Store(here)
			i, _ := here.find(key)
			return here.value(i)
		}
		i, _ := n.search(at.rest)
		if i < 0 || !strings.HasPrefix(at.rest, n.keys.at(i)[:n.inner[i].prefix]) {
			return Ref{}, false, nil
		}
		at = at.down(n, i)
	}
}

// leafNode is a leaf of the tree with the prefix that its keys lack. A DB keeps
// the one where it found a key last: as a rule the next key is there too, and is
// the next one.
type leafNode struct {
	*node
	prefix string
	next   atomic.Int32 // entry behind the one that was found last
}

// find returns the entry of key, or -1 where it is not there; in is false where
// another leaf may have it.
func (l *leafNode) find(key string) (i int, in bool) {
	rest, ok := strings.CutPrefix(key, l.prefix)
	if !ok {
		return -1, false
	}
	i = int(l.next.Load())
	if i >= l.len() || l.keys.at(i) != rest {
		var equal bool
		if i, equal = l.search(rest); !equal {
			return -1, i >= 0 && i < l.len()-1
		}
	}
	l.next.Store(int32(i + 1))
	return i, true
}

// value returns the value of an entry that find returned.
func (l *leafNode) value(i int) (Ref, bool, error) {
	if i < 0 {
		return Ref{}, false, nil
	}
	return l.node.value(i), true, nil
}

// step is a place on the way down. The fields low, high and rest are relative to
// the prefix of the node.
type step struct {
	ref     Node
	prefix  int    // bytes that the keys of the node lack
	low     string // no key of the node is less
	high    string // every key of the node is less, if hasHigh
	hasHigh bool
	rest    string // what is searched
}

func (s step) bounds() bounds { return bounds{s.prefix, s.low, s.high, s.hasHigh} }

// down steps to child i. A bound that is not below the child's prefix is either
// no bound there or excludes everything, which check finds.
func (s step) down(n *node, i int) step {
	shared := n.keys.at(i)[:n.inner[i].prefix]
	next := step{ref: n.child(i), prefix: s.prefix + len(shared), low: n.keys.at(i)[len(shared):]}
	high, has := s.high, s.hasHigh
	if i+1 < n.len() {
		high, has = n.keys.at(i+1), true
	}
	if has {
		if h, ok := strings.CutPrefix(high, shared); ok {
			next.high, next.hasHigh = h, true
		}
	}
	next.rest = strings.TrimPrefix(s.rest, shared)
	return next
}

// bounds are what the parent promises of a node.
type bounds struct {
	prefix  int
	low     string
	high    string
	hasHigh bool
}

func (b bounds) check(n *node, ref Node) error {
	at := location{ref.File.Path(), ref.Offset}
	last := n.keys.at(n.len() - 1)
	switch {
	case n.keys.at(0) < b.low:
		return at.corrupt("first key is less than the bound that the parent gives")
	case b.hasHigh && last >= b.high:
		return at.corrupt("last key reaches into the next node")
	case b.prefix+n.maxKey > MaxKeyLength:
		return at.corrupt("a key has more than %d bytes", MaxKeyLength)
	}
	return nil
}

// load returns the node at ref, checked against the bounds.
func (db *DB) load(ctx context.Context, ref Node, b bounds) (*node, error) {
	n, err := db.cache.load(ctx, ref, func() (*node, error) { return db.decode(ctx, ref) })
	if err != nil {
		return nil, err
	}
	if err := b.check(n, ref); err != nil {
		return nil, err
	}
	return n, nil
}

// decode reads the node that a reference leads to.
func (db *DB) decode(ctx context.Context, ref Node) (*node, error) {
	p, err := db.files.readObject(ctx, ref.File.Path(), ref.Offset, ref.Length)
	if err != nil {
		return nil, err
	}
	return decodeNode(p, ref, db.options.MaxNodeBytes)
}

// Range is a half-open interval of keys. The zero Range holds all of them.
type Range struct {
	Start string // the first key
	End   string // the first key beyond; empty: no end
}

// Prefix returns the range of the keys that begin with p.
func Prefix(p string) Range {
	end := []byte(p)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return Range{Start: p, End: string(end)}
}

// List yields the entries of a range in the order of their keys. It reads nodes
// as it goes; after an error it ends. Nodes that share a child, which no writer
// makes, are errs.Corrupt. Inline values must not be changed.
func (db *DB) List(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if db.version.Empty() || r.End != "" && r.Start >= r.End {
			return
		}
		w := walker{db: db, r: r, yield: yield, seen: map[location]bool{}}
		w.walk(ctx, step{ref: db.version.Root}, "")
	}
}

type walker struct {
	db    *DB
	r     Range
	yield func(Entry, error) bool
	seen  map[location]bool // nodes on the way so far
	once  bool              // nodes are not kept: nobody comes back to them

	salvage *salvager // nil: an error ends the walk
}

// load returns a node, and for a large leaf of a pass the cursor at its values.
func (w *walker) load(ctx context.Context, s step) (*node, *cursor, error) {
	if w.salvage != nil {
		n, err := w.salvage.load(ctx, s)
		return n, nil, err
	}
	if !w.once {
		n, err := w.db.load(ctx, s.ref, s.bounds())
		return n, nil, err
	}
	p, err := w.db.files.readObject(ctx, s.ref.File.Path(), s.ref.Offset, s.ref.Length)
	if err != nil {
		return nil, nil, err
	}
	n, c, err := decodeLarge(p, s.ref, w.db.options.MaxNodeBytes, largeNode)
	if err == nil {
		err = s.bounds().check(n, s.ref)
	}
	return n, c, err
}

// walk yields what is below s, whose keys lack prefix, and reports whether to go
// on.
func (w *walker) walk(ctx context.Context, s step, prefix string) bool {
	n, values, err := w.load(ctx, s)
	at := location{s.ref.File.Path(), s.ref.Offset}
	if err == nil && w.seen[at] {
		err = at.corrupt("two paths lead to the node") // a few nodes could stand for any number of keys
	}
	w.seen[at] = true
	if err == nil && ctx.Err() != nil {
		err = &errs.Error{Kind: errs.Canceled, Op: "ocdbt.List", Err: context.Cause(ctx)}
	}
	if err != nil && w.salvage != nil && w.salvage.lose(s, prefix, err) {
		return true
	}
	if err != nil {
		w.yield(Entry{}, err)
		return false
	}
	for i := w.first(n, prefix); i < n.len(); i++ {
		key := prefix + n.keys.at(i)
		if w.r.End != "" && key >= w.r.End {
			return false
		}
		if n.height == 0 {
			v := n.value(i)
			if values != nil && n.leaf[i].file < 0 {
				v.Inline = values.bytes(int(v.Length), "inline value")
			}
			if values != nil && values.err != nil {
				w.yield(Entry{}, values.err)
				return false
			}
			if !w.yield(Entry{Key: key, Value: v}, nil) {
				return false
			}
		} else if !w.walk(ctx, s.down(n, i), key[:len(prefix)+int(n.inner[i].prefix)]) {
			return false
		}
	}
	if values != nil && values.done() != nil {
		w.yield(Entry{}, values.err)
		return false
	}
	return true
}

// first returns the first entry of n that may hold keys from Start on.
func (w *walker) first(n *node, prefix string) int {
	start := w.r.Start
	if c := commonPrefix(start, prefix); c == len(prefix) {
		start = start[c:]
	} else if c == len(start) || start[c] < prefix[c] {
		return 0
	} else {
		return n.len() // all keys are less; a parent only comes here with its last such child
	}
	i, equal := n.search(start)
	if n.height == 0 && !equal {
		i++
	}
	return max(i, 0)
}
