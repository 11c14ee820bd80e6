package writer

import (
	"bytes"
	"strings"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// smallArray is an array whose one chunk lies in a node of the database. Its plan needs nothing
// else, and there may be very many small arrays.
type smallArray struct {
	*form
	param  string
	inline []byte
}

// entries are the entries of the database of an item, in key order. They are made on demand:
// otherwise the entries of an item with very many small arrays would take more memory than all
// written bytes.
type entries struct {
	arrays []*array
	small  []smallArray
	order  []entryAt
}

// entryAt identifies an entry: chunk at of an array, or if at is -1 the metadata of the array.
// Indices beyond the arrays are small arrays.
type entryAt struct{ array, at int32 }

// entries lists the entries of the database of the item.
func (t *treePlan) entries() *entries {
	n := len(t.arrays) + 2*len(t.small)
	for _, a := range t.arrays {
		n += len(a.chunks)
	}
	es := &entries{arrays: t.arrays, small: t.small, order: make([]entryAt, 0, n)}
	for i, a := range t.arrays {
		for at := range a.chunks {
			es.order = append(es.order, entryAt{int32(i), int32(at)})
		}
		es.order = append(es.order, entryAt{int32(i), -1}) // behind the chunks in most formats
	}
	for i := range t.small {
		i := int32(len(t.arrays) + i)
		es.order = append(es.order, entryAt{i, 0}, entryAt{i, -1})
	}
	var x, y []byte
	sortRuns(es.order, func(a, b entryAt) int {
		if a.array == b.array {
			return strings.Compare(es.name(a), es.name(b))
		}
		p, q := es.param(a), es.param(b)
		if n := min(len(p), len(q)); p[:n] != q[:n] {
			return strings.Compare(p, q)
		}
		x, y = es.appendKey(x[:0], a), es.appendKey(y[:0], b)
		return bytes.Compare(x, y)
	})
	return es
}

// of returns the array of an entry, which is a small array or another one.
func (es *entries) of(e entryAt) (*array, *smallArray) {
	if i := int(e.array) - len(es.arrays); i >= 0 {
		return nil, &es.small[i]
	}
	return es.arrays[e.array], nil
}

// param returns the name of the array of an entry.
func (es *entries) param(e entryAt) string {
	a, s := es.of(e)
	if s != nil {
		return s.param
	}
	return a.param
}

// name returns the key of an entry relative to the key of its array.
func (es *entries) name(e entryAt) string {
	a, s := es.of(e)
	switch {
	case s != nil && e.at < 0:
		return s.metaKey
	case s != nil:
		return s.keys[0]
	case e.at < 0:
		return a.metaKey
	}
	return a.chunks[e.at].key()
}

// appendKey appends the key of an entry: zarr.KeyPrefix of the array, and the name.
func (es *entries) appendKey(dst []byte, e entryAt) []byte {
	if p := es.param(e); p != "" && p != "/" {
		if dst = append(dst, p...); p[len(p)-1] != '/' {
			dst = append(dst, '/')
		}
	}
	return append(dst, es.name(e)...)
}

// Len implements ocdbt.Entries.
func (es *entries) Len() int { return len(es.order) }

// AppendKey implements ocdbt.Entries.
func (es *entries) AppendKey(dst []byte, i int) []byte { return es.appendKey(dst, es.order[i]) }

// Value implements ocdbt.Entries.
func (es *entries) Value(i int) ocdbt.Ref {
	at := es.order[i]
	a, s := es.of(at)
	switch {
	case s != nil && at.at < 0:
		return ocdbt.InlineRef(s.meta)
	case s != nil:
		return ocdbt.InlineRef(s.inline)
	case at.at < 0:
		return ocdbt.InlineRef(a.meta)
	}
	c := &a.chunks[at.at]
	if !c.inFile() {
		return ocdbt.InlineRef(c.inline)
	}
	return ocdbt.Ref{File: ocdbt.File{Name: c.file.name}, Offset: c.offset, Length: int64(c.size)}
}

// all returns the entries as a list in memory.
func (es *entries) all() []ocdbt.Entry {
	out := make([]ocdbt.Entry, es.Len())
	for i := range out {
		out[i] = ocdbt.Entry{Key: string(es.AppendKey(nil, i)), Value: es.Value(i)}
	}
	return out
}

// sortRuns sorts a by merging its runs that are already sorted. With r runs it needs n log r
// comparisons, and memory for n more elements. Names of leaves form few runs, as numbers do: 0 to
// 9, 10 to 99, 100 to 999.
func sortRuns[T any](a []T, compare func(x, y T) int) {
	var starts []int
	for i := range a {
		if i == 0 || compare(a[i-1], a[i]) > 0 {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 {
		return
	}
	from, to := a, make([]T, len(a))
	end := func(k int) int {
		if k < len(starts) {
			return starts[k]
		}
		return len(a)
	}
	for len(starts) > 1 {
		n := 0
		for k := 0; k < len(starts); k += 2 {
			lo, mid, hi := starts[k], end(k+1), end(k+2)
			merge(to[lo:hi], from[lo:mid], from[mid:hi], compare)
			starts[n], n = lo, n+1 // n is at most k: what is read next is still there
		}
		starts = starts[:n]
		from, to = to, from
	}
	if &from[0] != &a[0] {
		copy(a, from)
	}
}

// merge merges x and y, both sorted, into dst. Of equal elements the one of x comes first.
func merge[T any](dst, x, y []T, compare func(x, y T) int) {
	for len(x) > 0 && len(y) > 0 {
		if compare(x[0], y[0]) <= 0 {
			dst[0], x = x[0], x[1:]
		} else {
			dst[0], y = y[0], y[1:]
		}
		dst = dst[1:]
	}
	copy(dst, x)
	copy(dst[len(x):], y)
}
