// Package boxes is an example of data for detection and segmentation, on scenes that are made:
// mosaics of four images whose boxes follow, and crops around an object of a mask.
package boxes

import (
	"context"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Side is the height and width of the images.
const Side = 48

// Scene returns an image with a rectangle, its box, its label and its mask. The number decides
// everything. The rectangle has the colour 50 * label.
func Scene(number int64) (image, box, label, mask tensor.Tensor) {
	image, mask = tensor.New(tensor.Uint8, Side, Side, 3), tensor.New(tensor.Uint8, Side, Side)
	image.Layout, mask.Layout = "HWC", "HW"
	p := rng.NewPhilox(uint64(number), 0, 0)
	class := 1 + p.Intn(4)
	h, w := 8+p.Intn(24), 8+p.Intn(24)
	top, left := p.Intn(Side-h), p.Intn(Side-w)
	for y := top; y < top+h; y++ {
		for x := left; x < left+w; x++ {
			mask.Data[y*Side+x] = byte(class)
			for c := range 3 {
				image.Data[(y*Side+x)*3+c] = byte(50 * class)
			}
		}
	}
	edges := []float32{float32(left) / Side, float32(top) / Side, float32(left+w) / Side, float32(top+h) / Side}
	return image, tensor.FromSlice(edges, 1, 4), tensor.FromSlice([]int32{int32(class)}, 1), mask
}

// Mosaics returns a pipeline over n scenes. Its outputs are mosaics, their boxes and their labels.
// A sample takes its three partners by their numbers, so that they do not depend on the batch.
func Mosaics(o pipeline.Options, n int64) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		four := pipeline.SampleFunc(func(_ context.Context, info pipeline.SampleInfo) ([]tensor.Tensor, error) {
			all := make([]tensor.Tensor, 12)
			number := info.IdxInEpoch
			for i := range 4 {
				all[i], all[4+i], all[8+i], _ = Scene(number % n)
				number = int64(rng.Mix(uint64(number)+uint64(info.EpochIdx)<<32) >> 1) // of the next partner
			}
			return all, nil
		})
		in := pipeline.ExternalSource(p, four, pipeline.SourceOptions{Outputs: 12})
		point := func() op.Arg[float64] {
			return op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.3, 0.7})}))
		}
		mosaic := p.Op("mosaic", fn.MosaicArgs{Size: []int{Side, Side}, CentreX: point(), CentreY: point(),
			MinVisibility: op.Const(0.2)}, in...)
		image, boxes, labels := mosaic[0], mosaic[1], mosaic[2]
		mirror := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{}) // one draw for the image and its boxes
		image = fn.Flip(p, image, fn.FlipArgs{Horizontal: op.Of[int](mirror)})
		boxes = fn.BbFlip(p, boxes, fn.BbFlipArgs{Ltrb: true, Horizontal: op.Of[int](mirror)})
		return []pipeline.Node{image, boxes, labels}
	})
}

// Objects returns a pipeline over n scenes. Its outputs are the images of objects, cut out along
// their masks, with their masks and their labels. Image and mask take the same window.
func Objects(o pipeline.Options, n int64) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		source := pipeline.SampleFunc(func(_ context.Context, info pipeline.SampleInfo) ([]tensor.Tensor, error) {
			image, _, _, mask := Scene(info.IdxInEpoch % n)
			return []tensor.Tensor{image, mask}, nil
		})
		in := pipeline.ExternalSource(p, source, pipeline.SourceOptions{Outputs: 2})
		found := fn.SegmentationRandomObjectBbox(p, in[1], fn.SegmentationRandomObjectBboxArgs{OutputClass: true})
		start, extent, class := found[0], found[1], found[2]
		window := fn.SliceArgs{AxisNames: op.Const("HW"), NormalizedAnchor: op.Const(false), NormalizedShape: op.Const(false)}
		return []pipeline.Node{fn.Slice(p, in[0], window, start, extent), fn.Slice(p, in[1], window, start, extent), class}
	})
}

// Follow returns a pipeline over n scenes. One drawn transform goes to image, mask, box and the
// middle of the box. Its outputs are these, and the labels of boxes of which a fifth is left.
func Follow(o pipeline.Options, n int64) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		source := pipeline.SampleFunc(func(_ context.Context, info pipeline.SampleInfo) ([]tensor.Tensor, error) {
			image, box, label, mask := Scene(info.IdxInEpoch % n)
			b, err := tensor.Of[float32](box)
			if err != nil {
				return nil, err
			}
			middle := tensor.FromSlice([]float32{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, 2}, 1, 3)
			return []tensor.Tensor{image, mask, box, middle, label}, nil
		})
		in := pipeline.ExternalSource(p, source, pipeline.SourceOptions{Outputs: 5})
		angle := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{-45, 45})})
		corners := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{-0.1, 0.1}), Shape: op.Const([]int{8})})
		out := fn.Spatial(p, fn.SpatialArgs{
			Targets:    []string{"image", "mask", "bboxes", "keypoints"},
			Horizontal: op.Of[int](fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})),
			Angle:      op.Of[float64](angle), Corners: op.Of[[]float64](corners),
			RandomCrop: true, RandomArea: []float64{0.5, 1}, Size: op.Const([]int{Side, Side}),
		}, in[:4]...)
		kept := p.Op("bbox_prune", fn.BboxPruneArgs{MinVisibility: op.Const(0.2)}, out[2], in[4])
		return []pipeline.Node{out[0], out[1], kept[0], out[3], kept[1]}
	})
}
