# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.node import DataNode
from bivouac.fn.experimental import decoders as decoders
from bivouac.fn.experimental import inputs as inputs
from bivouac.fn.experimental import readers as readers

def audio_resample(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    in_rate: float | Fed | None = None,
    out_length: int | Fed | None = None,
    out_rate: float | Fed | None = None,
    preserve: bool | None = False,
    quality: float | None = 50,
    scale: float | Fed | None = None,
) -> DataNode:
    """Resamples signals with a windowed sinc. The scale is given, or follows from rates or from the
    length of the output. The filter does not become wider for a smaller rate: frequencies above
    half of the new rate are folded back.

    Deprecated: use audio_resample.

    Inputs:
      signal: a signal [time] or [time, channels]: uint8, int8, uint16, int16, uint32, int32 or
        float32.

    Outputs:
      resampled: the signal at the new rate.

    Args:
      dtype: Type of the output, by default the type of the input. Integers stand for -1 to 1; 0 is
        the middle of an unsigned type.
      in_rate: Rate of the input, given together with out_rate.
      out_length: Number of elements of the output.
      out_rate: Rate of the output, given together with in_rate.
      quality: Quality from 0, a filter of 3 lobes, to 100, a filter of 64 lobes.
      scale: Elements of the output per element of the input.
    """
    ...

