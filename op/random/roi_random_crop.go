package random

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "roi_random_crop",
		Doc: "Draws the place of a window of a given size, so that it has as much of a region as fits: either the whole region lies in the window, " +
			"or the window lies in the region. If the size of the image is given, the window lies in the image.",
		Inputs:  []op.Port{{Name: "data", Doc: "the data to cut, in place of in_shape", Optional: true}},
		Outputs: []op.Port{{Name: "start", Doc: "the first index of the window along every axis, int64"}},
		Params: []op.Parameter{
			{Name: "crop_shape", Type: op.Ints, Required: true, PerSample: true, Doc: "Size of the window."},
			{Name: "roi_start", Type: op.Ints, Required: true, PerSample: true, Doc: "Start of the region."},
			{Name: "roi_end", Type: op.Ints, PerSample: true, Doc: "End of the region. Give either roi_end or roi_shape."},
			{Name: "roi_shape", Type: op.Ints, PerSample: true, Doc: "Size of the region. Give either roi_shape or roi_end."},
			{Name: "in_shape", Type: op.Ints, PerSample: true, Doc: "Size of the image. Not together with an input."},
			seedParam,
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			if c.Has("roi_end") == c.Has("roi_shape") {
				return nil, c.Invalid("roi_end", "roi_end or roi_shape", "both or neither", "")
			}
			if c.Has("in_shape") && c.Inputs > 0 {
				return nil, c.Invalid("in_shape", "in_shape or an input", "both", "")
			}
			k := &roiRandomCrop{
				config: c, crop: op.GetVector[int](c, "crop_shape"), start: op.GetVector[int](c, "roi_start"),
				end: op.GetVector[int](c, "roi_end"), extent: op.GetVector[int](c, "roi_shape"), in: op.GetVector[int](c, "in_shape"),
			}
			return k, nil
		},
	})
}

type roiRandomCrop struct {
	config                       *op.Config
	crop, start, end, extent, in op.Vector[int]
}

func (k *roiRandomCrop) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	rank := -1
	if crop, constant := k.crop.Const(); constant {
		rank = len(crop)
	}
	return []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{rank}}}, nil
}

// region is a worker's state: the lists of a sample.
type region struct{ crop, start, size, in []int }

func (k *roiRandomCrop) Run(b *op.Block) error {
	r := op.PerWorker[region](b)
	return b.Each(func(s int) error { return k.sample(b, s, r) })
}

func (k *roiRandomCrop) sample(b *op.Block, s int, r *region) error {
	bounded, err := k.load(b, s, r)
	if err != nil {
		return err
	}
	out, err := tensor.Of[int64](b.Out(0, s, len(r.crop)))
	if err != nil {
		return err
	}
	philox := b.RNG(s)
	words := libstdcxx.Words{Philox: &philox}
	for d, crop := range r.crop {
		start, size := r.start[d], r.size[d]
		if size == crop {
			out[d] = int64(start)
			continue
		}
		lo, hi := min(start, start+size-crop), max(start, start+size-crop)
		if bounded {
			lo, hi = max(lo, 0), min(hi, r.in[d]-crop)
		}
		const limit = 1 << 30
		if hi < lo || lo < -limit || hi > limit {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("region, axis %d", d), Want: "a place for the window",
				Got: fmt.Sprintf("region %d+%d, window %d", start, size, crop)}
		}
		out[d] = int64(words.UniformInt(int32(lo), int32(hi)))
	}
	return nil
}

// load reads the lists of a sample and checks them. The region's size may be given by its end.
func (k *roiRandomCrop) load(b *op.Block, s int, r *region) (bounded bool, err error) {
	if r.crop, err = k.crop.At(b, s, r.crop); err != nil {
		return false, err
	}
	list := func(name string, v *op.Vector[int], dst *[]int) error {
		got, err := v.At(b, s, *dst)
		if err != nil {
			return err
		}
		if len(got) != len(r.crop) {
			return invalid(name, fmt.Sprintf("%d numbers, as in crop_shape", len(r.crop)), got)
		}
		*dst = append((*dst)[:0], got...)
		return nil
	}
	if err := list("roi_start", &k.start, &r.start); err != nil {
		return false, err
	}
	if k.config.Has("roi_shape") {
		err = list("roi_shape", &k.extent, &r.size)
	} else if err = list("roi_end", &k.end, &r.size); err == nil {
		for d := range r.size {
			r.size[d] -= r.start[d]
		}
	}
	if err != nil {
		return false, err
	}
	switch {
	case b.Inputs() > 0:
		r.in = append(r.in[:0], b.In(0, s).Shape...)
		if len(r.in) < len(r.crop) {
			return false, invalid("crop_shape", fmt.Sprintf("at most the %d axes of the input", len(r.in)), r.crop)
		}
	case k.config.Has("in_shape"):
		if err := list("in_shape", &k.in, &r.in); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	for d, crop := range r.crop {
		if crop < 0 || crop > r.in[d] {
			return false, invalid("crop_shape", fmt.Sprintf("a window within the image of %v", r.in), r.crop)
		}
		if r.start[d] < 0 || r.start[d]+r.size[d] > r.in[d] {
			return false, invalid("roi_start", fmt.Sprintf("a region within the image of %v", r.in), fmt.Sprint(r.start, "+", r.size))
		}
	}
	return true, nil
}
