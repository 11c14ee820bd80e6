# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import DTypes, Fed, Floats, Ints, Text, Texts
from bivouac._pipeline.enums import DALIDataType, DALIImageType
from bivouac._pipeline.features import Feature
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class ArrayRecord(Operator):
    """Reads the records of ArrayRecord files, which have an index of their own. The hashes of the
    format are verified with every read. A record of a file with group_size:1 is one read; a larger
    group is decoded once and kept, within cache_bytes.

    The arguments are those of `bivouac.fn.readers.array_record`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        paths: Texts | None = None,
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
    ) -> DataNode: ...

class Arrow(Operator):
    """Reads the rows of Arrow IPC files and streams. Each column is an output: numbers are scalars,
    strings and binaries are bytes, and lists of numbers are arrays. A part of a struct is a column
    with a dot in its name. A row is read alone where buffers are not compressed; compressed buffers
    are expanded once and kept, within cache_bytes.

    The arguments are those of `bivouac.fn.readers.arrow`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        nulls: float | None = None,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        paths: Texts | None = None,
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

class Caffe(Operator):
    """Reads images and labels from LMDB databases of Caffe. An image whose record says that it is
    not encoded has the shape [height, width, channels]; others are files. The first record decides
    which.

    The arguments are those of `bivouac.fn.readers.caffe`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        image_available: bool | None = True,
        initial_fill: int | None = 1024,
        label_available: bool | None = True,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        shard_id: int | None = 0,
        skip_cached_images: bool | None = False,
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Caffe2(Operator):
    """Reads samples from LMDB databases of Caffe2: an image, a label as label_type says, additional
    tensors and a box. An image of bytes has the shape [height, width, channels]; others are files.
    The first record decides the types.

    The arguments are those of `bivouac.fn.readers.caffe2`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        additional_inputs: int | None = 0,
        bbox: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        image_available: bool | None = True,
        initial_fill: int | None = 1024,
        label_type: int | None = 0,
        lazy_init: bool | None = False,
        num_labels: int | None = 1,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        shard_id: int | None = 0,
        skip_cached_images: bool | None = False,
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class COCO(Operator):
    """Reads images and their boxes and labels, and on request their masks and ids, from a folder
    and a file of annotations in COCO's format. The outputs are images, boxes and labels, then
    polygons and vertices or pixelwise masks, then the ids of the images. Images come in the order
    of their ids.

    The arguments are those of `bivouac.fn.readers.coco`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        annotations_file: Text | None = None,
        avoid_class_remapping: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        dump_meta_files: bool | None = None,
        dump_meta_files_path: Text | None = None,
        file_root: Text | None = None,
        image_ids: bool | None = False,
        images: Texts | None = None,
        include_iscrowd: bool | None = True,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        ltrb: bool | None = False,
        masks: bool | None = False,
        meta_files_path: Text | None = None,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        pixelwise_masks: bool | None = False,
        polygon_masks: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        preprocessed_annotations: Text | None = None,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        ratio: bool | None = False,
        read_ahead: bool | None = False,
        save_img_ids: bool | None = None,
        save_preprocessed_annotations: bool | None = False,
        save_preprocessed_annotations_dir: Text | None = None,
        seed: int | None = -1,
        shard_id: int | None = 0,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        size_threshold: float | None = 0.1,
        skip_cached_images: bool | None = False,
        skip_empty: bool | None = False,
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Csv(Operator):
    """Reads CSV: each row is a sample, and each column is an output of shape [n]. A column of text
    gives the bytes of a field in UTF-8, and a column of numbers or bools one element. Empty rows
    are skipped, and fields in quotes may have line ends.

    The arguments are those of `bivouac.fn.readers.csv`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        columns: Texts | None = None,
        defaults: Texts | None = None,
        delimiter: Text | None = None,
        dont_use_mmap: bool | None = False,
        dtypes: DTypes | None = None,
        header: bool | None = True,
        index_path: Text | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        missing: Text | None = "error",
        names: Texts | None = None,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        quote: Text | None = "\"",
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

