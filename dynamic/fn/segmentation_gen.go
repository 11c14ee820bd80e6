// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// SegmentationRandomMaskPixelArgs are the arguments of segmentation.random_mask_pixel.
type SegmentationRandomMaskPixelArgs = opargs.SegmentationRandomMaskPixel

// SegmentationRandomMaskPixel is segmentation.random_mask_pixel. Draws a pixel of a mask: any pixel, or one
// of the foreground. All candidates are equally likely.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input mask: a mask of any number of axes.
// Output position: the index of the pixel along every axis, int64.
func SegmentationRandomMaskPixel[T dynamic.Kind](ctx context.Context, rng *random.RNG, mask T, args SegmentationRandomMaskPixelArgs) (position T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "segmentation.random_mask_pixel", Args: args, Inputs: []dynamic.Value{mask}, Draw: random.Or(ctx, rng)})
}

// SegmentationRandomObjectBboxArgs are the arguments of segmentation.random_object_bbox.
type SegmentationRandomObjectBboxArgs = opargs.SegmentationRandomObjectBbox

// SegmentationRandomObjectBbox is segmentation.random_object_bbox. Draws an object of a mask and returns the
// box around it. It draws a class, then one of the connected blobs of this class. A mask without a suitable
// blob, and a sample that is not drawn as foreground, have the whole mask as their box.
//
// Numbers come from rng; where it is nil, from the generator of ctx.
// Input mask: a label for each pixel, of 1 to 6 axes.
// Output start: start of the box along every axis, int32; with format "box" its starts and its ends.
// Output extent: size of the box, or with format "start_end" its end; not with format "box".
// Output class: with output_class: the label of the object, or of the background.
func SegmentationRandomObjectBbox[T dynamic.Kind](ctx context.Context, rng *random.RNG, mask T, args SegmentationRandomObjectBboxArgs) []T {
	return dynamic.InvokeN[T](ctx, dynamic.Call{Op: "segmentation.random_object_bbox", Args: args, Inputs: []dynamic.Value{mask}, Draw: random.Or(ctx, rng)}, 0)
}

// SegmentationSelectMasksArgs are the arguments of segmentation.select_masks.
type SegmentationSelectMasksArgs = opargs.SegmentationSelectMasks

// SegmentationSelectMasks is segmentation.select_masks. Chooses masks that are polygons by their numbers. The
// masks come out in the order in which they were chosen. If several polygons have one number, the last one is
// the mask.
//
// Input maskIds: the numbers of the masks, each at most once.
// Input polygons: for each polygon the number of its mask, its first vertex, and the vertex after its last.
// Input vertices: a row of coordinates for each vertex.
// Output chosen: the polygons of the chosen masks.
// Output chosenVertices: their vertices.
func SegmentationSelectMasks[T dynamic.Kind](ctx context.Context, maskIds T, polygons dynamic.Value, vertices dynamic.Value, args SegmentationSelectMasksArgs) (chosen, chosenVertices T) {
	out := dynamic.InvokeN[T](ctx, dynamic.Call{Op: "segmentation.select_masks", Args: args, Inputs: []dynamic.Value{maskIds, polygons, vertices}}, 2)
	return out[0], out[1]
}
