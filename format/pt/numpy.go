package pt

import (
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numpyArray makes the array of numpy's _reconstruct or scalar.
//
//	scalar(dtype, bytes)
//	_reconstruct(ndarray, (0,), b"b") with the state (1, shape, dtype, is Fortran order, bytes)
func numpyArray(o *pickle.Object) (tensor.Tensor, error) {
	malformed := corrupt("an array of numpy without its type, shape or bytes")
	var t tensor.Tensor
	kind, shape, raw, fortran := any(nil), []int{}, any(nil), false
	switch state, _ := o.State.(*pickle.Tuple); {
	case o.Of.Name == "scalar" && len(o.Args) == 2:
		kind, raw = o.Args[0], o.Args[1]
	case o.Of.Name == "_reconstruct" && state != nil && len(state.Items) == 5:
		var ok, also bool
		shape, ok = ints(state.Items[1])
		fortran, also = state.Items[3].(bool)
		if !ok || !also {
			return t, malformed
		}
		kind, raw = state.Items[2], state.Items[4]
	default:
		return t, malformed
	}
	d, err := numpyType(kind)
	if err != nil {
		return t, err
	}
	b, ok := bytesOf(raw)
	size, err := tensor.Shape(shape).Bytes(d)
	if !ok || err != nil || size != len(b) {
		return t, malformed
	}
	t = tensor.Tensor{DType: d, Shape: shape, Data: b}
	if fortran && len(shape) > 1 {
		view := Tensor{DType: d, Shape: shape, Strides: make([]int, len(shape))}
		next := 1
		for i, n := range shape {
			view.Strides[i] = next
			next *= n
		}
		t.Data = make([]byte, len(b))
		view.Gather(t.Data, b)
	} else {
		t.Data = slices.Clone(b)
	}
	return t, nil
}

// numpyType returns the element type of numpy's dtype(code, …) with the state (3, byte order, …).
func numpyType(v any) (tensor.DType, error) {
	o, ok := v.(*pickle.Object)
	if !ok || o.Of.String() != "numpy.dtype" {
		return tensor.Invalid, corrupt("an array of numpy without a type")
	}
	code, ok := argument[string](o, 0)
	state, also := o.State.(*pickle.Tuple)
	if !ok || !also || len(state.Items) < 2 {
		return tensor.Invalid, corrupt("a malformed type of numpy")
	}
	order, _ := state.Items[1].(string)
	if d, big, ok := tensor.FromZarrV2(order + code); ok && !big && (order == "<" || order == "|") {
		return d, nil
	}
	return tensor.Invalid, &errs.Error{Kind: errs.Unsupported, Want: "an array of little-endian numbers or booleans",
		Got: "an array of numpy of type " + order + code}
}
