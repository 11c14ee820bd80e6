package parity

import (
	"encoding/binary"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
)

const (
	magic    = "bivouac.parity\x00\x01"
	fixedLen = len(magic) + 4 + 4 + 4 + 8 + 4
	sealLen  = 8
	trailer  = 8
)

// seal returns the hash that ends a table. It is not a CRC: the CRC of a file does not depend on
// parts of it that end with their own CRC.
func seal(b []byte) uint64 {
	h := manifest.HashOf(b)
	return binary.LittleEndian.Uint64(h[:])
}

// span is a file among those that share a parity file.
type span struct {
	first int64 // first block
	size  int64
	name  string
}

// table describes a parity file; the file itself contains it.
type table struct {
	shape
	files  []span   // files that share it, by name
	data   []uint32 // checksums of the blocks
	parity []uint32
}

func newTable(s shape, files []span) *table {
	return &table{shape: s, files: files, data: make([]uint32, s.blocks()), parity: make([]uint32, s.parityBlocks())}
}

// bytes returns the size of the table.
func (t *table) bytes() int64 {
	n := int64(fixedLen) + 4*int64(len(t.data)+len(t.parity)) + sealLen
	for _, f := range t.files {
		n += 8 + 8 + 2 + int64(len(f.name))
	}
	return n
}

// head returns the offset where the parity blocks begin, and tail where they end.
func (t *table) head() int64 { return aligned(t.bytes()) }
func (t *table) tail() int64 { return t.head() + aligned(int64(len(t.parity))*int64(t.block)) }

// fileSize returns the size of the parity file in bytes.
func (t *table) fileSize() int64 { return t.tail() + t.bytes() + trailer }

func (t *table) append(dst []byte) []byte {
	le, start := binary.LittleEndian, len(dst)
	dst = append(dst, magic...)
	dst = le.AppendUint32(dst, uint32(t.block))
	dst = le.AppendUint32(dst, uint32(t.percent))
	shared := uint32(0)
	if t.shared {
		shared = 1
	}
	dst = le.AppendUint32(dst, shared)
	dst = le.AppendUint64(dst, uint64(t.size))
	dst = le.AppendUint32(dst, uint32(len(t.files)))
	for _, f := range t.files {
		dst = le.AppendUint64(dst, uint64(f.first))
		dst = le.AppendUint64(dst, uint64(f.size))
		dst = le.AppendUint16(dst, uint16(len(f.name)))
		dst = append(dst, f.name...)
	}
	for _, sums := range [][]uint32{t.data, t.parity} {
		for _, c := range sums {
			dst = le.AppendUint32(dst, c)
		}
	}
	return le.AppendUint64(dst, seal(dst[start:]))
}

// appendTrailer ends the file.
func appendTrailer(dst []byte, length int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(length))
	return binary.LittleEndian.AppendUint32(dst, ^uint32(length))
}

// parseTrailer returns the length of the table before it.
func parseTrailer(b []byte) (int64, bool) {
	n := binary.LittleEndian.Uint32(b)
	return int64(n), n == ^binary.LittleEndian.Uint32(b[4:])
}

// parse reads a table. It refuses more checksums than b has bytes for, and ignores bytes behind the
// table.
func parse(b []byte) (*table, error) {
	le := binary.LittleEndian
	if len(b) < fixedLen || string(b[:len(magic)]) != magic {
		return nil, damaged("no table")
	}
	f := b[len(magic):fixedLen]
	t := &table{}
	t.block, t.percent, t.shared, t.size = int(le.Uint32(f)), int(le.Uint32(f[4:])), le.Uint32(f[8:]) == 1,
		int64(le.Uint64(f[12:]))
	count, at := int(le.Uint32(f[20:])), fixedLen
	if le.Uint32(f[8:]) > 1 || t.block < leastBlock || t.block > largeBlock || t.block%leastBlock != 0 || t.percent < 1 ||
		t.percent > MaxPercent ||
		t.size < 0 || t.size/int64(t.block) > int64(len(b)) || count > len(b) || t.shared != (count > 0) {
		return nil, damaged("inconsistent numbers")
	}
	for range count {
		if len(b)-at < 18 {
			return nil, damaged("a list of files that ends too early")
		}
		s := span{first: int64(le.Uint64(b[at:])), size: int64(le.Uint64(b[at+8:]))}
		n := int(le.Uint16(b[at+16:]))
		if at += 18; len(b)-at < n {
			return nil, damaged("a list of files that ends too early")
		}
		s.name = string(b[at : at+n])
		at += n
		if s.first < 0 || s.size < 0 || s.first > t.size || s.size > t.size || s.first*int64(t.block)+s.size > t.size {
			return nil, damaged("a file beyond its blocks")
		}
		t.files = append(t.files, s)
	}
	n, m := t.blocks(), t.parityBlocks()
	if (len(b)-at-sealLen)/4 < n+m {
		return nil, damaged("a table that ends too early")
	}
	t.data, t.parity = make([]uint32, n), make([]uint32, m)
	for _, sums := range [][]uint32{t.data, t.parity} {
		for i := range sums {
			sums[i] = le.Uint32(b[at:])
			at += 4
		}
	}
	if seal(b[:at]) != le.Uint64(b[at:]) {
		return nil, damaged("a table whose checksum does not match")
	}
	if !slices.IsSortedFunc(t.files, func(a, b span) int { return int(min(max(a.first-b.first, -1), 1)) }) {
		return nil, damaged("files that are not sorted")
	}
	return t, nil
}

func damaged(got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "parity", Got: got}
}
