package pipeline_test

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// together applies one drawn transform to an image and to all that belongs to it.
func together(p *pipeline.Builder, image, mask, boxes, keypoints pipeline.Node) []pipeline.Node {
	mirror := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})
	angle := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{-30, 30})})
	return fn.Spatial(p, fn.SpatialArgs{
		Targets:    []string{"image", "mask", "bboxes", "keypoints"},
		Horizontal: op.Of[int](mirror), Angle: op.Of[float64](angle),
		RandomCrop: true, RandomArea: []float64{0.5, 1},
		Size: op.Const([]int{4, 6}),
	}, image, mask, boxes, keypoints)
}

// One transform for an image, its mask, its boxes and its keypoints.
func Example_together() {
	show(pipeline.Define(pipeline.Options{Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
		image := p.Constant(pipeline.Constant{Value: uint8(50), Shape: []int{8, 9, 3}, Layout: "HWC"})
		mask := p.Constant(pipeline.Constant{Value: uint8(1), Shape: []int{8, 9}, Layout: "HW"})
		boxes := p.Constant(pipeline.Constant{Value: []float32{0.25, 0.25, 0.75, 0.75}, Shape: []int{1, 4}})
		keypoints := p.Constant(pipeline.Constant{Value: []float32{0.5, 0.5, 2}, Shape: []int{1, 3}})
		return together(p, image, mask, boxes, keypoints)[1:]
	}))
	// Output:
	// uint8[4,6] 0 1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0
	// float32[1,4] 0.15497713 0.16850035 0.7973352 0.9605303
	// float32[1,3] 0.47615615 0.56451535 2
}
