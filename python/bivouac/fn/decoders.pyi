# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType, DALIImageType
from bivouac._pipeline.node import DataNode

def audio(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    downmix: bool | None = False,
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    preserve: bool | None = False,
    quality: float | None = 50,
    sample_rate: float | Fed | None = 0,
) -> list[DataNode]:
    """Decodes sound: WAV, RF64, AIFF, FLAC, Ogg Vorbis, Ogg Opus, and MP3 if the program ffmpeg is
    there. The mean of the channels can be taken, and the sound can be resampled. A file that is cut
    or damaged is an error.

    Inputs:
      encoded: the bytes of a file of sound.

    Outputs:
      sound: of shape [frames, channels], or with downmix [frames].
      rate: frames per second of the output, float32.

    Args:
      downmix: Whether the mean of the channels is taken.
      dtype: Type of the sound: float32 from -1 to 1, or int16 or int32 that fill the type. Floats
        of a file become integers as they are, unless the sound is resampled or mixed.
      quality: Quality of resampling, 0 to 100; see audio_resample.
      sample_rate: Frames per second of the output; 0 is the rate of the file.
    """
    ...

def image(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    cache_batch_copy: bool | None = True,
    cache_debug: bool | None = False,
    cache_size: int | None = 0,
    cache_threshold: int | None = 0,
    cache_type: Text | None = "",
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    dtype: DALIDataType | None = DALIDataType.UINT8,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    jpeg_fancy_upsampling: bool | None = False,
    memory_stats: bool | None = False,
    output_type: DALIImageType | None = DALIImageType.RGB,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    preserve: bool | None = False,
    split_stages: bool | None = False,
    use_chunk_allocator: bool | None = False,
    use_fast_idct: bool | None = False,
) -> DataNode:
    """Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of GIF. JPEG 2000, AVIF
    and HEIC need the program ffmpeg.

    Inputs:
      encoded: the bytes of an image file.

    Outputs:
      images: images, HWC.

    Args:
      adjust_orientation: Whether images are turned as their EXIF orientation says.
      affine: For decoders on GPUs; accepted, but has no effect.
      cache_batch_copy: For the cache of decoders on GPUs; accepted, but has no effect.
      cache_debug: For the cache of decoders on GPUs; accepted, but has no effect.
      cache_size: For the cache of decoders on GPUs; accepted, but has no effect.
      cache_threshold: For the cache of decoders on GPUs; accepted, but has no effect.
      cache_type: For the cache of decoders on GPUs; accepted, but has no effect.
      device_memory_padding: For decoders on GPUs; accepted, but has no effect.
      device_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      dtype: Type of the output. Integers use the whole range of the type; float32 is from 0 to 1.
      host_memory_padding: For decoders on GPUs; accepted, but has no effect.
      host_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      hw_decoder_load: For decoders on GPUs; accepted, but has no effect.
      hybrid_huffman_threshold: For decoders on GPUs; accepted, but has no effect.
      jpeg_fancy_upsampling: For decoders on GPUs; accepted, but has no effect.
      memory_stats: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      output_type: Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels
        that the file has.
      preallocate_height_hint: For decoders on GPUs; accepted, but has no effect.
      preallocate_width_hint: For decoders on GPUs; accepted, but has no effect.
      split_stages: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      use_chunk_allocator: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no
        effect.
      use_fast_idct: Whether JPEG files are decoded with the fast inverse transform of
        libjpeg-turbo, whose error is up to five levels.
    """
    ...

