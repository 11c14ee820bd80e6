# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator
from bivouac.ops.experimental import decoders as decoders
from bivouac.ops.experimental import inputs as inputs
from bivouac.ops.experimental import readers as readers

class AudioResample(Operator):
    """Resamples signals with a windowed sinc. The scale is given, or follows from rates or from the
    length of the output. The filter does not become wider for a smaller rate: frequencies above
    half of the new rate are folded back.

    Deprecated: use audio_resample.

    The arguments are those of `bivouac.fn.experimental.audio_resample`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        in_rate: float | Fed | None = None,
        out_length: int | Fed | None = None,
        out_rate: float | Fed | None = None,
        preserve: bool | None = False,
        quality: float | None = 50,
        scale: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Debayer(Operator):
    """Makes RGB images of the raw images of sensors, whose pixels have one colour each
    (demosaicing). Height and width must be even.

    Deprecated: use debayer.

    The arguments are those of `bivouac.fn.experimental.debayer`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        algorithm: Text | None = None,
        blue_position: Ints | Fed | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Equalize(Operator):
    """Spreads the values of each channel of an image over the whole range, so that every part of
    the range has about as many pixels (histogram equalization). A channel of one value keeps it.

    Deprecated: use equalize.

    The arguments are those of `bivouac.fn.experimental.equalize`.
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
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Filter(Operator):
    """Filters images with a matrix of weights: a pixel becomes the weighted sum of the pixels
    around it. The matrix is not turned around (it is a correlation).

    Deprecated: use filter.

    The arguments are those of `bivouac.fn.experimental.filter`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        anchor: Ints | Fed | None = [-1],
        border: Text | None = "reflect_101",
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        mode: Text | None = "same",
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __filter: Input,
        __fill_value: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Inflate(Operator):
    """Decompresses data of a known shape. A sample is one compressed chunk, or several chunks one
    behind the other. Several chunks make a tensor with one more axis, the first.

    Deprecated: use decoders.inflate.

    The arguments are those of `bivouac.fn.experimental.inflate`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        algorithm: Text | None = "LZ4",
        bytes_per_sample_hint: Ints | None = [0],
        check_output_size: bool | None = False,
        chunk_offsets: Ints | Fed | None = None,
        chunk_sizes: Ints | Fed | None = None,
        dtype: DALIDataType | None = DALIDataType.UINT8,
        layout: Text | None = "",
        preserve: bool | None = False,
        sequence_axis_name: Text | None = "F",
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __compressed: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PeekImageShape(Operator):
    """Returns the shape of images (height, width, channels) without decoding them.

    Deprecated: use peek_image_shape.

    The arguments are those of `bivouac.fn.experimental.peek_image_shape`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        adjust_orientation: bool | None = True,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.INT64,
        image_type: DALIImageType | None = DALIImageType.RGB,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class TensorResize(Operator):
    """Changes the extents of some axes of arrays of any rank to given sizes, or by given scales. At
    most three adjacent axes change. The other axes keep their extent, unless mode scales all axes
    alike.

    Deprecated: use tensor_resize.

    The arguments are those of `bivouac.fn.experimental.tensor_resize`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        alignment: Floats | Fed | None = [0.5],
        antialias: bool | None = True,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        interp_type: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
        mag_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
        max_size: Floats | None = None,
        min_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
        minibatch_size: int | None = 32,
        mode: Text | None = "default",
        preserve: bool | None = False,
        roi_end: Floats | Fed | None = None,
        roi_relative: bool | None = False,
        roi_start: Floats | Fed | None = None,
        scales: Floats | Fed | None = None,
        size_rounding: Text | None = "round",
        sizes: Floats | Fed | None = None,
        subpixel_scale: bool | None = True,
        temp_buffer_hint: int | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class WarpPerspective(Operator):
    """Warps images by a perspective transform: a matrix of three rows and columns. The transform
    maps each pixel of the output to the point of the input that it shows.

    The arguments are those of `bivouac.fn.experimental.warp_perspective`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        border_mode: Text | None = "constant",
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: Floats | None = [],
        interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
        inverse_map: bool | None = True,
        matrix: Floats | Fed | None = [],
        pixel_origin: Text | None = "corner",
        preserve: bool | None = False,
        size: Floats | Fed | None = [],
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        __matrix_input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
