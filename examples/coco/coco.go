// Package coco is an example of detection: images with boxes and labels go through a pipeline that
// crops them at random, and the boxes follow.
package coco

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// Size is the height and width of the images.
const Size = 64

// Define returns a pipeline over a data set in COCO's format. Its outputs are images of shape [3,
// Size, Size] from -1 to 1, their boxes (left, top, right and bottom as fractions of the image) and
// the labels of the boxes.
func Define(o pipeline.Options, images, annotations string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		read := fn.ReadersCoco(p, fn.ReadersCocoArgs{
			FileRoot: images, AnnotationsFile: annotations, Ltrb: true, Ratio: true, SkipEmpty: true, RandomShuffle: true,
		})
		encoded, boxes, labels := read[0], read[1], read[2]
		// A window that keeps at least one box well inside. Boxes whose centre is outside are dropped.
		window := fn.RandomBboxCrop(p, boxes, fn.RandomBboxCropArgs{
			Thresholds: []float64{0.3, 0.5, 0.7}, ThresholdType: op.Const("overlap"), AllBoxesAboveThreshold: op.Const(false),
			Scaling: []float64{0.5, 1}, AspectRatio: []float64{0.5, 2}, TotalNumAttempts: op.Const(50), Quiet: true,
		}, labels)
		anchor, extent, kept, keptLabels := window[0], window[1], window[2], window[3]
		pixels := fn.DecodersImageSlice(p, encoded, fn.DecodersImageSliceArgs{}, anchor, extent) // decodes only the window
		resized := fn.Resize(p, pixels, fn.ResizeArgs{Size: op.Const([]float64{Size, Size})})[0]
		normal := fn.CropMirrorNormalize(p, resized, fn.CropMirrorNormalizeArgs{
			Mean: op.Const([]float64{127.5}), Std: op.Const([]float64{127.5}),
		})
		return []pipeline.Node{normal, kept, keptLabels}
	})
}
