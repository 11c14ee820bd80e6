package reader

import (
	"context"
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/caffe"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// notInLMDB are the common arguments that readers of LMDB do not take.
var notInLMDB = []string{"shuffle_after_epoch", "shuffle_after_epoch_seed"}

func init() {
	s := op.Schema{
		Name: "caffe", Module: []string{"readers"},
		Doc: "Reads images and labels from LMDB databases of Caffe. An image whose record says that it is not encoded has the shape " +
			"[height, width, channels]; others are files. The first record decides which.",
		Outputs:     []op.Port{{Name: "images", Doc: "uint8"}, {Name: "labels", Doc: "int32 of shape [1], or [0] if a record has no label"}},
		OutputCount: caffeCount,
		Params: loaderargs.Without(notInLMDB, lmdbParam,
			op.Parameter{Name: "image_available", Type: op.Bool, Default: true, Doc: "The images are read."},
			op.Parameter{Name: "label_available", Type: op.Bool, Default: true, Doc: "The labels are read."}),
	}
	o := Opener{Outputs: caffeOutputs, Open: openCaffe}
	Register(s, o)
	alias("caffe_reader", s, o)
}

// caffeCount returns the number of outputs.
func caffeCount(c *op.Config) (n int, err error) {
	for _, name := range []string{"image_available", "label_available"} {
		if op.Get[bool](c, name) {
			n++
		}
	}
	if n == 0 {
		err = c.Invalid("label_available", "image_available or label_available", "none of them", "")
	}
	return n, err
}

func caffeOutputs(c *op.Config) (list []tensor.Spec, err error) {
	if _, err := caffeCount(c); err != nil {
		return nil, err
	}
	if err := loaderargs.Check(c); err != nil {
		return nil, err
	}
	if op.Get[bool](c, "image_available") {
		record, err := firstLMDB(c)
		if err != nil {
			return nil, err
		}
		d, err := caffe.ParseDatum(record)
		if err != nil {
			return nil, errs.Wrap(c.Schema.FullName(), "the first record", err)
		}
		list = append(list, imageSpec(!d.HasEncoded || d.Encoded))
	}
	if op.Get[bool](c, "label_available") {
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{-1}})
	}
	return list, nil
}

// imageSpec is the spec of files, or of images.
func imageSpec(encoded bool) tensor.Spec {
	if encoded {
		return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1}}
	}
	return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, -1}}
}

// another is the error of a record that is not like the first one.
func another(what, want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: what, Want: want + ", as the first record has", Got: got,
		Remedy: "keep records of one kind in a data set"}
}

func openCaffe(ctx context.Context, c *op.Config) (Source, error) {
	specs, err := caffeOutputs(c)
	if err != nil {
		return nil, err
	}
	images, labels := op.Get[bool](c, "image_available"), op.Get[bool](c, "label_available")
	encoded := images && len(specs[0].Shape) == 1
	return openLMDB(ctx, c, func(record []byte, s int, dst *op.Block) error {
		d, err := caffe.ParseDatum(record)
		if err != nil {
			return err
		}
		next := 0
		if images {
			next++
			if is := !d.HasEncoded || d.Encoded; is != encoded {
				return another("image", kindOfImage(encoded), kindOfImage(is))
			}
			if err := datumImage(d, encoded, s, dst); err != nil {
				return err
			}
		}
		if !labels {
			return nil
		}
		if !d.HasLabel {
			dst.Out(next, s, 0)
			return nil
		}
		return putOne(dst.Out(next, s, 1), d.Label)
	})
}

func kindOfImage(encoded bool) string {
	if encoded {
		return "an encoded file"
	}
	return "pixels"
}

