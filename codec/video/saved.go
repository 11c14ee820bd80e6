package video

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/bivouac-ml/bivouac/errs"
)

// savedMagic begins an index that was written, with the version of its form.
const savedMagic = "BVIX1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary appends the index in a form that ParseIndex reads.
func (x *Index) AppendBinary(b []byte) ([]byte, error) {
	from := len(b)
	b = append(b, savedMagic...)
	number := func(v int64) { b = binary.AppendVarint(b, v) }
	text := func(s string) { number(int64(len(s))); b = append(b, s...) }
	flag := func(v bool) {
		if v {
			number(1)
		} else {
			number(0)
		}
	}
	for _, v := range []int64{int64(x.Kind), int64(x.Width), int64(x.Height), x.num, x.den, x.base[0], x.base[1]} {
		number(v)
	}
	text(x.Codec)
	text(x.pixels)
	flag(x.full)
	flag(x.counted)
	number(int64(len(x.times)))
	last, step := int64(0), int64(0)
	for _, t := range x.times {
		number(t - last - step) // 0 where the rate is constant
		last, step = t, t-last
	}
	number(int64(len(x.keys)))
	at := 0
	for _, k := range x.keys {
		number(int64(k - at))
		at = k
	}
	number(int64(len(x.parts)))
	end := int64(0)
	for _, p := range x.parts {
		number(p.offset - end)
		number(p.size)
		end = p.offset + p.size
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli)), nil
}

// ParseIndex reads an index that AppendBinary wrote. Damage is an error.
func ParseIndex(b []byte) (*Index, error) {
	bad := func(want, got string) (*Index, error) {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: opName, Subject: "a saved index", Want: want, Got: got,
			Remedy: "remove it: it is made again"}
	}
	const sum = 4
	if len(b) < len(savedMagic)+sum || string(b[:len(savedMagic)]) != savedMagic {
		return bad("a saved index", "other bytes")
	}
	body := b[:len(b)-sum]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(b)-sum:]) {
		return bad("its checksum", "another one")
	}
	r := savedReader{body[len(savedMagic):], true}
	x := &Index{Kind: Kind(r.number()), Width: int(r.number()), Height: int(r.number()), num: r.number(), den: r.number()}
	x.base = [2]int64{r.number(), r.number()}
	x.Codec, x.pixels = r.text(), r.text()
	x.full, x.counted = r.number() == 1, r.number() == 1
	x.times = make([]int64, r.count())
	last, step := int64(0), int64(0)
	for i := range x.times {
		t := r.number() + last + step
		x.times[i], last, step = t, t, t-last
	}
	x.keys = make([]int, r.count())
	at := 0
	for i := range x.keys {
		at += int(r.number())
		x.keys[i] = at
	}
	x.parts = make([]part, r.count())
	end := int64(0)
	for i := range x.parts {
		x.parts[i] = part{r.number() + end, r.number()}
		end = x.parts[i].offset + x.parts[i].size
	}
	if !r.ok || len(r.b) > 0 || !x.sound() {
		return bad("an index of this version", "another form")
	}
	return x, nil
}

// sound reports whether decoding by the index is safe.
func (x *Index) sound() bool {
	_, known := formats[x.pixels]
	switch {
	case x.Width < 1 || x.Height < 1 || x.num < 1 || x.den < 1 || len(x.times) == 0 || x.Kind > WebP:
		return false
	case x.Kind != ByProgram:
		return len(x.parts) == len(x.times)
	case !known && x.pixels != packed || len(x.keys) == 0 || x.keys[0] != 0 || x.base[0] < 1 || x.base[1] < 1:
		return false
	}
	for i := 1; i < len(x.keys); i++ {
		if x.keys[i] <= x.keys[i-1] || x.keys[i] >= len(x.times) {
			return false
		}
	}
	return x.counted || increasing(x.times)
}

// savedReader reads the numbers of an index.
type savedReader struct {
	b  []byte
	ok bool
}

func (r *savedReader) number() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.ok, r.b = false, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many numbers follow. Each takes a byte, so that a wrong count takes no memory.
func (r *savedReader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.b)) {
		r.ok, r.b = false, nil
		return 0
	}
	return int(n)
}

func (r *savedReader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
