package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Digest returns a digest of weights in 64 hexadecimal digits. Weights are any value that tree.From
// takes. Equal trees have equal digests, also in Python, whatever the order of their keys and the
// kinds of their containers. docs/format/record.md describes the bytes that are hashed.
//
// Errors: errs.Invalid for values that tree.From refuses.
func Digest(weights any) (string, error) {
	root, err := tree.From(weights)
	if err != nil {
		return "", err
	}
	type leaf struct {
		path string
		node *tree.Node
	}
	var leaves []leaf
	for _, e := range tree.Flatten(root) {
		if e.Node.Kind != tree.Leaf {
			continue // an empty container
		}
		path := make([]byte, 0, 64)
		for _, k := range e.Path {
			path = appendText(path, k.Name)
		}
		leaves = append(leaves, leaf{string(path), e.Node})
	}
	slices.SortFunc(leaves, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	for _, l := range leaves {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(l.path))))
		h.Write([]byte(l.path))
		if err := hashLeaf(h, l.node.Value); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// appendText appends the length of s and its bytes.
func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// hashLeaf writes the type, the shape and the bytes of a leaf.
func hashLeaf(h hash.Hash, value any) error {
	kind, shape, data := "", tensor.Shape(nil), []byte(nil)
	switch v := value.(type) {
	case nil:
		kind = "none"
	case string:
		kind, data = "string", []byte(v)
	case tensor.Tensor:
		kind, shape, data = v.DType.String(), v.Shape, v.Bytes()
	default:
		if x, ok := value.(float64); ok && x != x {
			value = math.Float64frombits(0x7ff8 << 48) // languages have different ones
		}
		t, ok := tree.NewLeaf(value).Number()
		if !ok {
			want := "arrays, numbers, booleans, strings and nil"
			return &errs.Error{Kind: errs.Invalid, Op: "record.Digest", Want: want, Got: "another leaf"}
		}
		kind, data = t.DType.String(), t.Bytes()
	}
	b := appendText(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(shape)))
	for _, n := range shape {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	h.Write(binary.LittleEndian.AppendUint64(b, uint64(len(data))))
	h.Write(data)
	return nil
}
