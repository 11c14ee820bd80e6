package order

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// idBlock is a range of ids of a mixture that belong to one source. The range holds the first
// samples of the source, or samples that were added later.
type idBlock struct {
	source int
	n      int64
	id     int64 // the first id, in the mixture
	own    int64 // the first id, in the source
}

// layIDs numbers the ids of all sources: first the given blocks, then the sources that have no
// block.
func (m *Mixture) layIDs() error {
	bad := func(want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "order.NewMixture", Subject: "ids", Want: want, Got: fmt.Sprint(got)}
	}
	own := make([]int64, len(m.sources)) // of each source, how many ids are numbered
	blocks, sources, id := make([]idBlock, 0, len(m.sources)), 0, int64(0)
	add := func(b idBlock) error {
		switch {
		case b.source < 0 || b.source > sources || b.source >= len(m.sources):
			return bad(fmt.Sprint("the first ids of source ", sources, " or more of those before it"), b.source)
		case b.n < 1 || b.n > m.sources[b.source].Samples-own[b.source]:
			return bad(fmt.Sprintf("1 to %d ids of source %d", m.sources[b.source].Samples-own[b.source], b.source), b.n)
		}
		sources = max(sources, b.source+1)
		blocks = append(blocks, idBlock{b.source, b.n, id, own[b.source]})
		id += b.n
		own[b.source] += b.n
		return nil
	}
	for _, b := range m.blocks {
		if err := add(b); err != nil {
			return err
		}
	}
	for sources < len(m.sources) {
		if err := add(idBlock{source: sources, n: m.sources[sources].Samples}); err != nil {
			return err
		}
	}
	for i, s := range m.sources {
		if own[i] != s.Samples {
			return bad(fmt.Sprintf("the %d ids of source %d", s.Samples, i), own[i])
		}
	}
	m.blocks, m.pieces = blocks, make([][]idBlock, len(m.sources))
	for i, b := range blocks {
		if b.source == i {
			m.pieces[i] = blocks[i : i+1 : i+1]
		} else {
			m.pieces[b.source] = append(m.pieces[b.source], b)
		}
	}
	return nil
}

// number converts ids of a source to ids of the mixture, in place.
func (m *Mixture) number(source int, ids []int64) {
	pieces := m.pieces[source]
	if offset := pieces[0].id; len(pieces) == 1 {
		for i := range ids {
			ids[i] += offset
		}
		return
	}
	for i, own := range ids {
		p := pieces[sort.Search(len(pieces)-1, func(k int) bool { return pieces[k+1].own > own })]
		ids[i] = p.id + own - p.own
	}
}

// Split returns the source of an id of the mixture, and the id in the source. The error is of kind
// errs.Invalid for an unknown id. A data set that joins the data sets of the sources finds its
// samples with Split, because a source that got more samples has several ranges of ids.
func (m *Mixture) Split(id int64) (source int, own int64, err error) {
	k := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].id > id }) - 1
	if k < 0 || id-m.blocks[k].id >= m.blocks[k].n {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: "order.Mixture.Split", Want: "an id of the mixture", Got: fmt.Sprint(id)}
	}
	return m.blocks[k].source, id - m.blocks[k].id + m.blocks[k].own, nil
}

// describe returns the String that the mixture has with its first phases and the given sources and
// ids.
func (m *Mixture) describe(phases int, sources []Source, blocks []idBlock) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mixture(v%d exhaustion=%d", m.version, m.exhaustion)
	for _, p := range m.phases[:phases] {
		fmt.Fprintf(&b, " %d:%v", p.From, p.Weights[:len(sources)])
	}
	for _, s := range sources {
		fmt.Fprintf(&b, "; %d of %s", s.Samples, s.Order)
	}
	if len(blocks) > len(sources) { // otherwise the ids of each source follow the ids of the source before
		b.WriteString("; ids")
		for _, block := range blocks {
			fmt.Fprintf(&b, " %d:%d", block.source, block.n)
		}
	}
	b.WriteByte(')')
	return b.String()
}