def image_crop(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    crop: Floats | Fed | None = None,
    crop_d: float | Fed | None = 0,
    crop_h: float | Fed | None = 0,
    crop_pos_x: float | Fed | None = 0.5,
    crop_pos_y: float | Fed | None = 0.5,
    crop_pos_z: float | Fed | None = 0.5,
    crop_w: float | Fed | None = 0,
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    dtype: DALIDataType | None = DALIDataType.UINT8,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    jpeg_fancy_upsampling: bool | None = False,
    memory_stats: bool | None = False,
    output_type: DALIImageType | None = DALIImageType.RGB,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    preserve: bool | None = False,
    rounding: Text | None = "round",
    split_stages: bool | None = False,
    use_chunk_allocator: bool | None = False,
    use_fast_idct: bool | None = False,
) -> DataNode:
    """Decodes a window of images. Its size and place are given as for crop. The window must lie
    inside the image.

    Inputs:
      encoded: the bytes of an image file.

    Outputs:
      images: images, HWC.

    Args:
      adjust_orientation: Whether images are turned as their EXIF orientation says.
      affine: For decoders on GPUs; accepted, but has no effect.
      crop: Height and width of the window, or depth, height and width; 0 means the whole axis. Not
        together with crop_d, crop_h and crop_w.
      crop_d: Depth of the window of a volume, or number of frames of the window of a sequence;
        given together with crop_h and crop_w.
      crop_h: Height of the window; given together with crop_w.
      crop_pos_x: Horizontal place of the window: 0 at the left edge, 1 at the right edge.
      crop_pos_y: Vertical place of the window: 0 at the top, 1 at the bottom.
      crop_pos_z: Place of the window along the depth of a volume or the time of a sequence: 0 at
        the front, 1 at the back.
      crop_w: Width of the window; given together with crop_h.
      device_memory_padding: For decoders on GPUs; accepted, but has no effect.
      device_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      dtype: Type of the output. Integers use the whole range of the type; float32 is from 0 to 1.
      host_memory_padding: For decoders on GPUs; accepted, but has no effect.
      host_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      hw_decoder_load: For decoders on GPUs; accepted, but has no effect.
      hybrid_huffman_threshold: For decoders on GPUs; accepted, but has no effect.
      jpeg_fancy_upsampling: For decoders on GPUs; accepted, but has no effect.
      memory_stats: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      output_type: Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels
        that the file has.
      preallocate_height_hint: For decoders on GPUs; accepted, but has no effect.
      preallocate_width_hint: For decoders on GPUs; accepted, but has no effect.
      rounding: How the position becomes a pixel: "round" (half away from zero) or "truncate".
      split_stages: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      use_chunk_allocator: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no
        effect.
      use_fast_idct: Whether JPEG files are decoded with the fast inverse transform of
        libjpeg-turbo, whose error is up to five levels.
    """
    ...

def image_random_crop(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    dtype: DALIDataType | None = DALIDataType.UINT8,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    jpeg_fancy_upsampling: bool | None = False,
    memory_stats: bool | None = False,
    num_attempts: int | None = 10,
    output_type: DALIImageType | None = DALIImageType.RGB,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    preserve: bool | None = False,
    random_area: Floats | None = [0.08, 1],
    random_aspect_ratio: Floats | None = [0.75, 1.3333333333333333],
    seed: int | None = -1,
    split_stages: bool | None = False,
    use_chunk_allocator: bool | None = False,
    use_fast_idct: bool | None = False,
) -> DataNode:
    """Decodes a window of images with random area, aspect ratio and place, drawn as for
    random_resized_crop.

    Inputs:
      encoded: the bytes of an image file.

    Outputs:
      images: images, HWC.

    Args:
      adjust_orientation: Whether images are turned as their EXIF orientation says.
      affine: For decoders on GPUs; accepted, but has no effect.
      device_memory_padding: For decoders on GPUs; accepted, but has no effect.
      device_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      dtype: Type of the output. Integers use the whole range of the type; float32 is from 0 to 1.
      host_memory_padding: For decoders on GPUs; accepted, but has no effect.
      host_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      hw_decoder_load: For decoders on GPUs; accepted, but has no effect.
      hybrid_huffman_threshold: For decoders on GPUs; accepted, but has no effect.
      jpeg_fancy_upsampling: For decoders on GPUs; accepted, but has no effect.
      memory_stats: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      num_attempts: Number of draws before the largest window that fits is taken.
      output_type: Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels
        that the file has.
      preallocate_height_hint: For decoders on GPUs; accepted, but has no effect.
      preallocate_width_hint: For decoders on GPUs; accepted, but has no effect.
      random_area: Range of the window's area as a fraction of the image's.
      random_aspect_ratio: Range of the window's width over its height.
      seed: Seed of this operator; -1: the pipeline's seed.
      split_stages: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      use_chunk_allocator: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no
        effect.
      use_fast_idct: Whether JPEG files are decoded with the fast inverse transform of
        libjpeg-turbo, whose error is up to five levels.
    """
    ...

