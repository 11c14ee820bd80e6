package parquet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bivouac-ml/bivouac/errs"
)

func corrupt(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got, Remedy: "the file is damaged; copy or write it again"}
}

// file is an open file of the data set.
type file struct {
	*parquet.File
	columns []*column
	chosen  []*column
	groups  []int64
}

// chunk is where the pages of a column in a row group lie.
type chunk struct {
	dictionary [2]int64 // between which offsets the dictionary page lies; equal if there is no such page
	parts      []part
	rows       int64
}

// part is pages that begin and end with a row.
type part struct {
	offset, length int64
	first, rows    int64
}

// Pages are checked before the library reads them, because it trusts their headers.
const (
	mostHeader = 1 << 20
	headerRead = 512
)

// openFile reads and checks the footer of a file.
func openFile(r io.ReaderAt, size int64) (f *file, err error) {
	defer recovered(&err)
	if size < 12 {
		return nil, corrupt("a Parquet file of at least 12 bytes", fmt.Sprint(size))
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "a file that ends with PAR1",
			Got:    fmt.Sprintf("%q", tail[4:]),
			Remedy: "the file was cut, is encrypted, or is of another format"}
	}
	if n := int64(tail[0]) | int64(tail[1])<<8 | int64(tail[2])<<16 | int64(tail[3])<<24; n > size-12 {
		return nil, corrupt(fmt.Sprintf("a footer within %d bytes", size), fmt.Sprintf("%d bytes", n))
	}
	f = &file{}
	if f.File, err = parquet.OpenFile(r, size, parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true)); err != nil {
		return nil, wrapped(err)
	}
	m := f.Metadata()
	if f.columns, err = columnsOf(m.Schema); err != nil {
		return nil, err
	}
	if text, ok := f.Lookup("ARROW:schema"); ok { // which pyarrow writes and checks
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return nil, errs.Wrap("", "ARROW:schema in the footer", wrapped(err))
		}
	}
	rows := int64(0)
	for i := range m.RowGroups {
		g := &m.RowGroups[i]
		if g.NumRows < 0 || len(g.Columns) != len(f.columns) || g.NumRows > 1<<40 {
			return nil, corrupt(fmt.Sprintf("row group %d with %d columns", i, len(f.columns)),
				fmt.Sprintf("%d columns of %d rows", len(g.Columns), g.NumRows))
		}
		for k, c := range f.columns {
			if got := g.Columns[k].MetaData.Type; got != c.stored {
				return nil, errs.Wrap("", fmt.Sprintf("column %q of row group %d", c.name, i),
					corrupt("type "+c.stored.String()+", as in the schema", got.String()))
			}
		}
		f.groups = append(f.groups, rows)
		rows += g.NumRows
	}
	if rows != m.NumRows {
		return nil, corrupt(fmt.Sprintf("%d rows, as the footer says", m.NumRows),
			fmt.Sprintf("%d in the row groups", rows))
	}
	f.groups = append(f.groups, rows)
	return f, nil
}

// wrapped returns an error of the library with its kind. Errors of reading keep theirs.
func wrapped(err error) error {
	var own *errs.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Err: err, Remedy: "the file is damaged; copy or write it again"}
}

// recovered makes a panic of the library, on bytes that contradict themselves, an error.
func recovered(err *error) {
	if v := recover(); v != nil {
		if own, ok := v.(*errs.Error); ok { // a limit of the caller
			panic(own)
		}
		*err = corrupt("a file that can be decoded", fmt.Sprint(v))
	}
}

// readHeader reads the header of a page at an offset, which has left bytes, and returns its size.
func readHeader(r io.ReaderAt, offset, left int64) (h *format.PageHeader, size int64, err error) {
	for n := int64(headerRead); ; n *= 8 {
		b := make([]byte, min(n, left))
		if _, err := r.ReadAt(b, offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		h = &format.PageHeader{}
		from := new(thrift.CompactProtocol).NewReaderFromBytes(b)
		if err = thrift.NewDecoder(from).Decode(h); err == nil {
			size = int64(from.BytesRead())
			break
		}
		if n >= left || n > mostHeader {
			return nil, 0, wrapped(err)
		}
	}
	return h, size, nil
}

// checkHeader checks the sizes that a header states.
func checkHeader(h *format.PageHeader, size, left, limit int64) error {
	values := int64(h.DataPageHeader.V.NumValues)
	switch {
	case h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		values = int64(v.NumValues)
		levels := int64(v.RepetitionLevelsByteLength) + int64(v.DefinitionLevelsByteLength)
		if v.RepetitionLevelsByteLength < 0 || v.DefinitionLevelsByteLength < 0 ||
			levels > int64(h.CompressedPageSize) {
			return corrupt(fmt.Sprintf("levels within %d bytes", h.CompressedPageSize),
				fmt.Sprintf("%d bytes", levels))
		}
		if v.NumNulls < 0 || v.NumNulls > v.NumValues || v.NumRows < 0 || v.NumRows > v.NumValues {
			return corrupt(fmt.Sprintf("a page of %d values", v.NumValues),
				fmt.Sprintf("%d nulls and %d rows", v.NumNulls, v.NumRows))
		}
	case h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	}
	if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || values < 0 ||
		int64(h.CompressedPageSize) > left-size {
		return corrupt(fmt.Sprintf("a page within %d bytes", left-size),
			fmt.Sprintf("%d bytes that hold %d bytes and %d values", h.CompressedPageSize, h.UncompressedPageSize,
				values))
	}
	if n := max(int64(h.UncompressedPageSize), values); n > limit {
		return &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("a page of at most %d bytes and values", limit),
			Got:    fmt.Sprint(n),
			Remedy: "raise the limit of a sample, or write smaller pages"}
	}
	return nil
}

