package parquet

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bivouac-ml/bivouac/errs"
)

// dictionary is the dictionary page of a chunk.
type dictionary struct {
	page []byte // as the library reads it, with its header; empty if the chunk has no dictionary
	// Byte strings that are stored without compression are used where they lie: value i lies between
	// from[i] and to[i] of data. Then page has as many empty strings, which cost the library nothing.
	data     []byte
	from, to []uint32
}

// size returns the bytes in memory.
func (d *dictionary) size() int64 {
	return int64(len(d.page)) + int64(len(d.data)) + 8*int64(len(d.from))
}

// readDictionary reads the dictionary page of a chunk.
func (f *file) readDictionary(r io.ReaderAt, group int, c *column, x *chunk, limit int64) (*dictionary, error) {
	from, to := x.dictionary[0], x.dictionary[1]
	h, size, err := readHeader(r, from, to-from)
	if err != nil {
		return nil, err
	}
	if h.Type != format.DictionaryPage {
		return &dictionary{}, nil // what lies there is not needed
	}
	if err := checkHeader(h, size, to-from, limit); err != nil {
		return nil, errs.Wrap("", "the dictionary", err)
	}
	d := &dictionary{page: make([]byte, size+int64(h.CompressedPageSize))}
	if _, err := r.ReadAt(d.page, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if f.Metadata().RowGroups[group].Columns[c.index].MetaData.Codec == format.Uncompressed && c.isBytes() {
		d.split(h, d.page[size:])
	}
	return d, nil
}

// oldPlain is how old files call the plain encoding of a dictionary page.
const oldPlain = 2

// split finds the byte strings in a page. It changes nothing if there is any fault, which the
// library tells.
func (d *dictionary) split(h *format.PageHeader, data []byte) {
	n := int(h.DictionaryPageHeader.V.NumValues)
	e := h.DictionaryPageHeader.V.Encoding
	if h.UncompressedPageSize != h.CompressedPageSize || e != format.Plain && e != oldPlain ||
		n < 1 || n > len(data)/4 || h.CRC != 0 && crc32.ChecksumIEEE(data) != uint32(h.CRC) {
		return
	}
	from, to := make([]uint32, n), make([]uint32, n)
	at := 0
	for i := range n {
		if len(data)-at < 4 {
			return
		}
		size := int64(binary.LittleEndian.Uint32(data[at:]))
		if at += 4; size > int64(len(data)-at) {
			return
		}
		from[i], to[i] = uint32(at), uint32(at+int(size))
		at += int(size)
	}
	empty := &format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(4 * n),
		CompressedPageSize: int32(4 * n), DictionaryPageHeader: h.DictionaryPageHeader}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), empty)
	if at != len(data) || err != nil {
		return
	}
	d.page = append(head, make([]byte, 4*n)...)
	d.data, d.from, d.to = data, from, to
}