// datumImage writes the image of a record.
func datumImage(d caffe.Datum, encoded bool, s int, dst *op.Block) error {
	if encoded {
		return output(dst, 0, s, d.Data, len(d.Data))
	}
	h, w, c := int64(d.Height), int64(d.Width), int64(d.Channels)
	if h < 0 || w < 0 || c < 0 || h > 0 && w > 0 && c > int64(len(d.Data))/h/w || h*w*c != int64(len(d.Data)) {
		return &errs.Error{Kind: errs.Corrupt, Subject: "data", Want: fmt.Sprintf("%d x %d x %d bytes", h, w, c),
			Got: fmt.Sprint(len(d.Data))}
	}
	return output(dst, 0, s, d.Data, int(h), int(w), int(c))
}

// Kinds of labels of Caffe2, as the argument label_type numbers them.
const (
	labelSingle = iota
	labelSparse
	labelDense
	labelWeighted
	labelNone
)

func init() {
	s := op.Schema{
		Name: "caffe2", Module: []string{"readers"},
		Doc: "Reads samples from LMDB databases of Caffe2: an image, a label as label_type says, additional tensors and a box. " +
			"An image of bytes has the shape [height, width, channels]; others are files. The first record decides the types.",
		Outputs: []op.Port{
			{Name: "images", Doc: "uint8"},
			{Name: "labels", Doc: "as label_type says"},
			{Name: "additional", Doc: "the numbers of the additional tensors in one dimension, and last with bbox the box, int32 of shape [4]"},
		},
		OutputCount: func(c *op.Config) (int, error) {
			a, err := caffe2Arguments(c)
			return a.outputs(), err
		},
		Params: loaderargs.Without(notInLMDB, lmdbParam,
			op.Parameter{Name: "image_available", Type: op.Bool, Default: true, Doc: "A record begins with an image."},
			op.Parameter{Name: "label_type", Type: op.Int, Default: labelSingle, Doc: "0: a number. 1: the indices of num_labels labels, which become 1. " +
				"2: numbers. 3: indices and a tensor of their weights. 4: no label."},
			op.Parameter{Name: "num_labels", Type: op.Int, Default: 1, Doc: "Number of labels of label_type 1 and 3."},
			op.Parameter{Name: "additional_inputs", Type: op.Int, Default: 0, Doc: "Number of tensors of a record behind the label."},
			op.Parameter{Name: "bbox", Type: op.Bool, Default: false, Doc: "A record ends with a box, 4 integers."}),
	}
	o := Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) { a, err := caffe2Open(c); return a.specs, err },
		Open:    openCaffe2,
	}
	Register(s, o)
	alias("caffe2_reader", s, o)
}

// maxAdditional is the largest number of additional tensors.
const maxAdditional = 1000

// caffe2Args are the arguments of the reader.
type caffe2Args struct {
	image, box               bool
	label, labels, addition  int
	encoded                  bool
	specs                    []tensor.Spec
	tensors                  int // of a record
	firstLabel, firstNumbers int // outputs
}

func caffe2Arguments(c *op.Config) (a caffe2Args, err error) {
	a = caffe2Args{image: op.Get[bool](c, "image_available"), box: op.Get[bool](c, "bbox"),
		label:  op.Get[int](c, "label_type"),
		labels: op.Get[int](c, "num_labels"), addition: op.Get[int](c, "additional_inputs")}
	switch {
	case a.label < labelSingle || a.label > labelNone:
		return a, c.Invalid("label_type", "0 to 4", fmt.Sprint(a.label), "")
	case a.labels < 1 || a.labels > 1<<24:
		return a, c.Invalid("num_labels", "1 to 16777216", fmt.Sprint(a.labels), "")
	case a.addition < 0 || a.addition > maxAdditional:
		return a, c.Invalid("additional_inputs", fmt.Sprintf("0 to %d", maxAdditional), fmt.Sprint(a.addition), "")
	case a.outputs() == 0:
		return a, c.Invalid("label_type", "an image, a label, an additional input or a box", "none of them", "")
	}
	if a.image {
		a.firstLabel, a.firstNumbers, a.tensors = 1, 1, 1
	}
	if a.label != labelNone {
		a.firstNumbers++
		a.tensors++
	}
	if a.label == labelWeighted {
		a.tensors++ // of the weights
	}
	a.tensors += a.addition
	if a.box {
		a.tensors++
	}
	return a, loaderargs.Check(c)
}

