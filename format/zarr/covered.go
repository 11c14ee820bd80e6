package zarr

import "encoding/binary"

// Covered reports whether decoding holds every byte of the part against a checksum: of the codec
// crc32c, of gzip, zlib or bz2, or of frames of zstd that have one. Only zstd needs encoded, the
// bytes of the part. Checksums around a shard and the checksum of its index do not count.
func (p *Part) Covered(encoded []byte) bool {
	if p.Missing {
		return false
	}
	last := len(p.chain.filters) - 1
	for i, f := range p.chain.filters {
		switch f.(type) {
		case crc32c, deflate, bz2:
			return true
		case zstd:
			if i == last && zstdChecked(encoded) {
				return true
			}
		}
	}
	return false
}

// zstdChecked reports whether every frame of a zstd stream ends in a checksum of its
// content, as RFC 8878 lays frames out.
func zstdChecked(b []byte) bool {
	const (
		frame, skippable = 0xFD2FB528, 0x184D2A50
		checksum         = 1 << 2
	)
	found := false
	for len(b) >= 8 {
		if magic := binary.LittleEndian.Uint32(b); magic&^0xF == skippable {
			n := uint64(binary.LittleEndian.Uint32(b[4:]))
			if n > uint64(len(b)-8) {
				return false
			}
			b = b[8+n:]
			continue
		} else if magic != frame || b[4]&checksum == 0 {
			return false
		}
		head := 5 + [4]int{0, 1, 2, 4}[b[4]&3] + [4]int{0, 2, 4, 8}[b[4]>>6]
		if single := b[4]>>5&1 == 1; !single {
			head++ // the window
		} else if b[4]>>6 == 0 {
			head++ // the size, of one byte
		}
		if b = skipBlocks(b, head); len(b) < 4 {
			return false
		}
		b, found = b[4:], true
	}
	return found && len(b) == 0
}

// skipBlocks returns what follows the last block of a frame whose blocks begin at
// off; nil where there is no last one.
func skipBlocks(b []byte, off int) []byte {
	for off+3 <= len(b) {
		h := int(b[off]) | int(b[off+1])<<8 | int(b[off+2])<<16
		n := h >> 3
		if h>>1&3 == 1 {
			n = 1 // a byte that is repeated
		}
		if off += 3 + n; off > len(b) {
			return nil
		}
		if h&1 == 1 {
			return b[off:]
		}
	}
	return nil
}
