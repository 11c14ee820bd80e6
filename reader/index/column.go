package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// block is the number of bytes of a column that have a checksum of their own.
const block = 1 << 16

// Column is an array of unsigned integers. It is safe for concurrent use.
type Column struct {
	name  string
	data  []byte
	width int           // bytes of a number
	sums  []byte        // CRC32C of each block; nil for a column that was made in this process
	seen  []atomic.Bool // which blocks were checked
	where string        // the file, for errors
}

// Len returns the number of elements.
func (c *Column) Len() int64 { return int64(len(c.data) / c.width) }

// At returns element i, which must be below Len. Fails with errs.Corrupt if the bytes around it
// are damaged.
func (c *Column) At(i int64) (uint64, error) {
	at := i * int64(c.width)
	if c.sums != nil {
		if b := at / block; !c.seen[b].Load() {
			if err := c.check(b); err != nil {
				return 0, err
			}
		}
	}
	p := c.data[at:]
	switch c.width {
	case 1:
		return uint64(p[0]), nil
	case 2:
		return uint64(binary.LittleEndian.Uint16(p)), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(p)), nil
	}
	return binary.LittleEndian.Uint64(p), nil
}

// bytes returns the elements from..to of a column of bytes.
func (c *Column) bytes(from, to uint64) ([]byte, error) {
	if from > to || to > uint64(len(c.data)) {
		return nil, c.damage(fmt.Sprintf("a place within %d bytes", len(c.data)), fmt.Sprintf("%d to %d", from, to))
	}
	if c.sums != nil && from < to {
		for b := from / block; b <= (to-1)/block; b++ {
			if !c.seen[b].Load() {
				if err := c.check(int64(b)); err != nil {
					return nil, err
				}
			}
		}
	}
	return c.data[from:to:to], nil
}

// check compares block b with its checksum.
func (c *Column) check(b int64) error {
	part := c.data[b*block : min((b+1)*block, int64(len(c.data)))]
	if got, want := crc.Sum(part), binary.LittleEndian.Uint32(c.sums[4*b:]); got != want {
		return c.damage(fmt.Sprintf("checksum %08x of block %d", want, b), fmt.Sprintf("%08x", got))
	}
	c.seen[b].Store(true)
	return nil
}

func (c *Column) damage(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "index", Subject: c.where + ": column " + c.name, Want: want, Got: got,
		Remedy: "make the index again with bivouac index"}
}

// widthOf returns how many bytes a number up to limit takes.
func widthOf(limit uint64) int {
	switch n := bits.Len64(limit); {
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	case n <= 32:
		return 4
	}
	return 8
}

// appendNumber appends v in width bytes.
func appendNumber(b []byte, v uint64, width int) []byte {
	switch width {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}
