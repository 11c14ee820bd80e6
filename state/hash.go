package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"math/bits"
	"slices"
)

// hashSize is the size of fingerprints: 128 bits.
const hashSize = 16

// Hasher makes fingerprints: the first 128 bits of SHA-256 over framed items, so that "ab", "c" and
// "a", "bc" differ. Each item is one byte for its type, its length or value in 8 bytes,
// little-endian, and its bytes.
type Hasher struct {
	h      hash.Hash
	buffer []byte // collects one item
}

// NewHasher returns a Hasher for one purpose. Hashes of different domains differ.
func NewHasher(domain string) *Hasher {
	h := &Hasher{h: sha256.New()}
	h.String(domain)
	return h
}

// String adds a string to the hash.
func (h *Hasher) String(s string) {
	h.head('s', uint64(len(s)))
	h.buffer = append(h.buffer[:0], s...)
	h.h.Write(h.buffer)
}

// Bytes adds a byte slice to the hash.
func (h *Hasher) Bytes(b []byte) {
	h.head('b', uint64(len(b)))
	h.h.Write(b)
}

// Int adds an integer to the hash.
func (h *Hasher) Int(i int64) { h.head('i', uint64(i)) }

func (h *Hasher) head(kind byte, n uint64) {
	h.buffer = binary.LittleEndian.AppendUint64(append(h.buffer[:0], kind), n)
	h.h.Write(h.buffer)
}

// Sum returns the hash of the items added so far, in 32 hexadecimal digits.
func (h *Hasher) Sum() string { return hex.EncodeToString(h.h.Sum(nil)[:hashSize]) }

// HashFields returns the hash of a set of named values, which does not depend on their order. It is
// the Config of a Document with these Fields.
func HashFields(fields map[string]string) string {
	h := NewHasher("bivouac.fields.v1")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		h.String(name)
		h.String(fields[name])
	}
	return h.Sum()
}

// Digest is a rolling hash of the delivered ids in their order: two runs with equal digests saw the
// same samples in the same order. It has 16 bytes and is kept with the position. The zero Digest is
// the digest of no ids. It finds accidents, not forgery.
//
// Each id is mixed in by steps that can be undone for a known id: addition, rotation, and
// multiplication by odd numbers. So two digests that differ still differ after the same ids are
// added to both.
type Digest struct{ a, b uint64 }

// Add adds ids in the order of delivery.
func (d *Digest) Add(ids ...int64) {
	a, b := d.a, d.b
	for _, id := range ids {
		a = (a ^ uint64(id)) + 0x9E3779B97F4A7C15
		a = (a ^ a>>30) * 0xBF58476D1CE4E5B9
		b = (bits.RotateLeft64(b, 31) + a) * 0x94D049BB133111EB
		b ^= b >> 32
		a = bits.RotateLeft64(a, 23) + b
	}
	d.a, d.b = a, b
}

// Sum returns the digest in 32 hexadecimal digits.
func (d Digest) Sum() string {
	var b [2 * hashSize]byte
	return string(d.Append(b[:0]))
}

// Append appends the result of Sum.
func (d Digest) Append(dst []byte) []byte {
	var b [hashSize]byte
	binary.BigEndian.PutUint64(b[:], d.a)
	binary.BigEndian.PutUint64(b[8:], d.b)
	return hex.AppendEncode(dst, b[:])
}

// ParseDigest returns the digest whose Sum is sum, so that more ids can be added. "" is the digest
// of no ids. The error is of kind errs.Corrupt.
func ParseDigest(sum string) (Digest, error) {
	if sum == "" {
		return Digest{}, nil
	}
	b, err := hex.DecodeString(sum)
	if err != nil || len(b) != hashSize {
		return Digest{}, corrupt("state.ParseDigest", "", "32 hexadecimal digits", shorten(sum))
	}
	return Digest{a: binary.BigEndian.Uint64(b), b: binary.BigEndian.Uint64(b[8:])}, nil
}