class File(Operator):
    """Reads whole files and their labels. With file_root, each folder below it is a class: folders
    are sorted by the bytes of their names and numbered from 0, empty ones too, and so are the files
    in each; deeper folders are not entered.

    The arguments are those of `bivouac.fn.readers.file`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        case_sensitive_filter: bool | None = False,
        dir_filters: Texts | None = None,
        dont_use_mmap: bool | None = False,
        file_filters: Texts | None = ...,
        file_list: Text | None = None,
        file_root: Text | None = None,
        files: Texts | None = None,
        initial_fill: int | None = 1024,
        labels: Ints | None = None,
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
    ) -> list[DataNode]: ...

class Folder(Operator):
    """Reads a folder of images or sounds as Hugging Face's imagefolder and audiofolder do. The
    label of a file is its folder, or metadata.csv, metadata.jsonl or metadata.parquet have a row
    for each file, whose column file_name names it. Folders or files may have the name of a split.

    The arguments are those of `bivouac.fn.readers.folder`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Text | None = None,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        shard_id: int | None = 0,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        skip_cached_images: bool | None = False,
        split: Text | None = "",
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Jsonl(Operator):
    """Reads JSON Lines: each line is an object and a sample, and each field is an output of shape
    [n]. A text gives its bytes in UTF-8, a number or bool gives one element, and a list of them all
    its elements. Blank lines are skipped.

    The arguments are those of `bivouac.fn.readers.jsonl`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        defaults: Texts | None = None,
        dont_use_mmap: bool | None = False,
        dtypes: DTypes | None = None,
        fields: Texts | None = None,
        index_path: Text | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        missing: Text | None = "error",
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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

class Litdata(Operator):
    """Reads data sets that litdata writes: a folder with an index.json and chunks. Each leaf of a
    sample is an output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON and
    encoded images are bytes. Data of tokens are read in blocks. Compressed chunks are expanded once
    and kept, within cache_bytes.

    The arguments are those of `bivouac.fn.readers.litdata`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        block_size: int | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Text | None = None,
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

class Mds(Operator):
    """Reads data sets in MosaicML Streaming's format MDS: folders with an index.json. Each column
    is an output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON, decimals and
    encoded images are bytes. Hashes in index.json are verified when a shard is first read.
    Compressed shards are expanded once and kept, within cache_bytes.

    The arguments are those of `bivouac.fn.readers.mds`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        paths: Texts | None = None,
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
        verify_hashes: bool | None = True,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class MXNet(Operator):
    """Reads images and their labels from RecordIO files of MXNet.

    The arguments are those of `bivouac.fn.readers.mxnet`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        index_path: Texts | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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
    ) -> list[DataNode]: ...

class NemoAsr(Operator):
    """Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath,
    duration and text. The outputs are the audio, then the rate, the text and the index. Paths of
    audio files are relative to the working directory. The offset and the duration of an entry are a
    part of its file. Files are decoded as by decoders.audio. A program that makes no pipeline
    decodes WAV, and the formats of codec that it imports.

    The arguments are those of `bivouac.fn.readers.nemo_asr`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        downmix: bool | None = True,
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        manifest_filepaths: Texts | None = None,
        max_duration: float | None = 0,
        min_duration: float | None = 0,
        normalize_text: bool | None = None,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        quality: float | None = 50,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        read_idxs: bool | None = False,
        read_sample_rate: bool | None = True,
        read_text: bool | None = True,
        sample_rate: float | None = -1,
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

class Npz(Operator):
    """Reads rows of the arrays in npz files: sample i has row i of each array. The arrays of a file
    have equal numbers of rows, and the rows of one name are equal in dtype and shape in all files.
    An array that is compressed, big-endian or in Fortran order is read as a whole.

    The arguments are those of `bivouac.fn.readers.npz`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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
        verify: bool | None = True,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Numpy(Operator):
    """Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of
    each array. All have the type and the number of axes of the first file.

    The arguments are those of `bivouac.fn.readers.numpy`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_header_information: bool | None = False,
        dont_use_mmap: bool | None = False,
        file_filter: Text | None = "*.npy",
        file_list: Text | None = None,
        file_root: Text | None = None,
        files: Texts | None = None,
        fill_value: float | None = 0,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        out_of_bounds_policy: Text | None = "error",
        pad_last_batch: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        register_buffers: bool | None = True,
        rel_roi_end: Floats | Fed | None = None,
        rel_roi_shape: Floats | Fed | None = None,
        rel_roi_start: Floats | Fed | None = None,
        roi_axes: Ints | None = [],
        roi_end: Ints | Fed | None = None,
        roi_shape: Ints | Fed | None = None,
        roi_start: Ints | Fed | None = None,
        seed: int | None = -1,
        shard_id: int | None = 0,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        skip_cached_images: bool | None = False,
        stick_to_shard: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
        use_o_direct: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class Parquet(Operator):
    """Reads the rows of Parquet files. Each column is an output: numbers are scalars, strings and
    binaries are bytes, and lists of numbers are arrays. A part of a struct is a column with a dot
    in its name. Pages are decoded once, their checksums are verified, and they are kept within
    cache_bytes; a file with an offset index costs one page a row in any order.

    The arguments are those of `bivouac.fn.readers.parquet`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cache_bytes: int | None = 268435456,
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        nulls: float | None = None,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        paths: Texts | None = None,
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

