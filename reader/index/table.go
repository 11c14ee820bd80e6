package index

import (
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// table collects the records of one file.
type table struct {
	offset, length []uint64
	keys           texts
	hasKeys        bool

	partFirst                        []uint64 // for each record, its first part
	partName, partOffset, partLength []uint64
	hasParts                         bool
	names                            texts
	ids                              map[string]uint64

	packed *packed
}

// texts are strings back to back.
type texts struct {
	ends  []uint64
	bytes []byte
}

func (t *texts) add(s string) {
	t.bytes = append(t.bytes, s...)
	t.ends = append(t.ends, uint64(len(t.bytes)))
}

// add adds a record, and adds it to the hash of the file.
func (t *table) add(r Record, hash *state.Hasher) {
	hash.Int(r.Offset)
	hash.Int(r.Length)
	t.offset, t.length = append(t.offset, uint64(r.Offset)), append(t.length, uint64(r.Length))
	t.keys.add(r.Key)
	if r.Key != "" {
		t.hasKeys = true
		hash.String(r.Key)
	}
	t.partFirst = append(t.partFirst, uint64(len(t.partName)))
	for _, p := range r.Parts {
		t.hasParts = true
		hash.String(p.Name)
		hash.Int(p.Offset)
		hash.Int(p.Length)
		id, ok := t.ids[p.Name]
		if !ok {
			if t.ids == nil {
				t.ids = map[string]uint64{}
			}
			id = uint64(len(t.ids))
			t.ids[p.Name] = id
			t.names.add(p.Name)
		}
		t.partName = append(t.partName, id)
		t.partOffset, t.partLength = append(t.partOffset, uint64(p.Offset)), append(t.partLength, uint64(p.Length))
	}
}

// numbers is a column of the numbers in a slice.
func numbers(name string, list []uint64) source {
	var limit uint64
	for _, v := range list {
		limit = max(limit, v)
	}
	return source{name: name, width: widthOf(limit), count: int64(len(list)), fill: func(put func(uint64)) error {
		for _, v := range list {
			put(v)
		}
		return nil
	}}
}

// columns returns the two columns of texts.
func (t *texts) columns(name string) []source {
	return []source{numbers(name+".end", t.ends), {name: name + ".bytes", width: 1, count: int64(len(t.bytes)),
		bytes: func(put func([]byte)) error { put(t.bytes); return nil }}}
}

// fileColumns describe the files of an index.
func fileColumns(files []File, records int64) []source {
	var names, prints texts
	var size, time, probe, first []uint64
	for _, f := range files {
		names.add(f.Name)
		prints.add(f.Print)
		size, time = append(size, uint64(f.Size)), append(time, uint64(f.Time))
		probe, first = append(probe, uint64(f.Probe)), append(first, uint64(f.First))
	}
	list := append(names.columns("file.name"), prints.columns("file.print")...)
	list = append(list, numbers("file.size", size), numbers("file.time", time), numbers("file.probe", probe),
		numbers("file.first", append(first, uint64(records))))
	return append(list, packedColumns(files)...)
}

// write writes the index of the one file.
func (t *table) write(w io.Writer, format string, f File) error {
	list := append(fileColumns([]File{f}, int64(len(t.offset))), numbers("offset", t.offset), numbers("length", t.length))
	if t.hasKeys {
		list = append(list, t.keys.columns("key")...)
	}
	if t.hasParts {
		list = append(list, numbers("part.first", append(t.partFirst, uint64(len(t.partName)))),
			numbers("part.name", t.partName), numbers("part.offset", t.partOffset), numbers("part.length", t.partLength))
		list = append(list, t.names.columns("name")...)
	}
	return writeContainer(w, header{Format: format}, append(list, t.packed.columns()...))
}

// merge writes one index for the files of several, in their order. Memory does not grow with the
// number of records.
func merge(w io.Writer, format string, parts []*Index) error {
	var files []File
	var names texts
	var records, points int64
	keys, hasParts := false, false
	ids, renamed := map[string]uint64{}, make([][]uint64, len(parts)) // of names of parts
	for i, x := range parts {
		if x.Format() != format {
			return &errs.Error{Kind: errs.Mismatch, Op: "index", Subject: x.files[0].Name, Want: format, Got: x.Format()}
		}
		for _, f := range x.files {
			f.First += records
			f.movePoints(points)
			files = append(files, f)
		}
		records += x.records
		points += pointsOf(x)
		keys, hasParts = keys || x.HasKeys(), hasParts || x.HasParts()
		for _, name := range x.names {
			id, ok := ids[name]
			if !ok {
				id = uint64(len(ids))
				ids[name] = id
				names.add(name)
			}
			renamed[i] = append(renamed[i], id)
		}
	}
	m := merger{parts: parts}
	list := append(fileColumns(files, records), m.column("offset", nil), m.column("length", nil))
	if keys {
		list = append(list, m.ends("key.end", "key.bytes", func(x *Index) int64 { return x.records }), m.bytes("key.bytes"))
	}
	if hasParts {
		list = append(list, m.first("part.first", "part.name"), m.column("part.name", renamed),
			m.column("part.offset", nil), m.column("part.length", nil))
		list = append(list, names.columns("name")...)
	}
	list = append(list, m.points()...)
	if m.err != nil {
		return m.err
	}
	return writeContainer(w, header{Format: format}, list)
}

// merger joins the columns of several indexes.
type merger struct {
	parts []*Index
	err   error
}

// sized returns a column of the numbers that each calls put with, which is called twice.
func (m *merger) sized(name string, each func(put func(uint64)) error) source {
	var limit uint64
	var n int64
	if err := each(func(v uint64) { limit, n = max(limit, v), n+1 }); err != nil && m.err == nil {
		m.err = err
	}
	return source{name: name, width: widthOf(limit), count: n, fill: each}
}

// column joins columns. With renamed, the numbers of part i are places in renamed[i].
func (m *merger) column(name string, renamed [][]uint64) source {
	return m.sized(name, func(put func(uint64)) error {
		for i, x := range m.parts {
			c := x.columns[name]
			if c == nil {
				continue
			}
			for j := range c.Len() {
				v, err := c.At(j)
				if err != nil {
					return err
				}
				if renamed != nil {
					if v >= uint64(len(renamed[i])) {
						return c.damage("a known name", "another")
					}
					v = renamed[i][v]
				}
				put(v)
			}
		}
		return nil
	})
}

// ends joins columns of ends: each is moved by the bytes of the parts before. A part without the
// column has n empty texts.
func (m *merger) ends(name, bytes string, n func(x *Index) int64) source {
	return m.sized(name, func(put func(uint64)) error {
		var base uint64
		for _, x := range m.parts {
			c := x.columns[name]
			if c == nil {
				for range n(x) {
					put(base)
				}
				continue
			}
			for j := range c.Len() {
				v, err := c.At(j)
				if err != nil {
					return err
				}
				put(base + v)
			}
			base += uint64(x.columns[bytes].Len())
		}
		return nil
	})
}

// first joins the columns that say where the parts of a record begin, and ends with their number.
func (m *merger) first(name, counted string) source {
	return m.sized(name, func(put func(uint64)) error {
		var base uint64
		for _, x := range m.parts {
			c := x.columns[name]
			for j := range x.records {
				v := uint64(0)
				if c != nil {
					var err error
					if v, err = c.At(j); err != nil {
						return err
					}
				}
				if v > math.MaxInt64-base {
					return c.damage("a place", "a number that is too large")
				}
				put(base + v)
			}
			if c := x.columns[counted]; c != nil {
				base += uint64(c.Len())
			}
		}
		put(base)
		return nil
	})
}

// bytes joins columns of bytes.
func (m *merger) bytes(name string) source {
	var n int64
	for _, x := range m.parts {
		if c := x.columns[name]; c != nil {
			n += c.Len()
		}
	}
	return source{name: name, width: 1, count: n, bytes: func(put func([]byte)) error {
		for _, x := range m.parts {
			if c := x.columns[name]; c != nil {
				b, err := c.bytes(0, uint64(c.Len()))
				if err != nil {
					return err
				}
				put(b)
			}
		}
		return nil
	}}
}
