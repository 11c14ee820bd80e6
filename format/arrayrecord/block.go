package arrayrecord

import (
	"encoding/binary"
	"fmt"

	"github.com/minio/highwayhash"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	blockSize   = 1 << 16
	blockHeader = 24
	usable      = blockSize - blockHeader
	chunkHeader = 40
)

// key is the key of the hashes.
var key = []byte("Riegeli/records\nRiegeli/records\n")

func hashOf(b []byte) uint64 { return highwayhash.Sum64(b, key) }

// physicalEnd returns where size bytes of a chunk end that begins at pos, with the block headers
// that interrupt them.
func physicalEnd(pos, size int64) int64 {
	headers := (size + (pos+usable-1)%blockSize) / usable
	return pos + size + headers*blockHeader
}

// chunkEnd returns the end of the chunk at pos.
func chunkEnd(pos, size, records int64) int64 {
	end := physicalEnd(pos, chunkHeader+size)
	// Records have numbers that are positions of the chunk, so it is at least as long as they are
	// many.
	least := pos + records
	if rest := (blockSize - least%blockSize) % blockSize; rest > usable-1 {
		least += rest - (usable - 1)
	}
	return max(end, least)
}

// strip removes the block headers from the bytes of a file that begin at offset, in place.
func strip(b []byte, offset int64) []byte {
	next := int((blockSize - offset%blockSize) % blockSize)
	if next >= len(b) {
		return b
	}
	out := b[:next]
	for next < len(b) {
		end := min(next+blockSize, len(b))
		if next+blockHeader < end {
			out = append(out, b[next+blockHeader:end]...)
		}
		next = end
	}
	return out
}

// header is the header of a chunk.
type header struct {
	size, dataHash int64
	typ            byte
	records        int64
	decoded        int64
}

// Types of chunks.
const (
	signature  = 's'
	metadata   = 'm'
	padding    = 'p'
	simple     = 'r'
	transposed = 't'
)

// parseHeader reads the header of a chunk and verifies its hash.
func parseHeader(b []byte) (h header, err error) {
	if len(b) < chunkHeader {
		return h, corrupt(fmt.Sprintf("the %d bytes of the header of a chunk", chunkHeader), fmt.Sprint(len(b)))
	}
	le := binary.LittleEndian
	if want, got := le.Uint64(b), hashOf(b[8:chunkHeader]); got != want {
		return h, corrupt(fmt.Sprintf("the header of a chunk with hash %016x", want), fmt.Sprintf("%016x", got))
	}
	h = header{size: int64(le.Uint64(b[8:])), dataHash: int64(le.Uint64(b[16:])), typ: b[24],
		records: int64(le.Uint64(b[24:]) >> 8), decoded: int64(le.Uint64(b[32:]))}
	if h.size < 0 || h.decoded < 0 {
		return h, corrupt("sizes of a chunk below 2^63", fmt.Sprintf("%d and %d", uint64(h.size), uint64(h.decoded)))
	}
	return h, nil
}

// parseChunk finds the data of a chunk. b is the chunk and what follows it, without block headers.
// It verifies both hashes.
func parseChunk(b []byte) (h header, data []byte, err error) {
	h, err = parseHeader(b)
	if err != nil {
		return h, nil, err
	}
	b = b[chunkHeader:]
	if h.size > int64(len(b)) {
		return h, nil, corrupt(fmt.Sprintf("%d bytes of data of a chunk", h.size),
			fmt.Sprintf("%d bytes up to the next chunk", len(b)))
	}
	data = b[:h.size:h.size]
	if want, got := uint64(h.dataHash), hashOf(data); got != want {
		return h, nil, corrupt(fmt.Sprintf("a chunk whose data have hash %016x", want), fmt.Sprintf("%016x", got))
	}
	return h, data, nil
}

func corrupt(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got,
		Remedy: "the file was changed or damaged; copy it again"}
}
