package crew

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// gathering adds reports to the draft of the primary. It takes time in proportion to the reports.
type gathering struct {
	draft   *writer.Draft
	leaves  map[leafName]int     // where the draft has an array
	entries map[string][]entries // by item: a list of the primary, and one of each report
	// known are the values that lie in the nodes of the primary's databases, by item and key.
	known map[string]map[string][]byte
}

type leafName struct{ item, param string }

func newGathering(draft *writer.Draft) *gathering {
	g := &gathering{draft: draft, leaves: map[leafName]int{}, entries: map[string][]entries{},
		known: map[string]map[string][]byte{}}
	for i, l := range draft.Manifest.Leaves {
		g.leaves[leafName{l.Item, l.Param}] = i
	}
	for item, list := range draft.Entries {
		g.entries[item] = []entries{list}
		known := map[string][]byte{}
		for _, e := range list {
			if e.Value.IsInline() {
				known[e.Key] = e.Value.Inline
			}
		}
		g.known[item] = known
	}
	return g
}

// add adds report n, from 1.
func (g *gathering) add(n int, r *report) error {
	m := g.draft.Manifest
	m.Files = append(m.Files, r.files.Files...)
	for _, l := range r.leaves {
		if err := g.addLeaf(l); err != nil {
			return err
		}
	}
	for item, list := range r.entries {
		for len(g.entries[item]) < n {
			g.entries[item] = append(g.entries[item], nil)
		}
		g.entries[item] = append(g.entries[item], list)
	}
	return nil
}

// finish merges the entries. processOf returns the process of report n.
func (g *gathering) finish(processOf func(n int) int) error {
	for item, lists := range g.entries {
		all, n, err := merge(lists)
		if err != nil {
			return errs.Wrap("", "process "+strconv.Itoa(processOf(n)), errs.Wrap("", item, err))
		}
		g.draft.Entries[item] = all
		g.entries[item] = nil
	}
	return nil
}

// merge returns the entries of all lists in the order of their keys. A key that is in several lists
// is the metadata of an array, which must be the same. n is the list with another one.
func merge(lists []entries) (all entries, n int, err error) {
	total := 0
	for i, list := range lists {
		total += len(list)
		if !slices.IsSortedFunc(list, compareKeys) {
			lists[i] = slices.Clone(list)
			slices.SortStableFunc(lists[i], compareKeys)
		}
	}
	all = make(entries, 0, total)
	q := make(queue, 0, len(lists))
	for i, list := range lists {
		if len(list) > 0 {
			q = append(q, rest{list, i})
		}
	}
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
	for len(q) > 0 {
		e := &q[0].list[0]
		if last := len(all) - 1; last < 0 || all[last].Key != e.Key {
			all = append(all, *e)
		} else if b := all[last].Value.Inline; b == nil || !bytes.Equal(b, e.Value.Inline) {
			return nil, q[0].n, otherStorage(e.Key)
		}
		if q[0].list = q[0].list[1:]; len(q[0].list) == 0 {
			q[0] = q[len(q)-1]
			q = q[:len(q)-1]
		}
		if len(q) > 1 {
			q.down(0)
		}
	}
	return all, 0, nil
}

// otherStorage returns the error for a key that processes have with different values.
func otherStorage(key string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: key, Want: "the same storage of the array on all processes",
		Got: "different storage", Remedy: "give all processes the same storage options of leaves"}
}

func compareKeys(a, b ocdbt.Entry) int { return strings.Compare(a.Key, b.Key) }

// rest is what is left of list n.
type rest struct {
	list entries
	n    int
}

// queue is a heap of lists: the first has the least key, and of equal keys the least number.
type queue []rest

func (q queue) less(i, j int) bool {
	c := strings.Compare(q[i].list[0].Key, q[j].list[0].Key)
	return c < 0 || c == 0 && q[i].n < q[j].n
}

// down moves list i to its place: to the end of the way along the least lists, since what follows
// an entry in its list is seldom the least of all, and from there up.
func (q queue) down(i int) {
	top, moved := i, q[i]
	for {
		least := 2*i + 1
		if least >= len(q) {
			break
		}
		if right := least + 1; right < len(q) && q.less(right, least) {
			least = right
		}
		q[i] = q[least]
		i = least
	}
	q[i] = moved
	for i > top {
		above := (i - 1) / 2
		if !q.less(i, above) {
			return
		}
		q[i], q[above] = q[above], q[i]
		i = above
	}
}

// addLeaf adds what a process contributes to the checksums of an array: the checksums of its
// sub-chunks, and its share in the checksum of the whole.
func (g *gathering) addLeaf(l leafSums) error {
	m := g.draft.Manifest
	i, ok := g.leaves[l.leafName]
	if !ok {
		i = len(m.Leaves)
		g.leaves[l.leafName] = i
		m.Leaves = append(m.Leaves, manifest.Leaf{Item: l.item, Param: l.param, Size: l.size, Chunks: l.none()})
	}
	k := &m.Leaves[i]
	if k.Size != l.size || len(k.Chunks) != l.chunks {
		return &errs.Error{Kind: errs.Mismatch, Subject: "array " + strconv.Quote(l.param),
			Want: "the same chunks of the array on all processes", Got: "different chunks"}
	}
	k.CRC ^= l.crc
	for _, c := range l.sums {
		k.Chunks[c.at] ^= c.sum
	}
	return nil
}

// leafSums are what a process contributes to the checksums of an array. Of a thousand processes
// each has a thousandth of the sub-chunks, so the others are left out.
type leafSums struct {
	leafName
	size   int64 // of the array
	crc    uint32
	chunks int // as many as manifest.Leaf has Chunks
	sums   []chunkSum
}

type chunkSum struct {
	at  int
	sum uint32
}

// none returns the checksums of the sub-chunks of an array of which nobody has one.
func (l *leafSums) none() []uint32 {
	if l.chunks == 0 {
		return nil
	}
	return make([]uint32, l.chunks)
}

// sumsOf turns records of a manifest into contributions.
func sumsOf(list []manifest.Leaf) leaves {
	out := make(leaves, len(list))
	for i, l := range list {
		out[i] = leafSums{leafName: leafName{l.Item, l.Param}, size: l.Size, crc: l.CRC, chunks: len(l.Chunks)}
		for n, c := range l.Chunks {
			if c != 0 {
				out[i].sums = append(out[i].sums, chunkSum{n, c})
			}
		}
	}
	return out
}
