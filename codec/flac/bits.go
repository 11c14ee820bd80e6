package flac

import (
	"encoding/binary"
	"math/bits"
)

// reader reads bits, the highest first. After the end it reads zeros; see over.
type reader struct {
	b     []byte
	pos   int    // of the next byte that is not in cache
	cache uint64 // the next n bits, at the top; bits after them are the right ones or 0
	n     uint
	past  int // bytes after the end that were read
}

func (r *reader) start(b []byte) { *r = reader{b: b} }

// fill makes n at least 56.
func (r *reader) fill() {
	if r.pos+8 <= len(r.b) {
		r.cache |= binary.BigEndian.Uint64(r.b[r.pos:]) >> r.n
		r.pos += int(63-r.n) >> 3
		r.n |= 56
		return
	}
	if r.n < 64 {
		r.cache &= ^uint64(0) << (64 - r.n) // the bits after n come again
	}
	for r.n <= 56 {
		v := uint64(0)
		if r.pos < len(r.b) {
			v = uint64(r.b[r.pos])
		} else {
			r.past++
		}
		r.pos++
		r.cache |= v << (56 - r.n)
		r.n += 8
	}
}

// over reports whether bits after the end were read.
func (r *reader) over() bool { return 8*r.past > int(r.n) }

// read returns the next k bits, k <= 32.
func (r *reader) read(k uint) uint32 {
	if r.n < k {
		r.fill()
	}
	v := r.cache >> (64 - k)
	r.cache <<= k
	r.n -= k
	return uint32(v)
}

// signed returns the next k bits as a signed number, k <= 32.
func (r *reader) signed(k uint) int32 {
	if k == 0 {
		return 0
	}
	return int32(r.read(k)<<(32-k)) >> (32 - k)
}

// unary returns the number of zeros before the next one, at most limit.
func (r *reader) unary(limit int) (zeros int, ok bool) {
	for zeros <= limit {
		if r.n < 56 {
			r.fill()
		}
		if z := bits.LeadingZeros64(r.cache); z < int(r.n) {
			r.cache <<= z + 1
			r.n -= uint(z) + 1
			return zeros + z, zeros+z <= limit
		}
		zeros += int(r.n)
		r.cache, r.n = 0, 0
		if r.pos >= len(r.b) {
			return 0, false
		}
	}
	return 0, false
}

// align skips to the next byte and returns its position.
func (r *reader) align() int {
	k := r.n % 8
	r.cache <<= k
	r.n -= k
	return r.pos - int(r.n/8)
}

// rice fills a partition of residuals with parameter k.
func (r *reader) rice(to []int32, k uint) bool {
	cache, n := r.cache, r.n
	for i := range to {
		if n < 56 {
			if r.pos+8 <= len(r.b) {
				cache |= binary.BigEndian.Uint64(r.b[r.pos:]) >> n
				r.pos += int(63-n) >> 3
				n |= 56
			} else {
				r.cache, r.n = cache, n
				r.fill()
				cache, n = r.cache, r.n
			}
		}
		z := uint(bits.LeadingZeros64(cache))
		if used := z + 1 + k; used <= n {
			cache <<= z + 1
			v := uint32(z)<<k | uint32(cache>>(64-k))
			cache <<= k
			n -= used
			to[i] = int32(v>>1) ^ -int32(v&1)
			continue
		}
		r.cache, r.n = cache, n
		zeros, ok := r.unary(1<<31 - 1)
		if !ok {
			return false
		}
		v := uint32(zeros)<<k | r.read(k)
		to[i] = int32(v>>1) ^ -int32(v&1)
		cache, n = r.cache, r.n
	}
	r.cache, r.n = cache, n
	return true
}
