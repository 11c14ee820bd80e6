package order

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/rng"
)

// Table holds the numbers of a table that a description names by a hash. It is one of these:
//
//   - the length of each sample, by id
//   - the size of each shard
//   - the ids of a selection, or 1 for each selected id and 0 for each other id
type Table []int64

// MissingTable is a table that a description names and that the caller did not pass.
type MissingTable struct {
	// Name is the text of the description for the table, with its hash.
	Name string
	// Kind is "lengths", "shards" or "selection".
	Kind string
	// Len is the number of lengths or shards. For a selection it is the number of ids that it chooses
	// from.
	Len int64
}

// String names the missing table.
func (m MissingTable) String() string {
	switch m.Kind {
	case "lengths":
		return fmt.Sprintf("the lengths of %d samples (%s)", m.Len, m.Name)
	case "shards":
		return fmt.Sprintf("the sizes of %d shards (%s)", m.Len, m.Name)
	}
	return fmt.Sprintf("which of %d ids are selected (%s)", m.Len, m.Name)
}

// MissingTables is the error of Parse if tables are missing.
type MissingTables struct{ Tables []MissingTable }

// Error implements error.
func (m *MissingTables) Error() string {
	const most = 5
	var b strings.Builder
	b.WriteString("not among the tables given: ")
	for i, t := range m.Tables[:min(most, len(m.Tables))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.String())
	}
	if more := len(m.Tables) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// table returns the table of a kind with the given name, or ok = false if it is missing. It calls
// match for each table that the caller passed, and returns the first result whose String is name.
// It caches the results of match for each table and number of ids.
func table[T fmt.Stringer](p *parser, kind, name string, n int64, match func(Table) (T, bool)) (found T, ok bool) {
	if kept, known := p.found[name]; known {
		found, ok = kept.(T)
		return found, ok
	}
	for i, t := range p.tables {
		key := fmt.Sprint(kind, " ", n, " ", i)
		made, known := p.found[key]
		if !known {
			if one, fits := match(t); fits {
				made = one
			}
			p.found[key] = made
		}
		if one, fits := made.(T); fits && one.String() == name {
			p.found[name] = one
			return one, true
		}
	}
	m := MissingTable{Name: name, Kind: kind, Len: n}
	p.found[name] = m
	p.missing = append(p.missing, m)
	return found, false
}

// lengths returns the lengths that a description names, or nil if they are missing.
func (p *parser) lengths(name string, n int64) *Lengths {
	l, _ := table(p, "lengths", name, n, func(t Table) (*Lengths, bool) {
		if int64(len(t)) != n {
			return nil, false
		}
		of := make([]int32, n)
		for id, v := range t {
			of[id] = int32(min(max(v, -1), math.MaxInt32))
		}
		l, err := NewLengths(of)
		return l, err == nil
	})
	return l
}

// selection returns the selection that a description names, or nil if it is missing.
func (p *parser) selection(name string, n int64) *Selection {
	s, _ := table(p, "selection", name, n, func(t Table) (*Selection, bool) {
		if int64(len(t)) == n && isMask(t) {
			return NewSelection(n, func(id int64) bool { return t[id] == 1 }), true
		}
		if n > mostSelected {
			return nil, false
		}
		s, err := SelectIDs(n, t)
		return s, err == nil
	})
	return s
}

// mostSelected bounds the bitmap that is made from a list of ids: 512 MiB.
const mostSelected = 1 << 32

// isMask reports whether a table has only the values 0 and 1.
func isMask(t Table) bool {
	return !slices.ContainsFunc(t, func(v int64) bool { return v != 0 && v != 1 })
}

// shardSizes are sizes of shards with the name that Windows writes for them.
type shardSizes struct {
	sizes []int64
	name  string
}

func (s shardSizes) String() string { return s.name }

// sizes returns the sizes of the shards of n samples that a description names: sizes from a table,
// or equal sizes with a last shard that may be smaller. ok is false if they are missing.
func (p *parser) sizes(shards, n int64, sum uint64) (sizes []int64, ok bool) {
	if shards == 0 {
		return nil, true
	}
	name := fmt.Sprintf("shards=%d:%016x", shards, sum)
	if _, known := p.found[name]; !known {
		if equal := p.equalShards(shards, n, sum); equal != nil {
			p.found[name] = shardSizes{equal, name}
		}
	}
	found, ok := table(p, "shards", name, shards, func(t Table) (shardSizes, bool) {
		return shardSizes{t, fmt.Sprintf("shards=%d:%016x", len(t), hashOf(t))}, int64(len(t)) == shards
	})
	return found.sizes, ok
}

// hashOf returns the hash that Windows writes for the sizes of its shards.
func hashOf(sizes []int64) (h uint64) {
	for _, size := range sizes {
		h = rng.Mix(h ^ uint64(size))
	}
	return h
}

// equalShards returns equal sizes whose hash is sum. The last size may be smaller. It returns nil
// if there are no such sizes, or too many to try.
func (p *parser) equalShards(shards, n int64, sum uint64) []int64 {
	if shards > math.MaxInt32 {
		return nil
	}
	size := n / shards
	if n%shards > 0 {
		size++
	}
	for ; p.shards >= shards; size++ {
		if size > math.MaxInt64/shards || n < (shards-1)*size {
			return nil
		}
		last := n - (shards-1)*size
		p.shards -= shards
		h := uint64(0)
		for range shards - 1 {
			h = rng.Mix(h ^ uint64(size))
		}
		if rng.Mix(h^uint64(last)) == sum {
			sizes := slices.Repeat([]int64{size}, int(shards))
			sizes[shards-1] = last
			return sizes
		}
		if size == 0 || shards == 1 {
			return nil
		}
	}
	return nil
}
