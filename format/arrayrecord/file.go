package arrayrecord

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
)

// magic is the number that a postscript has.
const magic = 0x71930e704fdae05e

// mostFooter bounds the decoded footer of a file.
const mostFooter = 1 << 32

// File is the index of a file. It is immutable.
type File struct {
	Records int64  // of the whole file
	Options string // of its writer, such as "group_size:1,zstd:3"
	// Print is the hash of the footer, which has the places and sizes of all chunks.
	Print uint64

	offsets []int64 // of the chunks, and of the footer
	group   int64   // records of each chunk but the last; 0 if they differ
	firsts  []int64 // the first record of each chunk, if they differ
}

// Chunks returns the number of chunks with records.
func (f *File) Chunks() int { return len(f.offsets) - 1 }

// Range returns where a chunk lies in the file, with the zeros that follow it.
func (f *File) Range(chunk int) (from, to int64) { return f.offsets[chunk], f.offsets[chunk+1] }

// Find returns the chunk that has a record, and the place of the record in it.
func (f *File) Find(record int64) (chunk, place int) {
	if f.group > 0 {
		chunk = int(min(record/f.group, int64(f.Chunks()-1)))
		return chunk, int(record - int64(chunk)*f.group)
	}
	chunk = sort.Search(len(f.firsts), func(i int) bool { return f.firsts[i] > record }) - 1
	return chunk, int(record - f.firsts[chunk])
}

// First returns the first record of a chunk. First(Chunks()) is the number of records.
func (f *File) First(chunk int) int64 {
	switch {
	case chunk == f.Chunks():
		return f.Records
	case f.group > 0:
		return int64(chunk) * f.group
	}
	return f.firsts[chunk]
}

// Open reads the index of a file of size bytes. Fails with errs.Corrupt for a file that is not an
// ArrayRecord file or is damaged or cut.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if size < blockSize || size%blockSize != 0 {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "an ArrayRecord file, whose size is a multiple of 65536",
			Got:    fmt.Sprintf("%d bytes", size),
			Remedy: "the file was cut, or is of another format"}
	}
	records, _, err := readChunk(r, size-blockSize, size, blockSize)
	if err != nil {
		return nil, errs.Wrap("", "the postscript in the last 64 KiB", err)
	}
	var footer, number uint64
	if records.Len() > 0 {
		err = message(records.Record(0), func(field int, v uint64, _ []byte) error {
			switch field {
			case 1:
				footer = v
			case 2:
				number = v
			}
			return nil
		})
	}
	if err == nil && number != magic {
		err = corrupt(fmt.Sprintf("the number %x", uint64(magic)), fmt.Sprintf("%x", number))
	}
	if err == nil && (footer < blockHeader+chunkHeader || footer >= uint64(size-blockSize)) {
		err = corrupt(fmt.Sprintf("a footer before byte %d", size-blockSize), fmt.Sprint(footer))
	}
	if err != nil {
		return nil, errs.Wrap("", "the postscript in the last 64 KiB", err)
	}
	f, err := readFooter(r, int64(footer), size-blockSize)
	if err != nil {
		return nil, errs.Wrap("", fmt.Sprintf("the footer at byte %d", footer), err)
	}
	return f, nil
}

// readChunk reads and decodes the chunk between two offsets. print is the hash of its data.
func readChunk(r io.ReaderAt, from, to, limit int64) (c *Chunk, print uint64, err error) {
	// The size comes from the file: a first read of the header says how much there is.
	head := make([]byte, min(to-from, chunkHeader+2*blockHeader))
	if _, err := r.ReadAt(head, from); err != nil {
		return nil, 0, err
	}
	h, err := parseHeader(strip(head, from))
	if err != nil {
		return nil, 0, err
	}
	if h.size > to-from {
		return nil, 0, corrupt(fmt.Sprintf("a chunk within %d bytes", to-from),
			fmt.Sprintf("%d bytes of data", h.size))
	}
	b := make([]byte, min(physicalEnd(from, chunkHeader+h.size), to)-from)
	if _, err := r.ReadAt(b, from); err != nil {
		return nil, 0, err
	}
	c, err = Decode(b, from, limit)
	return c, uint64(h.dataHash), err
}

