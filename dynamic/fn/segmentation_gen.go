// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// SegmentationDecodeRunsArgs are the arguments of segmentation.decode_runs.
type SegmentationDecodeRunsArgs = opargs.SegmentationDecodeRuns

// SegmentationDecodeRuns is segmentation.decode_runs. Returns the mask with the given runs, column by column
// as in COCO.
//
// Input runs: the lengths of the runs, the first of the background.
// Output mask: 0 for the background and 1 for the foreground, uint8.
func SegmentationDecodeRuns[T dynamic.Kind](ctx context.Context, runs T, args SegmentationDecodeRunsArgs) (mask T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "segmentation.decode_runs", Args: args, Inputs: []dynamic.Value{runs}})
}

// SegmentationEncodeRunsArgs are the arguments of segmentation.encode_runs.
type SegmentationEncodeRunsArgs = opargs.SegmentationEncodeRuns

// SegmentationEncodeRuns is segmentation.encode_runs. Returns the runs of a mask, column by column as in
// COCO: how many pixels are background, then how many are foreground, and so on.
//
// Input mask: a mask of two axes; pixels other than 0 are foreground.
// Output runs: the lengths of the runs, uint32.
func SegmentationEncodeRuns[T dynamic.Kind](ctx context.Context, mask T, args SegmentationEncodeRunsArgs) (runs T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "segmentation.encode_runs", Args: args, Inputs: []dynamic.Value{mask}})
}

// SegmentationFillPolygonsArgs are the arguments of segmentation.fill_polygons.
type SegmentationFillPolygonsArgs = opargs.SegmentationFillPolygons

// SegmentationFillPolygons is segmentation.fill_polygons. Draws polygons as a mask. A pixel belongs to a
// polygon if its centre is inside, by the even-odd rule. Polygons of one mask are united, and later masks
// cover earlier ones.
//
// Input polygons: for each polygon the number of its mask, its first vertex, and the vertex after its last.
// Input vertices: x and y of each vertex, in pixels from the corner of the image.
// Output mask: for each pixel the number of its mask, int32.
func SegmentationFillPolygons[T dynamic.Kind](ctx context.Context, polygons T, vertices dynamic.Value, args SegmentationFillPolygonsArgs) (mask T) {
	return dynamic.Invoke1[T](ctx, dynamic.Call{Op: "segmentation.fill_polygons", Args: args, Inputs: []dynamic.Value{polygons, vertices}})
}

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
