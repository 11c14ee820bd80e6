package dynamic

import (
	"fmt"
	"image"
	"image/draw"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Form says what becomes of data from Go.
type Form struct {
	DType  tensor.DType // elements are converted to it; by default the type that the data has
	Layout string       // of the array or of each sample; by default the one that the data has
	// NoCopy lets the value lie in the memory of a tensor.Tensor, tensor.Batch or
	// slice that is given; it must not be changed then.
	NoCopy bool
}

// TensorOf returns a Tensor of data from Go: a number or bool, nested slices or arrays of them of
// regular shape, a string (its bytes), a tensor.Tensor, or an image.Image (HWC, uint8, RGB
// or one channel of a grey one). An int becomes int32 and a float64 float32, as constants
// of operators do, unless the Form says otherwise; other types stay. A *Tensor is
// returned as it is when nothing about it changes.
//
// What cannot be taken is the error of the Tensor, of kind errs.Invalid.
func TensorOf(data any, form ...Form) *Tensor {
	f := formOf(form)
	if t, ok := data.(*Tensor); ok && t != nil {
		if f.DType == tensor.Invalid && f.Layout == "" {
			return t
		}
		samples, err := heldSamples(background, t)
		if err != nil {
			return failedTensor(err)
		}
		data = samples[0]
		if !f.NoCopy { // array copies it
			defer t.drop()
		}
	}
	v, err := f.array(data)
	if err == nil {
		v, err = f.apply(v)
	}
	if err != nil {
		return failedTensor(errs.Wrap("dynamic.TensorOf", "", err))
	}
	return tensorOf(v)
}

// tensorOf returns a Tensor that is v.
func tensorOf(v tensor.Tensor) *Tensor {
	t := &Tensor{own: [1]tensor.Tensor{v}}
	t.n, t.samples = 1, t.own[:]
	return t
}

func failedTensor(err error) *Tensor {
	t := &Tensor{result: result{n: 1, err: err}}
	t.seen.Store(true)
	return t
}

func formOf(form []Form) Form {
	if len(form) == 0 {
		return Form{}
	}
	return form[len(form)-1]
}

// array returns data as an array of its own, unless it need not be copied.
func (f *Form) array(data any) (tensor.Tensor, error) {
	switch d := data.(type) {
	case tensor.Tensor:
		if err := d.Check(); err != nil {
			return d, err
		}
		if f.NoCopy {
			return d, nil
		}
		return d.Clone(), nil
	case image.Image:
		return pixels(d), nil
	case string:
		return tensor.FromSlice([]byte(d)), nil
	case []byte:
		if f.NoCopy {
			return tensor.FromSlice(d), nil
		}
		return tensor.FromSlice(append([]byte{}, d...)), nil
	}
	return f.nested(reflect.ValueOf(data))
}

// apply gives an array the type and layout of the form.
func (f *Form) apply(t tensor.Tensor) (tensor.Tensor, error) {
	if f.Layout != "" {
		if len(f.Layout) != len(t.Shape) {
			return t, &errs.Error{Kind: errs.Invalid, Subject: "layout", Want: fmt.Sprintf("%d axes", len(t.Shape)),
				Got: strconv.Quote(f.Layout)}
		}
		t.Layout = f.Layout
	}
	if f.DType == tensor.Invalid || f.DType == t.DType {
		return t, nil
	}
	return tensor.Cast(f.DType, t)
}

// nested returns an array of nested slices or a number.
func (f *Form) nested(v reflect.Value) (tensor.Tensor, error) {
	refused := func(got string) (tensor.Tensor, error) {
		return tensor.Tensor{}, &errs.Error{Kind: errs.Invalid,
			Want: "a number, bool, slices of them, a string, a tensor.Tensor or an image.Image", Got: got}
	}
	if !v.IsValid() {
		return refused("nil")
	}
	shape := tensor.Shape{}
	typ, at := v.Type(), v
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
		n := 0
		if at.IsValid() {
			n = at.Len()
		}
		shape = append(shape, n)
		if typ = typ.Elem(); n > 0 {
			at = at.Index(0)
		} else {
			at = reflect.Value{}
		}
	}
	d, ok := tensor.FromReflect(typ)
	if !ok {
		return refused(v.Type().String())
	}
	if _, err := shape.Bytes(d); err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(d, shape...)
	flat := reflect.SliceAt(typ, unsafe.Pointer(unsafe.SliceData(t.Data)), shape.Len())
	if _, err := flatten(flat, v, shape, 0); err != nil {
		return tensor.Tensor{}, err
	}
	switch {
	case f.DType != tensor.Invalid:
	case typ.Kind() == reflect.Int:
		return narrowed(t, tensor.Int32)
	case typ.Kind() == reflect.Uint:
		return narrowed(t, tensor.Uint32)
	case typ.Kind() == reflect.Float64:
		return narrowed(t, tensor.Float32)
	}
	return t, nil
}

// narrowed converts to 32 bits, as the constants of operators are. Integers that do not fit are
// refused.
func narrowed(t tensor.Tensor, d tensor.DType) (tensor.Tensor, error) {
	out, err := tensor.Cast(d, t)
	if err != nil || d.IsFloat() {
		return out, err
	}
	back, err := tensor.Cast(t.DType, out)
	if err != nil {
		return out, err
	}
	if !back.Equal(t) {
		return out, &errs.Error{Kind: errs.Invalid, Want: "integers that " + d.String() + " holds", Got: "larger ones",
			Remedy: "give sized integers or Form.DType"}
	}
	return out, nil
}

// flatten copies the elements of nested slices to flat, one behind the other, and returns the rest
// of flat.
func flatten(flat, v reflect.Value, shape tensor.Shape, axis int) (reflect.Value, error) {
	if axis == len(shape) {
		flat.Index(0).Set(v)
		return flat, nil
	}
	if v.Len() != shape[axis] {
		return flat, &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("axis %d", axis),
			Want: fmt.Sprintf("%d elements everywhere", shape[axis]), Got: fmt.Sprint(v.Len())}
	}
	if axis == len(shape)-1 {
		n := reflect.Copy(flat, v)
		return flat.Slice(n, flat.Len()), nil
	}
	for i := range v.Len() {
		var err error
		if flat, err = flatten(flat, v.Index(i), shape, axis+1); err != nil {
			return flat, err
		}
	}
	return flat, nil
}

// pixels returns an image as an array, HWC, without its alpha.
func pixels(img image.Image) tensor.Tensor {
	r := img.Bounds()
	if g, ok := img.(*image.Gray); ok {
		t := tensor.New(tensor.Uint8, r.Dy(), r.Dx(), 1)
		for y := range r.Dy() {
			copy(t.Data[y*r.Dx():(y+1)*r.Dx()], g.Pix[g.PixOffset(r.Min.X, r.Min.Y+y):])
		}
		t.Layout = "HWC"
		return t
	}
	plain := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(plain, plain.Rect, img, r.Min, draw.Src)
	t := tensor.New(tensor.Uint8, r.Dy(), r.Dx(), 3)
	for i := range r.Dx() * r.Dy() {
		copy(t.Data[3*i:3*i+3], plain.Pix[4*i:])
	}
	t.Layout = "HWC"
	return t
}
