package image

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/resample"
	"github.com/bivouac-ml/bivouac/tensor"
)

// resizeLayouts returns the layouts that can be resized: images, volumes, and sequences of both.
func resizeLayouts() []string {
	return []string{"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"}
}

// filterParams returns the parameters of all operators that resample.
func filterParams() []op.Parameter {
	filter := func(name, doc string) op.Parameter {
		return op.Parameter{Name: name, Type: op.Interp, Default: op.InterpLinear, PerSample: true, Doc: doc}
	}
	return []op.Parameter{
		{Name: "antialias", Type: op.Bool, Default: true, Doc: "Whether the filter is widened along axes that shrink."},
		{Name: "dtype", Type: op.DType, Doc: "Output type: the input's type, which is the default, or float32."},
		filter("interp_type", "Filter, unless mag_filter or min_filter is given."),
		filter("mag_filter", "Filter for axes that grow or keep their extent."),
		filter("min_filter", "Filter for axes that shrink."),
		{Name: "minibatch_size", Type: op.Int, Default: 32, Tuning: true, Doc: "Has no effect."},
		{Name: "temp_buffer_hint", Type: op.Int, Default: 0, Tuning: true, Doc: "Has no effect."},
	}
}

// resizer resamples images. It is the common part of all operators that change sizes.
type resizer struct {
	config    *op.Config
	min, mag  filterArg
	antialias bool
	dtype     tensor.DType
}

// filterArg is a filter, constant or per sample.
type filterArg struct {
	constant op.InterpType
	values   op.Scalar[int]
	perValue bool
}

func readFilter(c *op.Config, name string) filterArg {
	f := filterArg{constant: op.Get[op.InterpType](c, name), values: op.GetScalar[int](c, name)}
	_, constant := f.values.Const()
	f.perValue = !constant
	return f
}

func (f *filterArg) at(b *op.Block, s int) (op.InterpType, error) {
	if !f.perValue {
		return f.constant, nil
	}
	v, err := f.values.At(b, s)
	if err == nil && (v < 0 || v > int(op.InterpGaussian)) {
		err = &errs.Error{Kind: errs.Invalid, Subject: "filter", Want: "the number of an interpolation type", Got: fmt.Sprint(v)}
	}
	return op.InterpType(v), err
}

func newResizer(c *op.Config) resizer {
	both := readFilter(c, "interp_type")
	k := resizer{config: c, min: both, mag: both, antialias: op.Get[bool](c, "antialias"), dtype: op.Get[tensor.DType](c, "dtype")}
	if c.Given("min_filter") {
		k.min = readFilter(c, "min_filter")
	}
	if c.Given("mag_filter") {
		k.mag = readFilter(c, "mag_filter")
	}
	return k
}

// filters returns the filters of a sample: one for axes that shrink, and one for the other axes.
func (k *resizer) filters(b *op.Block, s int) (minimum, magnify resample.Filter, err error) {
	minimum.Antialias, magnify.Antialias = k.antialias, k.antialias
	if minimum.Kind, err = k.min.at(b, s); err == nil {
		magnify.Kind, err = k.mag.at(b, s)
	}
	return minimum, magnify, err
}

// output checks the type of the input and returns the type of the output.
func (k *resizer) output(in tensor.Spec) (tensor.DType, error) {
	if err := inputDType(k.config, in, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Float32); err != nil {
		return 0, err
	}
	switch k.dtype {
	case tensor.Invalid, in.DType:
		return in.DType, nil
	case tensor.Float32:
		return tensor.Float32, nil
	}
	return 0, k.config.Unsupported("dtype", "the type of the input ("+in.DType.String()+") or float32", k.dtype.String())
}

// infer describes the output for an input with spec in. The resized extents are unknown.
func (k *resizer) infer(in tensor.Spec) (out tensor.Spec, err error) {
	if out.Layout, err = layoutOf(k.config, in); err != nil {
		return out, err
	}
	if out.DType, err = k.output(in); err != nil {
		return out, err
	}
	out.Shape = unknown(len(out.Layout))
	copy(out.Shape, in.Shape)
	first, n := spatial(out.Layout)
	for i := range n {
		out.Shape[first+i] = -1
	}
	return out, nil
}

// resizeState is a worker's state.
type resizeState struct {
	resampler resample.Resampler
	targets   []target
	in, shape []int
}

// spatial returns the range of axes of a layout that are resized: D, H and W, which lie together.
func spatial(layout string) (first, n int) {
	first = strings.IndexAny(layout, "DH")
	return first, strings.IndexByte(layout, 'W') + 1 - first
}

// run resamples sample s of input 0 to output 0: its n axes from first on become st.targets. Axes
// before them are frames; axes after them are channels.
func (k *resizer) run(b *op.Block, s int, st *resizeState, first, n int) error {
	in := b.In(0, s)
	minimum, magnify, err := k.filters(b, s)
	if err != nil {
		return err
	}
	dtype := b.Binding().Specs[0].DType
	job := resample.Job{Src: in.Data, SrcType: in.DType, DstType: dtype, Frames: 1, Channels: 1, Volume: n == maxSpatial}
	for i := range maxSpatial - n {
		job.Axes[i] = resample.Axis{In: 1, Out: 1, Hi: 1, Min: resample.Filter{Kind: minimum.Kind},
			Mag: resample.Filter{Kind: magnify.Kind}}
	}
	st.shape = append(st.shape[:0], in.Shape...)
	for i, extent := range in.Shape {
		switch {
		case i < first:
			job.Frames *= extent
		case i >= first+n:
			job.Channels *= extent
		default:
			t := st.targets[i-first]
			st.shape[i] = t.size
			job.Axes[maxSpatial-n+i-first] = resample.Axis{In: extent, Out: t.size, Lo: float32(t.lo), Hi: float32(t.hi),
				Min: minimum, Mag: magnify}
		}
	}
	if err := checkSize(st.shape, dtype); err != nil {
		return err
	}
	job.Dst = b.Out(0, s, st.shape...).Data
	return st.resampler.Run(job)
}