// place returns where the pages of a column in a row group lie.
func (f *file) place(group int, c *column) (from, to int64, err error) {
	m := &f.Metadata().RowGroups[group].Columns[c.index].MetaData
	from = m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	to = from + m.TotalCompressedSize
	if from < 4 || m.TotalCompressedSize < 0 || to > f.Size()-12 {
		return 0, 0, corrupt(fmt.Sprintf("pages within %d bytes", f.Size()),
			fmt.Sprintf("%d bytes at %d", m.TotalCompressedSize, from))
	}
	return from, to, nil
}

// readChunk finds the pages of a column in a row group: by the offset index if the file has one,
// and by the headers of the pages otherwise.
func (f *file) readChunk(r io.ReaderAt, group int, c *column, limit int64) (*chunk, error) {
	from, to, err := f.place(group, c)
	if err != nil {
		return nil, err
	}
	x := &chunk{rows: f.groups[group+1] - f.groups[group]}
	locations, err := f.locations(r, group, c)
	if err != nil {
		return nil, err
	}
	if len(locations) > 0 {
		return x, x.byIndex(locations, from, to)
	}
	return x, x.byHeaders(r, from, to, len(c.lists) > 0, limit)
}

// locations reads the offset index of a column in a row group, which may be absent.
func (f *file) locations(r io.ReaderAt, group int, c *column) ([]format.PageLocation, error) {
	m := &f.Metadata().RowGroups[group].Columns[c.index]
	if m.OffsetIndexOffset <= 0 || m.OffsetIndexLength <= 0 ||
		m.OffsetIndexOffset > f.Size()-int64(m.OffsetIndexLength) {
		return nil, nil
	}
	b := make([]byte, m.OffsetIndexLength)
	if _, err := r.ReadAt(b, m.OffsetIndexOffset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var index format.OffsetIndex
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b, &index); err != nil {
		return nil, errs.Wrap("", "the offset index", wrapped(err))
	}
	return index.PageLocations, nil
}

// byIndex makes a part of each page of an offset index.
func (x *chunk) byIndex(locations []format.PageLocation, from, to int64) error {
	if at := locations[0].Offset; at > from {
		x.dictionary = [2]int64{from, min(at, to)}
	}
	at := from
	for i, l := range locations {
		end := x.rows
		if i+1 < len(locations) {
			end = locations[i+1].FirstRowIndex
		}
		if l.Offset < at || l.CompressedPageSize < 0 || l.Offset > to-int64(l.CompressedPageSize) ||
			l.FirstRowIndex < 0 || end <= l.FirstRowIndex || end > x.rows || i == 0 && l.FirstRowIndex != 0 {
			return corrupt(fmt.Sprintf("page %d of the offset index with rows up to %d, between bytes %d and %d", i,
				x.rows, at, to),
				fmt.Sprintf("%d bytes at %d, rows %d to %d", l.CompressedPageSize, l.Offset, l.FirstRowIndex, end))
		}
		at = l.Offset + int64(l.CompressedPageSize)
		x.parts = append(x.parts, part{l.Offset, int64(l.CompressedPageSize), l.FirstRowIndex, end - l.FirstRowIndex})
	}
	return nil
}

// byHeaders makes parts of pages whose headers say how many rows they have. In a list column, old
// pages do not, nor need they begin with a row. Then all pages are one part.
func (x *chunk) byHeaders(r io.ReaderAt, from, to int64, lists bool, limit int64) error {
	rows, known, first := int64(0), true, int64(-1)
	for at := from; at < to; {
		h, size, err := readHeader(r, at, to-at)
		if err == nil {
			err = checkHeader(h, size, to-at, limit)
		}
		if err != nil {
			return errs.Wrap("", fmt.Sprintf("the page at byte %d", at), err)
		}
		n := size + int64(h.CompressedPageSize)
		if h.Type == format.DictionaryPage && first < 0 {
			x.dictionary = [2]int64{at, to}
		} else if h.Type == format.DataPage || h.Type == format.DataPageV2 {
			if first < 0 {
				first = at
			}
			count := int64(h.DataPageHeader.V.NumValues)
			if h.DataPageHeaderV2.Valid {
				count = int64(h.DataPageHeaderV2.V.NumRows)
			} else if lists {
				known = false
			}
			if count > 0 {
				x.parts = append(x.parts, part{at, n, rows, count})
			}
			rows += count
		}
		at += n
	}
	switch {
	case first < 0 && x.rows > 0:
		return corrupt(fmt.Sprintf("pages of %d rows", x.rows), "none")
	case !known:
		x.parts = []part{{first, to - first, 0, x.rows}}
	case rows != x.rows:
		return corrupt(fmt.Sprintf("pages of %d rows", x.rows), fmt.Sprintf("pages of %d rows", rows))
	}
	return nil
}
