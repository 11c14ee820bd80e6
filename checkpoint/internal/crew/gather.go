package crew

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
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

// otherStorage returns the error for a key that processes have with different values.
func otherStorage(key string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: key, Want: "the same storage of the array on all processes",
		Got: "different storage", Remedy: "give all processes the same storage options of leaves"}
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
