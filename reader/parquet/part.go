package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bivouac-ml/bivouac/errs"
)

// values are the decoded values of a part.
type values struct {
	// Values of one width lie back to back in data. Byte strings lie between from and to in it.
	data     []byte
	from, to []uint32
	null     []bool // which values are null; nil if none is

	// Of lists: the first value of each row and of the end, the lengths at each level, and how the
	// row is at fault.
	rows   []int32
	dims   []int32
	faults []fault
}

// fault is why a row has no array.
type fault uint8

const (
	sound     fault = iota
	missing         // the list is null
	innerNull       // a list within the list is null
	ragged          // lists within the list have different lengths
)

// size returns the bytes in memory.
func (v *values) size() int64 {
	return int64(len(v.data)) + 8*int64(len(v.from)) + int64(len(v.null)) +
		4*int64(len(v.rows)+len(v.dims)) + int64(len(v.faults))
}

// virtual presents a dictionary page and the pages of a part as if nothing else were in the file.
type virtual struct {
	base int64
	b    []byte
}

// ReadAt implements io.ReaderAt.
func (v virtual) ReadAt(p []byte, off int64) (int, error) {
	if off -= v.base; off < 0 || off >= int64(len(v.b)) {
		return 0, io.EOF
	}
	n := copy(p, v.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readPart reads and decodes a part. The library verifies the checksums of the pages.
func (f *file) readPart(r io.ReaderAt, group int, c *column, x *dictionary, p part, limit int64) (v *values,
	err error) {
	defer recovered(&err)
	b := make([]byte, int64(len(x.page))+p.length)
	n := copy(b, x.page)
	if _, err := r.ReadAt(b[n:], p.offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	// The headers are checked here, because an offset index has none to check.
	for at := n; at < len(b); {
		h, size, err := readHeader(bytes.NewReader(b[at:]), 0, int64(len(b)-at))
		if err == nil {
			err = checkHeader(h, size, int64(len(b)-at), limit)
		}
		if err != nil {
			return nil, errs.Wrap("", fmt.Sprintf("the page at byte %d", p.offset+int64(at-n)), err)
		}
		at += int(size) + int(h.CompressedPageSize)
	}
	g := f.RowGroups()[group].ColumnChunks()[c.index].(*parquet.FileColumnChunk)
	m := &f.Metadata().RowGroups[group].Columns[c.index].MetaData
	base := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		base = m.DictionaryPageOffset
	}
	pages := g.PagesFrom(virtual{base, b})
	defer pages.Close()
	d := &decoder{column: c, v: &values{}, dictionary: x}
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) && page == nil {
			break
		}
		if err != nil {
			return nil, wrapped(err)
		}
		if err := d.add(page); err != nil {
			return nil, err
		}
	}
	return d.v, d.finish(p.rows)
}

// decoder collects the values of pages.
type decoder struct {
	column     *column
	dictionary *dictionary
	v          *values
	count      int // values
	rows       int64
	counts     []int32 // elements so far of the open list at each level
}

// add adds a page.
func (d *decoder) add(page parquet.Page) error {
	c, defs := d.column, page.DefinitionLevels()
	n := int(page.NumValues())
	data, from, to, dense, err := d.dense(page)
	if err != nil {
		return err
	}
	var present []bool // nil: all values are there
	entries := n
	switch {
	case len(c.lists) > 0:
		if present, entries, err = d.addLists(page.RepetitionLevels(), defs); err != nil {
			return err
		}
	case c.defined > 0 && dense < n:
		if len(defs) != n {
			return corrupt(fmt.Sprintf("%d definition levels", n), fmt.Sprint(len(defs)))
		}
		present = make([]bool, n)
		for i, level := range defs {
			present[i] = int(level) == c.defined
		}
	}
	if present == nil && dense != entries {
		return corrupt(fmt.Sprintf("%d values", entries), fmt.Sprint(dense))
	}
	if len(c.lists) == 0 {
		d.rows += int64(n)
	}
	return d.append(data, from, to, present, dense, entries)
}

