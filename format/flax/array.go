package flax

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// array reads (shape, dtype, bytes).
func (d *decoder) array() (*tree.Node, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if v.Kind != tree.List || len(v.Items) != 3 {
		return nil, corrupt("an array that is not of shape, type and bytes")
	}
	shape, err := shapeOf(v.Items[0])
	if err != nil {
		return nil, err
	}
	name, ok := v.Items[1].Value.(string)
	if !ok {
		return nil, corrupt("an array whose type is no text")
	}
	dtype, err := tensor.ParseDType(name)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Got: "elements of type " + strconv.Quote(name), Err: err}
	}
	data, ok := v.Items[2].Value.([]byte)
	if want, err := shape.Bytes(dtype); !ok || err != nil || want != len(data) {
		return nil, corrupt("%d bytes for an array %s%v", len(data), name, shape)
	}
	return tree.NewLeaf(tensor.Tensor{DType: dtype, Shape: shape, Data: data}), nil
}

// shapeOf reads extents, of an array of numbers or of a map with the keys "0", "1", ….
func shapeOf(n *tree.Node) (tensor.Shape, error) {
	items, err := inOrder(n)
	if err != nil {
		return nil, err
	}
	shape := make(tensor.Shape, len(items))
	for i, e := range items {
		v, ok := e.Value.(int64)
		if !ok || v < 0 || int64(int(v)) != v {
			return nil, corrupt("an extent that is no number")
		}
		shape[i] = int(v)
	}
	return shape, nil
}

// inOrder lists the values of an array, or of a map with the keys "0", "1", ….
func inOrder(n *tree.Node) ([]*tree.Node, error) {
	if n == nil || n.Kind != tree.List && n.Kind != tree.Dict {
		return nil, corrupt("a value that is not a sequence")
	}
	if n.Kind == tree.List {
		return n.Items, nil
	}
	out := make([]*tree.Node, len(n.Items))
	for i, k := range n.Keys {
		at, err := strconv.Atoi(k)
		if err != nil || at < 0 || at >= len(out) || out[at] != nil {
			return nil, corrupt("the key %q in a sequence of %d", k, len(out))
		}
		out[at] = n.Items[i]
	}
	return out, nil
}

// joined makes the one array of its chunks.
func joined(n *tree.Node) (*tree.Node, error) {
	member := map[string]*tree.Node{}
	for i, k := range n.Keys {
		member[k] = n.Items[i]
	}
	shape, err := shapeOf(member["shape"])
	if err != nil {
		return nil, err
	}
	chunks, err := inOrder(member["chunks"])
	if err != nil {
		return nil, err
	}
	var whole tensor.Tensor
	for i, c := range chunks {
		t, ok := c.Value.(tensor.Tensor)
		if !ok || i > 0 && t.DType != whole.DType {
			return nil, corrupt("a chunk that is no array, or of another type")
		}
		whole.DType, whole.Data = t.DType, append(whole.Data, t.Data...)
	}
	if want, err := shape.Bytes(whole.DType); len(chunks) == 0 || err != nil || want != len(whole.Data) {
		return nil, corrupt("chunks of %d bytes for an array of the shape %v", len(whole.Data), shape)
	}
	whole.Shape = shape
	return tree.NewLeaf(whole), nil
}

// complex reads (real, imaginary).
func (d *decoder) complex() (*tree.Node, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	t := tensor.New(tensor.Complex128)
	if v.Kind != tree.List || len(v.Items) != 2 {
		return nil, corrupt("a complex number that is not of two")
	}
	for i, part := range v.Items {
		f, ok := part.Value.(float64)
		if !ok {
			return nil, corrupt("a complex number that is not of two numbers")
		}
		binary.LittleEndian.PutUint64(t.Data[8*i:], math.Float64bits(f))
	}
	return tree.NewLeaf(t), nil
}
