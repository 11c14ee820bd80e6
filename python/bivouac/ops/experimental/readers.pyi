# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import DTypes, Ints, Text, Texts
from bivouac._pipeline.enums import DALIImageType
from bivouac._pipeline.operators import Operator

class Fits(Operator):
    """Reads images of FITS files, plain or compressed tile by tile. Each output is an image of each
    file; all have the type and the number of axes of the first file.

    The arguments are those of `bivouac.fn.experimental.readers.fits`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        dtypes: DTypes | None = None,
        file_filter: Text | None = "*.fits",
        file_list: Text | None = None,
        file_root: Text | None = None,
        files: Texts | None = None,
        hdu_indices: Ints | None = [2],
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        shard_id: int | None = 0,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        skip_cached_images: bool | None = False,
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Video(Operator):
    """Reads clips of videos, as RGB: each has sequence_length frames, one every stride frames, and
    begins step frames after the clip before it. Videos are files, files in the folders of a
    directory, or parts of files in a list. The program ffmpeg must be installed, except for motion
    JPEG, GIF and WebP. A damaged frame is an error of its clips alone.

    The arguments are those of `bivouac.fn.experimental.readers.video`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        enable_frame_num: Text | None = "none",
        enable_timestamps: bool | None = False,
        file_list: Text | None = "",
        file_list_format: Text | None = "timestamps",
        file_list_include_end: bool | None = True,
        file_list_rounding: Text | None = "start_down_end_up",
        file_root: Text | None = "",
        filenames: Texts | None = None,
        fill_value: Ints | None = [0],
        image_type: DALIImageType | None = DALIImageType.RGB,
        index_path: Text | None = "",
        initial_fill: int | None = 1024,
        labels: Ints | None = None,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        pad_mode: Text | None = "none",
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        sequence_length: int | None = None,
        shard_id: int | None = 0,
        skip_cached_images: bool | None = False,
        step: int | None = -1,
        stick_to_shard: bool | None = False,
        stride: int | None = 1,
        tensor_init_bytes: int | None = 1048576,
        uniform_sample: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...
