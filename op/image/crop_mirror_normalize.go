package image

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "crop_mirror_normalize",
		Doc: "Cuts a window out of an image, mirrors it when asked and normalises it: scale * (in - mean) / std + shift. " +
			"The output is laid out for training: CHW float32 by default.",
		Inputs:  []op.Port{{Name: "images", Doc: "images, uint8 or float32", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}, Layouts: []string{layoutHWC}}},
		Outputs: []op.Port{{Name: "normalized", Doc: "normalised windows"}},
		Params: append(slices.Concat(window.CropParams(), window.BoundsParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Output type: float32, uint8 or int8."},
			op.Parameter{Name: "mean", Type: op.Floats, Default: []float64{0}, PerSample: true, Doc: "What is subtracted: one value, or one a channel."},
			op.Parameter{Name: "mirror", Type: op.Int, Default: 0, PerSample: true, Doc: "Not 0: left and right are exchanged."},
			op.Parameter{Name: "output_layout", Type: op.String, Default: "CHW", Doc: `"CHW" or "HWC".`},
			op.Parameter{Name: "pad_output", Type: op.Bool, Default: false, Doc: "Adds channels of fill_values up to a power of two."},
			op.Parameter{Name: "scale", Type: op.Float, Default: 1.0, Doc: "Factor of the result."},
			op.Parameter{Name: "shift", Type: op.Float, Default: 0.0, Doc: "What is added to the result."},
			op.Parameter{Name: "std", Type: op.Floats, Default: []float64{1}, PerSample: true, Doc: "What is divided by: one value, or one a channel."},
		),
		Precision: op.Exact,
		New:       newCropMirrorNormalize,
	})
}

type cropMirrorNormalize struct {
	config    *op.Config
	window    *window.Crop
	bounds    window.Bounds
	mean, std op.Vector[float64]
	mirror    op.Scalar[int]
	scale     float32
	shift     float32
	dtype     tensor.DType
	planar    bool
	padOutput bool
}

func newCropMirrorNormalize(c *op.Config) (op.Kernel, error) {
	bounds, err := window.ReadBounds(c)
	if err != nil {
		return nil, err
	}
	w, err := window.NewCrop(c, bounds.Policy)
	if err != nil {
		return nil, err
	}
	k := &cropMirrorNormalize{
		config: c, window: w, bounds: bounds,
		mean: op.GetVector[float64](c, "mean"), std: op.GetVector[float64](c, "std"), mirror: op.GetScalar[int](c, "mirror"),
		scale: float32(op.Get[float64](c, "scale")), shift: float32(op.Get[float64](c, "shift")),
		dtype: op.Get[tensor.DType](c, "dtype"), padOutput: op.Get[bool](c, "pad_output"),
	}
	switch k.dtype {
	case tensor.Float32, tensor.Uint8, tensor.Int8:
	default:
		return nil, c.Unsupported("dtype", "float32, uint8 or int8", k.dtype.String())
	}
	switch layout := op.Get[string](c, "output_layout"); layout {
	case "CHW":
		k.planar = true
	case layoutHWC:
	default:
		return nil, c.Unsupported("output_layout", `"CHW" or "HWC"`, fmt.Sprintf("%q", layout))
	}
	if std, constant := k.std.Const(); constant {
		for _, v := range std {
			if v == 0 {
				return nil, c.Invalid("std", "numbers other than 0", fmt.Sprint(std), "")
			}
		}
	}
	return k, nil
}

func (k *cropMirrorNormalize) Grain() op.Grain { return op.PerSample }

// channels returns the number of output channels.
func (k *cropMirrorNormalize) channels(in int) int {
	if k.padOutput && in > 0 {
		return 1 << bits.Len(uint(in-1))
	}
	return in
}

func (k *cropMirrorNormalize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inputHWC(k.config, in[0]); err != nil {
		return nil, err
	}
	channels := -1
	if in[0].Shape != nil && in[0].Shape[2] >= 0 {
		for name, v := range map[string]op.Vector[float64]{"mean": k.mean, "std": k.std} {
			if list, constant := v.Const(); constant {
				if err := perChannel(name, list, in[0].Shape[2]); err != nil {
					return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
				}
			}
		}
		channels = k.channels(in[0].Shape[2])
	}
	h, w := -1, -1
	if in[0].Shape != nil {
		h, w = in[0].Shape[0], in[0].Shape[1]
	}
	_, h, w = k.window.Infer(1, h, w)
	if k.planar {
		return []tensor.Spec{{DType: k.dtype, Shape: tensor.Shape{channels, h, w}, Layout: "CHW"}}, nil
	}
	return []tensor.Spec{{DType: k.dtype, Shape: tensor.Shape{h, w, channels}, Layout: layoutHWC}}, nil
}

func perChannel(name string, v []float64, channels int) error {
	if len(v) == 1 || len(v) == channels {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + name,
		Want: fmt.Sprintf("1 or %d values, one a channel", channels), Got: fmt.Sprint(len(v))}
}

