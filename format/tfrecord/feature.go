package tfrecord

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Kind is the type of the values of a feature.
type Kind uint8

// The kinds of features.
const (
	None    Kind = iota // no list was set, or the example has no such feature
	Bytes               // texts and images
	Float32             // numbers
	Int64               // integers
)

// String returns the name of the kind, such as "int64".
func (k Kind) String() string {
	return enum.Name(k, []string{"nothing", "bytes", "float32", "int64"}, "unknown")
}

// Feature is a list of values of one kind. It refers to the bytes of the message that it was
// decoded from and is valid as long as they are.
type Feature struct {
	kind    Kind
	present bool
	n       int
	message []byte
	lists   []span // the lists of values in the message; almost always one
	// only is the value of the one field of the one list, if there is no more: all numbers, or the one
	// value of bytes.
	only   span
	simple bool
}

type span struct{ from, to int }

// Kind returns the type of the values.
func (f *Feature) Kind() Kind { return f.kind }

// Present reports whether the example has the feature, be it without values.
func (f *Feature) Present() bool { return f.present }

// Len returns the number of values.
func (f *Feature) Len() int { return f.n }

// reset makes f the feature of another message.
func (f *Feature) reset(message []byte) {
	f.kind, f.present, f.n, f.simple = None, false, 0, false
	f.message, f.lists = message, f.lists[:0]
}

// parse merges the message Feature of a cursor into f. The kind that comes last counts.
func (f *Feature) parse(c cursor) error {
	for c.more() {
		x, err := c.next()
		if err != nil {
			return err
		}
		if x.wire != wireBytes || x.number > uint64(Int64) {
			continue // an unknown field
		}
		kind := Kind(x.number)
		n, only, simple, err := count(c.sub(x), kind)
		if err != nil {
			return err
		}
		if kind != f.kind {
			f.kind, f.n, f.lists = kind, 0, f.lists[:0]
		}
		f.only, f.simple = only, simple && len(f.lists) == 0
		f.n += n
		f.lists = append(f.lists, span{x.from, x.to})
	}
	return nil
}

// count checks a list and returns how many values it has. simple says that it has one field alone,
// with all numbers or with one value of bytes, which is only.
func count(c cursor, kind Kind) (n int, only span, simple bool, err error) {
	start, fields := c.at, 0
	for c.more() {
		x, err := c.next()
		if err != nil {
			return 0, only, false, err
		}
		fields++
		switch {
		case x.number != 1:
		case kind == Bytes && x.wire == wireBytes:
			n++
			only, simple = span{x.from, x.to}, true
		case kind == Float32 && x.wire == wire32, kind == Int64 && x.wire == wireVarint:
			n++
		case kind == Float32 && x.wire == wireBytes:
			if (x.to-x.from)%4 != 0 {
				return 0, only, false, badMessage(x.from, "floats of 4 bytes each", fmt.Sprintf("%d bytes", x.to-x.from))
			}
			n += (x.to - x.from) / 4
			only, simple = span{x.from, x.to}, true
		case kind == Int64 && x.wire == wireBytes:
			for packed := c.sub(x); packed.more(); n++ {
				if _, err := packed.varint(); err != nil {
					return 0, only, false, err
				}
			}
			only, simple = span{x.from, x.to}, true
		}
	}
	return n, only, simple && fields == 1 && start < c.end, nil
}

// each calls yield for each field with values.
func (f *Feature) each(yield func(c cursor, x field) bool) {
	for _, s := range f.lists {
		for c := (cursor{f.message, s.from, s.to}); c.more(); {
			x, err := c.next()
			if err != nil || x.number == 1 && !yield(c, x) {
				return // there is no error: count has read it all
			}
		}
	}
}

// Bytes returns value i of a feature of kind Bytes, as part of the message. It is nil if there is
// no such value.
func (f *Feature) Bytes(i int) (value []byte) {
	if f.kind != Bytes || i < 0 || i >= f.n {
		return nil
	}
	if f.simple {
		return f.message[f.only.from:f.only.to:f.only.to]
	}
	f.each(func(_ cursor, x field) bool {
		if x.wire == wireBytes {
			if i--; i < 0 {
				value = f.message[x.from:x.to:x.to]
			}
		}
		return i >= 0
	})
	return value
}

// Only returns where in the message the value of a feature of kind Bytes lies. ok is false unless
// the feature has one value.
func (f *Feature) Only() (from, to int, ok bool) {
	return f.only.from, f.only.to, f.kind == Bytes && f.n == 1 && f.simple
}

// CopyFloats writes the values of a feature of kind Float32 into dst, and returns how many. It
// stops at the end of dst.
func (f *Feature) CopyFloats(dst []float32) (n int) {
	if f.kind != Float32 {
		return 0
	}
	if f.simple {
		packed := f.message[f.only.from:f.only.to]
		n = min(len(dst), len(packed)/4)
		for i := range dst[:n] {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
		}
		return n
	}
	f.each(func(_ cursor, x field) bool {
		if x.wire == wireBytes || x.wire == wire32 {
			for at := x.from; at < x.to && n < len(dst); at, n = at+4, n+1 {
				dst[n] = math.Float32frombits(binary.LittleEndian.Uint32(f.message[at:]))
			}
		}
		return n < len(dst)
	})
	return n
}

// CopyInts writes the values of a feature of kind Int64 into dst, and returns how many. It stops at
// the end of dst.
func (f *Feature) CopyInts(dst []int64) (n int) {
	if f.kind != Int64 {
		return 0
	}
	if f.simple {
		for packed := (cursor{f.message, f.only.from, f.only.to}); packed.more() && n < len(dst); n++ {
			v, _ := packed.varint() // there is no error: count has read it
			dst[n] = int64(v)
		}
		return n
	}
	f.each(func(c cursor, x field) bool {
		switch {
		case n == len(dst):
		case x.wire == wireVarint:
			dst[n], n = int64(x.value), n+1
		case x.wire == wireBytes:
			for packed := c.sub(x); packed.more() && n < len(dst); n++ {
				v, _ := packed.varint() // there is no error: count has read it
				dst[n] = int64(v)
			}
		}
		return n < len(dst)
	})
	return n
}
