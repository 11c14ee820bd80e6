package writer

import (
	"bytes"
	"strings"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// smallArray is an array whose one value lies in a node of the database. Nothing else is
// to be known of it when it is planned, and there may be very many.
type smallArray struct {
	*form
	param string
	value []byte
}

// values are the entries of the database of an item, in the order of their keys. They
// are made when they are asked for: an item of very many small arrays would else take
// more memory for them than for all that is written.
type values struct {
	arrays []*array
	small  []smallArray
	order  []valueAt
}

// valueAt is the place of an entry: value at of an array, or the metadata of the array
// where at is -1. Behind the arrays are the small ones.
type valueAt struct{ array, at int32 }

// values lists what the database of the item is to hold.
func (t *treeImage) values() *values {
	n := len(t.arrays) + 2*len(t.small)
	for _, a := range t.arrays {
		n += len(a.values)
	}
	vs := &values{arrays: t.arrays, small: t.small, order: make([]valueAt, 0, n)}
	for i, a := range t.arrays {
		for at := range a.values {
			vs.order = append(vs.order, valueAt{int32(i), int32(at)})
		}
		vs.order = append(vs.order, valueAt{int32(i), -1}) // behind the chunks in most formats
	}
	for i := range t.small {
		i := int32(len(t.arrays) + i)
		vs.order = append(vs.order, valueAt{i, 0}, valueAt{i, -1})
	}
	var x, y []byte
	sortRuns(vs.order, func(a, b valueAt) int {
		if a.array == b.array {
			return strings.Compare(vs.name(a), vs.name(b))
		}
		p, q := vs.param(a), vs.param(b)
		if n := min(len(p), len(q)); p[:n] != q[:n] {
			return strings.Compare(p, q)
		}
		x, y = vs.appendKey(x[:0], a), vs.appendKey(y[:0], b)
		return bytes.Compare(x, y)
	})
	return vs
}

// of returns the array of a value: a small one, or the other kind.
func (vs *values) of(v valueAt) (*array, *smallArray) {
	if i := int(v.array) - len(vs.arrays); i >= 0 {
		return nil, &vs.small[i]
	}
	return vs.arrays[v.array], nil
}

// param is the name of the array of a value.
func (vs *values) param(v valueAt) string {
	a, s := vs.of(v)
	if s != nil {
		return s.param
	}
	return a.param
}

// name is the key of a value below that of its array.
func (vs *values) name(v valueAt) string {
	a, s := vs.of(v)
	switch {
	case s != nil && v.at < 0:
		return s.metaKey
	case s != nil:
		return s.keys[0]
	case v.at < 0:
		return a.metaKey
	}
	return a.values[v.at].key()
}

// appendKey appends the key of a value: zarr.KeyPrefix of the array, and the name.
func (vs *values) appendKey(dst []byte, v valueAt) []byte {
	if p := vs.param(v); p != "" && p != "/" {
		if dst = append(dst, p...); p[len(p)-1] != '/' {
			dst = append(dst, '/')
		}
	}
	return append(dst, vs.name(v)...)
}

// Len implements ocdbt.Entries.
func (vs *values) Len() int { return len(vs.order) }

// AppendKey implements ocdbt.Entries.
func (vs *values) AppendKey(dst []byte, i int) []byte { return vs.appendKey(dst, vs.order[i]) }

// Value implements ocdbt.Entries.
func (vs *values) Value(i int) ocdbt.Ref {
	at := vs.order[i]
	a, s := vs.of(at)
	switch {
	case s != nil && at.at < 0:
		return ocdbt.InlineRef(s.meta)
	case s != nil:
		return ocdbt.InlineRef(s.value)
	case at.at < 0:
		return ocdbt.InlineRef(a.meta)
	}
	v := &a.values[at.at]
	if !v.inFile() {
		return ocdbt.InlineRef(v.inline)
	}
	return ocdbt.Ref{File: ocdbt.File{Name: v.file.name}, Offset: v.offset, Length: int64(v.size)}
}

// all are the entries in memory.
func (vs *values) all() []ocdbt.Entry {
	out := make([]ocdbt.Entry, vs.Len())
	for i := range out {
		out[i] = ocdbt.Entry{Key: string(vs.AppendKey(nil, i)), Value: vs.Value(i)}
	}
	return out
}
