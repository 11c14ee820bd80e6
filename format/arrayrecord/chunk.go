package arrayrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Chunk is a decoded chunk.
type Chunk struct {
	data    []byte
	ends    []int
	inPlace bool
}

// Len returns the number of records.
func (c *Chunk) Len() int { return len(c.ends) }

// InPlace reports whether the records are part of the bytes that were decoded.
func (c *Chunk) InPlace() bool { return c.inPlace }

// Size returns the bytes that the chunk takes in memory.
func (c *Chunk) Size() int64 { return int64(cap(c.data)) + 8*int64(cap(c.ends)) }

// Record returns record i, which the caller must not change.
func (c *Chunk) Record(i int) []byte {
	from := 0
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.data[from:c.ends[i]:c.ends[i]]
}

// Decode decodes the chunk that begins at an offset of a file. b is the file from there to the next
// chunk; it is overwritten, and the records may be part of it. Decode verifies the hashes of header
// and data. Fails with errs.Corrupt for damage, and with errs.Exhausted for records of more than
// limit bytes together.
func Decode(b []byte, offset, limit int64) (*Chunk, error) {
	h, data, err := parseChunk(strip(b, offset))
	if err != nil {
		return nil, err
	}
	return decode(h, data, limit)
}

func decode(h header, data []byte, limit int64) (*Chunk, error) {
	if h.decoded > limit {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("a chunk of at most %d decoded bytes", limit),
			Got:    fmt.Sprint(h.decoded),
			Remedy: "raise the limit, or write the file with a smaller group_size"}
	}
	switch h.typ {
	case simple:
		return decodeSimple(h, data)
	case transposed:
		return decodeTransposed(h, data)
	case signature, metadata, padding:
		return nil, corrupt("a chunk of records", fmt.Sprintf("a chunk of type %q", h.typ))
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Want: "a chunk of type 'r' or 't'",
		Got: fmt.Sprintf("type %q", h.typ)}
}

// decodeSimple decodes a chunk of sizes and records.
func decodeSimple(h header, data []byte) (*Chunk, error) {
	if len(data) == 0 {
		return nil, corrupt("a compression type", "no data")
	}
	compression := data[0]
	size, rest, err := varint(data[1:])
	if err != nil {
		return nil, err
	}
	if size > uint64(len(rest)) {
		return nil, corrupt(fmt.Sprintf("%d bytes of sizes", size), fmt.Sprint(len(rest)))
	}
	const longest = 10 // bytes of a varint
	if h.records > int64(len(data))<<20 {
		return nil, corrupt("fewer records", fmt.Sprint(h.records))
	}
	sizes, err := expand(compression, rest[:size], h.records*longest)
	if err != nil {
		return nil, err
	}
	if h.records > int64(len(sizes)) {
		return nil, corrupt(fmt.Sprintf("the sizes of %d records", h.records), fmt.Sprintf("%d bytes", len(sizes)))
	}
	c := &Chunk{ends: make([]int, h.records), inPlace: compression == none}
	var end uint64
	for i := range c.ends {
		var n uint64
		if n, sizes, err = varint(sizes); err != nil {
			return nil, err
		}
		if end += n; n > uint64(h.decoded) || end > uint64(h.decoded) {
			return nil, corrupt(fmt.Sprintf("records of %d bytes together", h.decoded),
				"a size that leads beyond them")
		}
		c.ends[i] = int(end)
	}
	if len(sizes) > 0 || end != uint64(h.decoded) {
		return nil, corrupt(fmt.Sprintf("%d records of %d bytes together", h.records, h.decoded),
			fmt.Sprintf("%d bytes, and %d bytes of further sizes", end, len(sizes)))
	}
	if c.data, err = expand(compression, rest[size:], h.decoded); err != nil {
		return nil, err
	}
	if int64(len(c.data)) != h.decoded {
		return nil, corrupt(fmt.Sprintf("%d bytes of records", h.decoded), fmt.Sprint(len(c.data)))
	}
	return c, nil
}

// Compressions of parts of chunks.
const (
	none        = 0
	brotliType  = 'b'
	zstdType    = 'z'
	snappyType  = 's'
	snappyRatio = 64 // no Snappy data expand that much
)

// expand undoes the compression of a part of a chunk, which may be of at most limit bytes. A
// compressed part begins with its size.
func expand(compression byte, b []byte, limit int64) ([]byte, error) {
	if compression == none {
		if int64(len(b)) > limit {
			return nil, corrupt(fmt.Sprintf("a part of at most %d bytes", limit), fmt.Sprint(len(b)))
		}
		return b, nil
	}
	declared, b, err := varint(b)
	if err != nil {
		return nil, err
	}
	if declared > uint64(limit) {
		return nil, corrupt(fmt.Sprintf("a part of at most %d bytes", limit), fmt.Sprint(declared))
	}
	size := int(declared)
	var out []byte
	switch compression {
	case brotliType:
		// The buffer grows with what comes: the size is not believed before.
		buffer := bytes.NewBuffer(make([]byte, 0, min(size, 8*len(b)+512)))
		_, err = io.Copy(buffer, io.LimitReader(brotli.NewReader(bytes.NewReader(b)), int64(size)+1))
		out = buffer.Bytes()
	case zstdType:
		out, err = zframe.DecodeFrames(nil, b, size+1)
	case snappyType:
		if n, e := snappy.DecodedLen(b); e != nil || n != size || n > snappyRatio*len(b) {
			err = errors.Join(e, fmt.Errorf("%d bytes that declare %d", len(b), n))
			break
		}
		out, err = snappy.Decode(nil, b)
	default:
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "no compression, Brotli, Zstandard or Snappy",
			Got: fmt.Sprintf("compression type %q", compression)}
	}
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes", len(out))
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt,
			Want: fmt.Sprintf("%d compressed bytes of type %q", size, compression), Err: err}
	}
	return out, nil
}

// varint reads a number of 7 bits a byte.
func varint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, corrupt("a number", fmt.Sprintf("% x", b[:min(len(b), 10)]))
	}
	return v, b[n:], nil
}

// varint32 reads a number of 32 bits.
func varint32(b []byte) (uint32, []byte, error) {
	v, rest, err := varint(b)
	if err == nil && v>>32 != 0 {
		err = corrupt("a number of 32 bits", fmt.Sprint(v))
	}
	return uint32(v), rest, err
}
