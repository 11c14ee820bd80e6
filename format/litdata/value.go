package litdata

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// torchTypes and numpyTypes are the dtypes by their numbers. Invalid: a dtype that tensors lack.
var (
	torchTypes = [...]tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float64, tensor.Invalid,
		tensor.Invalid, tensor.Invalid, tensor.Invalid, tensor.Float16, tensor.Float16, tensor.BFloat16, tensor.Uint8,
		tensor.Int8, tensor.Int16, tensor.Int16, tensor.Int32, tensor.Int32, tensor.Int64, tensor.Int64, tensor.Bool,
		tensor.Uint16}
	numpyTypes = [...]tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16,
		tensor.Uint32, tensor.Uint64, tensor.Float16, tensor.Float32, tensor.Float64, tensor.Invalid, tensor.Invalid,
		tensor.Bool}
)

// typeOf returns a dtype by its number.
func typeOf(list []tensor.DType, n int) (tensor.DType, error) {
	if n < 0 || n >= len(list) || !list[n].Valid() {
		return tensor.Invalid, &errs.Error{Kind: errs.Unsupported, Want: "a dtype of real numbers or bools",
			Got: fmt.Sprintf("the dtype with the number %d", n)}
	}
	return list[n], nil
}

// Spec describes a leaf. A shape of nil says that only the values tell the dtype and the number of
// axes. Fails with errs.Unsupported for a leaf that is no tensor, such as a pickle.
func (f *Field) Spec() (tensor.Spec, error) {
	switch f.Kind {
	case "str", "bytes", "jpeg", "image", "json":
		return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, nil
	case "int":
		return tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}, nil
	case "float":
		return tensor.Spec{DType: tensor.Float64, Shape: tensor.Shape{}}, nil
	case "bool":
		return tensor.Spec{DType: tensor.Bool, Shape: tensor.Shape{}}, nil
	case "pil":
		return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, -1}}, nil
	case "no_header_tensor", "no_header_numpy":
		list := torchTypes[:]
		if f.Kind == "no_header_numpy" {
			list = numpyTypes[:]
		}
		d, err := typeOf(list, f.Type)
		return tensor.Spec{DType: d, Shape: tensor.Shape{-1}}, err
	case "tensor", "numpy":
		return tensor.Spec{}, nil
	case "pickle":
		return tensor.Spec{}, &errs.Error{Kind: errs.Unsupported, Want: "leaves that are no code",
			Got:    "a pickle: to read it runs code that the file names",
			Remedy: "choose other columns, or write numbers, texts, bytes or arrays"}
	}
	return tensor.Spec{}, &errs.Error{Kind: errs.Unsupported, Want: "a leaf that is a tensor",
		Got:    "a leaf of the kind " + f.Kind,
		Remedy: "choose other columns"}
}

// Decode returns the value of a leaf. Its bytes are a part of b.
func (f *Field) Decode(b []byte) (tensor.Tensor, error) {
	spec, err := f.Spec()
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.Tensor{DType: spec.DType, Shape: tensor.Shape{len(b)}, Data: b}
	switch f.Kind {
	case "int", "float", "bool":
		t.Shape = tensor.Shape{}
		if len(b) != t.DType.Size() {
			return t, corrupt(fmt.Sprintf("%d bytes", t.DType.Size()), fmt.Sprint(len(b)))
		}
	case "json":
		return jsonText(b)
	case "pil":
		return picture(b)
	case "no_header_tensor", "no_header_numpy":
		n := t.DType.Size()
		if len(b)%n != 0 {
			return t, corrupt(fmt.Sprintf("a multiple of %d bytes", n), fmt.Sprint(len(b)))
		}
		t.Shape[0] = len(b) / n
	case "tensor":
		return withHeader(b, binary.BigEndian, torchTypes[:])
	case "numpy":
		return withHeader(b, binary.LittleEndian, numpyTypes[:])
	}
	if t.DType == tensor.Bool {
		for _, v := range t.Data {
			if v > 1 {
				return t, corrupt("bools", fmt.Sprintf("a byte %d", v))
			}
		}
	}
	return t, nil
}

// mostAxes bounds the axes of an array.
const mostAxes = 32

// withHeader returns an array that has its dtype, the number of its axes and its extents before it.
func withHeader(b []byte, order binary.ByteOrder, list []tensor.DType) (t tensor.Tensor, err error) {
	if len(b) < 8 || order.Uint32(b[4:]) > mostAxes || len(b) < 8+4*int(order.Uint32(b[4:])) {
		return t, corrupt(fmt.Sprintf("an array with a header of at most %d axes", mostAxes), fmt.Sprintf("%d bytes",
			len(b)))
	}
	if t.DType, err = typeOf(list, int(order.Uint32(b))); err != nil {
		return t, err
	}
	n := int(order.Uint32(b[4:]))
	t.Shape = make(tensor.Shape, n)
	for i := range n {
		t.Shape[i] = int(order.Uint32(b[8+4*i:]))
	}
	t.Data = b[8+4*n:]
	size, err := t.Shape.Bytes(t.DType)
	if err != nil || size != len(t.Data) {
		return t, corrupt(fmt.Sprintf("the elements of %s%v", t.DType, t.Shape), fmt.Sprintf("%d bytes", len(t.Data)))
	}
	return t, nil
}

// jsonText returns the text of a leaf of JSON, which has a flag and its length before it.
func jsonText(b []byte) (tensor.Tensor, error) {
	if len(b) < 5 || b[0] != 0 || uint64(binary.LittleEndian.Uint32(b[1:])) != uint64(len(b)-5) {
		return tensor.Tensor{}, corrupt("JSON with the flag 0 and its length before it", fmt.Sprintf("%d other bytes",
			len(b)))
	}
	return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b) - 5}, Data: b[5:]}, nil
}

// channelsOf are the channels of the modes of PIL that have a byte for each.
var channelsOf = map[string]int{"L": 1, "P": 1, "LA": 2, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBA": 4,
	"CMYK": 4,
	"RGBX": 4}

// picture returns the pixels of an image of PIL: its width and height, and the name of its mode and
// its length, stand before them.
func picture(b []byte) (t tensor.Tensor, err error) {
	if len(b) < 12 || uint64(binary.LittleEndian.Uint32(b[8:])) > uint64(min(16, len(b)-12)) {
		return t, corrupt("an image of PIL with width, height and mode", fmt.Sprintf("%d bytes", len(b)))
	}
	w, h, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	mode := string(b[12 : 12+n])
	channels, ok := channelsOf[mode]
	if !ok {
		return t, &errs.Error{Kind: errs.Unsupported, Want: "an image with bytes for each pixel, such as RGB",
			Got: fmt.Sprintf("an image of the mode %q", mode)}
	}
	t = tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{int(h), int(w), channels}, Data: b[12+n:]}
	if size, err := t.Shape.Bytes(t.DType); err != nil || size != len(t.Data) {
		return t, corrupt(fmt.Sprintf("the pixels of an image of %v", t.Shape), fmt.Sprintf("%d bytes", len(t.Data)))
	}
	return t, nil
}
