package vorbis

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// page returns an Ogg page of whole packets with its checksum.
func page(flags byte, number uint32, list ...[]byte) []byte {
	le := binary.LittleEndian
	b := append([]byte("OggS\x00"), flags, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
	b = append(le.AppendUint32(b, number), 0, 0, 0, 0, 0)
	for _, p := range list {
		for n := len(p); n >= 0; n -= 255 {
			b = append(b, byte(min(n, 255)))
			b[26]++
		}
	}
	for _, p := range list {
		b = append(b, p...)
	}
	sum := uint32(0)
	for _, v := range b {
		sum ^= uint32(v) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	le.PutUint32(b[22:], sum)
	return b
}

// writer writes bits, the lowest first.
type writer struct {
	b []byte
	n int
}

func (w *writer) put(pairs ...int) []byte { // pairs of a number of bits and their value
	for i := 0; i < len(pairs); i += 2 {
		for bit := range pairs[i] {
			if w.n%8 == 0 {
				w.b = append(w.b, 0)
			}
			w.b[w.n/8] |= byte(pairs[i+1]>>bit&1) << (w.n % 8)
			w.n++
		}
	}
	return w.b
}

// Headers that claim more than there is take no memory for it, and headers that end early end.
func TestHostileHeaders(t *testing.T) {
	const book = 0x564342
	first := []byte(identification +
		"\x00\x00\x00\x00\x01\x40\x1f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xb8\x01")
	plain := "\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01"
	setup := func(pairs ...int) string {
		return "\x05vorbis" + string(new(writer).put(append([]int{8, 0}, pairs...)...))
	}
	for name, c := range map[string][2]string{
		"2^32 comments":        {"\x03vorbis\x00\x00\x00\x00\xff\xff\xff\xff\x01", ""},
		"a long vendor":        {"\x03vorbis\xff\xff\xff\xff\x00\x00\x00\x00\x01", ""},
		"a short header":       {"\x03vorbis\x00", ""},
		"no entries":           {plain, setup(24, book, 16, 1, 24, 0, 64, 0)},
		"no dimensions":        {plain, setup(24, book, 16, 0, 24, 8, 64, 0)},
		"2^24 entries":         {plain, setup(24, book, 16, 1, 24, 1<<24-1, 1, 1, 5, 23, 24, 1<<24-1, 4, 0)},
		"2^40 values":          {plain, setup(24, book, 16, 1<<16-1, 24, 1<<17, 1, 1, 5, 17, 18, 1<<17, 4, 2, 32, 0, 32, 0)},
		"ordered and cut":      {plain, setup(24, book, 16, 1, 24, 1<<16, 1, 1, 5, 0)},
		"too many codes":       {plain, setup(24, book, 16, 1, 24, 4, 1, 1, 5, 1, 3, 7, 4, 0)},
		"sparse, without code": {plain, setup(24, book, 16, 1, 24, 8, 1, 0, 1, 1, 8, 0, 4, 0, 32, 0)},
		"another codebook":     {plain, setup(24, 1, 64, 0)},
	} {
		file := append(page(2, 0, first), page(4, 1, []byte(c[0]), []byte(c[1]))...)
		if _, err := new(Decoder).Open(file, limit); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v, want an error of kind corrupt", name, err)
		}
	}
	file := read(t, "a8_vorbis_1ch.ogg")
	file[5] |= 1
	if _, err := new(Decoder).Open(file, limit); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a file that begins within a packet: %v, want an error of kind corrupt", err)
	}
}

// A limit of just the samples is enough, and one less is not.
func TestLimitIsExact(t *testing.T) {
	for name, samples := range map[string]int64{"a8_vorbis_1ch.ogg": 6000, "a9_vorbis_2ch.ogg": 10000} {
		if _, err := new(Decoder).Open(read(t, name), 4*samples); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := new(Decoder).Open(read(t, name), 4*samples-1); !errors.Is(err, errs.Exhausted) {
			t.Errorf("%s, one byte less: %v, want an error of kind exhausted", name, err)
		}
	}
}
