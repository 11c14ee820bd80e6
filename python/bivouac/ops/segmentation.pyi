# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class DecodeRuns(Operator):
    """Returns the mask with the given runs, column by column as in COCO.

    The arguments are those of `bivouac.fn.segmentation.decode_runs`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        size: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __runs: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class EncodeRuns(Operator):
    """Returns the runs of a mask, column by column as in COCO: how many pixels are background, then
    how many are foreground, and so on.

    The arguments are those of `bivouac.fn.segmentation.encode_runs`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __mask: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class FillPolygons(Operator):
    """Draws polygons as a mask. A pixel belongs to a polygon if its centre is inside, by the
    even-odd rule. Polygons of one mask are united, and later masks cover earlier ones.

    The arguments are those of `bivouac.fn.segmentation.fill_polygons`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        background: int | None = -1,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        size: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __polygons: Input,
        __vertices: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RandomMaskPixel(Operator):
    """Draws a pixel of a mask: any pixel, or one of the foreground. All candidates are equally
    likely.

    The arguments are those of `bivouac.fn.segmentation.random_mask_pixel`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        foreground: int | Fed | None = 0,
        preserve: bool | None = False,
        seed: int | None = -1,
        threshold: float | Fed | None = 0,
        value: int | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __mask: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RandomObjectBBox(Operator):
    """Draws an object of a mask and returns the box around it. It draws a class, then one of the
    connected blobs of this class. A mask without a suitable blob, and a sample that is not drawn as
    foreground, have the whole mask as their box.

    The arguments are those of `bivouac.fn.segmentation.random_object_bbox`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __mask: Input,
        /,
        **kwargs: Any,
    ) -> Any: ...

class SelectMasks(Operator):
    """Chooses masks that are polygons by their numbers. The masks come out in the order in which
    they were chosen. If several polygons have one number, the last one is the mask.

    The arguments are those of `bivouac.fn.segmentation.select_masks`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        reindex_masks: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __mask_ids: Input,
        __polygons: Input,
        __vertices: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