func (k *cropMirrorNormalize) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.sample(b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

// affine is (v - mean) * factor + shift, for one channel.
type affine struct{ mean, factor, shift float32 }

func (a affine) at(v float32) float32 { return float32((v-a.mean)*a.factor) + a.shift }

// cmnState is what a worker keeps for the operator.
type cmnState struct {
	mean, std []float64
	channels  []affine
	built     []affine // what the tables were made from
	float32s  [][256]float32
	uint8s    [][256]uint8
	int8s     [][256]int8
}

func (k *cropMirrorNormalize) sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkImage(in); err != nil {
		return err
	}
	h, w, c := in.Shape[0], in.Shape[1], in.Shape[2]
	st := op.PerWorker[cmnState](b)
	if err := k.affines(b, s, st, c); err != nil {
		return err
	}
	r, err := k.window.At(b, s, 1, h, w)
	if err != nil {
		return err
	}
	mirror, err := k.mirror.At(b, s)
	if err != nil {
		return err
	}
	p := placement{in: window.Box{D: 1, H: h, W: w}, window: r, channels: c, outChannels: k.channels(c), mirror: mirror != 0, planar: k.planar}
	var out tensor.Tensor
	if k.planar {
		out = b.Out(0, s, p.outChannels, r.H, r.W)
	} else {
		out = b.Out(0, s, r.H, r.W, p.outChannels)
	}
	switch k.dtype {
	case tensor.Float32:
		return normalize(k, st, &st.float32s, out, in, p, func(v float32) float32 { return v })
	case tensor.Uint8:
		return normalize(k, st, &st.uint8s, out, in, p, func(v float32) uint8 { return op.Round[uint8](float64(v)) })
	default:
		return normalize(k, st, &st.int8s, out, in, p, func(v float32) int8 { return op.Round[int8](float64(v)) })
	}
}

func (k *cropMirrorNormalize) affines(b *op.Block, s int, st *cmnState, channels int) error {
	mean, err := k.mean.At(b, s, st.mean)
	if err != nil {
		return err
	}
	std, err := k.std.At(b, s, st.std)
	if err != nil {
		return err
	}
	if err := perChannel("mean", mean, channels); err != nil {
		return err
	}
	if err := perChannel("std", std, channels); err != nil {
		return err
	}
	if _, constant := k.mean.Const(); !constant {
		st.mean = mean
	}
	if _, constant := k.std.Const(); !constant {
		st.std = std
	}
	st.channels = st.channels[:0]
	for c := range channels {
		st.channels = append(st.channels, affine{
			mean:   float32(mean[c%len(mean)]),
			factor: k.scale / float32(std[c%len(std)]),
			shift:  k.shift,
		})
	}
	return nil
}

// placement is how a window of an HWC image becomes an output.
type placement struct {
	in                    window.Box
	window                window.Box
	channels, outChannels int
	mirror, planar        bool
}

// strides returns the distances of neighbouring columns, rows and channels in the output.
func (p *placement) strides() (dx, dy, dc int) {
	if p.planar {
		return 1, p.window.W, p.window.H * p.window.W
	}
	return p.outChannels, p.outChannels * p.window.W, 1
}

func normalize[T float32 | uint8 | int8](k *cropMirrorNormalize, st *cmnState, tables *[][256]T, out, in tensor.Tensor, p placement, convert func(float32) T) error {
	dst, err := tensor.Of[T](out)
	if err != nil {
		return err
	}
	inside := p.window.Clip(1, p.in.H, p.in.W)
	if inside != p.window || p.outChannels != p.channels {
		fillOutput(dst, k.bounds.Fill, p, convert)
	}
	dx, dy, dc := p.strides()
	start := (inside.Y-p.window.Y)*dy + (inside.X-p.window.X)*dx
	if p.mirror {
		start = (inside.Y-p.window.Y)*dy + (p.window.X+p.window.W-1-inside.X)*dx
		dx = -dx
	}
	if inside.W == 0 {
		return nil
	}
	if in.DType == tensor.Uint8 {
		lut := lookup(st, tables, convert)
		for y := range inside.H {
			from := ((inside.Y+y)*p.in.W + inside.X) * p.channels
			row := in.Data[from : from+inside.W*p.channels]
			for c := range p.channels {
				mapRow(dst, start+y*dy+c*dc, dx, row[c:], p.channels, inside.W, &lut[c])
			}
		}
		return nil
	}
	src, err := floats(in)
	if err != nil {
		return err
	}
	for y := range inside.H {
		from := ((inside.Y+y)*p.in.W + inside.X) * p.channels
		for c, a := range st.channels {
			at := start + y*dy + c*dc
			for x := range inside.W {
				dst[at] = convert(a.at(src[from+x*p.channels+c]))
				at += dx
			}
		}
	}
	return nil
}

// mapRow writes n elements, dx apart from dst[at] on, looked up from bytes step apart.
func mapRow[T any](dst []T, at, dx int, src []uint8, step, n int, table *[256]T) {
	switch {
	case dx == 1:
		from := 0
		for i := range dst[at : at+n] {
			dst[at+i] = table[src[from]]
			from += step
		}
	case dx == -1:
		row := dst[at-n+1 : at+1]
		from := 0
		for i := len(row) - 1; i >= 0; i-- {
			row[i] = table[src[from]]
			from += step
		}
	default:
		for i := range n {
			dst[at+i*dx] = table[src[i*step]]
		}
	}
}

// lookup returns a table a channel, made anew only when the channels' constants changed.
func lookup[T any](st *cmnState, tables *[][256]T, convert func(float32) T) [][256]T {
	if !slices.Equal(st.built, st.channels) || len(*tables) != len(st.channels) {
		*tables = slices.Grow((*tables)[:0], len(st.channels))[:len(st.channels)]
		for c, a := range st.channels {
			for v := range 256 {
				(*tables)[c][v] = convert(a.at(float32(v)))
			}
		}
		st.built = append(st.built[:0], st.channels...)
	}
	return *tables
}

// fillOutput writes the fill values everywhere.
func fillOutput[T any](dst []T, fill []float64, p placement, convert func(float32) T) {
	_, _, dc := p.strides()
	for c := range p.outChannels {
		v := convert(float32(fill[min(c, len(fill)-1)]))
		if p.planar {
			plane := dst[c*dc : (c+1)*dc]
			for i := range plane {
				plane[i] = v
			}
			continue
		}
		for i := c; i < len(dst); i += p.outChannels {
			dst[i] = v
		}
	}
}
