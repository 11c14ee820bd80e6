// Package flax reads the MessagePack of flax.serialization, in which Flax saved
// checkpoints before it used Orbax, and Orbax, before 2023, the structure of a
// tree and its small leaves.
//
//	document = a MessagePack value
//	map      = a dictionary, whose keys are strings
//	array    = a list
//	ext 1    = an array: MessagePack of (shape, name of the dtype, bytes in C order)
//	ext 2    = a complex number: MessagePack of (real, imaginary)
//	ext 3    = a number of numpy, as an array of rank 0
//	ext 4    = a tuple: MessagePack of an array (Orbax's)
//
// An array that is too large for MessagePack is a map with __msgpack_chunked_array__,
// its shape and its chunks, which are maps with the keys "0", "1", ….
//
// Parse checks every length against the available bytes, and bounds the nesting of values. The
// arrays are views of the document.
package flax

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

const (
	chunkedKey = "__msgpack_chunked_array__"
	maxDepth   = 200
)

// Extension types.
const (
	extArray   = 1
	extComplex = 2
	extScalar  = 3
	extTuple   = 4
)

// Parse reads a document. Leaves are tensors, strings, []byte, bool, int64, uint64,
// float64 and nil; complex numbers are tensors of rank 0.
//
// Errors: errs.Corrupt for input that is not such a document, errs.Unsupported for unknown element
// types and extensions.
func Parse(b []byte) (*tree.Node, error) {
	d := decoder{b: b}
	n, err := d.value(0)
	if err == nil && len(d.b) > 0 {
		err = corrupt("%d bytes after the value", len(d.b))
	}
	return n, errs.Wrap("flax.Parse", "", err)
}

func corrupt(format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Want: "MessagePack of Flax", Got: fmt.Sprintf(format, args...)}
}

// decoder reads values off b.
type decoder struct{ b []byte }

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.b)) {
		return nil, corrupt("%d bytes where %d are needed", len(d.b), n)
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out, nil
}

// uint reads an unsigned number of size bytes.
func (d *decoder) uint(size uint64) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (d *decoder) value(depth int) (*tree.Node, error) {
	if depth > maxDepth {
		return nil, corrupt("values nested deeper than %d", maxDepth)
	}
	tag, err := d.uint(1)
	if err != nil {
		return nil, err
	}
	switch {
	case tag <= 0x7f:
		return tree.NewLeaf(int64(tag)), nil
	case tag <= 0x8f:
		return d.dict(tag&0xf, depth)
	case tag <= 0x9f:
		return d.list(tag&0xf, depth, tree.List)
	case tag <= 0xbf:
		return d.text(tag & 0x1f)
	case tag >= 0xe0:
		return tree.NewLeaf(int64(int8(tag))), nil
	case tag >= 0xcc && tag <= 0xd3:
		return d.integer(tag)
	case tag >= 0xd4 && tag <= 0xd8:
		return d.ext(1<<(tag-0xd4), depth)
	}
	return d.sized(tag, depth)
}

func (d *decoder) integer(tag uint64) (*tree.Node, error) {
	size := uint64(1) << (tag & 3)
	v, err := d.uint(size)
	switch {
	case err != nil:
		return nil, err
	case tag >= 0xd0:
		shift := 64 - 8*size
		return tree.NewLeaf(int64(v<<shift) >> shift), nil
	case v > math.MaxInt64:
		return tree.NewLeaf(v), nil
	}
	return tree.NewLeaf(int64(v)), nil
}

// sized reads a value that begins with its length, or has none.
func (d *decoder) sized(tag uint64, depth int) (*tree.Node, error) {
	switch tag {
	case 0xc0:
		return tree.NewLeaf(nil), nil
	case 0xc2, 0xc3:
		return tree.NewLeaf(tag == 0xc3), nil
	case 0xca:
		v, err := d.uint(4)
		return tree.NewLeaf(float64(math.Float32frombits(uint32(v)))), err
	case 0xcb:
		v, err := d.uint(8)
		return tree.NewLeaf(math.Float64frombits(v)), err
	}
	var n uint64
	var err error
	read := func(first uint64) uint64 {
		n, err = d.uint(1 << (tag - first))
		return n
	}
	switch {
	case tag >= 0xc4 && tag <= 0xc6:
		read(0xc4)
		var b []byte
		if err == nil {
			b, err = d.take(n)
		}
		return &tree.Node{Value: b}, err
	case tag >= 0xc7 && tag <= 0xc9:
		if read(0xc7); err == nil {
			return d.ext(n, depth)
		}
	case tag >= 0xd9 && tag <= 0xdb:
		if read(0xd9); err == nil {
			return d.text(n)
		}
	case tag == 0xdc || tag == 0xdd:
		if n, err = d.uint(2 << (tag - 0xdc)); err == nil {
			return d.list(n, depth, tree.List)
		}
	case tag == 0xde || tag == 0xdf:
		if n, err = d.uint(2 << (tag - 0xde)); err == nil {
			return d.dict(n, depth)
		}
	default:
		err = corrupt("byte 0x%02x where a value begins", tag)
	}
	return nil, err
}

func (d *decoder) text(n uint64) (*tree.Node, error) {
	b, err := d.take(n)
	return tree.NewLeaf(string(b)), err
}

func (d *decoder) list(n uint64, depth int, kind tree.Kind) (*tree.Node, error) {
	if n > uint64(len(d.b)) { // each has a byte at least
		return nil, corrupt("%d values in %d bytes", n, len(d.b))
	}
	out := &tree.Node{Kind: kind}
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
	}
	return out, nil
}

func (d *decoder) dict(n uint64, depth int) (*tree.Node, error) {
	if n > uint64(len(d.b)) {
		return nil, corrupt("%d keys in %d bytes", n, len(d.b))
	}
	out, seen := tree.NewDict(), make(map[string]bool, n)
	for range n {
		k, err := d.value(maxDepth) // no container
		if err != nil {
			return nil, err
		}
		key, err := keyOf(k)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, corrupt("the key %q twice", key)
		}
		seen[key] = true
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, errs.Wrap("", key, err)
		}
		out.Keys, out.Items = append(out.Keys, key), append(out.Items, v)
	}
	if seen[chunkedKey] {
		return joined(out)
	}
	return out, nil
}

// keyOf returns a key. A number as a key becomes its digits, as in Orbax.
func keyOf(n *tree.Node) (string, error) {
	switch v := n.Value.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return "", corrupt("a key that is no string")
}

// ext reads an extension of n bytes.
func (d *decoder) ext(n uint64, depth int) (*tree.Node, error) {
	code, err := d.uint(1)
	if err != nil {
		return nil, err
	}
	b, err := d.take(n)
	if err != nil {
		return nil, err
	}
	in := decoder{b: b}
	switch code {
	case extArray, extScalar:
		return in.array()
	case extComplex:
		return in.complex()
	case extTuple:
		v, err := in.value(depth + 1)
		if err == nil && v.Kind != tree.List {
			err = corrupt("a tuple that is no array")
		}
		if err == nil {
			v.Kind = tree.Tuple
		}
		return v, err
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Got: fmt.Sprintf("MessagePack extension %d", code)}
}
