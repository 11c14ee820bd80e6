package decoders

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// inflateLZ4 decompresses a block of LZ4 into dst, which it must fill exactly.
//
// A block is a list of sequences. A sequence has a token, some literal bytes, and a copy of bytes
// that were written before. The last sequence has no copy.
func inflateLZ4(dst, src []byte) error {
	at, from := 0, 0
	for {
		if from >= len(src) {
			return lz4Error("a sequence", "the end of the block")
		}
		token := src[from]
		from++
		literals, next, ok := lz4Length(src, from, int(token>>4))
		if !ok || literals > len(src)-next {
			return lz4Error("literal bytes", "the end of the block")
		}
		if literals > len(dst)-at {
			return lz4Error(fmt.Sprintf("%d bytes", len(dst)), "more")
		}
		at += copy(dst[at:], src[next:next+literals])
		if from = next + literals; from == len(src) {
			break
		}
		if len(src)-from < 2 {
			return lz4Error("the distance of a copy", "the end of the block")
		}
		distance := int(binary.LittleEndian.Uint16(src[from:]))
		if distance == 0 || distance > at {
			return lz4Error(fmt.Sprintf("a distance from 1 to %d", at), fmt.Sprint(distance))
		}
		length, next, ok := lz4Length(src, from+2, int(token&15))
		if !ok {
			return lz4Error("the length of a copy", "the end of the block")
		}
		const least = 4
		if length += least; length > len(dst)-at {
			return lz4Error(fmt.Sprintf("%d bytes", len(dst)), "more")
		}
		from = next
		// A copy may read bytes that it writes: each round doubles what is there.
		for begin, end := at-distance, at+length; at < end; {
			at += copy(dst[at:end], dst[begin:at])
		}
	}
	if at != len(dst) {
		return lz4Error(fmt.Sprintf("%d bytes", len(dst)), fmt.Sprint(at))
	}
	return nil
}

// lz4Length returns a length whose first four bits are n, and where the bytes after it begin. If
// all four bits are set, it adds the bytes that follow, up to the first that is not 255.
func lz4Length(src []byte, from, n int) (length, next int, ok bool) {
	if n < 15 {
		return n, from, true
	}
	for ; from < len(src); from++ {
		n += int(src[from])
		if src[from] != 255 {
			return n, from + 1, true
		}
	}
	return 0, from, false
}

func lz4Error(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "lz4", Want: want, Got: got,
		Remedy: "check shape, dtype and chunks, and that the data is LZ4 blocks without a frame"}
}