// readFooter reads the records of the footer: the first describes the file, each other one a chunk.
func readFooter(r io.ReaderAt, from, to int64) (*File, error) {
	c, print, err := readChunk(r, from, to, mostFooter)
	if err != nil {
		return nil, err
	}
	if c.Len() == 0 {
		return nil, corrupt("a description of the file", "no record")
	}
	f := &File{Print: print}
	var version, chunks uint64
	found := false
	err = message(c.Record(0), func(field int, _ uint64, b []byte) error {
		if field != 1 {
			return nil
		}
		found = true
		return message(b, func(field int, v uint64, b []byte) error {
			switch field {
			case 1:
				version = v
			case 2:
				chunks = v
			case 3:
				f.Records = int64(v)
			case 4:
				f.Options = string(b)
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return nil, err
	case !found || version != 1:
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "version 1 of ArrayRecord",
			Got: fmt.Sprintf("version %d", version)}
	case chunks != uint64(c.Len()-1):
		return nil, corrupt(fmt.Sprintf("the places of %d chunks", chunks), fmt.Sprintf("%d records", c.Len()-1))
	}
	return f, f.addChunks(c, from)
}

// addChunks reads the places of the chunks, which must ascend up to the footer.
func (f *File) addChunks(c *Chunk, footer int64) error {
	n := c.Len() - 1
	f.offsets = make([]int64, 0, n+1)
	firsts, first, last := make([]int64, 0, n), int64(0), int64(-1)
	uniform := true
	for i := 1; i <= n; i++ {
		var offset, records uint64
		err := message(c.Record(i), func(field int, v uint64, _ []byte) error {
			switch field {
			case 1:
				offset = v
			case 3:
				records = v
			}
			return nil
		})
		if err != nil {
			return err
		}
		if int64(offset) <= last || offset >= uint64(footer) || records > uint64(f.Records-first) || records == 0 {
			return corrupt(fmt.Sprintf("chunk %d between bytes %d and %d, with 1 to %d records", i-1, last, footer,
				f.Records-first),
				fmt.Sprintf("%d records at byte %d", records, offset))
		}
		f.offsets, firsts, last = append(f.offsets, int64(offset)), append(firsts, first), int64(offset)
		first += int64(records)
		switch {
		case i == 1:
			f.group = int64(records)
		case i < n && int64(records) != f.group || int64(records) > f.group:
			uniform = false
		}
	}
	if first != f.Records {
		return corrupt(fmt.Sprintf("%d records, as the footer says", f.Records),
			fmt.Sprintf("%d in its chunks", first))
	}
	f.offsets = append(f.offsets, footer)
	if !uniform {
		f.group, f.firsts = 0, firsts
	}
	return nil
}

// message calls field for each field of a protocol buffer, with its number or its bytes.
func message(b []byte, field func(field int, v uint64, b []byte) error) error {
	for len(b) > 0 {
		tag, rest, err := varint(b)
		if err != nil {
			return err
		}
		var v uint64
		var bytes []byte
		switch tag & 7 {
		case wireVarint:
			if v, rest, err = varint(rest); err != nil {
				return err
			}
		case wireFixed64, wireFixed32:
			n := 8
			if tag&7 == wireFixed32 {
				n = 4
			}
			if len(rest) < n {
				return corrupt(fmt.Sprintf("%d bytes", n), fmt.Sprint(len(rest)))
			}
			var number [8]byte
			copy(number[:], rest[:n])
			v, rest = binary.LittleEndian.Uint64(number[:]), rest[n:]
		case wireBytes:
			var n uint64
			if n, rest, err = varint(rest); err != nil {
				return err
			}
			if n > uint64(len(rest)) {
				return corrupt(fmt.Sprintf("%d bytes", n), fmt.Sprint(len(rest)))
			}
			bytes, rest = rest[:n], rest[n:]
		default:
			return corrupt("a field of a protocol buffer", fmt.Sprintf("wire type %d", tag&7))
		}
		if err := field(int(tag>>3), v, bytes); err != nil {
			return err
		}
		b = rest
	}
	return nil
}
