package ocdbt

import (
	"context"
	"encoding/binary"
	"iter"
	"sort"
)

// Index holds all keys of a database with the places of their values, flat in memory. It is made in
// one pass over the nodes, each of which is read and decoded once. Afterwards no node is needed:
// any number of goroutines find keys in any order at the same cost. It takes some 20 bytes per key.
// Equal inline values, such as metadata of arrays, are kept once.
//
// An Index never changes and is safe for concurrent use.
type Index struct {
	files  files
	keys   int
	names  []File   // that values lie in
	values [][]byte // long inline values, each once
	blocks []int    // where blocks of entries begin in b
	b      []byte
	lost   [][]Lost // of each database that was salvaged; nil of one that is whole
}

// The entries of a block follow each other in the order of their keys:
//
//	shared varint | suffix length varint | suffix | kind varint | …
//
// shared is how many bytes the key has in common with the one before it in the block. A value of
// kind shortValue is its length and its bytes, one of kind longValue its place in values, and any
// other kind is a file, with offset and length.
const (
	shortValue = 0
	longValue  = 1
	firstFile  = 2

	blockEntries = 16
	shortBytes   = 48   // inline values up to here lie in their entry
	mostLike     = 4096 // long values that are searched for like ones
)

// Index makes the index of the version that is open.
func (db *DB) Index(ctx context.Context) (*Index, error) {
	return newIndex(db.files, db.pass(ctx))
}

// Index makes the index of all databases together.
func (u *Union) Index(ctx context.Context) (*Index, error) {
	return newIndex(u.files, u.List(ctx, Range{}))
}

func newIndex(f files, entries iter.Seq2[Entry, error]) (*Index, error) {
	x := &Index{files: f}
	files, like := map[File]int{}, map[string]int{}
	before := ""
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if x.keys%blockEntries == 0 {
			x.blocks, before = append(x.blocks, len(x.b)), ""
		}
		shared := commonPrefix(before, e.Key)
		x.number(shared)
		x.number(len(e.Key) - shared)
		x.b = append(x.b, e.Key[shared:]...)
		switch v := e.Value; {
		case !v.IsInline():
			i, known := files[v.File]
			if !known {
				i = len(x.names)
				files[v.File] = i
				x.names = append(x.names, v.File)
			}
			x.number(firstFile + i)
			x.number(int(v.Offset))
			x.number(int(v.Length))
		case len(v.Inline) <= shortBytes:
			x.number(shortValue)
			x.number(len(v.Inline))
			x.b = append(x.b, v.Inline...)
		default:
			i, known := like[string(v.Inline)]
			if !known {
				i = len(x.values)
				own := string(v.Inline)
				x.values = append(x.values, []byte(own))
				if len(like) < mostLike {
					like[own] = i
				}
			}
			x.number(longValue)
			x.number(i)
		}
		before = e.Key
		x.keys++
	}
	return x, nil
}

func (x *Index) number(n int) { x.b = binary.AppendUvarint(x.b, uint64(n)) }

// Len returns the number of keys.
func (x *Index) Len() int { return x.keys }

// Get finds the value of key, as DB.Get does.
func (x *Index) Get(_ context.Context, key string) (ref Ref, ok bool, err error) {
	if ref, ok = x.find(key); !ok {
		err = x.absent(key)
	}
	return ref, ok, err
}

func (x *Index) find(key string) (ref Ref, ok bool) {
	block := sort.Search(len(x.blocks), func(i int) bool {
		c := reading{b: x.b[x.blocks[i]:]}
		c.number()
		return string(c.take(c.number())) > key
	})
	if block == 0 {
		return Ref{}, false
	}
	c := reading{b: x.b[x.blocks[block-1]:]}
	if block < len(x.blocks) {
		c.b = c.b[:x.blocks[block]-x.blocks[block-1]]
	}
	// matched is how many bytes of key the entry before has: an entry that shares
	// fewer or more with it than that is less or greater without a look at its suffix.
	for matched := 0; len(c.b) > 0; {
		shared := c.number()
		suffix := c.take(c.number())
		switch {
		case shared < matched:
			return Ref{}, false
		case shared == matched:
			n := 0
			for n < len(suffix) && matched < len(key) && suffix[n] == key[matched] {
				n, matched = n+1, matched+1
			}
			if n == len(suffix) && matched == len(key) {
				return x.value(&c), true
			}
			if n < len(suffix) && (matched == len(key) || suffix[n] > key[matched]) {
				return Ref{}, false
			}
		}
		x.value(&c)
	}
	return Ref{}, false
}

// value reads the value of an entry.
func (x *Index) value(c *reading) Ref {
	switch kind := c.number(); kind {
	case shortValue:
		v := c.take(c.number())
		return Ref{Inline: v[:len(v):len(v)], Length: int64(len(v))}
	case longValue:
		return InlineRef(x.values[c.number()])
	default:
		r := Ref{File: x.names[kind-firstFile]}
		r.Offset = int64(c.number())
		r.Length = int64(c.number())
		return r
	}
}

// reading reads entries that newIndex wrote.
type reading struct{ b []byte }

func (c *reading) number() int {
	if c.b[0] < 0x80 {
		n := int(c.b[0])
		c.b = c.b[1:]
		return n
	}
	n, size := binary.Uvarint(c.b)
	c.b = c.b[size:]
	return int(n)
}

func (c *reading) take(n int) []byte {
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

// Values returns the values of the database by key.
func (x *Index) Values() Values { return Values{x.files, x.Get} }
