package index

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/state"
)

// Name is the name of the file in which an index is kept beside the data.
const Name = "bivouac.index"

// Record is where a record lies in its file, as a Format found it.
type Record struct {
	Offset, Length int64  // of the bytes that are read for it
	Key            string // its name, for formats that have names
	Parts          []Part // for formats whose samples have components, such as tar
}

// Part is a component of a record.
type Part struct {
	Name           string // such as "jpg"
	Offset, Length int64  // within the file
}

// File is a file of an index as it was when the index was made.
type File struct {
	Name  string // the path, relative to the folder of the index
	Size  int64
	Time  int64  // of the last change, in nanoseconds since 1970
	Probe uint32 // checksum of a few places, which tells a copy from a changed file
	Print string // identifies its records
	First int64  // its first record

	Content int64 // size of what records lie in: Size, unless the file is compressed
	kind    seekable.Kind
	points  [2]int64 // its first block of the columns point.*, and the one after its last
}

// Span is where a record lies.
type Span struct {
	File           int
	Offset, Length int64
}

// Index says where the records of a data set are. It is safe for concurrent use.
type Index struct {
	header  header
	columns map[string]*Column
	files   []File
	under   []int64 // for each file, the place of its first record in the columns
	records int64
	names   []string // of parts
	first   *Column  // first record of each file, and the number of records
	offset  *Column
	length  *Column
	part    partColumns
	close   func() error
	pieces  []piece // one a file, in an index that join made; it has no columns of its own
}

// partColumns are the columns of parts; first is nil if records have no parts.
type partColumns struct{ first, name, offset, length *Column }

