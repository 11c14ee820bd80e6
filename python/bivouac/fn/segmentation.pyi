# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.node import DataNode

def decode_runs(
    __runs: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    size: Ints | Fed,
) -> DataNode:
    """Returns the mask with the given runs, column by column as in COCO.

    Inputs:
      runs: the lengths of the runs, the first of the background.

    Outputs:
      mask: 0 for the background and 1 for the foreground, uint8.

    Args:
      size: Height and width of the mask. Required.
    """
    ...

def encode_runs(
    __mask: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Returns the runs of a mask, column by column as in COCO: how many pixels are background, then
    how many are foreground, and so on.

    Inputs:
      mask: a mask of two axes; pixels other than 0 are foreground.

    Outputs:
      runs: the lengths of the runs, uint32.
    """
    ...

def fill_polygons(
    __polygons: Input,
    __vertices: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    background: int | None = -1,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    size: Ints | Fed,
) -> DataNode:
    """Draws polygons as a mask. A pixel belongs to a polygon if its centre is inside, by the
    even-odd rule. Polygons of one mask are united, and later masks cover earlier ones.

    Inputs:
      polygons: for each polygon the number of its mask, its first vertex, and the vertex after its
        last.
      vertices: x and y of each vertex, in pixels from the corner of the image.

    Outputs:
      mask: for each pixel the number of its mask, int32.

    Args:
      background: The number of pixels without a polygon.
      size: Height and width of the mask. Required.
    """
    ...

def random_mask_pixel(
    __mask: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    foreground: int | Fed | None = 0,
    preserve: bool | None = False,
    seed: int | None = -1,
    threshold: float | Fed | None = 0,
    value: int | Fed | None = None,
) -> DataNode:
    """Draws a pixel of a mask: any pixel, or one of the foreground. All candidates are equally
    likely.

    Inputs:
      mask: a mask of any number of axes.

    Outputs:
      position: the index of the pixel along every axis, int64.

    Args:
      foreground: Whether only pixels of the foreground are candidates; 0 means no. A mask without
        foreground has all pixels as candidates.
      seed: Seed of this operator; -1: the pipeline's seed.
      threshold: Pixels above it are the foreground.
      value: Pixels of this value are the foreground. Not together with threshold.
    """
    ...

def random_object_bbox(
    __mask: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    background: int | Fed | None = 0,
    bytes_per_sample_hint: Ints | None = [0],
    cache_objects: bool | None = False,
    class_weights: Floats | Fed | None = None,
    classes: Ints | Fed | None = None,
    foreground_prob: float | Fed | None = 1,
    format: Text | None = "anchor_shape",
    ignore_class: bool | None = False,
    k_largest: int | None = None,
    output_class: bool | None = False,
    preserve: bool | None = False,
    seed: int | None = -1,
    threshold: Ints | Fed | None = None,
) -> Any:
    """Draws an object of a mask and returns the box around it. It draws a class, then one of the
    connected blobs of this class. A mask without a suitable blob, and a sample that is not drawn as
    foreground, have the whole mask as their box.

    Inputs:
      mask: a label for each pixel, of 1 to 6 axes.

    Outputs:
      start: start of the box along every axis, int32; with format "box" its starts and its ends.
      extent: size of the box, or with format "start_end" its end; not with format "box".
      class: with output_class: the label of the object, or of the background.

    Args:
      background: The label of the background. By default 0, or a label that is not in classes.
      cache_objects: Accepted, but has no effect: blobs are found in one pass over the mask.
      class_weights: How likely each class is, relative to the others. Without classes, they are for
        the labels from 0 on, without the background.
      classes: The labels of objects. By default all labels but the background.
      foreground_prob: How likely it is that an object is drawn.
      format: What is returned: "anchor_shape", "start_end" or "box".
      ignore_class: Whether all blobs are equally likely, whatever their class. Not together with
        classes, class_weights and output_class.
      k_largest: Number of the largest boxes among which one is drawn. By default all.
      output_class: Whether the class is one more output.
      seed: Seed of this operator; -1: the pipeline's seed.
      threshold: The least size of a box along each axis, or one number for all axes. Smaller boxes
        do not count.
    """
    ...

def select_masks(
    __mask_ids: Input,
    __polygons: Input,
    __vertices: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    reindex_masks: bool | None = False,
) -> list[DataNode]:
    """Chooses masks that are polygons by their numbers. The masks come out in the order in which
    they were chosen. If several polygons have one number, the last one is the mask.

    Inputs:
      mask_ids: the numbers of the masks, each at most once.
      polygons: for each polygon the number of its mask, its first vertex, and the vertex after its
        last.
      vertices: a row of coordinates for each vertex.

    Outputs:
      chosen: the polygons of the chosen masks.
      chosen_vertices: their vertices.

    Args:
      reindex_masks: Whether masks get their places in mask_ids as new numbers.
    """
    ...
