package fits

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/bivouac-ml/bivouac/errs"
)

// bitReader reads bits, the highest of a byte first.
type bitReader struct {
	b    []byte
	at   int    // of the next byte
	word uint64 // the next bits, at its top
	n    int    // how many
}

// fill takes bytes into the word until it has at least 56 bits, or the bytes end.
func (r *bitReader) fill() {
	for r.n <= 56 && r.at < len(r.b) {
		r.word |= uint64(r.b[r.at]) << (56 - r.n)
		r.at++
		r.n += 8
	}
}

// take returns the next k bits, at most 32.
func (r *bitReader) take(k int) (uint32, bool) {
	if k == 0 {
		return 0, true
	}
	if r.n < k {
		if r.fill(); r.n < k {
			return 0, false
		}
	}
	v := uint32(r.word >> (64 - k))
	r.word <<= k
	r.n -= k
	return v, true
}

// zeros counts the zeros before the next one, and takes both.
func (r *bitReader) zeros() (n int, ok bool) {
	for {
		if r.n == 0 {
			if r.fill(); r.n == 0 {
				return 0, false
			}
		}
		z := bits.LeadingZeros64(r.word)
		if z < r.n {
			r.word <<= z + 1 // a shift of 64 leaves nothing
			r.n -= z + 1
			return n + z, true
		}
		n += r.n
		r.word, r.n = 0, 0
	}
}

// rice decompresses elements that RICE_1 compressed with bytePix bytes each, in blocks, and writes
// them as big-endian elements of the given width.
//
//	first element, bytePix bytes
//	for each block: k + 1 in 3, 4 or 5 bits
//	    0               all are equal to the one before
//	    the largest     differences as they are
//	    else            differences: their upper bits as zeros up to a one, then k bits
//
// The lowest bit of a difference is its sign.
func rice(dst, src []byte, width, bytePix, blockSize int) error {
	r := bitReader{b: src}
	short := func() error {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d elements of RICE_1", len(dst)/width),
			Got: fmt.Sprintf("the end after %d bytes", len(src))}
	}
	kBits, most := 5, 25
	switch bytePix {
	case 1:
		kBits, most = 3, 6
	case 2:
		kBits, most = 4, 14
	}
	last, ok := r.take(8 * bytePix)
	if !ok {
		return short()
	}
	for at := 0; at < len(dst); {
		n := min(blockSize, (len(dst)-at)/width)
		k, ok := r.take(kBits)
		if !ok {
			return short()
		}
		for range n {
			var d uint32
			switch {
			case k == 0:
			case int(k)-1 == most:
				d, ok = r.take(8 * bytePix)
			default:
				upper, found := r.zeros()
				lower, whole := r.take(int(k) - 1)
				if ok = found && whole; ok && (k > 32 || upper > math.MaxUint32>>(k-1)) {
					return &errs.Error{Kind: errs.Corrupt, Want: "a difference of 32 bits",
						Got: fmt.Sprintf("%d zeros", upper)}
				}
				d = uint32(upper)<<(k-1) | lower
			}
			if !ok {
				return short()
			}
			last += d>>1 ^ -(d & 1)
			switch width {
			case 1:
				dst[at] = byte(last)
			case 2:
				binary.BigEndian.PutUint16(dst[at:], uint16(last))
			case 4:
				binary.BigEndian.PutUint32(dst[at:], last)
			}
			at += width
		}
	}
	return nil
}
