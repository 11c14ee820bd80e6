package main

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	side     = 72 // of a scene
	crop     = 32 // of what is cut out of it
	classes  = 4  // 0 is the background
	unlabel  = 9  // mask of a polygon that nobody labelled
	outside  = 255
	vertices = 4
)

// palette has the colour of each class.
var palette = [classes][3]int{{60, 70, 80}, {200, 60, 50}, {60, 170, 70}, {70, 90, 210}}

// scene is a picture with polygons. A row of polygons has the number of the mask, the first vertex
// and the vertex after the last one; the number is the class.
type scene struct {
	picture, ids, polygons, points tensor.Tensor
}

// made returns a scene. The number decides everything.
func made(number int64) scene {
	p := rng.NewPhilox(uint64(number), 0, 0)
	picture := tensor.New(tensor.Uint8, side, side, 3)
	picture.Layout = "HWC"
	var class [side * side]int
	var ids, polygons []int32
	var points []float32
	one := 1 + p.Intn(3)
	other := 1 + (one+p.Intn(2))%3
	for _, mask := range []int{one, other, unlabel} {
		// A rhombus around a point.
		x, y := 12+p.Intn(side-24), 12+p.Intn(side-24)
		w, h := 8+p.Intn(12), 8+p.Intn(12)
		first := int32(len(points) / 2)
		polygons = append(polygons, int32(mask), first, first+vertices)
		fx, fy, fw, fh := float32(x), float32(y), float32(w), float32(h)
		points = append(points, fx, fy-fh, fx+fw, fy, fx, fy+fh, fx-fw, fy)
		if mask == unlabel {
			continue // the picture does not show it
		}
		ids = append(ids, int32(mask))
		for i := range class {
			dx, dy := float32(i%side)+0.5-fx, float32(i/side)+0.5-fy
			if max(dx, -dx)/fw+max(dy, -dy)/fh < 1 {
				class[i] = max(class[i], mask) // a larger number covers
			}
		}
	}
	slices.Sort(ids) // masks are drawn in this order
	for i, c := range class {
		for k := range 3 {
			picture.Data[3*i+k] = byte(palette[c][k] + p.Intn(31) - 15)
		}
	}
	return scene{picture, tensor.FromSlice(ids, len(ids)), tensor.FromSlice(polygons, len(polygons)/3, 3),
		tensor.FromSlice(points, len(points)/2, 2)}
}

// define returns a pipeline over n scenes. Its outputs are crops and their masks.
func define(o pipeline.Options, n int64) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		source := pipeline.SampleFunc(func(_ context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
			s := made(at.IdxInEpoch % n)
			return []tensor.Tensor{s.picture, s.ids, s.polygons, s.points}, nil
		})
		in := pipeline.ExternalSource(p, source, pipeline.SourceOptions{Outputs: 4})
		polygons, points := fn.SegmentationSelectMasks(p, in[1], in[2], in[3], fn.SegmentationSelectMasksArgs{})
		mask := fn.SegmentationFillPolygons(p, polygons, points, fn.SegmentationFillPolygonsArgs{
			Size: op.Const([]int{side, side}), Background: op.Const(0)})
		mask = fn.Cast(p, mask, fn.CastArgs{DType: tensor.Uint8})
		between := func(low, high float64) pipeline.Node {
			return fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{low, high})})
		}
		both := fn.Spatial(p, fn.SpatialArgs{
			Targets: []string{"image", "mask"}, MaskFillValue: outside,
			Horizontal: op.Of[int](fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})),
			Angle:      op.Of[float64](between(-45, 45)), Scale: op.Of[[]float64](between(0.8, 1.4)),
		}, in[0], mask)
		labelled := both[1].Mul(both[1].Less(outside)) // 0 outside of the picture
		pixel := fn.SegmentationRandomMaskPixel(p, labelled, fn.SegmentationRandomMaskPixelArgs{Foreground: op.Const(1)})
		window := fn.SliceArgs{Start: op.Of[[]int](pixel.Sub(crop / 2)), Shape: op.Const([]int{crop, crop}),
			AxisNames: op.Const("HW"), OutOfBoundsPolicy: op.Const("pad")}
		picture := fn.Slice(p, both[0], window)
		window.FillValues = []float64{outside}
		return []pipeline.Node{picture, fn.Slice(p, both[1], window)}
	})
}
