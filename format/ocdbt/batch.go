package ocdbt

import (
	"container/heap"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Batch collects changes for one commit. Of several changes of a key the last
// one counts. The zero value is an empty batch. It is not safe for concurrent
// use.
type Batch struct {
	changes map[string]change
	ranges  []Range // ranges to remove, in call order
	settled int     // number of ranges whose removed changes are already gone
	list    []Entry // of PutList, as long as there is nothing else
}

// change is the change of one key.
type change struct {
	removed bool
	data    []byte // the value, if it is to be stored by the commit
	stored  bool   // the value is at ref
	ref     Ref
	after   int // how many ranges were removed before it
}

func (b *Batch) set(key string, c change) {
	b.spill()
	c.after = len(b.ranges)
	if b.changes == nil {
		b.changes = map[string]change{}
	}
	b.changes[key] = c
}

// Put sets the value of key. The commit stores it: inline if the configuration
// allows, or else in its data file. The batch keeps value, which must not change
// until the commit.
func (b *Batch) Put(key string, value []byte) { b.set(key, change{data: value}) }

// PutRef sets the value of key to a value that the caller stores, or that is already stored.
func (b *Batch) PutRef(key string, ref Ref) { b.set(key, change{stored: true, ref: ref}) }

// PutList works like PutRef for each entry, whose keys must ascend. As the first and only change of
// a batch they take no more memory than the list, which must not change until the commit.
func (b *Batch) PutList(entries []Entry) error {
	for i := 1; i < len(entries); i++ {
		if entries[i].Key <= entries[i-1].Key {
			return &errs.Error{Kind: errs.Invalid, Op: "ocdbt.PutList", Subject: entries[i].Key,
				Want: "a key greater than " + entries[i-1].Key, Got: "keys that do not ascend"}
		}
	}
	if len(b.changes) == 0 && len(b.ranges) == 0 && b.list == nil {
		b.list = entries
		return nil
	}
	for _, e := range entries {
		b.PutRef(e.Key, e.Value)
	}
	return nil
}

// spill turns the list of PutList into changes, since there will be others.
func (b *Batch) spill() {
	list := b.list
	b.list = nil
	for _, e := range list {
		b.PutRef(e.Key, e.Value)
	}
}

// Delete removes key. Removing a missing key is no error.
func (b *Batch) Delete(key string) { b.set(key, change{removed: true}) }

// DeleteRange removes all keys of the range, including keys of earlier changes.
func (b *Batch) DeleteRange(r Range) {
	if r.End != "" && r.Start >= r.End {
		return
	}
	b.spill()
	b.ranges = append(b.ranges, r)
}

// settle removes the changes that later ranges delete: all at once, in one pass over the sorted
// keys and ranges.
func (b *Batch) settle() {
	if b.settled == len(b.ranges) || len(b.changes) == 0 {
		return
	}
	order := make([]int, 0, len(b.ranges)-b.settled)
	for i := b.settled; i < len(b.ranges); i++ {
		order = append(order, i)
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(b.ranges[x].Start, b.ranges[y].Start) })
	var open newestFirst // ranges that begin at or before the key, some of which have ended
	for _, key := range slices.Sorted(maps.Keys(b.changes)) {
		for len(order) > 0 && b.ranges[order[0]].Start <= key {
			heap.Push(&open, order[0])
			order = order[1:]
		}
		for len(open) > 0 && !b.ranges[open[0]].contains(key) {
			heap.Pop(&open)
		}
		if len(open) > 0 && open[0] >= b.changes[key].after {
			delete(b.changes, key)
		}
	}
	b.settled = len(b.ranges)
}

// newestFirst is a heap of indices of ranges, the largest first.
type newestFirst []int

// Len implements heap.Interface.
func (h newestFirst) Len() int { return len(h) }

// Less implements heap.Interface.
func (h newestFirst) Less(i, j int) bool { return h[i] > h[j] }

// Swap implements heap.Interface.
func (h newestFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *newestFirst) Push(x any) { *h = append(*h, x.(int)) }

