package blosc

import "encoding/binary"

// blosclz is a byte-oriented LZ77 code of literal runs and matches:
//
//	000nnnnn  literals: n+1 bytes follow (the first instruction is always this)
//	lllddddd  a match of l+2 bytes; l = 7 adds the bytes that follow, as long as
//	          they are 255 and the one that is not; then the low byte of the
//	          distance, which is one more than ddddd and it say; 11111 and 255:
//	          8192 more than the u16be that follows
const (
	maxLiterals = 32
	nearLimit   = 8191                  // distances up to it take two bytes
	farLimit    = nearLimit + 1 + 65535 // the greatest distance
	minFar      = 5                     // shortest match worth a far distance
	tail        = 12                    // literals at the end, which c-blosc's reader wants
	hashBits    = 13
)

func decodeBloscLZ(dst, src []byte) bool {
	at := 0
	for first := true; len(src) > 0; first = false {
		op := int(src[0])
		src = src[1:]
		if first {
			op &= maxLiterals - 1
		}
		if op < maxLiterals {
			n := op + 1
			if n > len(src) || n > len(dst)-at {
				return false
			}
			at += copy(dst[at:], src[:n])
			src = src[n:]
			continue
		}
		n := op>>5 + 2
		if op>>5 == 7 {
			for more := byte(255); more == 255; {
				if len(src) == 0 || n > len(dst) {
					return false
				}
				more = src[0]
				n += int(more)
				src = src[1:]
			}
		}
		if len(src) == 0 {
			return false
		}
		distance := op&31<<8 + int(src[0]) + 1
		src = src[1:]
		if distance == nearLimit+1 {
			if len(src) < 2 {
				return false
			}
			distance += int(binary.BigEndian.Uint16(src))
			src = src[2:]
		}
		if distance > at || n > len(dst)-at {
			return false
		}
		for range n { // source and target may overlap
			dst[at] = dst[at-distance]
			at++
		}
	}
	return at == len(dst)
}

// appendBloscLZ appends the compressed src to dst.
func appendBloscLZ(dst, src []byte) []byte {
	var table [1 << hashBits]int32 // position + 1 of the last occurrence
	literals := func(p []byte) {
		for len(p) > 0 {
			n := min(len(p), maxLiterals)
			dst = append(append(dst, byte(n-1)), p[:n]...)
			p = p[n:]
		}
	}
	start, i := 0, 1 // the first byte is a literal
	for end := len(src) - tail; i < end; {
		h := binary.LittleEndian.Uint32(src[i:]) * 2654435761 >> (32 - hashBits)
		candidate := int(table[h]) - 1
		table[h] = int32(i + 1)
		if candidate < 0 || i-candidate > farLimit {
			i++
			continue
		}
		n := 0
		for i+n < end && src[candidate+n] == src[i+n] {
			n++
		}
		distance := i - candidate
		if n < 4 || distance > nearLimit && n < minFar {
			i++
			continue
		}
		literals(src[start:i])
		dst = appendMatch(dst, n, distance)
		i += n
		start = i
	}
	literals(src[start:])
	return dst
}

func appendMatch(dst []byte, n, distance int) []byte {
	d := min(distance-1, nearLimit)
	length := min(n-2, 7)
	dst = append(dst, byte(length<<5|d>>8))
	if length == 7 {
		rest := n - 9
		for ; rest >= 255; rest -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(rest))
	}
	dst = append(dst, byte(d))
	if d == nearLimit {
		dst = binary.BigEndian.AppendUint16(dst, uint16(distance-1-nearLimit))
	}
	return dst
}