def image_slice(
    __encoded: Input,
    __anchor: Input | None = None,
    __extent: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    adjust_orientation: bool | None = True,
    affine: bool | None = True,
    axes: Ints | Fed | None = [1, 0],
    axis_names: Text | None = "WH",
    bytes_per_sample_hint: Ints | None = [0],
    device_memory_padding: int | None = 16777216,
    device_memory_padding_jpeg2k: int | None = 0,
    dtype: DALIDataType | None = DALIDataType.UINT8,
    end: Ints | Fed | None = None,
    host_memory_padding: int | None = 8388608,
    host_memory_padding_jpeg2k: int | None = 0,
    hw_decoder_load: float | None = 0.65,
    hybrid_huffman_threshold: int | None = 1000000,
    jpeg_fancy_upsampling: bool | None = False,
    memory_stats: bool | None = False,
    normalized_anchor: bool | None = True,
    normalized_shape: bool | None = True,
    output_type: DALIImageType | None = DALIImageType.RGB,
    preallocate_height_hint: int | None = 0,
    preallocate_width_hint: int | None = 0,
    preserve: bool | None = False,
    rel_end: Floats | Fed | None = None,
    rel_shape: Floats | Fed | None = None,
    rel_start: Floats | Fed | None = None,
    shape: Ints | Fed | None = None,
    split_stages: bool | None = False,
    start: Ints | Fed | None = None,
    use_chunk_allocator: bool | None = False,
    use_fast_idct: bool | None = False,
) -> DataNode:
    """Decodes a window of images. Its start and its end or extent are inputs or arguments, as for
    slice. The window must lie inside the image.

    Inputs:
      encoded: the bytes of an image file.
      anchor: the start of the window on each axis; given together with the extent; may be left out.
      extent: the extent of the window on each axis; may be left out.

    Outputs:
      images: images, HWC.

    Args:
      adjust_orientation: Whether images are turned as their EXIF orientation says.
      affine: For decoders on GPUs; accepted, but has no effect.
      axes: Axes of the window, in the order of its values; negative numbers count from the last
        axis.
      axis_names: The axes by the letters of the layout; overrides axes.
      device_memory_padding: For decoders on GPUs; accepted, but has no effect.
      device_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      dtype: Type of the output. Integers use the whole range of the type; float32 is from 0 to 1.
      end: End of the window on each axis: the element after its last; the default is the extent.
      host_memory_padding: For decoders on GPUs; accepted, but has no effect.
      host_memory_padding_jpeg2k: For decoders on GPUs; accepted, but has no effect.
      hw_decoder_load: For decoders on GPUs; accepted, but has no effect.
      hybrid_huffman_threshold: For decoders on GPUs; accepted, but has no effect.
      jpeg_fancy_upsampling: For decoders on GPUs; accepted, but has no effect.
      memory_stats: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      normalized_anchor: Whether an input anchor of floats is relative to the extents.
      normalized_shape: Whether an input shape of floats is relative to the extents.
      output_type: Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels
        that the file has.
      preallocate_height_hint: For decoders on GPUs; accepted, but has no effect.
      preallocate_width_hint: For decoders on GPUs; accepted, but has no effect.
      rel_end: End of the window on each axis, relative to the extents.
      rel_shape: Extent of the window on each axis, relative to the extents of the data.
      rel_start: Start of the window on each axis, relative to the extents.
      shape: Extent of the window on each axis.
      split_stages: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no effect.
      start: First element of the window on each axis; the default is 0.
      use_chunk_allocator: For decoders on GPUs; accepted, but has no effect. Deprecated: it has no
        effect.
      use_fast_idct: Whether JPEG files are decoded with the fast inverse transform of
        libjpeg-turbo, whose error is up to five levels.
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

def numpy(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Decodes arrays of npy files, in C order or Fortran order, and converts them to one type.

    Inputs:
      encoded: the bytes of an npy file.

    Outputs:
      arrays: the arrays.

    Args:
      dtype: Type of the output. It must be given, because the type must be known before the data.
    """
    ...

def video(
    __encoded: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    affine: bool | None = True,
    build_index: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    end_frame: int | Fed | None = None,
    fill_value: Ints | None = [0],
    frames: Ints | Fed | None = None,
    pad_mode: Text | None = "constant",
    preserve: bool | None = False,
    sequence_length: int | Fed | None = None,
    start_frame: int | Fed | None = None,
    stride: int | Fed | None = None,
) -> DataNode:
    """Decodes frames of videos, as RGB. The program ffmpeg must be installed, except for motion
    JPEG, GIF and WebP. Without frames, start_frame, end_frame, sequence_length and stride, all
    frames are decoded.

    Inputs:
      encoded: the bytes of a video file.

    Outputs:
      videos: frames, uint8 of layout FHWC.

    Args:
      affine: Whether threads of decoders in hardware keep to a processor; has no effect.
      build_index: Whether key frames are looked for first; has no effect: it is always done.
      end_frame: The end of the frames: one more than the last frame. Not with sequence_length.
      fill_value: Colour of pad_mode constant: a number from 0 to 255, or one for each channel.
      frames: Numbers of the frames, in any order; a frame may be named twice.
      pad_mode: What stands for frames that the video does not have: none leaves them out, and is an
        error for frames; constant is fill_value; edge (or repeat) the nearest frame; reflect_101
        (reflect) or reflect_1001 (symmetric) the video back and forth.
      sequence_length: Number of frames. Not with end_frame.
      start_frame: The first frame; by default 0.
      stride: Frames from one frame to the next; by default 1.
    """
    ...