// append adds values. present says which entries have one; nil means that all do.
func (d *decoder) append(data []byte, from, to []uint32, present []bool, dense, entries int) error {
	v, width, first := d.v, d.column.width(), d.count == 0
	all := present == nil || dense == entries
	if v.null != nil || !all {
		null := make([]bool, d.count+entries)
		copy(null, v.null)
		for i := range entries {
			null[d.count+i] = present != nil && !present[i]
		}
		v.null = null
	}
	d.count += entries
	// Appending must not write into the memory of the library.
	data, from, to = data[:len(data):len(data)], from[:len(from):len(from)], to[:len(to):len(to)]
	if all && first {
		v.data, v.from, v.to = data, from, to
		return nil
	}
	if !d.column.isBytes() {
		if all {
			v.data = append(v.data, data...)
			return nil
		}
		v.data = slices.Grow(v.data, entries*width)
		for i := range entries {
			if !present[i] {
				v.data = append(v.data, make([]byte, width)...)
				continue
			}
			v.data, data = append(v.data, data[:width]...), data[width:]
		}
		return nil
	}
	if len(v.data)+len(data) > math.MaxUint32 {
		return &errs.Error{Kind: errs.Exhausted, Want: "pages of at most 4 GiB together", Got: "more"}
	}
	base := uint32(len(v.data))
	for i, next := 0, 0; i < entries; i++ {
		if present != nil && !present[i] {
			v.from, v.to = append(v.from, 0), append(v.to, 0)
			continue
		}
		v.from, v.to = append(v.from, base+from[next]), append(v.to, base+to[next])
		next++
	}
	v.data = append(v.data, data...)
	return nil
}

// finish checks the number of rows.
func (d *decoder) finish(rows int64) error {
	v := d.v
	if len(d.column.lists) > 0 {
		d.endRow()
		d.rows = int64(len(v.faults))
		v.rows = append(v.rows, int32(d.count))
	}
	if d.rows != rows {
		return corrupt(fmt.Sprintf("%d rows in the pages", rows), fmt.Sprint(d.rows))
	}
	if d.count > math.MaxInt32 {
		return &errs.Error{Kind: errs.Exhausted, Want: "pages of at most 2^31 values together",
			Got: fmt.Sprint(d.count)}
	}
	return nil
}

// addLists adds the rows of a page of a list column. It returns which elements have a value, or nil
// if all do, and the number of elements.
func (d *decoder) addLists(reps, defs []byte) (present []bool, entries int, err error) {
	c, v := d.column, d.v
	depth := len(c.lists)
	if len(reps) != len(defs) {
		return nil, 0, corrupt(fmt.Sprintf("%d definition levels", len(reps)), fmt.Sprint(len(defs)))
	}
	for i := 0; i < len(reps); i++ {
		if present == nil {
			n := d.plainRun(reps[i:], defs[i:])
			entries += n
			if i += n; i == len(reps) {
				break
			}
		}
		r, def := int(reps[i]), int(defs[i])
		if r > depth || def > c.defined || r > 0 && len(v.faults) == 0 {
			return nil, 0, corrupt(fmt.Sprintf("levels up to %d and %d, the first 0", depth, c.defined),
				fmt.Sprintf("%d and %d", r, def))
		}
		if r == 0 {
			d.endRow()
			v.rows = append(v.rows, int32(d.count+entries))
			v.faults = append(v.faults, sound)
			for range depth {
				v.dims = append(v.dims, -1)
			}
		}
		d.element(r, def)
		if def < c.lists[depth-1] {
			continue // an empty or missing list
		}
		if def < c.defined && present == nil {
			present = make([]bool, entries, len(reps))
			for j := range present {
				present[j] = true
			}
		}
		if present != nil {
			present = append(present, def == c.defined)
		}
		entries++
	}
	return present, entries, nil
}

// plainRun returns how many elements with a value continue the open list of a row, without lists in
// lists. It counts them as element does, one by one.
func (d *decoder) plainRun(reps, defs []byte) (n int) {
	if len(d.column.lists) != 1 || len(d.v.faults) == 0 || d.counts == nil {
		return 0
	}
	defined := byte(d.column.defined)
	for n < len(reps) && n < len(defs) && reps[n] == 1 && defs[n] == defined {
		n++
	}
	d.counts[0] += int32(n)
	return n
}

// element counts an element that continues the list at a level, and the lists that begin with it.
func (d *decoder) element(r, def int) {
	c := d.column
	depth := len(c.lists)
	if d.counts == nil {
		d.counts = make([]int32, depth)
		for k := range d.counts {
			d.counts[k] = -1
		}
	}
	for k := depth - 1; k >= r; k-- {
		d.endList(k)
	}
	if r > 0 {
		d.counts[r-1]++
	}
	for k := r; k < depth; k++ {
		if k > 0 && def < c.lists[k-1] { // the outer list has no element
			return
		}
		d.counts[k] = 0
		if def >= c.lists[k] {
			d.counts[k] = 1
			continue
		}
		if def < c.lists[k]-1 {
			d.fault(map[bool]fault{true: missing, false: innerNull}[k == 0])
		}
		return
	}
}

// endList compares the length of the open list at a level with those before.
func (d *decoder) endList(k int) {
	n := d.counts[k]
	if d.counts[k] = -1; n < 0 {
		return
	}
	last := &d.v.dims[len(d.v.dims)-len(d.column.lists)+k]
	if *last >= 0 && *last != n {
		d.fault(ragged)
	}
	*last = n
}