// outputs returns the number of outputs.
func (a *caffe2Args) outputs() int {
	n := a.addition
	for _, there := range []bool{a.image, a.label != labelNone, a.box} {
		if there {
			n++
		}
	}
	return n
}

// caffe2Open returns the arguments with the specs that the first record decides.
func caffe2Open(c *op.Config) (a caffe2Args, err error) {
	if a, err = caffe2Arguments(c); err != nil {
		return a, err
	}
	record, err := firstLMDB(c)
	if err != nil {
		return a, err
	}
	list, err := caffe.ParseTensors(record, nil)
	if err == nil {
		err = a.take(list, func(kind int, t *caffe.Tensor, _ *caffe.Tensor, _ int) error {
			spec := tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{-1}}
			switch {
			case kind == takeImage:
				a.encoded = t.Type == caffe.String
				spec = imageSpec(a.encoded)
			case kind == takeBox:
				spec.Shape = tensor.Shape{4}
			case kind == takeLabel && (a.label == labelSparse || a.label == labelWeighted):
				spec.Shape = tensor.Shape{a.labels}
				if a.label == labelWeighted {
					spec.DType = tensor.Float32
				}
			case t.Type == caffe.Float:
				spec.DType = tensor.Float32
			}
			a.specs = append(a.specs, spec)
			return nil
		})
	}
	return a, errs.Wrap(c.Schema.FullName(), "", errs.Wrap("the first record", "", err))
}

// What a tensor of a record is.
const (
	takeImage = iota
	takeLabel
	takeNumbers
	takeBox
)

// take calls f for each output with the tensor that it is made of, and for weighted labels with the
// weights. Tensors behind those that the arguments name are left.
func (a *caffe2Args) take(list []caffe.Tensor, f func(kind int, t, weights *caffe.Tensor, output int) error) error {
	if len(list) < a.tensors {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("a record of at least %d tensors", a.tensors),
			Got:    fmt.Sprint(len(list)),
			Remedy: "check image_available, label_type, additional_inputs and bbox"}
	}
	output, next := 0, 0
	call := func(kind int, weights *caffe.Tensor) error {
		t := &list[next]
		if err := checkKind(kind, t); err != nil {
			return errs.Wrap("", fmt.Sprintf("tensor %d", next), err)
		}
		err := f(kind, t, weights, output)
		next, output = next+1, output+1
		return errs.Wrap("", fmt.Sprintf("tensor %d", next-1), err)
	}
	if a.image {
		if err := call(takeImage, nil); err != nil {
			return err
		}
	}
	if a.label != labelNone {
		var weights *caffe.Tensor
		if a.label == labelWeighted {
			weights = &list[next+1]
		}
		if err := call(takeLabel, weights); err != nil {
			return err
		}
		if weights != nil {
			next++
		}
	}
	for range a.addition {
		if err := call(takeNumbers, nil); err != nil {
			return err
		}
	}
	if a.box {
		return call(takeBox, nil)
	}
	return nil
}

// checkKind checks that a tensor has the type for its use.
func checkKind(kind int, t *caffe.Tensor) error {
	want := ""
	switch {
	case kind == takeImage && t.Type != caffe.String && t.Type != caffe.Byte:
		want = "an image of type 3 (bytes) or 4 (a string)"
	case (kind == takeLabel || kind == takeNumbers) && t.Type != caffe.Int32 && t.Type != caffe.Float:
		want = "numbers of type 1 (float) or 2 (int32)"
	case kind == takeBox && (t.Type != caffe.Int32 || len(t.Ints) != 4):
		want = "a box of 4 numbers of type 2 (int32)"
	case kind == takeImage && t.Type == caffe.String && len(t.Strings) == 0:
		want = "an image with a string"
	}
	if want == "" {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Want: want, Got: fmt.Sprintf("type %d with %d integers", t.Type, len(t.Ints)),
		Remedy: "check image_available, label_type, additional_inputs and bbox"}
}