def debayer(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    algorithm: Text | None = None,
    blue_position: Ints | Fed,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Makes RGB images of the raw images of sensors, whose pixels have one colour each
    (demosaicing). Height and width must be even.

    Deprecated: use debayer.

    Inputs:
      images: raw images or sequences of them, without channels or with one: uint8 or uint16.

    Outputs:
      colour: images of the channels red, green and blue.

    Args:
      algorithm: How missing colours are made: "bilinear_ocv", which is the default, takes the mean
        of neighbours, "edgeaware_ocv" takes them along edges, "vng_ocv" takes those in the
        directions of small gradients (uint8 only), and "gray_ocv" makes gray images of one channel.
      blue_position: Row and column of blue, 0 or 1 each, in the tile of 2x2 pixels that begins at
        the second row and column; one number stands for both. Required.
    """
    ...

def equalize(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Spreads the values of each channel of an image over the whole range, so that every part of
    the range has about as many pixels (histogram equalization). A channel of one value keeps it.

    Deprecated: use equalize.

    Inputs:
      images: images or sequences: uint8.

    Outputs:
      equalized: images of the same shape.
    """
    ...

def filter(
    __data: Input,
    __filter: Input,
    __fill_value: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    anchor: Ints | Fed | None = [-1],
    border: Text | None = "reflect_101",
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    mode: Text | None = "same",
    preserve: bool | None = False,
) -> DataNode:
    """Filters images with a matrix of weights: a pixel becomes the weighted sum of the pixels
    around it. The matrix is not turned around (it is a correlation).

    Deprecated: use filter.

    Inputs:
      data: images with or without channels, or sequences of them: uint8, int16, uint16 or float32.
      filter: the weights, a float32 matrix of rows and columns, or a sequence with the layout FHW
        of one for each frame.
      fill_value: the number outside the image, of the type of the image, for the border "constant";
        other borders ignore it; may be left out.

    Outputs:
      filtered: the sums, with the layout of the input.

    Args:
      anchor: Row and column of the weight that belongs to the pixel itself, or one number for both;
        -1 means the middle, rounded down.
      border: What lies outside the image: "reflect_101" mirrors without the edge, "reflect_1001"
        mirrors with the edge, "wrap", "clamp" or "constant".
      dtype: Output type: the input's type, which is the default, or float32.
      mode: "same" keeps the size, "valid" leaves out the pixels that need a border.
    """
    ...

def inflate(
    __compressed: Input,
    /,
    *,
    device: str | None = None,
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
    shape: Ints | Fed,
) -> DataNode:
    """Decompresses data of a known shape. A sample is one compressed chunk, or several chunks one
    behind the other. Several chunks make a tensor with one more axis, the first.

    Deprecated: use decoders.inflate.

    Inputs:
      compressed: compressed bytes.

    Outputs:
      inflated: the data.

    Args:
      algorithm: How the data is compressed: LZ4, as blocks without a frame.
      check_output_size: Accepted, but has no effect: sizes are always checked.
      chunk_offsets: Where each chunk begins. By default each chunk begins where the chunk before it
        ends.
      chunk_sizes: Bytes of each chunk. By default each chunk ends where the next chunk begins.
      dtype: Type of the data.
      layout: Layout of a chunk after decompression.
      sequence_axis_name: The letter of the axis of chunks. It has no effect without a layout or
        without chunks.
      shape: Shape of a chunk after decompression. Required.
    """
    ...

def peek_image_shape(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    adjust_orientation: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.INT64,
    image_type: DALIImageType | None = DALIImageType.RGB,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the shape of images (height, width, channels) without decoding them.

    Deprecated: use peek_image_shape.

    Inputs:
      encoded: the bytes of an image file.

    Outputs:
      shapes: three numbers.

    Args:
      adjust_orientation: Whether to return the shape after the rotation that the EXIF orientation
        says.
      dtype: Type of the numbers: int32, uint32, int64, uint64, float32 or float64.
      image_type: Colour space of the output; ANY_DATA: as in the file.
    """
    ...

def tensor_resize(
    __data: Input,
    /,
    *,
    device: str | None = None,
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
) -> DataNode:
    """Changes the extents of some axes of arrays of any rank to given sizes, or by given scales. At
    most three adjacent axes change. The other axes keep their extent, unless mode scales all axes
    alike.

    Deprecated: use tensor_resize.

    Inputs:
      data: arrays of uint8, int16, uint16 or float32.

    Outputs:
      resized: arrays of the new extents, with the layout of the input.

    Args:
      alignment: The fixed point of the resized part if a size is rounded: 0 at its start, 1 at its
        end; one for all axes or one for each.
      antialias: Whether the filter is widened along axes that shrink.
      axes: Axes to resize, in the order of the other arguments; by default all. Negative numbers
        count from the last axis.
      axis_names: Axes to resize, by the letters of the layout.
      dtype: Output type: the input's type, which is the default, or float32.
      interp_type: Filter, unless mag_filter or min_filter is given.
      mag_filter: Filter for axes that grow or keep their extent.
      max_size: Largest extent of the result, one for all axes or one for each; 0 means no limit.
      min_filter: Filter for axes that shrink.
      minibatch_size: Has no effect.
      mode: How sizes are used, as in resize: "default", "stretch", "not_larger" or "not_smaller".
      roi_end: End of the part that is resized, on each axis.
      roi_relative: Whether the part is given in fractions of the extents.
      roi_start: Start of the part that is resized, on each axis.
      scales: Factor of each axis, or one for all; not together with sizes.
      size_rounding: How sizes become integers: "round", "truncate" or "ceil".
      sizes: Extent of each axis, or one for all; 0 derives it from the others.
      subpixel_scale: Whether the resized part grows or shrinks to match a rounded size.
      temp_buffer_hint: Has no effect.
    """
    ...

def warp_perspective(
    __input: Input,
    __matrix_input: Input | None = None,
    /,
    *,
    device: str | None = None,
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
) -> DataNode:
    """Warps images by a perspective transform: a matrix of three rows and columns. The transform
    maps each pixel of the output to the point of the input that it shows.

    Inputs:
      input: images, planes or sequences of them: uint8, uint16, int16 or float32, with at most four
        channels.
      matrix_input: the float32 matrix, in place of the argument; may be left out.

    Outputs:
      output: the warped images.

    Args:
      border_mode: What lies outside the image: "constant", "replicate", "reflect" with the edge,
        "reflect_101" without the edge, or "wrap".
      fill_value: Value of the border "constant", one for all channels or one for each; by default
        0.
      interp_type: INTERP_LINEAR, INTERP_NN or INTERP_CUBIC.
      inverse_map: Whether the transform maps the output to the input; otherwise it maps the input
        to the output.
      matrix: The matrix, row by row.
      pixel_origin: Which point of the first pixel is (0, 0): its "corner" or its "center".
      size: Height and width of the output; by default the size of the input.
    """
    ...