func (d *decoder) fault(f fault) {
	if last := &d.v.faults[len(d.v.faults)-1]; *last == sound {
		*last = f
	}
}

// endRow ends the lists of the open row.
func (d *decoder) endRow() {
	if len(d.v.faults) == 0 {
		return
	}
	for k := len(d.counts) - 1; k >= 0; k-- {
		d.endList(k)
	}
}

// dense returns the values of a page that are there, and how many they are.
func (d *decoder) dense(page parquet.Page) (data []byte, from, to []uint32, n int, err error) {
	raw, c := page.Data(), d.column
	n = int(page.NumValues() - page.NumNulls())
	dictionary := page.Dictionary()
	switch {
	case dictionary != nil:
		indexes := raw.Int32()
		// Indexes come in groups of 8, of which the last may not be full.
		if n < 0 || n > len(indexes) || n+8 <= len(indexes) {
			return nil, nil, nil, 0, corrupt(fmt.Sprintf("%d indexes", n), fmt.Sprint(len(indexes)))
		}
		return d.lookUp(dictionary, indexes[:n])
	case c.isBytes():
		b, offsets := raw.ByteArray()
		if n <= 0 {
			return nil, nil, nil, 0, nil
		}
		if len(offsets) != n+1 {
			return nil, nil, nil, 0, corrupt(fmt.Sprintf("%d strings", n), fmt.Sprint(len(offsets)-1))
		}
		for i, at := range offsets[:n+1] {
			if int64(at) > int64(len(b)) || i > 0 && at < offsets[i-1] {
				return nil, nil, nil, 0, corrupt(fmt.Sprintf("strings within %d bytes", len(b)),
					fmt.Sprintf("one at %d", at))
			}
		}
		return b, offsets[:n], offsets[1 : n+1], n, nil
	}
	b, _ := raw.Data()
	data, err = c.convert(b, n)
	return data, nil, nil, n, err
}

// lookUp returns the values of a dictionary that indexes point to.
func (d *decoder) lookUp(dictionary parquet.Dictionary, indexes []int32) (data []byte, from, to []uint32, n int,
	err error) {
	b, f, t, count := d.dictionary.data, d.dictionary.from, d.dictionary.to, len(d.dictionary.from)
	if count == 0 {
		if b, f, t, count, err = d.dense(dictionary.Page()); err != nil {
			return nil, nil, nil, 0, err
		}
	}
	for _, at := range indexes {
		if at < 0 || int(at) >= count {
			return nil, nil, nil, 0, corrupt(fmt.Sprintf("one of %d values of the dictionary", count), fmt.Sprint(at))
		}
	}
	width := d.column.width()
	if d.column.isBytes() {
		data, from, to = b, make([]uint32, len(indexes)), make([]uint32, len(indexes))
		for i, at := range indexes {
			from[i], to[i] = f[at], t[at]
		}
		return data, from, to, len(indexes), nil
	}
	data = make([]byte, len(indexes)*width)
	le := binary.LittleEndian
	switch width {
	case 4:
		for i, at := range indexes {
			le.PutUint32(data[4*i:], le.Uint32(b[4*int(at):]))
		}
	case 8:
		for i, at := range indexes {
			le.PutUint64(data[8*i:], le.Uint64(b[8*int(at):]))
		}
	default:
		for i, at := range indexes {
			copy(data[i*width:], b[int(at)*width:(int(at)+1)*width])
		}
	}
	return data, nil, nil, len(indexes), nil
}

// convert returns n values of one width as the reader keeps them.
func (c *column) convert(b []byte, n int) ([]byte, error) {
	stored := widthOf(c.stored)
	if stored == 0 {
		stored = c.length
	}
	need := n * stored
	if c.stored == format.Boolean {
		need = (n + 7) / 8
	}
	if n < 0 || need > len(b) || need < len(b) && c.stored != format.Boolean {
		return nil, corrupt(fmt.Sprintf("%d bytes of %d values", need, n), fmt.Sprint(len(b)))
	}
	b = b[:need]
	switch width := c.width(); {
	case c.stored == format.Boolean:
		out := make([]byte, n)
		for i := range out {
			out[i] = b[i/8] >> (i % 8) & 1
		}
		return out, nil
	case c.stored == format.Int96:
		out := make([]byte, 0, 8*n)
		for ; len(b) > 0; b = b[12:] {
			const unixEpoch = 2440588 // the Julian day
			nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
			out = binary.LittleEndian.AppendUint64(out, uint64((day-unixEpoch)*86400e9+nanos))
		}
		return out, nil
	case stored > width:
		out := make([]byte, 0, n*width)
		for ; len(b) > 0; b = b[stored:] {
			out = append(out, b[:width]...)
		}
		return out, nil
	}
	return b, nil
}