class Safetensors(Operator):
    """Reads rows of the tensors in safetensors files: sample i has row i of each tensor. The
    tensors of a file have equal numbers of rows, and the rows of one name are equal in dtype and
    shape in all files.

    The arguments are those of `bivouac.fn.readers.safetensors`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        columns: Texts | None = None,
        dont_use_mmap: bool | None = False,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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

class Sequence(Operator):
    """Reads sequences of images: each folder of a directory is a stream, whose images are frames in
    the order of the bytes of their names. The frames of a sequence must be equally large. Images
    are not turned as their EXIF orientation says.

    Deprecated: it still works, but new programs read files and decode them.

    The arguments are those of `bivouac.fn.readers.sequence`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        file_root: Text | None = None,
        image_type: DALIImageType | None = DALIImageType.RGB,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        preserve: bool | None = False,
        random_shuffle: bool | None = False,
        read_ahead: bool | None = False,
        seed: int | None = -1,
        sequence_length: int | None = None,
        shard_id: int | None = 0,
        skip_cached_images: bool | None = False,
        step: int | None = 1,
        stick_to_shard: bool | None = False,
        stride: int | None = 1,
        tensor_init_bytes: int | None = 1048576,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class TFRecord(Operator):
    """Reads tf.train.Example messages from TFRecord files, and has an output for each feature that
    the argument features names. Both checksums of each record are checked.

    The arguments are those of `bivouac.fn.readers.tfrecord`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        features: dict[str, Feature] | None = None,
        index_path: Texts | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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
        use_o_direct: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> dict[str, DataNode]: ...

class Tokens(Operator):
    """Reads tokens from files that hold them back to back: windows of a fixed length, or whole
    documents. Files are pairs of .bin and .idx as Megatron and fairseq write them, npy files, or
    plain arrays. A window never has tokens of two files.

    The arguments are those of `bivouac.fn.readers.tokens`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        boundaries: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        dont_use_mmap: bool | None = False,
        dtype: DALIDataType | None = None,
        header_bytes: int | None = 0,
        initial_fill: int | None = 1024,
        keep_short: bool | None = False,
        lazy_init: bool | None = False,
        num_shards: int | None = 1,
        output_dtype: DALIDataType | None = None,
        pad_last_batch: bool | None = False,
        path: Texts | None = None,
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
        stride: int | None = 0,
        tensor_init_bytes: int | None = 1048576,
        window: int | None = 0,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Webdataset(Operator):
    """Reads samples of several files out of tar archives, as the package webdataset writes them.
    Files whose names are equal up to the first dot behind the last slash are one sample. The rest
    of the name is the component. Each output has the bytes of a component.

    The arguments are those of `bivouac.fn.readers.webdataset`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        case_sensitive_extensions: bool | None = True,
        dont_use_mmap: bool | None = False,
        dtypes: DTypes | None = None,
        ext: Texts | None = None,
        index_paths: Texts | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        missing_component_behavior: Text | None = "",
        num_shards: int | None = 1,
        pad_last_batch: bool | None = False,
        paths: Texts | None = None,
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
