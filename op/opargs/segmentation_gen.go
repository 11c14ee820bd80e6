// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
)

// SegmentationDecodeRuns are the arguments of segmentation.decode_runs.
type SegmentationDecodeRuns struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the mask. Required.
	Size op.Arg[[]int] `op:"size"`
}

// SegmentationEncodeRuns are the arguments of segmentation.encode_runs.
type SegmentationEncodeRuns struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it
}

// SegmentationFillPolygons are the arguments of segmentation.fill_polygons.
type SegmentationFillPolygons struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Height and width of the mask. Required.
	Size op.Arg[[]int] `op:"size"`

	// The number of pixels without a polygon. Default: -1.
	Background op.Arg[int] `op:"background"`
}

// SegmentationRandomMaskPixel are the arguments of segmentation.random_mask_pixel.
type SegmentationRandomMaskPixel struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether only pixels of the foreground are candidates; 0 means no. A mask without foreground has all pixels
	// as candidates. Default: 0.
	Foreground op.Arg[int] `op:"foreground"`

	// Pixels above it are the foreground. Default: 0.
	Threshold op.Arg[float64] `op:"threshold"`

	// Pixels of this value are the foreground. Not together with threshold.
	Value op.Arg[int] `op:"value"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// SegmentationRandomObjectBbox are the arguments of segmentation.random_object_bbox.
type SegmentationRandomObjectBbox struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The label of the background. By default 0, or a label that is not in classes. Default: 0.
	Background op.Arg[int] `op:"background"`

	// Accepted, but has no effect: blobs are found in one pass over the mask. Default: false.
	CacheObjects bool `op:"cache_objects"`

	// How likely each class is, relative to the others. Without classes, they are for the labels from 0 on,
	// without the background.
	ClassWeights op.Arg[[]float64] `op:"class_weights"`

	// The labels of objects. By default all labels but the background.
	Classes op.Arg[[]int] `op:"classes"`

	// How likely it is that an object is drawn. Default: 1.
	ForegroundProb op.Arg[float64] `op:"foreground_prob"`

	// What is returned: "anchor_shape", "start_end" or "box". Default: "anchor_shape".
	Format op.Arg[string] `op:"format"`

	// Whether all blobs are equally likely, whatever their class. Not together with classes, class_weights and
	// output_class. Default: false.
	IgnoreClass bool `op:"ignore_class"`

	// Number of the largest boxes among which one is drawn. By default all.
	KLargest op.Arg[int] `op:"k_largest"`

	// Whether the class is one more output. Default: false.
	OutputClass bool `op:"output_class"`

	// The least size of a box along each axis, or one number for all axes. Smaller boxes do not count.
	Threshold op.Arg[[]int] `op:"threshold"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// SegmentationSelectMasks are the arguments of segmentation.select_masks.
type SegmentationSelectMasks struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether masks get their places in mask_ids as new numbers. Default: false.
	ReindexMasks bool `op:"reindex_masks"`
}
