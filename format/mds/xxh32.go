package mds

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH32.
const (
	prime1 uint32 = 2654435761
	prime2 uint32 = 2246822519
	prime3 uint32 = 3266489917
	prime4 uint32 = 668265263
	prime5 uint32 = 374761393
)

// digest32 is XXH32 with seed 0.
type digest32 struct {
	lanes [4]uint32
	block [16]byte
	held  int // bytes in block
	total uint64
}

func new32() *digest32 {
	d := &digest32{}
	d.Reset()
	return d
}

// Reset implements hash.Hash.
func (d *digest32) Reset() {
	p := prime1 // a variable, because the sums wrap around
	*d = digest32{lanes: [4]uint32{p + prime2, prime2, 0, -p}}
}

// Size implements hash.Hash.
func (*digest32) Size() int { return 4 }

// BlockSize implements hash.Hash.
func (*digest32) BlockSize() int { return 16 }

// Write implements hash.Hash.
func (d *digest32) Write(p []byte) (int, error) {
	n := len(p)
	d.total += uint64(n)
	if d.held > 0 {
		k := copy(d.block[d.held:], p)
		d.held, p = d.held+k, p[k:]
		if d.held < len(d.block) {
			return n, nil
		}
		d.mix(d.block[:])
		d.held = 0
	}
	for ; len(p) >= 16; p = p[16:] {
		d.mix(p)
	}
	d.held = copy(d.block[:], p)
	return n, nil
}

// mix adds 16 bytes to the lanes.
func (d *digest32) mix(p []byte) {
	for i := range d.lanes {
		d.lanes[i] = bits.RotateLeft32(d.lanes[i]+binary.LittleEndian.Uint32(p[4*i:])*prime2, 13) * prime1
	}
}

// Sum implements hash.Hash.
func (d *digest32) Sum(b []byte) []byte {
	h := prime5
	if d.total >= 16 {
		h = 0
		for i, turn := range [4]int{1, 7, 12, 18} {
			h += bits.RotateLeft32(d.lanes[i], turn)
		}
	}
	h += uint32(d.total)
	p := d.block[:d.held]
	for ; len(p) >= 4; p = p[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(p)*prime3, 17) * prime4
	}
	for _, c := range p {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return binary.BigEndian.AppendUint32(b, h^h>>16)
}
