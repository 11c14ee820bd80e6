# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType, DALIImageType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Audio(Operator):
    """Decodes sound: WAV, RF64, AIFF, FLAC, Ogg Vorbis, Ogg Opus, and MP3 if the program ffmpeg is
    there. The mean of the channels can be taken, and the sound can be resampled. A file that is cut
    or damaged is an error.

    The arguments are those of `bivouac.fn.decoders.audio`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        downmix: bool | None = False,
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        preserve: bool | None = False,
        quality: float | None = 50,
        sample_rate: float | Fed | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Image(Operator):
    """Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of GIF. JPEG 2000, AVIF
    and HEIC need the program ffmpeg.

    The arguments are those of `bivouac.fn.decoders.image`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ImageCrop(Operator):
    """Decodes a window of images. Its size and place are given as for crop. The window must lie
    inside the image.

    The arguments are those of `bivouac.fn.decoders.image_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ImageRandomCrop(Operator):
    """Decodes a window of images with random area, aspect ratio and place, drawn as for
    random_resized_crop.

    The arguments are those of `bivouac.fn.decoders.image_random_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ImageSlice(Operator):
    """Decodes a window of images. Its start and its end or extent are inputs or arguments, as for
    slice. The window must lie inside the image.

    The arguments are those of `bivouac.fn.decoders.image_slice`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        __anchor: Input | None = None,
        __extent: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Inflate(Operator):
    """Decompresses data of a known shape. A sample is one compressed chunk, or several chunks one
    behind the other. Several chunks make a tensor with one more axis, the first.

    The arguments are those of `bivouac.fn.decoders.inflate`.
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

class Numpy(Operator):
    """Decodes arrays of npy files, in C order or Fortran order, and converts them to one type.

    The arguments are those of `bivouac.fn.decoders.numpy`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Video(Operator):
    """Decodes frames of videos, as RGB. The program ffmpeg must be installed, except for motion
    JPEG, GIF and WebP. Without frames, start_frame, end_frame, sequence_length and stride, all
    frames are decoded.

    The arguments are those of `bivouac.fn.decoders.video`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __encoded: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
