package mds

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Column is a column of a shard.
type Column struct {
	Name     string
	Encoding string // such as "int" or "ndarray:int16:2,3"

	kind  kind
	dtype tensor.DType // Invalid if each value has its own
	shape tensor.Shape // nil if each value has its own
	size  int          // bytes of a value, or -1
}

// kind says how the bytes of a value are read.
type kind uint8

const (
	plain   kind = iota + 1 // bytes as they are
	scalar                  // one number
	array                   // an array, with type and shape unless they are fixed
	image                   // pixels without compression
	integer                 // a decimal integer in text
	float                   // a decimal number in text
	foreign                 // bytes of a Python object, or lists of images
)

// encodings are the encodings without parameters.
var encodings = map[string]struct {
	kind  kind
	dtype tensor.DType
}{
	"bytes": {plain, tensor.Uint8}, "str": {plain, tensor.Uint8}, "json": {plain, tensor.Uint8},
	"str_decimal": {plain, tensor.Uint8}, "jpeg": {plain, tensor.Uint8}, "png": {plain, tensor.Uint8},
	"int":   {scalar, tensor.Int64},
	"uint8": {scalar, tensor.Uint8}, "uint16": {scalar, tensor.Uint16}, "uint32": {scalar,
		tensor.Uint32}, "uint64": {scalar, tensor.Uint64},
	"int8": {scalar, tensor.Int8}, "int16": {scalar, tensor.Int16}, "int32": {scalar, tensor.Int32}, "int64": {scalar,
		tensor.Int64},
	"float16": {scalar, tensor.Float16}, "float32": {scalar, tensor.Float32}, "float64": {scalar, tensor.Float64},
	"str_int": {integer, tensor.Int64}, "str_float": {float, tensor.Float64},
	"pil": {image, tensor.Uint8}, "ndarray": {array, tensor.Invalid}, "pkl": {foreign, tensor.Invalid},
	"jpeg_array": {foreign, tensor.Invalid}, "jpegarray": {foreign, tensor.Invalid}, "list[jpeg]": {foreign,
		tensor.Invalid},
	"list[png]": {foreign, tensor.Invalid}, "list[pil]": {foreign, tensor.Invalid},
}

// arrayTypes are the element types of arrays by their number in the file.
var arrayTypes = map[byte]tensor.DType{
	8: tensor.Uint8, 9: tensor.Int8, 16: tensor.Uint16, 17: tensor.Int16, 18: tensor.Float16,
	32: tensor.Uint32, 33: tensor.Int32, 34: tensor.Float32, 64: tensor.Uint64, 65: tensor.Int64, 66: tensor.Float64,
}

// maxAxes is the most axes that an array has.
const maxAxes = 63

// ParseColumn returns the column of a name and an encoding. Fails with errs.Unsupported for an
// unknown encoding.
func ParseColumn(name, encoding string) (Column, error) {
	c, err := parseColumn(name, encoding)
	if c.size = -1; err == nil && c.shape != nil && c.dtype != tensor.Invalid {
		c.size, err = c.shape.Bytes(c.dtype)
	}
	return c, err
}

func parseColumn(name, encoding string) (Column, error) {
	c := Column{Name: name, Encoding: encoding}
	base, parameters, given := strings.Cut(encoding, ":")
	e, ok := encodings[base]
	if !ok {
		return c, &errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("column %q", name),
			Want: "an encoding of MDS", Got: fmt.Sprintf("%q", encoding)}
	}
	c.kind, c.dtype = e.kind, e.dtype
	switch {
	case c.kind == scalar:
		c.shape = tensor.Shape{}
	case c.kind == array && given:
		return c, c.parseArray(parameters)
	}
	return c, nil
}

// parseArray reads the parameters of an array: its type, and after a colon its shape.
func (c *Column) parseArray(parameters string) error {
	bad := func() error {
		return &errs.Error{Kind: errs.Corrupt, Subject: fmt.Sprintf("column %q", c.Name),
			Want: "an encoding like ndarray:int16:2,3", Got: fmt.Sprintf("%q", c.Encoding)}
	}
	dtype, shape, fixed := strings.Cut(parameters, ":")
	for _, d := range arrayTypes {
		if d.String() == dtype {
			c.dtype = d
		}
	}
	if c.dtype == tensor.Invalid {
		return bad()
	}
	if !fixed {
		return nil
	}
	c.shape = tensor.Shape{}
	for axis := range strings.SplitSeq(shape, ",") {
		n, err := strconv.Atoi(axis)
		if err != nil || n < 1 || len(c.shape) == maxAxes {
			return bad()
		}
		c.shape = append(c.shape, n)
	}
	if n, err := c.shape.Bytes(c.dtype); err != nil || n > math.MaxUint32 {
		return bad()
	}
	return nil
}

// Equal reports whether two columns have the same name and encoding.
func (c Column) Equal(d Column) bool { return c.Name == d.Name && c.Encoding == d.Encoding }

// Size returns the bytes of a value, or -1 if values differ.
func (c *Column) Size() int { return c.size }