func openCaffe2(ctx context.Context, c *op.Config) (Source, error) {
	a, err := caffe2Open(c)
	if err != nil {
		return nil, err
	}
	lists := sync.Pool{New: func() any { return new([]caffe.Tensor) }}
	return openLMDB(ctx, c, func(record []byte, s int, dst *op.Block) error {
		list := lists.Get().(*[]caffe.Tensor)
		defer lists.Put(list)
		var err error
		if *list, err = caffe.ParseTensors(record, (*list)[:0]); err != nil {
			return err
		}
		return a.take(*list, func(kind int, t, weights *caffe.Tensor, output int) error {
			return a.write(kind, t, weights, output, s, dst)
		})
	})
}

// write makes an output of a tensor.
func (a *caffe2Args) write(kind int, t, weights *caffe.Tensor, i, s int, dst *op.Block) error {
	switch {
	case kind == takeImage:
		return a.writeImage(t, i, s, dst)
	case kind == takeLabel && (a.label == labelSparse || a.label == labelWeighted):
		return a.writeSparse(t, weights, i, s, dst)
	case kind == takeLabel && a.label == labelSingle && len(t.Ints)+len(t.Floats) != 1:
		return &errs.Error{Kind: errs.Corrupt, Want: "a label of 1 number", Got: fmt.Sprint(len(t.Ints) + len(t.Floats))}
	}
	isFloat, wanted := t.Type == caffe.Float, a.specs[i].DType == tensor.Float32
	if isFloat != wanted {
		return another("numbers", a.specs[i].DType.String(), fmt.Sprintf("type %d", t.Type))
	}
	if isFloat {
		return put(dst.Out(i, s, len(t.Floats)), t.Floats)
	}
	return put(dst.Out(i, s, len(t.Ints)), t.Ints)
}

func (a *caffe2Args) writeImage(t *caffe.Tensor, i, s int, dst *op.Block) error {
	if is := t.Type == caffe.String; is != a.encoded {
		return another("image", kindOfImage(a.encoded), kindOfImage(is))
	}
	if a.encoded {
		return output(dst, i, s, t.Strings[0], len(t.Strings[0]))
	}
	shape := []int{0, 0, 1}
	size := int64(1)
	for k, n := range t.Dims {
		if k > 2 && n != 1 || n < 0 || n > int64(len(t.Bytes)) || size*n > int64(len(t.Bytes)) {
			size = -1
			break
		}
		size *= n
		if k < 3 {
			shape[k] = int(n)
		}
	}
	if len(t.Dims) < 2 || size != int64(len(t.Bytes)) {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("an image of height, width and channels %v", t.Dims),
			Got: fmt.Sprintf("%d bytes", len(t.Bytes))}
	}
	return output(dst, i, s, t.Bytes, shape...)
}

// writeSparse makes a label for each class: 1 or its weight for those that the record names.
func (a *caffe2Args) writeSparse(t, weights *caffe.Tensor, i, s int, dst *op.Block) error {
	if t.Type != caffe.Int32 || weights != nil && (weights.Type != caffe.Float || len(weights.Floats) != len(t.Ints)) {
		return &errs.Error{Kind: errs.Corrupt, Want: "indices of type 2 (int32), and as many weights of type 1 (float)",
			Got: fmt.Sprintf("type %d", t.Type)}
	}
	for _, k := range t.Ints {
		if k < 0 || int(k) >= a.labels {
			return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("indices below num_labels, %d", a.labels),
				Got: fmt.Sprint(k)}
		}
	}
	o := dst.Out(i, s, a.labels)
	clear(o.Data)
	if weights == nil {
		to, err := tensor.Of[int32](o)
		for _, k := range t.Ints {
			to[k] = 1
		}
		return err
	}
	to, err := tensor.Of[float32](o)
	for n, k := range t.Ints {
		to[k] = weights.Floats[n]
	}
	return err
}