// Pop implements heap.Interface.
func (h *newestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Embed puts all entries of child by reference. child is a database in the sub-directory dir, which
// ends in "/". Small values are copied. Large values stay where they are, so the sub-directory must
// remain. Orbax merges the databases of its processes in this way.
func (b *Batch) Embed(ctx context.Context, child *DB, dir string) error {
	if why := checkDir(dir); why != "" {
		return &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Embed", Subject: dir, Want: "a sub-directory with a slash at its end", Got: why}
	}
	for e, err := range child.List(ctx, Range{}) {
		if err != nil {
			return errs.Wrap("ocdbt.Embed", dir, err)
		}
		b.PutRef(e.Key, e.Below(dir).Value)
	}
	return nil
}

// Files returns the paths of the files that hold the values that the batch sets by reference.
func (b *Batch) Files() map[string]bool {
	b.settle()
	files := map[string]bool{}
	last := File{}
	for _, e := range b.list {
		if !e.Value.IsInline() && e.Value.File != last {
			last = e.Value.File
			files[last.Path()] = true
		}
	}
	for _, c := range b.changes {
		if c.stored && !c.ref.IsInline() {
			files[c.ref.File.Path()] = true
		}
	}
	return files
}

// checkDir returns what is wrong with a sub-directory, or "".
func checkDir(dir string) string {
	if !strings.HasSuffix(dir, "/") {
		return "no slash"
	}
	return checkPath(strings.TrimSuffix(dir, "/"))
}

// contains reports whether key lies in the range.
func (r Range) contains(key string) bool { return key >= r.Start && (r.End == "" || key < r.End) }

// edit is a batch in the order of keys.
type edit struct {
	keys   []keyEdit
	ranges []Range // ascending, apart from each other
	list   []Entry // in place of keys and ranges, for an empty database
}

type keyEdit struct {
	key     string
	removed bool
	ref     Ref
}

// mergeRanges returns the ranges in ascending order, those that touch joined.
func mergeRanges(ranges []Range) []Range {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b Range) int { return strings.Compare(a.Start, b.Start) })
	var out []Range
	for _, r := range sorted {
		if n := len(out); n > 0 && (out[n-1].End == "" || r.Start <= out[n-1].End) {
			if out[n-1].End != "" && (r.End == "" || r.End > out[n-1].End) {
				out[n-1].End = r.End
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// span is an interval of keys.
type span struct {
	low    string
	high   string
	hasEnd bool // otherwise high means nothing
}

// within returns the part of the edit that concerns keys of s. The ranges are
// not cut to it.
func (e edit) within(s span) edit {
	search := func(key string) int {
		i, _ := slices.BinarySearchFunc(e.keys, key, func(k keyEdit, key string) int { return strings.Compare(k.key, key) })
		return i
	}
	i, j := search(s.low), len(e.keys)
	if s.hasEnd {
		j = max(i, search(s.high))
	}
	out := edit{keys: e.keys[i:j]}
	first := sort.Search(len(e.ranges), func(k int) bool { return e.ranges[k].End == "" || e.ranges[k].End > s.low })
	last := len(e.ranges)
	if s.hasEnd {
		last = sort.Search(len(e.ranges), func(k int) bool { return e.ranges[k].Start >= s.high })
	}
	if first < last {
		out.ranges = e.ranges[first:last]
	}
	return out
}

// empty reports whether nothing changes.
func (e edit) empty() bool { return len(e.keys) == 0 && len(e.ranges) == 0 }

// removes reports whether a range holds all of s.
func (e edit) removes(s span) bool {
	k := sort.Search(len(e.ranges), func(k int) bool { return e.ranges[k].Start > s.low }) - 1
	if k < 0 {
		return false
	}
	r := e.ranges[k]
	return r.End == "" || s.hasEnd && s.high <= r.End
}

// removesKey reports whether a range holds key.
func (e edit) removesKey(key string) bool {
	i, found := slices.BinarySearchFunc(e.ranges, key, func(r Range, key string) int { return strings.Compare(r.Start, key) })
	if !found {
		i--
	}
	return i >= 0 && e.ranges[i].contains(key)
}