// Spec returns what Decode returns: its dtype is Invalid, or its shape is nil, where each value has
// its own. Fails with errs.Unsupported for values that are not arrays, such as pickled objects.
func (c Column) Spec() (tensor.Spec, error) {
	switch c.kind {
	case plain:
		return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, nil
	case integer, float:
		return tensor.Spec{DType: c.dtype, Shape: tensor.Shape{}}, nil
	case image:
		return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, -1}, Layout: "HWC"}, nil
	case foreign:
		what := "a list of images"
		if c.Encoding == "pkl" {
			what = "a pickled object, which could run code"
		}
		return tensor.Spec{}, &errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("column %q", c.Name),
			Want: "values that are arrays, numbers or bytes", Got: c.Encoding + ": " + what,
			Remedy: "name the other columns in the argument columns"}
	}
	return tensor.Spec{DType: c.dtype, Shape: slices.Clone(c.shape)}, nil
}

// Plain reports whether values are bytes as they are.
func (c *Column) Plain() bool { return c.kind == plain }

// Decode returns the value that datum encodes. Its data is part of datum, except for numbers in
// text. It appends the shape to shape. Fails with errs.Corrupt for bytes that are not of the
// encoding.
func (c Column) Decode(datum []byte, shape tensor.Shape) (tensor.Tensor, error) {
	t := tensor.Tensor{DType: c.dtype, Shape: shape, Data: datum}
	switch c.kind {
	case plain:
		t.Shape = append(shape, len(datum))
	case scalar:
		if len(datum) != c.dtype.Size() {
			return t, c.corrupt(fmt.Sprintf("%d bytes", c.dtype.Size()), fmt.Sprint(len(datum)))
		}
	case integer:
		v, err := strconv.ParseInt(string(datum), 10, 64)
		if err != nil {
			return t, c.corrupt("an integer of 64 bits in text", fmt.Sprintf("%.40q", datum))
		}
		t.Data = binary.LittleEndian.AppendUint64(nil, uint64(v))
	case float:
		v, err := strconv.ParseFloat(string(datum), 64)
		if err != nil {
			return t, c.corrupt("a number in text", fmt.Sprintf("%.40q", datum))
		}
		t.Data = binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	case array:
		return c.decodeArray(datum, t)
	case image:
		return c.decodeImage(datum, t)
	default:
		_, err := c.Spec()
		return t, err
	}
	return t, nil
}

// decodeArray reads type and shape, unless they are fixed, and the elements.
func (c Column) decodeArray(datum []byte, t tensor.Tensor) (tensor.Tensor, error) {
	rest := datum
	if c.dtype == tensor.Invalid {
		if len(rest) == 0 || arrayTypes[rest[0]] == tensor.Invalid {
			return t, c.corrupt("the number of an element type", fmt.Sprintf("% x", rest[:min(1, len(rest))]))
		}
		t.DType, rest = arrayTypes[rest[0]], rest[1:]
	}
	if c.shape != nil {
		t.Shape = append(t.Shape, c.shape...)
	} else {
		if len(rest) == 0 {
			return t, c.corrupt("a shape", "no byte")
		}
		axes, width := int(rest[0]>>2), 1<<(rest[0]&3)
		if rest = rest[1:]; len(rest) < axes*width {
			return t, c.corrupt(fmt.Sprintf("%d axes of %d bytes", axes, width), fmt.Sprintf("%d bytes", len(rest)))
		}
		for range axes {
			var number [8]byte
			copy(number[:], rest[:width])
			n := binary.LittleEndian.Uint64(number[:])
			if n > math.MaxInt32 && n > uint64(len(datum)) {
				return t, c.corrupt("an axis within the datum", fmt.Sprint(n))
			}
			t.Shape, rest = append(t.Shape, int(n)), rest[width:]
		}
	}
	t.Data = rest
	if n, err := t.Shape.Bytes(t.DType); err != nil || n != len(rest) {
		return t, c.corrupt(fmt.Sprintf("the elements of %s%v", t.DType, t.Shape), fmt.Sprintf("%d bytes", len(rest)))
	}
	return t, nil
}

// pixelModes are the modes of Pillow whose pixels are bytes, with their number.
var pixelModes = map[string]int{"L": 1, "P": 1, "LA": 2, "PA": 2, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBA": 4,
	"RGBX": 4, "CMYK": 4, "RGBa": 4, "La": 2}

// decodeImage reads width, height, mode and pixels.
func (c Column) decodeImage(datum []byte, t tensor.Tensor) (tensor.Tensor, error) {
	if len(datum) < 12 {
		return t, c.corrupt("12 bytes before the pixels", fmt.Sprint(len(datum)))
	}
	le := binary.LittleEndian
	width, height, letters := le.Uint32(datum), le.Uint32(datum[4:]), le.Uint32(datum[8:])
	rest := datum[12:]
	if uint64(letters) > uint64(len(rest)) {
		return t, c.corrupt(fmt.Sprintf("a mode of %d bytes", letters), fmt.Sprint(len(rest)))
	}
	mode := string(rest[:min(letters, 16)])
	rest = rest[letters:]
	channels, ok := pixelModes[mode]
	if !ok {
		return t, &errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("column %q", c.Name),
			Want: "an image whose pixels are bytes", Got: fmt.Sprintf("mode %q", mode)}
	}
	if uint64(width)*uint64(height) > uint64(len(rest)) || int(width)*int(height)*channels != len(rest) {
		return t, c.corrupt(fmt.Sprintf("%d x %d pixels of mode %s", width, height, mode),
			fmt.Sprintf("%d bytes", len(rest)))
	}
	t.Shape, t.Data, t.Layout = append(t.Shape, int(height), int(width), channels), rest, "HWC"
	return t, nil
}

func (c Column) corrupt(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: fmt.Sprintf("column %q of encoding %s", c.Name, c.Encoding),
		Want: want, Got: got}
}
