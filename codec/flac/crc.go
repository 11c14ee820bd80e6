package flac

import (
	"encoding/binary"
	"sync"
)

// crc8 is the checksum of a frame's header: polynomial x^8 + x^2 + x + 1.
func crc8(b []byte) (sum byte) {
	for _, v := range b {
		sum ^= v
		for range 8 {
			carry := sum >> 7
			sum = sum<<1 ^ carry*0x07
		}
	}
	return sum
}

// crcTables are the tables of crc16: table k is for a byte that k bytes follow.
var crcTables = sync.OnceValue(func() *[8][256]uint16 {
	t := new([8][256]uint16)
	for i := range 256 {
		sum := uint16(i) << 8
		for range 8 {
			carry := sum >> 15
			sum = sum<<1 ^ carry*0x8005
		}
		t[0][i] = sum
	}
	for k := 1; k < 8; k++ {
		for i := range 256 {
			v := t[k-1][i]
			t[k][i] = v<<8 ^ t[0][v>>8]
		}
	}
	return t
})

// crc16 is the checksum of a frame: polynomial x^16 + x^15 + x^2 + 1.
func crc16(b []byte) (sum uint16) {
	t := crcTables()
	for ; len(b) >= 8; b = b[8:] {
		v := binary.BigEndian.Uint64(b) ^ uint64(sum)<<48
		sum = t[7][v>>56] ^ t[6][v>>48&255] ^ t[5][v>>40&255] ^ t[4][v>>32&255] ^
			t[3][v>>24&255] ^ t[2][v>>16&255] ^ t[1][v>>8&255] ^ t[0][v&255]
	}
	for _, v := range b {
		sum = sum<<8 ^ t[0][byte(sum>>8)^v]
	}
	return sum
}
