# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import DTypes, Fed, Floats, Ints, Text, Texts
from bivouac._pipeline.enums import DALIDataType, DALIImageType
from bivouac._pipeline.features import Feature
from bivouac._pipeline.node import DataNode

def array_record(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    cache_bytes: int | None = 268435456,
    dont_use_mmap: bool | None = False,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    paths: Texts,
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
) -> DataNode:
    """Reads the records of ArrayRecord files, which have an index of their own. The hashes of the
    format are verified with every read. A record of a file with group_size:1 is one read; a larger
    group is decoded once and kept, within cache_bytes.

    Outputs:
      record: the bytes of a record, uint8.

    Args:
      cache_bytes: Memory for parts of files that were decoded and hold other samples too; the part
        that was decoded last always stays.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      paths: Paths of the files, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def arrow(
    *,
    device: str | None = None,
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
    paths: Texts,
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
) -> Any:
    """Reads the rows of Arrow IPC files and streams. Each column is an output: numbers are scalars,
    strings and binaries are bytes, and lists of numbers are arrays. A part of a struct is a column
    with a dot in its name. A row is read alone where buffers are not compressed; compressed buffers
    are expanded once and kept, within cache_bytes.

    Outputs:
      column: the value of a column.

    Args:
      cache_bytes: Memory for parts of files that were decoded and hold other samples too; the part
        that was decoded last always stays.
      columns: Names of the columns, an output each; by default all, in the order of the first file.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      nulls: Number that stands for null in numbers; null strings and lists become empty. By default
        a null is an error of its sample.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      paths: Paths of the files, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def caffe(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    image_available: bool | None = True,
    initial_fill: int | None = 1024,
    label_available: bool | None = True,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
    prefetch_queue_depth: int | None = 1,
    preserve: bool | None = False,
    random_shuffle: bool | None = False,
    read_ahead: bool | None = False,
    seed: int | None = -1,
    shard_id: int | None = 0,
    skip_cached_images: bool | None = False,
    stick_to_shard: bool | None = False,
    tensor_init_bytes: int | None = 1048576,
) -> Any:
    """Reads images and labels from LMDB databases of Caffe. An image whose record says that it is
    not encoded has the shape [height, width, channels]; others are files. The first record decides
    which.

    Outputs:
      images: uint8.
      labels: int32 of shape [1], or [0] if a record has no label.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      image_available: The images are read.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      label_available: The labels are read.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Folders of LMDB databases, or their files data.mdb. Their records come one database
        after the other, in the order of their keys. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def caffe2(
    *,
    device: str | None = None,
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
    path: Texts,
    prefetch_queue_depth: int | None = 1,
    preserve: bool | None = False,
    random_shuffle: bool | None = False,
    read_ahead: bool | None = False,
    seed: int | None = -1,
    shard_id: int | None = 0,
    skip_cached_images: bool | None = False,
    stick_to_shard: bool | None = False,
    tensor_init_bytes: int | None = 1048576,
) -> Any:
    """Reads samples from LMDB databases of Caffe2: an image, a label as label_type says, additional
    tensors and a box. An image of bytes has the shape [height, width, channels]; others are files.
    The first record decides the types.

    Outputs:
      images: uint8.
      labels: as label_type says.
      additional: the numbers of the additional tensors in one dimension, and last with bbox the
        box, int32 of shape [4].

    Args:
      additional_inputs: Number of tensors of a record behind the label.
      bbox: A record ends with a box, 4 integers.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      image_available: A record begins with an image.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      label_type: 0: a number. 1: the indices of num_labels labels, which become 1. 2: numbers. 3:
        indices and a tensor of their weights. 4: no label.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_labels: Number of labels of label_type 1 and 3.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Folders of LMDB databases, or their files data.mdb. Their records come one database
        after the other, in the order of their keys. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def coco(
    *,
    device: str | None = None,
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
) -> Any:
    """Reads images and their boxes and labels, and on request their masks and ids, from a folder
    and a file of annotations in COCO's format. The outputs are images, boxes and labels, then
    polygons and vertices or pixelwise masks, then the ids of the images. Images come in the order
    of their ids.

    Outputs:
      images: the bytes of a file, uint8.
      bounding_boxes: float32 of shape [N, 4]: x, y, width and height, or with ltrb the sides.
      labels: int32 of shape [N].
      masks: with polygon_masks int32 of shape [P, 3]: for each polygon its box, its first vertex
        and its end; with pixelwise_masks int32 of shape [height, width, 1]: the label of each
        pixel, 0 outside.
      vertices: with polygon_masks float32 of shape [V, 2]: x and y.
      image_ids: with image_ids int32 of shape [1].

    Args:
      annotations_file: File of annotations in JSON.
      avoid_class_remapping: Labels are the ids of categories; by default the categories are
        numbered from 1, in their order in the file.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dump_meta_files: The old name of save_preprocessed_annotations. Deprecated: use
        save_preprocessed_annotations.
      dump_meta_files_path: The old name of save_preprocessed_annotations_dir. Deprecated: use
        save_preprocessed_annotations_dir.
      file_root: Folder of the images.
      image_ids: Adds an output with the ids of the images.
      images: Names of the images to read, in this order; by default all, in the order of their ids.
      include_iscrowd: Keeps annotations of crowds.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      ltrb: Boxes are left, top, right and bottom instead of x, y, width and height.
      masks: Like polygon_masks, but a polygon has the places of its coordinates, which are twice
        the places of its vertices. Deprecated: use polygon_masks.
      meta_files_path: The old name of preprocessed_annotations. Deprecated: use
        preprocessed_annotations.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      pixelwise_masks: Adds an output with the label of each pixel, from polygons and run lengths.
        Where masks overlap, the largest label wins.
      polygon_masks: Adds outputs with the polygons of the boxes and their vertices.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      preprocessed_annotations: Folder of binary files to read instead of annotations_file.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      ratio: Boxes and vertices are fractions of the image instead of pixels.
      read_ahead: Asks the system to read files ahead; no effect.
      save_img_ids: The old name of image_ids. Deprecated: use image_ids.
      save_preprocessed_annotations: Writes the annotations to binary files, for
        preprocessed_annotations.
      save_preprocessed_annotations_dir: Folder for save_preprocessed_annotations. It must exist.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      size_threshold: Leaves boxes out that are narrower or lower, in pixels.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      skip_empty: Leaves images without boxes out.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def csv(
    *,
    device: str | None = None,
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
    path: Texts,
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
) -> Any:
    """Reads CSV: each row is a sample, and each column is an output of shape [n]. A column of text
    gives the bytes of a field in UTF-8, and a column of numbers or bools one element. Empty rows
    are skipped, and fields in quotes may have line ends.

    Outputs:
      columns: one output for each of columns, in their order.

    Args:
      columns: Names of the columns to read; by default all.
      defaults: Values of missing fields, one for each field, as they would stand in the file.
      delimiter: The character between fields; by default a tab if the first file is called .tsv,
        and a comma otherwise.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dtypes: Type of each column, or one for all; text is uint8, the default.
      header: Whether the first row of each file has the names of its columns.
      index_path: The index that bivouac index made; by default bivouac.index beside the first file,
        or else the records are found when the data set is opened.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      missing: What a sample gets for a field that is not there: error, empty (no elements) or
        default (a value of defaults).
      names: Names of all columns in the order of the files, instead of the header; without both,
        columns are 0, 1, ….
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the files, in this order. A path with *, ? or [ stands for all files that
        match, sorted by name. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      quote: The character around fields that have delimiters or line ends; an empty text: none.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def file(
    *,
    device: str | None = None,
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
) -> list[DataNode]:
    """Reads whole files and their labels. With file_root, each folder below it is a class: folders
    are sorted by the bytes of their names and numbered from 0, empty ones too, and so are the files
    in each; deeper folders are not entered.

    Outputs:
      files: the bytes of a file, uint8.
      labels: its label, int32 of shape [1].

    Args:
      case_sensitive_filter: Patterns tell upper from lower case.
      dir_filters: Patterns of folder names, of which one must match; by default all do.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      file_filters: Patterns of file names, of which one must match. Default: *.jpg *.jpeg *.png
        *.bmp *.tif *.tiff *.pnm *.ppm *.pgm *.pbm *.jp2 *.webp *.flac *.ogg *.wav.
      file_list: Text file with a path and its label on each line, instead of folders; its own
        folder is the default of file_root.
      file_root: Directory with a folder for each class, or what files and file_list are relative
        to.
      files: Paths of the files, in this order, instead of folders.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      labels: Labels of files; by default their index.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def folder(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    columns: Texts | None = None,
    dont_use_mmap: bool | None = False,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Text,
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
) -> Any:
    """Reads a folder of images or sounds as Hugging Face's imagefolder and audiofolder do. The
    label of a file is its folder, or metadata.csv, metadata.jsonl or metadata.parquet have a row
    for each file, whose column file_name names it. Folders or files may have the name of a split.

    Outputs:
      fields: the bytes of a file (image or audio), then its label, or the columns of the metadata.

    Args:
      columns: Names of the columns of the metadata to read; by default all, in the order of the
        file.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: The folder. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      split: The split, such as train; by default the only one.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def jsonl(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    defaults: Texts | None = None,
    dont_use_mmap: bool | None = False,
    dtypes: DTypes | None = None,
    fields: Texts,
    index_path: Text | None = None,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    missing: Text | None = "error",
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
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
) -> Any:
    """Reads JSON Lines: each line is an object and a sample, and each field is an output of shape
    [n]. A text gives its bytes in UTF-8, a number or bool gives one element, and a list of them all
    its elements. Blank lines are skipped.

    Outputs:
      fields: one output for each of fields, in their order.

    Args:
      defaults: Values of missing fields, one for each field, as they would stand in the file.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dtypes: Type of each field, or one for all; text is uint8. By default the first value of a
        field tells: uint8, bool, int64 or float64.
      fields: Names of members, with dots for members of members: meta.length. A backslash makes a
        dot part of a name. Required.
      index_path: The index that bivouac index made; by default bivouac.index beside the first file,
        or else the records are found when the data set is opened.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      missing: What a sample gets for a field that is not there: error, empty (no elements) or
        default (a value of defaults).
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the files, in this order. A path with *, ? or [ stands for all files that
        match, sorted by name. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def litdata(
    *,
    device: str | None = None,
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
    path: Text,
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
) -> Any:
    """Reads data sets that litdata writes: a folder with an index.json and chunks. Each leaf of a
    sample is an output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON and
    encoded images are bytes. Data of tokens are read in blocks. Compressed chunks are expanded once
    and kept, within cache_bytes.

    Outputs:
      column: the value of a leaf.

    Args:
      block_size: Tokens of a sample, of data that litdata's TokensLoader reads. What is left at the
        end of a chunk is left out, as there.
      cache_bytes: Memory for parts of files that were decoded and hold other samples too; the part
        that was decoded last always stays.
      columns: Names of the leaves, an output each, such as label or meta.id; by default all.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: The folder with the index.json. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def mds(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    cache_bytes: int | None = 268435456,
    columns: Texts | None = None,
    dont_use_mmap: bool | None = False,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    paths: Texts,
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
) -> Any:
    """Reads data sets in MosaicML Streaming's format MDS: folders with an index.json. Each column
    is an output. Numbers are scalars, arrays keep their type, and texts, bytes, JSON, decimals and
    encoded images are bytes. Hashes in index.json are verified when a shard is first read.
    Compressed shards are expanded once and kept, within cache_bytes.

    Outputs:
      column: the value of a column.

    Args:
      cache_bytes: Memory for parts of files that were decoded and hold other samples too; the part
        that was decoded last always stays.
      columns: Names of the columns, an output each; by default all, in the order of index.json.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      paths: Folders with an index.json, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      verify_hashes: Compares each shard with its hashes in index.json when it is first read.
    """
    ...

def mxnet(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    index_path: Texts,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
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
) -> list[DataNode]:
    """Reads images and their labels from RecordIO files of MXNet.

    Outputs:
      images: the bytes of an encoded image, uint8.
      labels: its labels, float32; mostly one.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      index_path: An index with a line "key offset" for each record: one for each file, or one for
        all files, as if they were one after the other; or one bivouac.index. An empty list stands
        for the bivouac.index beside the data, or for what is found in the files. Required.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the RecordIO files, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def nemo_asr(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    downmix: bool | None = True,
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    manifest_filepaths: Texts,
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
) -> Any:
    """Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath,
    duration and text. The outputs are the audio, then the rate, the text and the index. Paths of
    audio files are relative to the working directory. The offset and the duration of an entry are a
    part of its file. Files are decoded as by decoders.audio. A program that makes no pipeline
    decodes WAV, and the formats of codec that it imports.

    Outputs:
      audio: of shape [frames], or without downmix [frames, channels].
      rates: with read_sample_rate the rate of the file, float32 of shape [].
      texts: with read_text the bytes of the text, uint8.
      indices: with read_idxs the place of the sample in its manifest, int64 of shape [1].

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      downmix: Takes the mean of the channels. Integers of several channels need downmix false.
      dtype: Type of the audio: float32, int32 or int16. Integers fill the type.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      manifest_filepaths: Paths of manifests, whose entries come one manifest after the other.
        Required.
      max_duration: Leaves longer samples out, in seconds; 0 keeps all.
      min_duration: Leaves shorter samples out, in seconds; 0 keeps all.
      normalize_text: Ignored. Deprecated: it has no effect.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      quality: Quality of resampling, 0 to 100; see audio_resample.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      read_idxs: Adds an output with the indices.
      read_sample_rate: Adds an output with the rates.
      read_text: Adds an output with the texts.
      sample_rate: The rate to which samples are resampled; by default they keep theirs.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def npz(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    cache_bytes: int | None = 268435456,
    columns: Texts | None = None,
    dont_use_mmap: bool | None = False,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
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
) -> Any:
    """Reads rows of the arrays in npz files: sample i has row i of each array. The arrays of a file
    have equal numbers of rows, and the rows of one name are equal in dtype and shape in all files.
    An array that is compressed, big-endian or in Fortran order is read as a whole.

    Outputs:
      columns: one output for each of columns, in their order: a row of the array.

    Args:
      cache_bytes: Memory for arrays that are read as a whole.
      columns: Names of the arrays to read; by default all of the first file, sorted by name.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the files, in this order. A path with *, ? or [ stands for all files that
        match, sorted by name. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      verify: Whether the checksum of an array is compared, once, before its first row is read. That
        reads the whole array.
    """
    ...

def numpy(
    *,
    device: str | None = None,
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
) -> DataNode:
    """Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of
    each array. All have the type and the number of axes of the first file.

    Outputs:
      arrays: the array of a file, in C order.

    Args:
      cache_header_information: Keeps the headers of files; no effect: files are read in one piece
        with their headers.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      file_filter: Pattern of file names, with file_root alone. It tells upper from lower case.
      file_list: Text file with a path on each line, instead of file_root; its own folder is the
        default of file_root.
      file_root: Directory whose files, and those in its folders, are read, or what files and
        file_list are relative to.
      files: Paths of the files, in this order, instead of file_root.
      fill_value: What fills the outside of an array with "pad".
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      out_of_bounds_policy: What a region outside the array is: "error", "pad" (filled with
        fill_value) or "trim_to_shape" (cut).
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      register_buffers: Registers buffers with a driver; no effect.
      rel_roi_end: End of the region on each axis, relative to the extents.
      rel_roi_shape: Extent of the region on each axis, relative to the extents of the array.
      rel_roi_start: Start of the region on each axis, relative to the extents.
      roi_axes: Axes of the region, in the order of its values; negative numbers count from the last
        axis; by default all axes.
      roi_end: End of the region on each axis: the element after its last; the default is the
        extent.
      roi_shape: Extent of the region on each axis.
      roi_start: First element of the region on each axis; the default is 0. One number is for all
        axes.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      use_o_direct: Reads past the cache of the system; no effect.
    """
    ...

def parquet(
    *,
    device: str | None = None,
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
    paths: Texts,
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
) -> Any:
    """Reads the rows of Parquet files. Each column is an output: numbers are scalars, strings and
    binaries are bytes, and lists of numbers are arrays. A part of a struct is a column with a dot
    in its name. Pages are decoded once, their checksums are verified, and they are kept within
    cache_bytes; a file with an offset index costs one page a row in any order.

    Outputs:
      column: the value of a column.

    Args:
      cache_bytes: Memory for parts of files that were decoded and hold other samples too; the part
        that was decoded last always stays.
      columns: Names of the columns, an output each; by default all, in the order of the first file.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      nulls: Number that stands for null in numbers; null strings and lists become empty. By default
        a null is an error of its sample.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      paths: Paths of the files, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def safetensors(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    columns: Texts | None = None,
    dont_use_mmap: bool | None = False,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
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
) -> Any:
    """Reads rows of the tensors in safetensors files: sample i has row i of each tensor. The
    tensors of a file have equal numbers of rows, and the rows of one name are equal in dtype and
    shape in all files.

    Outputs:
      columns: one output for each of columns, in their order: a row of the tensor.

    Args:
      columns: Names of the arrays to read; by default all of the first file, sorted by name.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the files, in this order. A path with *, ? or [ stands for all files that
        match, sorted by name. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def sequence(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    file_root: Text,
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
    sequence_length: int,
    shard_id: int | None = 0,
    skip_cached_images: bool | None = False,
    step: int | None = 1,
    stick_to_shard: bool | None = False,
    stride: int | None = 1,
    tensor_init_bytes: int | None = 1048576,
) -> DataNode:
    """Reads sequences of images: each folder of a directory is a stream, whose images are frames in
    the order of the bytes of their names. The frames of a sequence must be equally large. Images
    are not turned as their EXIF orientation says.

    Deprecated: it still works, but new programs read files and decode them.

    Outputs:
      sequences: frames, uint8 of layout FHWC.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      file_root: Directory with a folder for each stream. Required.
      image_type: Colour space of the frames: RGB, BGR, GRAY, or ANY_DATA for the channels that the
        files have.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      sequence_length: Number of frames of a sequence. Required.
      shard_id: The part that is read first.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      step: Frames from the start of a sequence to the start of the next.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      stride: Frames from one frame of a sequence to the next.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...

def tfrecord(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dont_use_mmap: bool | None = False,
    features: dict[str, Feature],
    index_path: Texts | None = None,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    path: Texts,
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
) -> dict[str, DataNode]:
    """Reads tf.train.Example messages from TFRecord files, and has an output for each feature that
    the argument features names. Both checksums of each record are checked.

    Outputs:
      values: the features, in their order: the bytes of a feature of bytes (uint8), and int64 or
        float32 numbers of the shape that the feature has.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      features: The features to read: name, type, and a fixed shape or a variable length. The
        default is the value of a record without a fixed feature; one of variable length has no
        values then. Required.
      index_path: An index of each file, with a line "offset length" for each record; or one
        bivouac.index. By default the bivouac.index beside the data, or what is found in the files.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the TFRecord files, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      use_o_direct: Reads past the cache of the system; no effect.
    """
    ...

def tokens(
    *,
    device: str | None = None,
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
    path: Texts,
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
) -> Any:
    """Reads tokens from files that hold them back to back: windows of a fixed length, or whole
    documents. Files are pairs of .bin and .idx as Megatron and fairseq write them, npy files, or
    plain arrays. A window never has tokens of two files.

    Outputs:
      tokens: the tokens, of shape [n].
      ends: with boundaries: where documents end within the sample, int64 of shape [k], each counted
        from its first token.

    Args:
      boundaries: Whether there is a second output that says where documents end. Only pairs know
        it.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dtype: Type of the tokens in plain arrays; pairs and npy files know theirs.
      header_bytes: Bytes before the tokens in plain arrays.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      keep_short: Whether the last tokens of a file that fill no window are a sample of their own.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      output_dtype: Type of the output; by default the type of the files. A token that it cannot
        hold is an error.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      path: Paths of the files, in this order. A path with *, ? or [ stands for all files that
        match, sorted by name. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      stride: Tokens from the start of a window to the start of the next; 0: window. window-1 gives
        inputs and targets without a gap.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      window: Tokens of a sample; 0: each document is a sample.
    """
    ...

def webdataset(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    case_sensitive_extensions: bool | None = True,
    dont_use_mmap: bool | None = False,
    dtypes: DTypes | None = None,
    ext: Texts,
    index_paths: Texts | None = None,
    initial_fill: int | None = 1024,
    lazy_init: bool | None = False,
    missing_component_behavior: Text | None = "",
    num_shards: int | None = 1,
    pad_last_batch: bool | None = False,
    paths: Texts,
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
) -> Any:
    """Reads samples of several files out of tar archives, as the package webdataset writes them.
    Files whose names are equal up to the first dot behind the last slash are one sample. The rest
    of the name is the component. Each output has the bytes of a component.

    Outputs:
      component: the bytes of a component, as elements of its dtype.

    Args:
      case_sensitive_extensions: Names of components tell upper from lower case.
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dtypes: Type of the elements of each output; by default uint8.
      ext: Names of the component of each output, such as "jpg;png;jpeg". The first file of a sample
        that has one of them counts. Required.
      index_paths: Indexes of the archives that wds2idx made, version 1.1 or 1.2; by default
        bivouac.index beside the first archive, or without that, the headers of the archives.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      missing_component_behavior: What a sample without a component is: "empty" (the output is
        empty; the default), "skip" (it is left out) or "error" (the data set is refused).
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      paths: Paths of the archives, in this order. Required.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      shard_id: The part that is read first.
      shuffle_after_epoch: Each epoch comes in an order of its own, in DALI by shuffling the whole
        list.
      shuffle_after_epoch_seed: Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else
        the reader's seed.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
    """
    ...
