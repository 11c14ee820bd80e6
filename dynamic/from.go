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

// Form says how Go data becomes a value.
type Form struct {
	DType  tensor.DType // dtype to which elements are converted; by default the dtype of the data
	Layout string       // of the array or of each sample; by default the layout of the data
	// NoCopy lets the value use the memory of the given tensor.Tensor, tensor.Batch or slice. This
	// memory must not be changed afterwards.
	NoCopy bool
}

// TensorOf returns a Tensor of Go data. data is one of:
//
//   - a number or a bool
//   - nested slices or arrays of numbers or bools, of regular shape
//   - a string (its bytes)
//   - a tensor.Tensor
//   - an image.Image (HWC, uint8, with RGB or one grey channel)
//   - a *Tensor, which is returned as it is if the Form changes nothing
//
// An int becomes int32 and a float64 becomes float32, like constants of operators, unless the Form
// has a DType. Other types do not change.
//
// For other data the Tensor has an error of kind errs.Invalid.
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

// tensorOf returns v as a Tensor.
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

// array returns data as an array. It copies the data unless NoCopy is set.
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

// apply gives an array the dtype and layout of the form.
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
			Want: "a number, a bool, slices of numbers or bools, a string, a tensor.Tensor or an image.Image", Got: got}
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

// narrowed converts numbers to 32 bits, like the constants of operators. It returns an error for
// integers that do not fit.
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
		return out, &errs.Error{Kind: errs.Invalid, Want: "integers in the range of " + d.String(), Got: "larger ones",
			Remedy: "use a sized integer type, or set Form.DType"}
	}
	return out, nil
}

// flatten copies the elements of nested slices to flat, one after the other, and returns the rest
// of flat.
func flatten(flat, v reflect.Value, shape tensor.Shape, axis int) (reflect.Value, error) {
	if axis == len(shape) {
		flat.Index(0).Set(v)
		return flat, nil
	}
	if v.Len() != shape[axis] {
		return flat, &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("axis %d", axis),
			Want: fmt.Sprintf("%d elements in every slice", shape[axis]), Got: fmt.Sprint(v.Len())}
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

// pixels returns an image as an array in layout HWC, without alpha.
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