// newIndex checks the columns of an index that was parsed.
func newIndex(data []byte, where string, close func() error) (*Index, error) {
	h, columns, err := parse(data, where)
	if err != nil {
		return nil, err
	}
	x := &Index{header: h, columns: columns, close: close,
		first: columns["file.first"], offset: columns["offset"], length: columns["length"],
		part: partColumns{columns["part.first"], columns["part.name"], columns["part.offset"], columns["part.length"]}}
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "index.Open", Subject: where, Want: want, Got: got,
			Remedy: "make the index again with bivouac index"}
	}
	size, time, probe := columns["file.size"], columns["file.time"], columns["file.probe"]
	for _, name := range []string{"file.first", "file.size", "file.time", "file.probe", "offset", "length"} {
		if columns[name] == nil {
			return nil, bad("a column "+name, "none")
		}
	}
	n := size.Len()
	x.records = x.offset.Len()
	if time.Len() != n || probe.Len() != n || x.first.Len() != n+1 || x.length.Len() != x.records {
		return nil, bad("columns of equal length", "columns of different lengths")
	}
	names, err := x.strings("file.name", n)
	if err != nil {
		return nil, err
	}
	prints, err := x.strings("file.print", n)
	if err != nil {
		return nil, err
	}
	x.files = make([]File, n)
	for i := range x.files {
		var v [4]uint64
		for j, c := range []*Column{size, time, probe, x.first} {
			if v[j], err = c.At(int64(i)); err != nil {
				return nil, err
			}
		}
		x.files[i] = File{Name: names[i], Size: int64(v[0]), Time: int64(v[1]), Probe: uint32(v[2]), Print: prints[i],
			First: int64(v[3])}
		if i > 0 && x.files[i].First < x.files[i-1].First || v[3] > uint64(x.records) || i == 0 && v[3] != 0 ||
			v[0] > math.MaxInt64 {
			return nil, bad(fmt.Sprintf("files with ascending records up to %d", x.records),
				fmt.Sprintf("file %d begins at record %d", i, v[3]))
		}
	}
	if last, err := x.first.At(n); err != nil || last != uint64(x.records) {
		return nil, bad(fmt.Sprintf("%d records in the files", x.records), fmt.Sprint(last))
	}
	for _, f := range x.files {
		x.under = append(x.under, f.First)
	}
	if err := x.readPacked(); err != nil {
		return nil, errs.Wrap("", where, err)
	}
	if c := columns["name.end"]; c != nil {
		if x.names, err = x.strings("name", c.Len()); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// strings returns all elements of a column of texts.
func (x *Index) strings(name string, n int64) ([]string, error) {
	list := make([]string, n)
	for i := range list {
		s, err := x.text(name, int64(i))
		if err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

// text returns element i of a column of texts: NAME.end says where each ends in NAME.bytes.
func (x *Index) text(name string, i int64) (string, error) {
	ends, data := x.columns[name+".end"], x.columns[name+".bytes"]
	if ends == nil || data == nil || i >= ends.Len() {
		return "", &errs.Error{Kind: errs.Corrupt, Op: "index", Subject: "column " + name,
			Want: fmt.Sprintf("text %d", i), Got: "a column without it"}
	}
	var from uint64
	var err error
	if i > 0 {
		if from, err = ends.At(i - 1); err != nil {
			return "", err
		}
	}
	to, err := ends.At(i)
	if err != nil {
		return "", err
	}
	b, err := data.bytes(from, to)
	return string(b), err
}

// Format returns the name of the format, such as "tfrecord".
func (x *Index) Format() string { return x.header.Format }

// Records returns the number of records.
func (x *Index) Records() int64 { return x.records }

// Files returns the files in their order. The caller must not change them.
func (x *Index) Files() []File { return x.files }

// Fingerprint identifies the records: it is equal for files of equal sizes with equal records in
// equal order, wherever they are stored.
func (x *Index) Fingerprint() string {
	if len(x.files) == 1 {
		return x.files[0].Print
	}
	h := state.NewHasher("bivouac.index.v1")
	h.String(x.header.Format)
	for _, f := range x.files {
		h.String(f.Print)
	}
	return h.Sum()
}

// HasKeys reports whether records have keys.
func (x *Index) HasKeys() bool {
	return x.columns["key.end"] != nil || slices.ContainsFunc(x.pieces, func(p piece) bool { return p.x.HasKeys() })
}

// HasParts reports whether records have parts.
func (x *Index) HasParts() bool {
	return x.part.first != nil || slices.ContainsFunc(x.pieces, func(p piece) bool { return p.x.HasParts() })
}

// Span returns where a record lies. Fails with errs.Corrupt if the index is damaged there.
func (x *Index) Span(id int64) (s Span, err error) {
	file, at, err := x.place(id)
	if err != nil {
		return s, err
	}
	if x.pieces != nil {
		s, err = x.pieces[file].x.Span(at)
		s.File = file
		return s, err
	}
	offset, err := x.offset.At(at)
	if err != nil {
		return s, err
	}
	length, err := x.length.At(at)
	if err != nil {
		return s, err
	}
	s = Span{file, int64(offset), int64(length)}
	return s, x.within(s, id)
}

// within checks that a place lies in its file.
func (x *Index) within(s Span, id int64) error {
	if size := x.files[s.File].Content; s.Offset < 0 || s.Length < 0 || s.Offset > size || s.Length > size-s.Offset {
		return &errs.Error{Kind: errs.Corrupt, Op: "index", Subject: x.files[s.File].Name,
			Want: fmt.Sprintf("record %d within %d bytes", id, size), Got: fmt.Sprintf("%d bytes at offset %d", s.Length, s.Offset),
			Remedy: "make the index again with bivouac index"}
	}
	return nil
}

// place returns the file of a record and its place in the columns. In an index that join made it is
// the number of the record in the index of the file.
func (x *Index) place(id int64) (file int, at int64, err error) {
	if id < 0 || id >= x.records {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: "index", Want: fmt.Sprintf("a record below %d", x.records),
			Got: fmt.Sprint(id)}
	}
	lo, hi := 0, len(x.files) // the last file that begins at or before id
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; x.files[mid].First <= id {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, x.under[lo] + id - x.files[lo].First, nil
}

// Length returns the length of a record in bytes, or 0 if the index is damaged there.
func (x *Index) Length(id int64) int64 {
	file, at, err := x.place(id)
	if err != nil {
		return 0
	}
	if x.pieces != nil {
		return x.pieces[file].x.Length(at)
	}
	n, err := x.length.At(at)
	if err != nil {
		return 0
	}
	return int64(min(n, math.MaxInt64))
}

// Key returns the key of a record, or "" if the format has no keys.
func (x *Index) Key(id int64) (string, error) {
	if x.pieces == nil && !x.HasKeys() {
		return "", nil
	}
	file, at, err := x.place(id)
	if err != nil {
		return "", err
	}
	if x.pieces != nil {
		return x.pieces[file].x.Key(at)
	}
	return x.text("key", at)
}

// FileOf returns the file of a record.
func (x *Index) FileOf(id int64) (file int, err error) {
	file, _, err = x.place(id)
	return file, err
}

// Parts appends the parts of a record to list and returns it.
func (x *Index) Parts(id int64, list []Part) ([]Part, error) {
	file, at, err := x.place(id)
	if x.pieces != nil && err == nil {
		return x.pieces[file].x.Parts(at, list)
	}
	c := &x.part
	if c.first == nil || err != nil {
		return list, err
	}
	from, err := c.first.At(at)
	if err != nil {
		return nil, err
	}
	to, err := c.first.At(at + 1)
	if err != nil {
		return nil, err
	}
	for p := from; p < to; p++ {
		name, err := c.name.part(p)
		if err != nil {
			return nil, err
		}
		offset, err := c.offset.part(p)
		if err != nil {
			return nil, err
		}
		length, err := c.length.part(p)
		if err != nil {
			return nil, err
		}
		if name >= uint64(len(x.names)) {
			return nil, &errs.Error{Kind: errs.Corrupt, Op: "index",
				Want: fmt.Sprintf("a name below %d", len(x.names)), Got: fmt.Sprint(name)}
		}
		part := Part{x.names[name], int64(offset), int64(length)}
		if err := x.within(Span{file, part.Offset, part.Length}, id); err != nil {
			return nil, err
		}
		list = append(list, part)
	}
	return list, nil
}

// part returns element p of a column of parts, which a damaged index may lack.
func (c *Column) part(p uint64) (uint64, error) {
	if c == nil || p >= uint64(c.Len()) {
		return 0, &errs.Error{Kind: errs.Corrupt, Op: "index", Want: fmt.Sprintf("part %d", p), Got: "no such part"}
	}
	return c.At(int64(p))
}

// Record returns a record: where it lies in its file, its key and its parts.
func (x *Index) Record(id int64) (r Record, err error) {
	s, err := x.Span(id)
	if err != nil {
		return r, err
	}
	r = Record{Offset: s.Offset, Length: s.Length}
	if r.Key, err = x.Key(id); err != nil {
		return r, err
	}
	r.Parts, err = x.Parts(id, nil)
	return r, err
}

// In returns the ids of the records of a file: from is the first, and to is the one after the last.
func (x *Index) In(file int) (from, to int64) {
	from, to = x.files[file].First, x.records
	if file+1 < len(x.files) {
		to = x.files[file+1].First
	}
	return from, to
}

// PartNames returns the names that parts have, in the order in which they first come. The caller
// must not change them.
func (x *Index) PartNames() []string { return x.names }

// choose returns the index of some files of x, in another order. It takes the place of x.
func (x *Index) choose(chosen []int) *Index {
	y := *x
	y.files, y.under, y.records = make([]File, len(chosen)), make([]int64, len(chosen)), 0
	for i, at := range chosen {
		_, end := x.In(at)
		y.files[i], y.under[i] = x.files[at], x.under[at]
		y.files[i].First = y.records
		y.records += end - x.files[at].First
	}
	return &y
}

// Close releases the memory of the index. No method may be called afterwards.
func (x *Index) Close() error {
	if x.close == nil {
		return nil
	}
	return x.close()
}

// bytesOf returns an index in memory for what write writes.
func bytesOf(where string, write func(b *bytes.Buffer) error) (*Index, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return nil, err
	}
	return newIndex(b.Bytes(), where, nil)
}
