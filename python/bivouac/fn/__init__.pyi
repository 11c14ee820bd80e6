# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text, Texts
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.features import Feature
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.external import external_source as external_source
from bivouac._pipeline.python_function import dl_tensor_python_function as dl_tensor_python_function
from bivouac._pipeline.python_function import python_function as python_function
from bivouac.fn import decoders as decoders
from bivouac.fn import encoders as encoders
from bivouac.fn import experimental as experimental
from bivouac.fn import io as io
from bivouac.fn import noise as noise
from bivouac.fn import random as random
from bivouac.fn import readers as readers
from bivouac.fn import reductions as reductions
from bivouac.fn import segmentation as segmentation
from bivouac.fn import transforms as transforms

def audio_decoder(
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

    Deprecated: use decoders.audio.

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

def auto_augment(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    augmentations: Texts | None = ...,
    bytes_per_sample_hint: Ints | None = [0],
    clamp: bool | None = False,
    fill_value: Floats | None = [128],
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    max_translate_abs: Floats | None = [],
    max_translate_rel: Floats | None = [],
    num_magnitude_bins: int | None = 11,
    pixels: Text | None = "rounded",
    policy: Texts | None = ...,
    policy_name: Text | None = "image_net",
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Applies a sub-policy to each image: augmentations with their probabilities and magnitudes
    (AutoAugment).

    Inputs:
      images: pictures or sequences: uint8 of layout HWC or FHWC.

    Outputs:
      augmented: images of the same shape.

    Args:
      augmentations: The suite: augmentations with the ranges of their magnitudes, such as "rotate 0
        30 signed". By default it is the suite of the publication. Default: .
      clamp: Whether the pixels at the border are repeated outside of an image, in place of
        fill_value.
      fill_value: Value outside of an image that is warped: one for all channels, or one for each.
      interp_type: INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC.
      max_translate_abs: The longest translation in pixels: one number, or one for the height and
        one for the width.
      max_translate_rel: The longest translation as a share of the height and width: one number, or
        one for each.
      num_magnitude_bins: The number of bins.
      pixels: How pixels are computed: "rounded" as by the operators of the same names, or
        "truncated" as by Pillow.
      policy: A policy, in place of policy_name: its sub-policies, such as "posterize 0.4 6;
        auto_contrast 0.4". An augmentation of the suite is followed by its probability and its bin.
        Default: .
      policy_name: The policy: "image_net", "reduced_image_net", "reduced_cifar10" or "svhn".
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Height and width that translations are shares of; by default the extents of the image.
    """
    ...

def batch_permutation(
    *,
    device: str | None = None,
    name: str | None = None,
    _scope: bool | Fed | None = None,
    allow_repetitions: bool | None = False,
    bytes_per_sample_hint: Ints | None = [0],
    no_fixed_points: bool | None = False,
    preserve: bool | None = False,
    seed: int | None = -1,
) -> DataNode:
    """Draws a permutation of the samples of a batch, for permute_batch: each sample holds one
    number.

    Outputs:
      indices: int32 scalars.

    Args:
      _scope: Any values of a branch. The samples that have one are permuted, as if the batch had no
        others. Its elements have no effect.
      allow_repetitions: Whether every number is drawn independently, so that some numbers repeat
        and others are missing.
      no_fixed_points: Whether no sample has its own index, except in batches of one.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def bb_flip(
    __boxes: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    horizontal: int | Fed | None = 1,
    ltrb: bool | None = False,
    preserve: bool | None = False,
    vertical: int | Fed | None = 0,
) -> DataNode:
    """Mirrors boxes like the operator flip mirrors images. Coordinates are from 0 to 1.

    Inputs:
      boxes: boxes of any number, 4 numbers each.

    Outputs:
      output: the mirrored boxes.

    Args:
      horizontal: Whether left and right change places: 0 means no.
      ltrb: Whether boxes are left, top, right and bottom. By default they are left, top, width and
        height.
      vertical: Whether top and bottom change places: 0 means no.
    """
    ...

def bbox_paste(
    __boxes: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    ltrb: bool | None = False,
    paste_x: float | Fed | None = 0.5,
    paste_y: float | Fed | None = 0.5,
    preserve: bool | None = False,
    ratio: float | Fed,
) -> DataNode:
    """Moves boxes with an image that the operator paste puts on a larger canvas. Coordinates are
    from 0 to 1.

    Inputs:
      boxes: boxes of any number, 4 numbers each.

    Outputs:
      output: the boxes on the canvas.

    Args:
      ltrb: Whether boxes are left, top, right and bottom. By default they are left, top, width and
        height.
      paste_x: Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge.
      paste_y: Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge.
      ratio: Height and width of the canvas relative to the image: 1 or more. Required.
    """
    ...

def bbox_prune(
    __boxes: Input,
    __labels: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bbox_layout: Text | None = "xyXY",
    bytes_per_sample_hint: Ints | None = [0],
    clip: bool | None = True,
    input_shape: Ints | Fed | None = None,
    min_area: float | Fed | None = 0,
    min_size: float | Fed | None = 0,
    min_visibility: float | Fed | None = 0,
    output_bbox_indices: bool | None = False,
    preserve: bool | None = False,
) -> Any:
    """Cuts boxes at the edges of the image and drops boxes of which too little is left, with their
    labels. A box without area, an inverted box and a box with NaN are always dropped.

    Inputs:
      boxes: one box per row.
      labels: one label, or one row of labels, per box; may be left out.

    Outputs:
      kept: the remaining boxes.
      kept_labels: their labels, or their indices if there are no labels.
      indices: with output_bbox_indices: the indices of the remaining boxes, int32.

    Args:
      bbox_layout: What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size.
      clip: Whether boxes are cut at the edges of the image. Otherwise they stay as they are.
      input_shape: Height and width of the image, if coordinates are in pixels. By default they are
        from 0 to 1.
      min_area: The least area of the part in the image, in the units of the coordinates.
      min_size: The least width and the least height of the part in the image.
      min_visibility: The least share of a box that is in the image, from 0 to 1.
      output_bbox_indices: Whether the indices of the remaining boxes are an additional output.
    """
    ...

def bbox_rotate(
    __boxes: Input,
    __labels: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    angle: float | Fed,
    bbox_layout: Text | None = "xyXY",
    bbox_normalized: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    input_shape: Ints | Fed,
    keep_size: bool | None = False,
    mode: Text | None = "expand",
    preserve: bool | None = False,
    remove_threshold: float | None = 0.1,
    shape_layout: Text | None = "HW",
    size: Floats | Fed | None = None,
) -> Any:
    """Turns boxes like the operator rotate turns an image. A turned box is the upright box around
    its corners. It is cut at the edges of the canvas, and dropped with its label if too little of
    it is left.

    Inputs:
      boxes: one box per row.
      labels: one int32 label per box, as a list or as rows of one; may be left out.

    Outputs:
      turned: the boxes that remain.
      kept_labels: their labels, if there are labels.

    Args:
      angle: The angle in degrees, counterclockwise. Required.
      bbox_layout: What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size.
      bbox_normalized: Whether coordinates are from 0 to 1. Otherwise they are in pixels.
      input_shape: Size of the image before the turn. Required.
      keep_size: Whether the canvas is as large as the image. Not together with size.
      mode: The size of a turned box: "expand" encloses the turned corners, "fixed" keeps the size
        of the box, and "halfway" is between them.
      remove_threshold: The least share of a box on the canvas, from 0 to below 1. A box with less
        is dropped.
      shape_layout: What the numbers of input_shape are, as letters with an H and a W.
      size: Height and width of the canvas. By default the canvas holds the whole turned image.
    """
    ...

def box_encoder(
    __boxes: Input,
    __labels: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    anchors: Floats,
    bytes_per_sample_hint: Ints | None = [0],
    criteria: float | None = 0.5,
    means: Floats | None = [0, 0, 0, 0],
    offset: bool | None = False,
    preserve: bool | None = False,
    scale: float | None = 1,
    stds: Floats | None = [1, 1, 1, 1],
) -> list[DataNode]:
    """Matches boxes with the default boxes (anchors) of a detector such as SSD. Each anchor takes
    the box that overlaps it most, if the overlap is above criteria. Each box is also taken by the
    anchor that overlaps it most.

    Inputs:
      boxes: one box per row: left, top, right, bottom.
      labels: one int32 label per box.

    Outputs:
      encoded: for each anchor centre and size of its box, or of the anchor if it has none; with
        offset how they differ from the anchor, or zeros.
      encoded_labels: for each anchor the label of its box, or 0.

    Args:
      anchors: Left, top, right and bottom of each anchor. Required.
      criteria: The overlap (intersection over union) above which a box belongs to an anchor, from 0
        to 1.
      means: Four numbers that are subtracted from the differences.
      offset: Whether to return how the boxes differ from their anchors.
      scale: Factor for boxes and anchors before they are compared.
      stds: Four numbers by which the differences are divided after that.
    """
    ...

def brightness(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    brightness: float | Fed | None = 1,
    brightness_shift: float | Fed | None = 0,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Changes the brightness: brightness_shift * range + brightness * in, where range is 1 for
    floats and the largest value of the output type otherwise.

    Inputs:
      images: images, sequences or volumes.

    Outputs:
      adjusted: images of the same shape.

    Args:
      brightness: Brightness factor.
      brightness_shift: Number to add, in units of the output range.
      dtype: Output type; by default the input's type.
    """
    ...

def brightness_contrast(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    brightness: float | Fed | None = 1,
    brightness_shift: float | Fed | None = 0,
    bytes_per_sample_hint: Ints | None = [0],
    contrast: float | Fed | None = 1,
    contrast_center: float | Fed | None = 0.5,
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Changes brightness and contrast: brightness_shift * range + brightness * (contrast_center +
    contrast * (in - contrast_center)), where range is 1 for floats and the largest value of the
    output type otherwise.

    Inputs:
      images: images, sequences or volumes.

    Outputs:
      adjusted: images of the same shape.

    Args:
      brightness: Brightness factor.
      brightness_shift: Number to add, in units of the output range.
      contrast: Contrast factor; 0 gives contrast_center everywhere.
      contrast_center: The value that contrast does not change. By default it is the middle of the
        input type's range: 0.5 for floats, 128 for uint8.
      dtype: Output type; by default the input's type.
    """
    ...

def caffe2_reader(
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

    Deprecated: use readers.caffe2.

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

def caffe_reader(
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

    Deprecated: use readers.caffe.

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

def cast(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType,
    preserve: bool | None = False,
) -> DataNode:
    """Converts elements to another type. Floats become integers by rounding half away from zero and
    saturating. Integers are saturated if the other type is narrower.

    Inputs:
      input: numbers of any shape.

    Outputs:
      output: the same shape in the other type.

    Args:
      dtype: Type of the output. Required.
    """
    ...

def cast_like(
    __input: Input,
    __like: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Converts elements to the type of other data, like cast.

    Inputs:
      input: numbers of any shape.
      like: data with the new type; its contents are not read.

    Outputs:
      output: the shape of the input in the other type.
    """
    ...

def cat(
    *input: Input,
    device: str | None = None,
    name: str | None = None,
    axis: int | None = 0,
    axis_name: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Joins data along an existing axis. Samples without elements are ignored, whatever their shape
    is. The output has the layout of the first input.

    Inputs:
      input: data of one type; shapes may differ only in this axis; up to 999 of them.

    Outputs:
      output: the joined data.

    Args:
      axis: Axis along which to join; a negative number counts from the end.
      axis_name: Axis along which to join, by its letter in the layout of the first input.
    """
    ...

def clahe(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bins: int | None = 256,
    bytes_per_sample_hint: Ints | None = [0],
    clip_limit: float,
    luma_only: bool | None = True,
    preserve: bool | None = False,
    tiles_x: int,
    tiles_y: int,
) -> DataNode:
    """Equalizes the histograms of the tiles of an image, with limited contrast (CLAHE). A pixel
    between the centres of tiles gets the mean of their results, weighted by distance. Colour images
    change their lightness only, unless luma_only is false.

    Inputs:
      images: images of one channel, or of the channels red, green and blue: uint8.

    Outputs:
      equalized: images of the same shape.

    Args:
      bins: It has no effect: histograms have 256 bins.
      clip_limit: Largest count of a bin, in units of the mean count. What is above is spread over
        all bins. 0 means no limit. Required.
      luma_only: Whether only the lightness of colour images changes; otherwise each channel does.
      tiles_x: Number of tiles in a row. Required.
      tiles_y: Number of tiles in a column. Required.
    """
    ...

def coco_reader(
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

    Deprecated: use readers.coco.

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

def coin_flip(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    probability: float | Fed | None = 0.5,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Draws 1 with a given probability, and 0 otherwise.

    Deprecated: use random.coin_flip.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      flips: zeros and ones.

    Args:
      dtype: Output type: int32, the default, bool or uint8.
      probability: Probability of 1. As in DALI, a number below 0 means 0, and a number above 1
        means 1.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
    """
    ...

def color_space_conversion(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    image_type: DALIImageType,
    output_type: DALIImageType,
    preserve: bool | None = False,
) -> DataNode:
    """Converts images from one colour space to another: RGB, BGR, GRAY or YCbCr. Y of YCbCr lies in
    16 to 235, and Cb and Cr in 16 to 240 (ITU-R BT.601).

    Inputs:
      images: images, sequences or volumes: uint8.

    Outputs:
      converted: images in the other colour space.

    Args:
      image_type: Colour space of the input. Required.
      output_type: Colour space of the output, another one than the input's. Required.
    """
    ...

def color_twist(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    brightness: float | Fed | None = 1,
    bytes_per_sample_hint: Ints | None = [0],
    contrast: float | Fed | None = 1,
    dtype: DALIDataType | None = None,
    hue: float | Fed | None = 0,
    image_type: DALIImageType | None = DALIImageType.RGB,
    preserve: bool | None = False,
    saturation: float | Fed | None = 1,
) -> DataNode:
    """Turns the hue and changes saturation, contrast and brightness of RGB images, as one linear
    map of the channels. Contrast does not change the value 0.5 of floats and 128 of integers.

    Inputs:
      images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or
        float32.

    Outputs:
      twisted: images of the same shape.

    Args:
      brightness: Brightness factor.
      contrast: Contrast factor.
      dtype: Output type; by default the input's type.
      hue: The angle in degrees by which hues are turned.
      image_type: Colour space of the images: RGB.
      saturation: Saturation factor; 0 gives gray.
    """
    ...

def constant(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    fdata: Floats | None = None,
    idata: Ints | None = None,
    layout: Text | None = "",
    preserve: bool | None = False,
    shape: Ints | None = None,
) -> DataNode:
    """Returns the same numbers for every sample.

    Outputs:
      output: the numbers.

    Args:
      dtype: Type of the output: by default float32 for fdata, int32 for idata.
      fdata: The numbers, as float32: one for each element of the shape, or one for all.
      idata: The numbers, as integers.
      layout: Layout of the output.
      shape: Shape of the output; by default one axis with all numbers.
    """
    ...

def contrast(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    contrast: float | Fed | None = 1,
    contrast_center: float | Fed | None = 0.5,
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Changes the contrast: contrast_center + contrast * (in - contrast_center).

    Inputs:
      images: images, sequences or volumes.

    Outputs:
      adjusted: images of the same shape.

    Args:
      contrast: Contrast factor; 0 gives contrast_center everywhere.
      contrast_center: The value that contrast does not change. By default it is the middle of the
        input type's range: 0.5 for floats, 128 for uint8.
      dtype: Output type; by default the input's type.
    """
    ...

def coord_flip(
    __points: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    center_x: float | Fed | None = 0.5,
    center_y: float | Fed | None = 0.5,
    center_z: float | Fed | None = 0.5,
    flip_x: int | Fed | None = 1,
    flip_y: int | Fed | None = 0,
    flip_z: int | Fed | None = 0,
    layout: Text | None = "",
    preserve: bool | None = False,
) -> DataNode:
    """Mirrors points: a flipped coordinate becomes 2 * center - x, in float32.

    Inputs:
      points: a row for each point, of 1 to 3 coordinates.

    Outputs:
      output: the mirrored points.

    Args:
      center_x: The centre of the mirror for x.
      center_y: The centre of the mirror for y.
      center_z: The centre of the mirror for z.
      flip_x: Whether x is mirrored: 0 means no.
      flip_y: Whether y is mirrored: 0 means no.
      flip_z: Whether z is mirrored: 0 means no.
      layout: The order of the coordinates, as letters x, y and z; by default "x", "xy" or "xyz".
    """
    ...

def coord_transform(
    __points: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    M: Floats | Fed | None = None,
    MT: Floats | Fed | None = None,
    T: Floats | Fed | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    preserve: bool | None = False,
) -> DataNode:
    """Multiplies points by a matrix and adds an offset: M * x + T, in float32; integers are rounded
    half away from zero and saturated.

    Inputs:
      points: points; the last axis holds the coordinates.

    Outputs:
      output: the points, with one coordinate per row of the matrix.

    Args:
      M: The matrix; by default the identity. It is one number, which multiplies all coordinates, or
        a matrix row by row with one column per coordinate.
      MT: Matrix and offset together, in place of M and T. It is one number, which multiplies all
        coordinates, or a matrix row by row with one column per coordinate and one more column, the
        offset.
      T: The offset: a number for each row of the matrix, or one for all.
      dtype: Type of the output: float32 or the input's type.
    """
    ...

def copy(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Returns the data unchanged.

    Inputs:
      input: data of any kind.

    Outputs:
      output: the same data.
    """
    ...

def crop(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    crop: Floats | Fed | None = None,
    crop_d: float | Fed | None = 0,
    crop_h: float | Fed | None = 0,
    crop_pos_x: float | Fed | None = 0.5,
    crop_pos_y: float | Fed | None = 0.5,
    crop_pos_z: float | Fed | None = 0.5,
    crop_w: float | Fed | None = 0,
    dtype: DALIDataType | None = None,
    fill_values: Floats | None = [0],
    image_type: DALIImageType | None = None,
    out_of_bounds_policy: Text | None = "error",
    output_dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    rounding: Text | None = "round",
) -> DataNode:
    """Cuts a window out of an image, out of every image of a sequence, or out of a volume.

    Inputs:
      images: images to crop.

    Outputs:
      windows: the windows, with the layout of the input.

    Args:
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
      dtype: Output type; by default the input's type.
      fill_values: Values of padded elements: one for all channels, or one for each.
      image_type: Ignored. Deprecated: it has no effect.
      out_of_bounds_policy: What happens if the window extends outside the data: "error", "pad" with
        fill_values, or "trim_to_shape".
      output_dtype: The old name of dtype. Deprecated: use dtype.
      rounding: How the position becomes a pixel: "round" (half away from zero) or "truncate".
    """
    ...

def crop_mirror_normalize(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    crop: Floats | Fed | None = None,
    crop_d: float | Fed | None = 0,
    crop_h: float | Fed | None = 0,
    crop_pos_x: float | Fed | None = 0.5,
    crop_pos_y: float | Fed | None = 0.5,
    crop_pos_z: float | Fed | None = 0.5,
    crop_w: float | Fed | None = 0,
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    fill_values: Floats | None = [0],
    image_type: DALIImageType | None = None,
    mean: Floats | Fed | None = [0],
    mirror: int | Fed | None = 0,
    out_of_bounds_policy: Text | None = "error",
    output_dtype: DALIDataType | None = None,
    output_layout: Text | None = "CHW",
    pad_output: bool | None = False,
    preserve: bool | None = False,
    rounding: Text | None = "round",
    scale: float | None = 1,
    shift: float | None = 0,
    std: Floats | Fed | None = [1],
) -> DataNode:
    """Cuts a window out of an image, can mirror it, and normalises it: scale * (in - mean) / std +
    shift, which is computed as (in - (mean - shift * std / scale)) * (scale / std). The output is
    laid out for training: CHW float32 by default.

    Inputs:
      images: images, sequences or volumes.

    Outputs:
      normalized: normalised windows.

    Args:
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
      dtype: Output type: float32, float16, uint8 or int8.
      fill_values: Values of padded elements: one for all channels, or one for each.
      image_type: Ignored. Deprecated: it has no effect.
      mean: Value to subtract: one for all channels, or one for each.
      mirror: Whether left and right are exchanged: 0 means no.
      out_of_bounds_policy: What happens if the window extends outside the data: "error", "pad" with
        fill_values, or "trim_to_shape".
      output_dtype: The old name of dtype. Deprecated: use dtype.
      output_layout: Order of the output's axes: a permutation of the input's layout.
      pad_output: Adds channels of fill_values up to a power of two.
      rounding: How the position becomes a pixel: "round" (half away from zero) or "truncate".
      scale: Factor of the result.
      shift: Number to add to the result.
      std: Divisor: one for all channels, or one for each.
    """
    ...

def cutmix(
    __images: Input,
    __partners: Input,
    __labels: Input | None = None,
    __partner_labels: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    centre_x: float | Fed | None = 0.5,
    centre_y: float | Fed | None = 0.5,
    even: bool | None = False,
    preserve: bool | None = False,
    ratio: float | Fed,
) -> Any:
    """Puts a window of a partner into an image, at the same place. The window has the share 1 -
    ratio of the area, before it is cut at the edges. Labels are mixed by the areas. Draw the ratio
    with random.beta.

    Inputs:
      images: images or other data.
      partners: the data to mix with, of the same type and shape.
      labels: a number for each class, float32; may be left out.
      partner_labels: the numbers of the partners; may be left out.

    Outputs:
      mixed: the images with their windows.
      mixed_labels: the mean of the labels, if there are labels.

    Args:
      centre_x: Horizontal centre of the window, from 0 to 1.
      centre_y: Vertical centre of the window, from 0 to 1.
      even: Whether the window reaches equally far to both sides of the pixel at its centre. Extents
        then are truncated to even numbers; otherwise they are rounded.
      ratio: The share of the image, from 0 to 1. Required.
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

def dump_image(
    __image: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    input_layout: Text | None = "HWC",
    preserve: bool | None = False,
    suffix: Text | None = "",
) -> DataNode:
    """Writes each image to a file in the working directory and returns it. The name of the file has
    the place in the batch, the suffix and 0, such as 3-suffix-0.ppm, so that a batch overwrites the
    files of the previous batch. The format is PNM in text.

    Inputs:
      image: an image of 1 or 3 channels, layout HWC.

    Outputs:
      same: the image.

    Args:
      input_layout: Layout of the image; only HWC is allowed.
      suffix: Part of the names of the files.
    """
    ...

def element_extract(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    element_map: Ints,
    preserve: bool | None = False,
) -> Any:
    """Takes elements, such as frames, out of sequences. Each element is an output.

    Inputs:
      input: sequences of at least two axes; if there is a layout, the first axis is F.

    Outputs:
      element: an element of the sequence.

    Args:
      element_map: Index of the element for each output. Required.
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

    Inputs:
      images: images or sequences: uint8.

    Outputs:
      equalized: images of the same shape.
    """
    ...

def erase(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    anchor: Floats | Fed | None = [],
    axes: Ints | None = [1, 0],
    axis_names: Text | None = "HW",
    bytes_per_sample_hint: Ints | None = [0],
    centered_anchor: bool | None = False,
    fill_value: Floats | Fed | None = [0],
    normalized: bool | None = False,
    normalized_anchor: bool | None = False,
    normalized_shape: bool | None = False,
    preserve: bool | None = False,
    shape: Floats | Fed | None = [],
) -> DataNode:
    """Overwrites regions of an array with a value. Anchors and shapes give the regions along some
    axes, region after region. Along all other axes a region covers the whole axis. Starts and ends
    are truncated to integers.

    Inputs:
      data: arrays of any rank.

    Outputs:
      erased: arrays of the same shape.

    Args:
      anchor: Starts of the regions: one value per axis, region after region. By default all starts
        are 0.
      axes: Axes of the values; negative numbers count from the last axis.
      axis_names: The axes by the letters of the layout; overrides axes.
      centered_anchor: Whether anchors are centres instead of starts.
      fill_value: Fill value: one for all channels, or one for each.
      normalized: Whether anchors and shapes are fractions of the extents.
      normalized_anchor: Whether anchors are fractions of the extents.
      normalized_shape: Whether shapes are fractions of the extents.
      shape: Extents of the regions: one value per axis, region after region.
    """
    ...

def expand_dims(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints,
    bytes_per_sample_hint: Ints | None = [0],
    new_axis_names: Text | None = "",
    preserve: bool | None = False,
) -> DataNode:
    """Inserts axes of extent 1 between the axes of the data.

    Inputs:
      data: data of any kind.

    Outputs:
      output: the data with the new axes.

    Args:
      axes: Numbers of the new axes in the output. Required.
      new_axis_names: A letter for each new axis; without them the output has no layout.
    """
    ...

def fast_resize_crop_mirror(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    antialias: bool | None = False,
    bytes_per_sample_hint: Ints | None = [0],
    crop: Floats | Fed | None = None,
    crop_d: float | Fed | None = 0,
    crop_h: float | Fed | None = 0,
    crop_pos_x: float | Fed | None = 0.5,
    crop_pos_y: float | Fed | None = 0.5,
    crop_pos_z: float | Fed | None = 0.5,
    crop_w: float | Fed | None = 0,
    dtype: DALIDataType | None = None,
    interp_type: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    mag_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    max_size: Floats | None = None,
    min_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    minibatch_size: int | None = 32,
    mirror: int | Fed | None = 0,
    mode: Text | None = "default",
    preserve: bool | None = False,
    resize_longer: float | Fed | None = 0,
    resize_shorter: float | Fed | None = 0,
    resize_x: float | Fed | None = 0,
    resize_y: float | Fed | None = 0,
    resize_z: float | Fed | None = 0,
    roi_end: Floats | Fed | None = None,
    roi_relative: bool | None = False,
    roi_start: Floats | Fed | None = None,
    rounding: Text | None = "round",
    size: Floats | Fed | None = None,
    subpixel_scale: bool | None = True,
    temp_buffer_hint: int | None = 0,
) -> DataNode:
    """Resizes an image, cuts a window out of the result and can mirror it, in one step: only the
    window is computed. The window may extend beyond the resized image; the edge of the image is
    repeated there.

    Deprecated: use resize_crop_mirror.

    Inputs:
      images: images: uint8, int16, uint16 or float32.

    Outputs:
      windows: the windows, with the layout of the input.

    Args:
      antialias: Whether the filter is widened along axes that shrink.
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
      dtype: Output type: the input's type, which is the default, or float32.
      interp_type: Filter, unless mag_filter or min_filter is given.
      mag_filter: Filter for axes that grow or keep their extent.
      max_size: Largest extent of the result, one for all axes or one for each; 0 means no limit.
      min_filter: Filter for axes that shrink.
      minibatch_size: Has no effect.
      mirror: Axes to reverse: 1 for the width, 2 for the height, 4 for the depth, or a sum of these
        numbers.
      mode: How sizes are used: "default" derives missing sizes from the mean scale of the others,
        "stretch" keeps missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the
        size is the upper or lower limit.
      resize_longer: Extent of the longest axis; the aspect ratio is kept.
      resize_shorter: Extent of the shortest axis; the aspect ratio is kept.
      resize_x: Width; 0 derives it, a negative width mirrors.
      resize_y: Height; 0 derives it, a negative height mirrors.
      resize_z: Depth of volumes; 0 derives it, a negative depth mirrors.
      roi_end: End of the part that is resized, on each axis in the order of the layout. An end
        before roi_start mirrors.
      roi_relative: Whether the part is given in fractions of the extents.
      roi_start: Start of the part that is resized, on each axis in the order of the layout.
      rounding: How the position becomes a pixel: "round" (half away from zero) or "truncate".
      size: Extents of the result in the order of the layout, or one for all. 0 derives an extent; a
        negative extent mirrors.
      subpixel_scale: Whether the resized part grows or shrinks to match a rounded size, so that the
        scale equals the scale of the requested size.
      temp_buffer_hint: Has no effect.
    """
    ...

def file_reader(
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

    Deprecated: use readers.file.

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

def flip(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    depthwise: int | Fed | None = 0,
    horizontal: int | Fed | None = 1,
    preserve: bool | None = False,
    vertical: int | Fed | None = 0,
) -> DataNode:
    """Reverses images along their axes: left and right, top and bottom, front and back.

    Inputs:
      images: images, sequences or volumes of any type.

    Outputs:
      flipped: images of the same shape.

    Args:
      depthwise: Whether front and back of a volume are exchanged: 0 means no.
      horizontal: Whether left and right are exchanged: 0 means no.
      vertical: Whether top and bottom are exchanged: 0 means no.
    """
    ...

def freq_mask(
    __spectrogram: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: float | Fed | None = 0,
    masks: int | Fed | None = 1,
    max_fraction: float | Fed | None = 1,
    max_width: int | Fed,
    preserve: bool | None = False,
    seed: int | None = -1,
) -> DataNode:
    """Sets random ranges of frequencies of a spectrogram to a number (SpecAugment). The width of a
    range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn.
    Without a layout the axes are frequency, then time.

    Inputs:
      spectrogram: a spectrogram of layout "ft" or "tf", float32.

    Outputs:
      masked: a spectrogram of the same shape.

    Args:
      fill_value: The number that masked elements become.
      masks: Number of ranges. They can overlap.
      max_fraction: The largest width of a range, as a fraction of the axis.
      max_width: The largest width of a range. Required.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def full(
    __fill_value: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    layout: Text | None = None,
    preserve: bool | None = False,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Repeats data to a shape, with the broadcasting rules of numpy.

    Inputs:
      fill_value: the data to repeat: a scalar, or data whose shape fits the end of the new shape.

    Outputs:
      output: the repeated data.

    Args:
      layout: Layout of the output.
      shape: Shape of the output; by default a scalar.
    """
    ...

def full_like(
    __data_like: Input,
    __fill_value: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Repeats data to the shape of other data, with the broadcasting rules of numpy, and converts
    it to its type like cast. The output has the layout of the other data.

    Inputs:
      data_like: data with the shape, layout and type of the output; the contents are not read.
      fill_value: the data to repeat.

    Outputs:
      output: the repeated data.
    """
    ...

def gaussian_blur(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    sigma: Floats | Fed | None = [0],
    window_size: Ints | Fed | None = [0],
) -> DataNode:
    """Blurs with a Gaussian window along all axes except frames and channels, which are the first
    or the last. At its edges the image is mirrored; the edge itself is not repeated.

    Inputs:
      images: arrays of one to three axes besides frames and channels; without a layout no axis is a
        frame or channel axis.

    Outputs:
      blurred: arrays of the same shape.

    Args:
      dtype: Output type: the input's type, which is the default, or float32.
      sigma: Standard deviation in pixels, one for all axes or one for each. 0 means (radius - 1) *
        0.3 + 0.8.
      window_size: Width of the window in pixels, one for all axes or one for each. It is odd; 0
        means 2 * ceil(3 * sigma) + 1.
    """
    ...

def get_property(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    key: Text,
    preserve: bool | None = False,
) -> DataNode:
    """Returns a property of samples as text: the bytes of its characters.

    Inputs:
      input: data of any kind.

    Outputs:
      output: the characters as uint8.

    Args:
      key: The property: "source_info" (the file that a sample was read from, or an empty text) or
        "layout". Required.
    """
    ...

def grid_mask(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    angle: float | Fed | None = 0,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    ratio: float | Fed | None = 0.5,
    shift_x: float | Fed | None = 0,
    shift_y: float | Fed | None = 0,
    tile: int | Fed | None = 100,
) -> DataNode:
    """Makes the squares of a grid black, in every image of a sequence and every plane of a volume.
    Erased numbers are multiplied by 0: NaN stays NaN, and infinities become NaN.

    Inputs:
      images: pictures, sequences or volumes.

    Outputs:
      output: the pictures with black squares.

    Args:
      angle: The angle of the grid in radians.
      ratio: The side of a black square, as a fraction of the tile.
      shift_x: Number of pixels that the grid moves to the right.
      shift_y: Number of pixels that the grid moves down.
      tile: The side of a tile in pixels.
    """
    ...

def hsv(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.UINT8,
    hue: float | Fed | None = 0,
    preserve: bool | None = False,
    saturation: float | Fed | None = 1,
    value: float | Fed | None = 1,
) -> DataNode:
    """Turns the hue and changes the saturation and the value of RGB images, as one linear map of
    the channels.

    Inputs:
      images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or
        float32.

    Outputs:
      twisted: images of the same shape.

    Args:
      dtype: Output type.
      hue: The angle in degrees by which hues are turned.
      saturation: Saturation factor; 0 gives gray.
      value: Factor of all channels.
    """
    ...

def hue(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    hue: float | Fed | None = 0,
    image_type: DALIImageType | None = DALIImageType.RGB,
    preserve: bool | None = False,
) -> DataNode:
    """Turns the hue of RGB images, as a linear map of the channels.

    Inputs:
      images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or
        float32.

    Outputs:
      twisted: images of the same shape.

    Args:
      dtype: Output type; by default the input's type.
      hue: The angle in degrees by which hues are turned.
      image_type: Colour space of the images: RGB.
    """
    ...

def image_decoder(
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

    Deprecated: use decoders.image.

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

def image_decoder_crop(
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

    Deprecated: use decoders.image_crop.

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

def image_decoder_random_crop(
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

    Deprecated: use decoders.image_random_crop.

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

def image_decoder_slice(
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

    Deprecated: use decoders.image_slice.

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

def jpeg_compression_distortion(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    quality: int | Fed | None = 50,
) -> DataNode:
    """Distorts RGB images as JPEG does: they become what they are after encoding and decoding, with
    half the colour resolution.

    Inputs:
      images: RGB images or sequences of them: uint8.

    Outputs:
      distorted: images of the same shape.

    Args:
      quality: Quality from 1, the worst, to 100; other numbers are limited to this range.
    """
    ...

def laplacian(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    normalized_kernel: bool | None = False,
    preserve: bool | None = False,
    scale: Floats | Fed | None = [1],
    smoothing_size: Ints | Fed | None = None,
    window_size: Ints | Fed | None = [3],
) -> DataNode:
    """Adds up the second derivatives along all axes except frames and channels, which are the first
    or the last. Each derivative is smoothed along the other axes. At its edges the image is
    mirrored; the edge itself is not repeated.

    Inputs:
      images: arrays of one to three axes besides frames and channels; without a layout no axis is a
        frame or channel axis.

    Outputs:
      derived: arrays of the same shape.

    Args:
      dtype: Output type: the input's type, which is the default, or float32.
      normalized_kernel: Whether each derivative is divided by the sum of its weights' magnitudes;
        not together with scale.
      scale: Factor of the derivatives, one for all or one for each.
      smoothing_size: Width of the windows that smooth, one for all axes or one for each. It is odd,
        from 1 to 31; by default it is the width of the derivative's window.
      window_size: Width of the derivatives' windows, one for all axes or one for each. It is odd,
        from 3 to 31.
    """
    ...

def log_mel(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    border: Text | None = "clamp",
    bytes_per_sample_hint: Ints | None = [0],
    center_windows: bool | None = True,
    cutoff_db: float | None = -200,
    freq_high: float | None = 0,
    freq_low: float | None = 0,
    mel_formula: Text | None = "slaney",
    multiplier: float | None = 10,
    nfft: int | None = None,
    nfilter: int | None = 128,
    normalize: bool | None = True,
    power: int | None = 2,
    preemph_coeff: float | Fed | None = 0,
    preserve: bool | None = False,
    reference: float | None = 0,
    reflect_padding: bool | None = True,
    sample_rate: float | None = 44100,
    window_fn: Floats | None = None,
    window_length: int | None = 512,
    window_step: int | None = 256,
) -> DataNode:
    """Computes mel spectrograms in decibels in one pass. The result equals the chain of
    preemphasis_filter, spectrogram, mel_filter_bank and to_decibels with the same arguments to the
    bit.

    Inputs:
      signal: a signal of one channel, float32.

    Outputs:
      mels: nfilter numbers of every window, of layout "ft".

    Args:
      border: The element before the first; see preemphasis_filter.
      center_windows: Whether the middle of window i is at i * window_step, and the signal is
        padded. False means that the first window begins with the signal.
      cutoff_db: The smallest result. Smaller ratios, and NaN, become this number.
      freq_high: The largest frequency, at most half of sample_rate, which is the default.
      freq_low: The smallest frequency.
      mel_formula: The mel scale: "slaney" is linear up to 1000 Hz and logarithmic above; "htk" is
        2595 * log10(1 + f/700).
      multiplier: Factor of the logarithm: 10 for squares of magnitudes, and 20 for magnitudes.
      nfft: Size of the transform, by default window_length. Windows are in its middle, between
        zeros.
      nfilter: Number of filters.
      normalize: Whether the integral of every filter is 1. False means that its peak is 1.
      power: Exponent of the magnitudes: 1 or 2. 2 is faster.
      preemph_coeff: Coefficient of preemphasis_filter; 0 means that the signal stays.
      reference: Number whose result is 0. If it is left out, the largest number of the sample.
      reflect_padding: Whether the signal is mirrored at its ends, or else padded with zeros. It has
        no effect unless center_windows is set.
      sample_rate: Rate of the signal, in elements per second.
      window_fn: Numbers by which a window is multiplied, window_length of them. By default a Hann
        window.
      window_length: Elements of a window.
      window_step: Elements from one window to the next.
    """
    ...

def lookup_table(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    default_value: float | None = 0,
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    keys: Ints | None = [],
    output_dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    values: Floats | None = [],
) -> DataNode:
    """Replaces integers by their entries in a table.

    Inputs:
      input: integers.

    Outputs:
      output: the entries, in the shape of the input.

    Args:
      default_value: Value for integers that are not keys.
      dtype: Type of the output; values are converted like cast.
      keys: Keys from 0 to 65535. If a key occurs twice, its last value is used.
      output_dtype: The older name of dtype. Deprecated: use dtype.
      values: The value of each key.
    """
    ...

def mel_filter_bank(
    __spectrogram: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    freq_high: float | None = 0,
    freq_low: float | None = 0,
    mel_formula: Text | None = "slaney",
    nfilter: int | None = 128,
    normalize: bool | None = True,
    preserve: bool | None = False,
    sample_rate: float | None = 44100,
) -> DataNode:
    """Converts spectrograms to mel spectrograms with triangular filters. The axis of frequencies is
    the letter f of the layout. Without a layout it is the first of two axes, and the second to last
    of more.

    Inputs:
      spectrogram: a spectrogram with nfft/2 + 1 frequencies, float32.

    Outputs:
      mels: nfilter numbers in place of the frequencies.

    Args:
      freq_high: The largest frequency, at most half of sample_rate, which is the default.
      freq_low: The smallest frequency.
      mel_formula: The mel scale: "slaney" is linear up to 1000 Hz and logarithmic above; "htk" is
        2595 * log10(1 + f/700).
      nfilter: Number of filters.
      normalize: Whether the integral of every filter is 1. False means that its peak is 1.
      sample_rate: Rate of the signal, in elements per second.
    """
    ...

def mfcc(
    __mels: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axis: int | None = 0,
    bytes_per_sample_hint: Ints | None = [0],
    dct_type: int | None = 2,
    lifter: float | None = 0,
    n_mfcc: int | None = 20,
    normalize: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Computes cepstral coefficients of mel spectrograms in decibels: a discrete cosine transform
    along an axis, whose first numbers are kept.

    Inputs:
      mels: data of two to four axes, float32.

    Outputs:
      coefficients: at most n_mfcc numbers in place of the axis.

    Args:
      axis: The axis.
      dct_type: Type of the transform: 1, 2, 3 or 4.
      lifter: Weight of high coefficients: coefficient i, from 0, is multiplied by 1 + lifter/2 *
        sin(pi * (i+1) / lifter). 0 means that they stay.
      n_mfcc: The most coefficients that are kept.
      normalize: Whether the transform is orthonormal. Type 1 cannot be.
    """
    ...

def mixup(
    __images: Input,
    __partners: Input,
    __labels: Input | None = None,
    __partner_labels: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    ratio: float | Fed,
) -> Any:
    """Mixes two samples: ratio * image + (1 - ratio) * partner. Labels are mixed in the same way.
    Draw the ratio with random.beta.

    Inputs:
      images: images or other data.
      partners: the data to mix with, of the same type and shape.
      labels: a number for each class, float32; may be left out.
      partner_labels: the numbers of the partners; may be left out.

    Outputs:
      mixed: the means.
      mixed_labels: the mean of the labels, if there are labels.

    Args:
      ratio: The share of the image, from 0 to 1. Required.
    """
    ...

def mosaic(
    __image0: Input,
    __image1: Input,
    __image2: Input,
    __image3: Input,
    __boxes0: Input,
    __boxes1: Input,
    __boxes2: Input,
    __boxes3: Input,
    __labels0: Input,
    __labels1: Input,
    __labels2: Input,
    __labels3: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    centre_x: float | Fed | None = 0.5,
    centre_y: float | Fed | None = 0.5,
    fill_value: int | None = 114,
    min_visibility: float | Fed | None = 0,
    preserve: bool | None = False,
    size: Ints,
) -> list[DataNode]:
    """Puts four images around a point of a canvas: above left, above right, below left and below
    right. Each image touches the point with its corner and is cut at the edges. Boxes and labels
    follow. Draw the point with random.uniform.

    Inputs:
      image0: a picture of uint8, HWC.
      image1: a picture of uint8, HWC.
      image2: a picture of uint8, HWC.
      image3: a picture of uint8, HWC.
      boxes0: its boxes, one per row: left, top, right, bottom, from 0 to 1.
      boxes1: its boxes, one per row: left, top, right, bottom, from 0 to 1.
      boxes2: its boxes, one per row: left, top, right, bottom, from 0 to 1.
      boxes3: its boxes, one per row: left, top, right, bottom, from 0 to 1.
      labels0: its labels, one or one row per box.
      labels1: its labels, one or one row per box.
      labels2: its labels, one or one row per box.
      labels3: its labels, one or one row per box.

    Outputs:
      canvas: the canvases.
      all_boxes: the boxes of all images, from 0 to 1 on the canvas.
      all_labels: their labels.

    Args:
      centre_x: Horizontal place of the point, from 0 to 1.
      centre_y: Vertical place of the point, from 0 to 1.
      fill_value: The value of each channel where no image is.
      min_visibility: The least share of a box that is on the canvas. A box with less is dropped,
        and so is a box without area.
      size: Height and width of the canvas. Required.
    """
    ...

def multi_paste(
    *images: Input,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    in_anchors: int | Fed | None = None,
    in_anchors_rel: float | Fed | None = None,
    in_ids: Ints | Fed | None = None,
    out_anchors: int | Fed | None = None,
    out_anchors_rel: float | Fed | None = None,
    output_size: Ints | Fed | None = None,
    preserve: bool | None = False,
    shapes: int | Fed | None = None,
    shapes_rel: float | Fed | None = None,
) -> DataNode:
    """Puts regions of images on a black canvas, later regions over earlier regions. The images are
    the samples of the batch that in_ids names, or by default the sample of each input.

    Inputs:
      images: pictures; up to 64 of them.

    Outputs:
      output: the canvases.

    Args:
      dtype: Type of the output: uint8, int16, int32 or float32; by default the input's type.
      in_anchors: Start of the regions in their images, by default the top left corner, in pixels:
        one row of y and x per region.
      in_anchors_rel: Start of the regions in their images, by default the top left corner, as
        fractions of the extents: one row of y and x per region.
      in_ids: Places in the batch of the images whose regions are put on the canvas.
      out_anchors: Place of the regions on the canvas, by default the top left corner, in pixels:
        one row of y and x per region.
      out_anchors_rel: Place of the regions on the canvas, by default the top left corner, as
        fractions of the extents: one row of y and x per region.
      output_size: Height and width of the canvas; by default the size of the images, which must
        then have the same size.
      shapes: Extents of the regions, by default the rest of the images, in pixels: one row of y and
        x per region.
      shapes_rel: Extents of the regions, by default the rest of the images, as fractions of the
        extents: one row of y and x per region.
    """
    ...

def mxnet_reader(
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

    Deprecated: use readers.mxnet.

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

def nemo_asr_reader(
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

    Deprecated: use readers.nemo_asr.

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

def nonsilent_region(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    cutoff_db: float | None = -60,
    preserve: bool | None = False,
    reference_power: float | None = 0,
    reset_interval: int | None = 8192,
    window_length: int | None = 2048,
) -> list[DataNode]:
    """Finds where a signal begins and ends to be louder than a threshold. The power of a window is
    the mean of its squares. The region reaches from the first to the last window that is loud
    enough.

    Inputs:
      signal: a signal of one axis: integers of 8 to 64 bits, or float32.

    Outputs:
      begin: the first element of the region, int32.
      length: its number of elements, int32; 0 if all is silent.

    Args:
      cutoff_db: The threshold in decibels, relative to reference_power.
      reference_power: The power of 0 decibels. If it is left out, the power of the loudest window.
      reset_interval: Elements of float32 after which the sum of a window is computed anew; -1 means
        never. A multiple of window_length.
      window_length: Elements of a window.
    """
    ...

def normal_distribution(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    mean: float | Fed | None = 0,
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
    stddev: float | Fed | None = 1,
) -> DataNode:
    """Draws numbers from a normal distribution.

    Deprecated: use random.normal.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      numbers: numbers.

    Args:
      dtype: Output type: float32, the default, float64 or an integer, to which numbers are rounded.
      mean: Mean of the distribution.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
      stddev: Standard deviation of the distribution.
    """
    ...

def normalize(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    batch: bool | None = False,
    bytes_per_sample_hint: Ints | None = [0],
    ddof: int | None = 0,
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    epsilon: float | None = 0,
    mean: float | Fed | None = None,
    preserve: bool | None = False,
    scale: float | None = 1,
    shift: float | None = 0,
    stddev: float | Fed | None = None,
) -> DataNode:
    """Subtracts the mean from elements and divides the result by the standard deviation: scale *
    (in - mean) / sqrt(stddev^2 + epsilon) + shift. A mean or deviation that is not given is
    computed from the sample, or from the batch. If a computed deviation and epsilon are 0, the
    quotient is 0. Means and deviations that are given per sample have the shape of the input, with
    extents of 1 in the folded axes.

    Inputs:
      input: integers of up to 32 bits or float32.

    Outputs:
      output: the normalized data.

    Args:
      axes: Axes whose elements share one mean and deviation, by default all, by number; a negative
        number counts from the end.
      axis_names: Axes whose elements share one mean and deviation, by default all, by the letters
        of the layout.
      batch: Whether mean and deviation are computed from all samples of the batch.
      ddof: Number that is subtracted from the number of elements before the division, for a
        computed deviation.
      dtype: Type of the output.
      epsilon: Number that is added to the square of the deviation.
      mean: The mean, in place of the computed one.
      scale: Factor for the results.
      shift: Number that is added to the results.
      stddev: The standard deviation, in place of the computed one.
    """
    ...

def numpy_reader(
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

    Deprecated: use readers.numpy.

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

def one_hot(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axis: int | None = -1,
    axis_name: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    num_classes: int | None = 0,
    off_value: float | None = 0,
    on_value: float | None = 1,
    preserve: bool | None = False,
) -> DataNode:
    """Makes a row of classes from each index, with on_value at the index and off_value elsewhere.
    An index outside the classes gives only off_value. If every sample of the batch has one element
    and no axis is given, the output has only the axis of the classes.

    Inputs:
      input: indices; floats are truncated.

    Outputs:
      output: the data with the axis of the classes.

    Args:
      axis: Number of the new axis; -1 puts it after all others.
      axis_name: Letter of the new axis in the layout; without it there is no layout.
      dtype: Type of the output.
      num_classes: Number of classes.
      off_value: Value at all other places; truncated for integer types.
      on_value: Value at the index; truncated for integer types.
    """
    ...

def ones(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.INT32,
    layout: Text | None = None,
    preserve: bool | None = False,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Returns ones.

    Outputs:
      output: ones.

    Args:
      dtype: Type of the output.
      layout: Layout of the output.
      shape: Shape of the output; by default a scalar.
    """
    ...

def ones_like(
    __data_like: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Returns ones in the shape of other data.

    Inputs:
      data_like: data with the shape, layout and type of the output; the contents are not read.

    Outputs:
      output: ones.

    Args:
      dtype: Type of the output; by default the input's type.
    """
    ...

def pad(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    align: Ints | Fed | None = None,
    axes: Ints | Fed | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: float | Fed | None = 0,
    preserve: bool | None = False,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Makes samples larger at the ends of axes. The new extent is the given one, or the largest in
    the batch, rounded up to a multiple of the alignment. No extent becomes smaller.

    Inputs:
      input: data of any kind with at least one axis.

    Outputs:
      output: the padded data.

    Args:
      align: Alignments, one for all axes or one for each axis. Extents become multiples of them.
      axes: Axes to pad, by default all, by number; a negative number counts from the end.
      axis_names: Axes to pad, by default all, by the letters of the layout.
      fill_value: Value of the padding; truncated for integer types.
      shape: Extents, one for all axes or one for each axis. A negative or omitted extent means the
        largest in the batch.
    """
    ...

def paste(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: Ints,
    min_canvas_size: float | Fed | None = 0,
    n_channels: int | None = 3,
    paste_x: float | Fed | None = 0.5,
    paste_y: float | Fed | None = 0.5,
    preserve: bool | None = False,
    ratio: float | Fed,
) -> DataNode:
    """Puts images on a larger canvas of one colour.

    Inputs:
      images: pictures of uint8.

    Outputs:
      output: the canvases.

    Args:
      fill_value: The colour of the canvas: one value per channel, or one for all. Required.
      min_canvas_size: The least height and width of the canvas.
      n_channels: The number of channels of the colour.
      paste_x: Horizontal place of the image: 0 at the left edge of the canvas, 1 at the right edge.
      paste_y: Vertical place of the image: 0 at the top edge of the canvas, 1 at the bottom edge.
      ratio: Height and width of the canvas relative to the image: 1 or more. Required.
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

def per_frame(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    replace: bool | None = False,
) -> DataNode:
    """Marks data as sequences: the first axis becomes the axis of frames, F. The data does not
    change.

    Inputs:
      input: data of any kind with at least one axis.

    Outputs:
      output: the same data, whose layout begins with F.

    Args:
      replace: Whether another first letter of the layout becomes F. By default it is an error.
    """
    ...

def permute_batch(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    indices: Ints | Fed,
    preserve: bool | None = False,
) -> DataNode:
    """Reorders the samples of a batch. Samples may be left out or repeated.

    Inputs:
      input: data of any kind.

    Outputs:
      output: the samples in the new order.

    Args:
      indices: For each sample of the output, its index in the input batch: one list for the batch,
        or one number per sample. Required.
    """
    ...

def pitch_shift(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    nfft: int | None = 2048,
    preserve: bool | None = False,
    quality: float | None = 50,
    steps: float | Fed,
) -> DataNode:
    """Makes a signal higher or lower and keeps its length: it is stretched like in time_stretch,
    and then resampled. Frequencies that would be above half of the rate are left out.

    Inputs:
      signal: a signal of one channel, float32.

    Outputs:
      shifted: a signal of the same shape.

    Args:
      nfft: Elements of a window, a multiple of 4. Windows are nfft/4 elements apart.
      quality: Quality of resampling, 0 to 100; see audio_resample.
      steps: Half tones by which the signal becomes higher. Twelve are an octave. Required.
    """
    ...

def power_spectrum(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axis: int | None = -1,
    bytes_per_sample_hint: Ints | None = [0],
    nfft: int | None = None,
    power: int | None = 2,
    preserve: bool | None = False,
) -> DataNode:
    """Computes the spectrum along one axis: the magnitudes, or their squares, at the frequencies 0
    to half the rate.

    Inputs:
      input: data of one to three axes, float32.

    Outputs:
      spectrum: nfft/2 + 1 frequencies in place of the axis.

    Args:
      axis: The axis; a negative number is the last axis.
      nfft: Size of the transform: longer data is cut, and shorter data is followed by zeros. By
        default, and if it is not positive, the extent of the axis.
      power: Exponent of the magnitudes: 1 or 2. 2 is faster.
    """
    ...

def preemphasis_filter(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    border: Text | None = "clamp",
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.FLOAT,
    preemph_coeff: float | Fed | None = 0.97,
    preserve: bool | None = False,
) -> DataNode:
    """Subtracts from every element the element before it, times a coefficient. Elements follow each
    other as they lie in memory, whatever the shape.

    Inputs:
      signal: integers of 8 to 64 bits, float32 or float64.

    Outputs:
      filtered: data of the same shape.

    Args:
      border: The element before the first: "zero"; "clamp", the first; or "reflect", the second, or
        0 for a signal of one element.
      dtype: Type of the output. Numbers are rounded half away from zero and limited to the range of
        the type.
      preemph_coeff: The coefficient.
    """
    ...

def rand_augment(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    augmentations: Texts | None = ...,
    bytes_per_sample_hint: Ints | None = [0],
    clamp: bool | None = False,
    excluded: Texts | None = ...,
    fill_value: Floats | None = [128],
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    m: float,
    magnitude_deviation: float | None = 0,
    max_translate_abs: Floats | None = [],
    max_translate_rel: Floats | None = [],
    monotonic_mag: bool | None = True,
    n: int,
    num_magnitude_bins: int | None = 31,
    pixels: Text | None = "rounded",
    preserve: bool | None = False,
    probability: float | None = 1,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Applies n augmentations to each image, one after the other. Each is drawn from a suite; all
    have the magnitude m (RandAugment).

    Inputs:
      images: pictures or sequences: uint8 of layout HWC or FHWC.

    Outputs:
      augmented: images of the same shape.

    Args:
      augmentations: The suite: augmentations with the ranges of their magnitudes, such as "rotate 0
        30 signed". By default it is the suite of the publication. Default: .
      clamp: Whether the pixels at the border are repeated outside of an image, in place of
        fill_value.
      excluded: Names of augmentations that the suite shall not have. Default: .
      fill_value: Value outside of an image that is warped: one for all channels, or one for each.
      interp_type: INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC.
      m: The bin of all magnitudes: a number from 0 to num_magnitude_bins - 1. Required.
      magnitude_deviation: Standard deviation of the bins. Each step draws its bin from a normal
        distribution around m.
      max_translate_abs: The longest translation in pixels: one number, or one for the height and
        one for the width.
      max_translate_rel: The longest translation as a share of the height and width: one number, or
        one for each.
      monotonic_mag: Whether a larger bin always changes an image more; otherwise the suite has the
        ranges of auto_augment.
      n: The number of augmentations: 0 or more. Required.
      num_magnitude_bins: The number of bins.
      pixels: How pixels are computed: "rounded" as by the operators of the same names, or
        "truncated" as by Pillow.
      probability: The probability that a step takes place.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Height and width that translations are shares of; by default the extents of the image.
    """
    ...

def random_bbox_crop(
    __boxes: Input,
    __labels: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    all_boxes_above_threshold: bool | None = True,
    allow_no_crop: bool | None = True,
    aspect_ratio: Floats | None = [1, 1],
    bbox_layout: Text | None = None,
    bbox_prune_threshold: float | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    crop_shape: Ints | Fed | None = None,
    input_shape: Ints | Fed | None = None,
    ltrb: bool | None = True,
    num_attempts: int | None = 1,
    output_bbox_indices: bool | None = False,
    preserve: bool | None = False,
    quiet: bool | None = False,
    scaling: Floats | None = [1, 1],
    seed: int | None = -1,
    shape_layout: Text | None = None,
    threshold_type: Text | None = "iou",
    thresholds: Floats | None = [0],
    total_num_attempts: int | None = -1,
) -> Any:
    """Draws a window of an image that overlaps its boxes by at least a threshold, which is drawn
    from thresholds. Boxes outside the window are dropped; the other boxes are returned in the
    window's coordinates. A search that finds no window is an error; DALI searches forever.

    Inputs:
      boxes: one box per row, in coordinates from 0 to 1.
      labels: one label, or one row of labels, per box; may be left out.

    Outputs:
      anchor: corner of the window, x first; in pixels with crop_shape, else from 0 to 1.
      extent: size of the window, in the units of anchor.
      kept: the remaining boxes, in coordinates of the window.
      kept_labels: their labels, or their indices if there are no labels.
      indices: with output_bbox_indices: the indices of the remaining boxes.

    Args:
      all_boxes_above_threshold: Whether all boxes must reach the overlap, not just one.
      allow_no_crop: Whether the whole image is a possible outcome too; not with crop_shape.
      aspect_ratio: Range of x/y, or ranges of x/y, x/z and y/z; in pixels with input_shape.
      bbox_layout: Order of coordinates: x, y, z beginnings, X, Y, Z ends, W, H, D lengths; by
        default xyXY or xyzXYZ.
      bbox_prune_threshold: Share of a box that must be in the window for it to stay; by default its
        centre must.
      crop_shape: Size of the window in pixels, in place of scaling and aspect_ratio; requires
        input_shape.
      input_shape: Size of the image in pixels.
      ltrb: Whether boxes have ends instead of lengths. Deprecated: bbox_layout.
      num_attempts: Number of windows that are drawn for one threshold.
      output_bbox_indices: Whether the indices of the remaining boxes are an additional output.
      quiet: Whether to omit the message when the best window that was drawn is taken.
      scaling: Range of the window's sides as a fraction of the image's.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape_layout: Order of crop_shape and input_shape, such as HW; by default WH or WHD.
      threshold_type: What the overlap is divided by: the union of window and box ("iou"), or the
        box ("overlap").
      thresholds: Overlaps. One of them is drawn, and window and boxes must reach it.
      total_num_attempts: Number of windows that are drawn before the best of them is taken. By
        default a window that agrees must be found.
    """
    ...

def random_crop_generator(
    __shapes: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    num_attempts: int | None = 10,
    preserve: bool | None = False,
    random_area: Floats | None = [0.08, 1],
    random_aspect_ratio: Floats | None = [0.75, 1.3333333333333333],
    seed: int | None = -1,
) -> list[DataNode]:
    """Draws windows of random area, aspect ratio and place for images of given shapes, to cut them
    with slice or while they are decoded.

    Inputs:
      shapes: height, width and maybe channels of images, as integers.

    Outputs:
      anchor: row and column of the corner, int32.
      extent: height and width, int32.

    Args:
      num_attempts: Number of draws before the largest window that fits is taken.
      random_area: Range of the window's area as a fraction of the image's.
      random_aspect_ratio: Range of the window's width over its height.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def random_erase(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    area: Floats | None = [0.02, 0.3333333333333333],
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: Floats | None = [0],
    noise: Text | None = "none",
    preserve: bool | None = False,
    probability: float | Fed | None = 0.5,
    ratio: Floats | None = [0.3, 3.3333333333333335],
    seed: int | None = -1,
) -> DataNode:
    """Overwrites a window of an image whose area, ratio and place are drawn (random erasing). If no
    window of ten fits, the image stays as it is.

    Inputs:
      images: images: uint8 or float32.

    Outputs:
      erased: images of the same shape.

    Args:
      area: The least and the largest area of the window, as shares of the image.
      fill_value: Fill value: one for all channels, or one for each.
      noise: Normal noise in place of fill_value, for float32: "channel" draws a number for each
        channel, "pixel" for each element.
      probability: The probability that a window is erased.
      ratio: The least and the largest ratio of height to width.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def random_resized_crop(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    antialias: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    interp_type: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    mag_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    min_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    minibatch_size: int | None = 32,
    num_attempts: int | None = 10,
    preserve: bool | None = False,
    random_area: Floats | None = [0.08, 1],
    random_aspect_ratio: Floats | None = [0.75, 1.3333333333333333],
    seed: int | None = -1,
    size: Ints,
    temp_buffer_hint: int | None = 0,
) -> DataNode:
    """Cuts a window of random area, aspect ratio and place out of an image and resizes it to a
    fixed size. The filter also uses pixels just outside the window.

    Inputs:
      images: images: uint8, int16, uint16 or float32.

    Outputs:
      resized: images of the given size, with the layout of the input.

    Args:
      antialias: Whether the filter is widened along axes that shrink.
      dtype: Output type: the input's type, which is the default, or float32.
      interp_type: Filter, unless mag_filter or min_filter is given.
      mag_filter: Filter for axes that grow or keep their extent.
      min_filter: Filter for axes that shrink.
      minibatch_size: Has no effect.
      num_attempts: Number of draws before the largest window that fits is taken.
      random_area: Range of the window's area as a fraction of the image's.
      random_aspect_ratio: Range of the window's width over its height.
      seed: Seed of this operator; -1: the pipeline's seed.
      size: Height and width of the result; one number is both. Required.
      temp_buffer_hint: Has no effect.
    """
    ...

def reinterpret(
    __data: Input,
    __shape_input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    layout: Text | None = None,
    preserve: bool | None = False,
    rel_shape: Floats | Fed | None = None,
    shape: Ints | Fed | None = None,
    src_dims: Ints | Fed | None = None,
) -> DataNode:
    """Interprets the bytes of the elements as elements of another type. Without a shape the last
    axis becomes longer or shorter by the ratio of the sizes of the two types.

    Inputs:
      data: data of any kind.
      shape_input: the new shape, as integers, in place of the argument; may be left out.

    Outputs:
      output: the same bytes with the other type and shape.

    Args:
      dtype: Type of the output; by default the input's type.
      layout: New layout. By default the layout stays if the number of axes stays.
      rel_shape: New shape as fractions of the old extents; a negative extent takes the remaining
        elements.
      shape: New shape; a negative extent takes the remaining elements.
      src_dims: For each new axis, the axis of the input with its extent, before rel_shape is
        applied. -1 means a new axis of extent 1.
    """
    ...

def reshape(
    __data: Input,
    __shape_input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    layout: Text | None = None,
    preserve: bool | None = False,
    rel_shape: Floats | Fed | None = None,
    shape: Ints | Fed | None = None,
    src_dims: Ints | Fed | None = None,
) -> DataNode:
    """Changes the shape or layout of data. The elements keep their order.

    Inputs:
      data: data of any kind.
      shape_input: the new shape, as integers, in place of the argument; may be left out.

    Outputs:
      output: the same elements in the other shape.

    Args:
      layout: New layout. By default the layout stays if the number of axes stays.
      rel_shape: New shape as fractions of the old extents; a negative extent takes the remaining
        elements.
      shape: New shape; a negative extent takes the remaining elements.
      src_dims: For each new axis, the axis of the input with its extent, before rel_shape is
        applied. -1 means a new axis of extent 1.
    """
    ...

def resize(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    antialias: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    image_type: DALIImageType | None = None,
    interp_type: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    mag_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    max_size: Floats | None = None,
    min_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    minibatch_size: int | None = 32,
    mode: Text | None = "default",
    preserve: bool | None = False,
    resize_longer: float | Fed | None = 0,
    resize_shorter: float | Fed | None = 0,
    resize_x: float | Fed | None = 0,
    resize_y: float | Fed | None = 0,
    resize_z: float | Fed | None = 0,
    roi_end: Floats | Fed | None = None,
    roi_relative: bool | None = False,
    roi_start: Floats | Fed | None = None,
    save_attrs: bool | None = False,
    size: Floats | Fed | None = None,
    subpixel_scale: bool | None = True,
    temp_buffer_hint: int | None = 0,
) -> Any:
    """Changes the size of images, sequences of images and volumes, or of a part of each. Give the
    size as one of size, resize_shorter and resize_longer, or as some of resize_x, resize_y and
    resize_z.

    Inputs:
      images: images: uint8, int16, uint16 or float32.

    Outputs:
      resized: images of the new size, with the layout of the input.
      size: with save_attrs: the extents of the input's spatial axes, int32.

    Args:
      antialias: Whether the filter is widened along axes that shrink.
      dtype: Output type: the input's type, which is the default, or float32.
      image_type: Ignored. Deprecated: it has no effect.
      interp_type: Filter, unless mag_filter or min_filter is given.
      mag_filter: Filter for axes that grow or keep their extent.
      max_size: Largest extent of the result, one for all axes or one for each; 0 means no limit.
      min_filter: Filter for axes that shrink.
      minibatch_size: Has no effect.
      mode: How sizes are used: "default" derives missing sizes from the mean scale of the others,
        "stretch" keeps missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the
        size is the upper or lower limit.
      resize_longer: Extent of the longest axis; the aspect ratio is kept.
      resize_shorter: Extent of the shortest axis; the aspect ratio is kept.
      resize_x: Width; 0 derives it, a negative width mirrors.
      resize_y: Height; 0 derives it, a negative height mirrors.
      resize_z: Depth of volumes; 0 derives it, a negative depth mirrors.
      roi_end: End of the part that is resized, on each axis in the order of the layout. An end
        before roi_start mirrors.
      roi_relative: Whether the part is given in fractions of the extents.
      roi_start: Start of the part that is resized, on each axis in the order of the layout.
      save_attrs: Adds the size of the input as a second output.
      size: Extents of the result in the order of the layout, or one for all. 0 derives an extent; a
        negative extent mirrors.
      subpixel_scale: Whether the resized part grows or shrinks to match a rounded size, so that the
        scale equals the scale of the requested size.
      temp_buffer_hint: Has no effect.
    """
    ...

def resize_crop_mirror(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    antialias: bool | None = True,
    bytes_per_sample_hint: Ints | None = [0],
    crop: Floats | Fed | None = None,
    crop_d: float | Fed | None = 0,
    crop_h: float | Fed | None = 0,
    crop_pos_x: float | Fed | None = 0.5,
    crop_pos_y: float | Fed | None = 0.5,
    crop_pos_z: float | Fed | None = 0.5,
    crop_w: float | Fed | None = 0,
    dtype: DALIDataType | None = None,
    interp_type: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    mag_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    max_size: Floats | None = None,
    min_filter: DALIInterpType | Fed | None = DALIInterpType.INTERP_LINEAR,
    minibatch_size: int | None = 32,
    mirror: int | Fed | None = 0,
    mode: Text | None = "default",
    preserve: bool | None = False,
    resize_longer: float | Fed | None = 0,
    resize_shorter: float | Fed | None = 0,
    resize_x: float | Fed | None = 0,
    resize_y: float | Fed | None = 0,
    resize_z: float | Fed | None = 0,
    roi_end: Floats | Fed | None = None,
    roi_relative: bool | None = False,
    roi_start: Floats | Fed | None = None,
    rounding: Text | None = "round",
    size: Floats | Fed | None = None,
    subpixel_scale: bool | None = True,
    temp_buffer_hint: int | None = 0,
) -> DataNode:
    """Resizes an image, cuts a window out of the result and can mirror it, in one step: only the
    window is computed. The window may extend beyond the resized image; the edge of the image is
    repeated there.

    Inputs:
      images: images: uint8, int16, uint16 or float32.

    Outputs:
      windows: the windows, with the layout of the input.

    Args:
      antialias: Whether the filter is widened along axes that shrink.
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
      dtype: Output type: the input's type, which is the default, or float32.
      interp_type: Filter, unless mag_filter or min_filter is given.
      mag_filter: Filter for axes that grow or keep their extent.
      max_size: Largest extent of the result, one for all axes or one for each; 0 means no limit.
      min_filter: Filter for axes that shrink.
      minibatch_size: Has no effect.
      mirror: Axes to reverse: 1 for the width, 2 for the height, 4 for the depth, or a sum of these
        numbers.
      mode: How sizes are used: "default" derives missing sizes from the mean scale of the others,
        "stretch" keeps missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the
        size is the upper or lower limit.
      resize_longer: Extent of the longest axis; the aspect ratio is kept.
      resize_shorter: Extent of the shortest axis; the aspect ratio is kept.
      resize_x: Width; 0 derives it, a negative width mirrors.
      resize_y: Height; 0 derives it, a negative height mirrors.
      resize_z: Depth of volumes; 0 derives it, a negative depth mirrors.
      roi_end: End of the part that is resized, on each axis in the order of the layout. An end
        before roi_start mirrors.
      roi_relative: Whether the part is given in fractions of the extents.
      roi_start: Start of the part that is resized, on each axis in the order of the layout.
      rounding: How the position becomes a pixel: "round" (half away from zero) or "truncate".
      size: Extents of the result in the order of the layout, or one for all. 0 derives an extent; a
        negative extent mirrors.
      subpixel_scale: Whether the resized part grows or shrinks to match a rounded size, so that the
        scale equals the scale of the requested size.
      temp_buffer_hint: Has no effect.
    """
    ...

def roi_random_crop(
    __data: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    crop_shape: Ints | Fed,
    in_shape: Ints | Fed | None = None,
    preserve: bool | None = False,
    roi_end: Ints | Fed | None = None,
    roi_shape: Ints | Fed | None = None,
    roi_start: Ints | Fed,
    seed: int | None = -1,
) -> DataNode:
    """Draws the place of a window of a given size, so that it has as much of a region as fits:
    either the whole region lies in the window, or the window lies in the region. If the size of the
    image is given, the window lies in the image.

    Inputs:
      data: the data to cut, in place of in_shape; may be left out.

    Outputs:
      start: the first index of the window along every axis, int64.

    Args:
      crop_shape: Size of the window. Required.
      in_shape: Size of the image. Not together with an input.
      roi_end: End of the region. Give either roi_end or roi_shape.
      roi_shape: Size of the region. Give either roi_shape or roi_end.
      roi_start: Start of the region. Required.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def rotate(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    angle: float | Fed,
    axis: Floats | Fed | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    fill_value: float | None = None,
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    keep_size: bool | None = False,
    output_dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    size: Floats | Fed | None = [],
) -> DataNode:
    """Turns images around their centre. The output is as large as the turned image. Its extents are
    even or odd like the extents of the input, so that the centre stays in the middle or at the
    corner of a pixel.

    Inputs:
      data: pictures, volumes or sequences of them.

    Outputs:
      output: the turned images.

    Args:
      angle: The angle in degrees, counterclockwise. Required.
      axis: The axis around which volumes are turned: x, y and z, of any length.
      dtype: Type of the output: the input's type, which is the default, or float32. For a float32
        input it is any input type.
      fill_value: Value outside the input; by default the value at its border.
      interp_type: INTERP_LINEAR or INTERP_NN.
      keep_size: Whether the output is as large as the input. It has no effect if a size is given.
      output_dtype: The older name of dtype. Deprecated: use dtype.
      size: Height and width of the output, or depth, height and width for volumes; by default the
        size of the input.
    """
    ...

def saturation(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    image_type: DALIImageType | None = DALIImageType.RGB,
    preserve: bool | None = False,
    saturation: float | Fed | None = 1,
) -> DataNode:
    """Changes the saturation of RGB images, as a linear map of the channels.

    Inputs:
      images: images of three channels, sequences or volumes: uint8, int16, int32, float16 or
        float32.

    Outputs:
      twisted: images of the same shape.

    Args:
      dtype: Output type; by default the input's type.
      image_type: Colour space of the images: RGB.
      saturation: Saturation factor; 0 gives gray.
    """
    ...

def sequence_reader(
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

    Deprecated: use readers.sequence.

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

def sequence_rearrange(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    new_order: Ints | Fed,
    preserve: bool | None = False,
) -> DataNode:
    """Reorders the elements of sequences, such as frames. Elements may be left out or repeated.

    Inputs:
      input: sequences of at least two axes; if there is a layout, the first axis is F.

    Outputs:
      output: the sequences in the new order.

    Args:
      new_order: Index of the element at each place of the output. Required.
    """
    ...

def shapes(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.INT64,
    preserve: bool | None = False,
    type: DALIDataType | None = None,
) -> DataNode:
    """Returns the extents of samples.

    Deprecated: use Node.Shape.

    Inputs:
      input: data of any kind.

    Outputs:
      shape: the extents, outermost first.

    Args:
      dtype: Type of the output: an integer type of 32 or 64 bits, float32 or float64.
      type: The older name of dtype. Deprecated: use dtype.
    """
    ...

def slice(
    __data: Input,
    __anchor: Input | None = None,
    __shape: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | Fed | None = [1, 0],
    axis_names: Text | None = "WH",
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    end: Ints | Fed | None = None,
    fill_values: Floats | None = [0],
    image_type: DALIImageType | None = None,
    normalized_anchor: bool | None = True,
    normalized_shape: bool | None = True,
    out_of_bounds_policy: Text | None = "error",
    output_dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    rel_end: Floats | Fed | None = None,
    rel_shape: Floats | Fed | None = None,
    rel_start: Floats | Fed | None = None,
    shape: Ints | Fed | None = None,
    start: Ints | Fed | None = None,
) -> DataNode:
    """Cuts a window out of an array of any rank. A window has a start, and an end or an extent,
    along axes given by number or by letter. Relative positions are fractions of the extents.

    Inputs:
      data: arrays of any rank.
      anchor: the start on each axis; floats are relative unless normalized_anchor is false; may be
        left out.
      shape: the extent on each axis; floats are relative unless normalized_shape is false; may be
        left out.

    Outputs:
      windows: the windows, with the layout of the data.

    Args:
      axes: Axes of the window, in the order of its values; negative numbers count from the last
        axis.
      axis_names: The axes by the letters of the layout; overrides axes.
      dtype: Output type; by default the input's type.
      end: End of the window on each axis: the element after its last; the default is the extent.
      fill_values: Values of padded elements: one for all channels, or one for each.
      image_type: Ignored. Deprecated: it has no effect.
      normalized_anchor: Whether an input anchor of floats is relative to the extents.
      normalized_shape: Whether an input shape of floats is relative to the extents.
      out_of_bounds_policy: What happens if the window extends outside the data: "error", "pad" with
        fill_values, or "trim_to_shape".
      output_dtype: The old name of dtype. Deprecated: use dtype.
      rel_end: End of the window on each axis, relative to the extents.
      rel_shape: Extent of the window on each axis, relative to the extents of the data.
      rel_start: Start of the window on each axis, relative to the extents.
      shape: Extent of the window on each axis.
      start: First element of the window on each axis; the default is 0.
    """
    ...

def spatial(
    *data: Input,
    device: str | None = None,
    name: str | None = None,
    angle: float | Fed | None = 0,
    antialias: bool | None = True,
    bbox_layout: Text | None = "xyXY",
    bytes_per_sample_hint: Ints | None = [0],
    corners: Floats | Fed | None = None,
    crop_anchor: Floats | Fed | None = None,
    crop_shape: Floats | Fed | None = None,
    fill_value: float | None = 0,
    horizontal: int | Fed | None = 0,
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    mask_fill_value: int | None = 0,
    normalized: bool | None = True,
    num_attempts: int | None = 10,
    preserve: bool | None = False,
    random_area: Floats | None = [0.08, 1],
    random_aspect_ratio: Floats | None = [0.75, 1.3333333333333333],
    random_crop: bool | None = False,
    scale: Floats | Fed | None = [1],
    shear: Floats | Fed | None = [0],
    size: Ints | Fed | None = None,
    targets: Texts,
    translate: Floats | Fed | None = [0, 0],
    vertical: int | Fed | None = 0,
) -> Any:
    """Applies one transform to an image and to its masks, boxes and keypoints. The steps are, in
    this order: crop, flip, affine transform around the centre, perspective, resize. A step without
    arguments does nothing.

    Inputs:
      data: the image, and what belongs to it, in the order of targets; up to 16 of them.

    Outputs:
      transformed: the data after the transform, in the order of the inputs.

    Args:
      angle: Angle in degrees, counterclockwise.
      antialias: Whether a pixel of the result is the mean of the pixels of the image that it
        covers, where the image shrinks. Masks and INTERP_NN take one pixel.
      bbox_layout: What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size.
      corners: Perspective: x and y by which each corner moves, as fractions of width and height.
        The corners are top left, top right, bottom right and bottom left.
      crop_anchor: x and y of the window to cut out, from 0 to 1, as random_bbox_crop delivers it.
      crop_shape: Width and height of the window, from 0 to 1.
      fill_value: Value of pixels outside the image.
      horizontal: Whether left and right are swapped.
      interp_type: INTERP_LINEAR or INTERP_NN, for images. Masks always have INTERP_NN.
      mask_fill_value: Value of masks outside the image, from 0 to 255.
      normalized: Whether boxes and keypoints are from 0 to 1; otherwise they are in pixels.
      num_attempts: Number of draws before the largest window that fits is taken.
      random_area: Range of the window's area as a fraction of the image's.
      random_aspect_ratio: Range of the window's width over its height.
      random_crop: Whether to draw the window, as random_resized_crop does.
      scale: Factor of both axes, or of x and of y.
      shear: Angle in degrees by which x is sheared along y, or the angles of x and of y.
      size: Height and width of the result; by default the size of the window.
      targets: What each input is: image (the first), mask, bboxes or keypoints. Required.
      translate: x and y by which the image moves, as fractions of width and height.
      vertical: Whether top and bottom are swapped.
    """
    ...

def spectrogram(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    center_windows: bool | None = True,
    layout: Text | None = "ft",
    nfft: int | None = None,
    power: int | None = 2,
    preserve: bool | None = False,
    reflect_padding: bool | None = True,
    window_fn: Floats | None = None,
    window_length: int | None = 512,
    window_step: int | None = 256,
) -> DataNode:
    """Computes the spectra of windows of a signal: the magnitudes, or their squares, at the
    frequencies 0 to half the rate. The signal has one axis of more than one element.

    Inputs:
      signal: a signal of one channel, float32.

    Outputs:
      spectrogram: nfft/2 + 1 frequencies of every window.

    Args:
      center_windows: Whether the middle of window i is at i * window_step, and the signal is
        padded. False means that the first window begins with the signal.
      layout: Layout of the output: "ft" for frequency, then time; or "tf".
      nfft: Size of the transform, by default window_length. Windows are in its middle, between
        zeros.
      power: Exponent of the magnitudes: 1 or 2. 2 is faster.
      reflect_padding: Whether the signal is mirrored at its ends, or else padded with zeros. It has
        no effect unless center_windows is set.
      window_fn: Numbers by which a window is multiplied, window_length of them. By default a Hann
        window.
      window_length: Elements of a window.
      window_step: Elements from one window to the next.
    """
    ...

def sphere(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: float | None = 0,
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_NN,
    mask: int | Fed | None = 1,
    preserve: bool | None = False,
) -> DataNode:
    """Makes images look as if on a ball. Pixels move towards the middle; pixels near the middle
    move most.

    Inputs:
      images: pictures of uint8 or float32.

    Outputs:
      output: the pictures with their pixels moved.

    Args:
      fill_value: Value outside the input.
      interp_type: INTERP_NN or INTERP_LINEAR.
      mask: Whether pixels are moved: 0 means no.
    """
    ...

def squeeze(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | Fed | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Removes axes of extent 1.

    Inputs:
      data: data of any kind.

    Outputs:
      output: the data without these axes.

    Args:
      axes: Axes to remove, by number. An axis that does not exist is ignored, as in DALI.
      axis_names: Axes to remove, by the letters of the layout.
    """
    ...

def ssd_random_crop(
    __images: Input,
    __boxes: Input,
    __labels: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    num_attempts: int | None = 1,
    preserve: bool | None = False,
    seed: int | None = -1,
) -> list[DataNode]:
    """Cuts a random window out of an image. All boxes overlap the window by at least a threshold,
    which is drawn too; sometimes the image stays whole. Boxes whose centre is outside the window
    are dropped with their labels.

    Deprecated: use random_bbox_crop.

    Inputs:
      images: pictures of uint8.
      boxes: one box per row: left, top, right, bottom, from 0 to 1.
      labels: one int32 label per box.

    Outputs:
      window: the windows.
      kept: the remaining boxes, in coordinates of the window.
      kept_labels: their labels.

    Args:
      num_attempts: Number of windows that are drawn for one threshold.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def stack(
    *input: Input,
    device: str | None = None,
    name: str | None = None,
    axis: int | None = 0,
    axis_name: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
) -> DataNode:
    """Joins data along a new axis.

    Inputs:
      input: data of one type and shape; up to 999 of them.

    Outputs:
      output: the stacked data.

    Args:
      axis: Number of the new axis; a negative number counts from the end of the output.
      axis_name: Letter of the new axis in the layout; without it there is no layout.
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

def tfrecord_reader(
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

    Deprecated: use readers.tfrecord.

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

def time_mask(
    __spectrogram: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: float | Fed | None = 0,
    masks: int | Fed | None = 1,
    max_fraction: float | Fed | None = 1,
    max_width: int | Fed,
    preserve: bool | None = False,
    seed: int | None = -1,
) -> DataNode:
    """Sets random ranges of times of a spectrogram to a number (SpecAugment). The width of a range
    is drawn first: any number from 0 to the limit is as likely. Then its start is drawn. Without a
    layout the axes are frequency, then time.

    Inputs:
      spectrogram: a spectrogram of layout "ft" or "tf", float32.

    Outputs:
      masked: a spectrogram of the same shape.

    Args:
      fill_value: The number that masked elements become.
      masks: Number of ranges. They can overlap.
      max_fraction: The largest width of a range, as a fraction of the axis.
      max_width: The largest width of a range. Required.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def time_stretch(
    __signal: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    nfft: int | None = 2048,
    preserve: bool | None = False,
    rate: float | Fed,
) -> DataNode:
    """Makes a signal slower or faster and keeps its pitch, with a phase vocoder.

    Inputs:
      signal: a signal of one channel, float32.

    Outputs:
      stretched: the signal, of its length divided by rate, rounded up.

    Args:
      nfft: Elements of a window, a multiple of 4. Windows are nfft/4 elements apart.
      rate: The speed: 2 is twice as fast, and half as long. Required.
    """
    ...

def to_decibels(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    cutoff_db: float | None = -200,
    multiplier: float | None = 10,
    preserve: bool | None = False,
    reference: float | None = 0,
) -> DataNode:
    """Converts numbers to decibels: multiplier * log10(max(10^(cutoff_db / multiplier), in /
    reference)).

    Inputs:
      input: data of any shape, float32.

    Outputs:
      decibels: data of the same shape.

    Args:
      cutoff_db: The smallest result. Smaller ratios, and NaN, become this number.
      multiplier: Factor of the logarithm: 10 for squares of magnitudes, and 20 for magnitudes.
      reference: Number whose result is 0. If it is left out, the largest number of the sample.
    """
    ...

def transform_translation(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    offset: Floats | Fed,
    preserve: bool | None = False,
    reverse_order: bool | None = False,
) -> DataNode:
    """Makes the transform that moves points.

    Deprecated: use transforms.translation.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      offset: The distance that points move: one number per dimension. Required.
      reverse_order: Whether the input transform is applied last instead of first.
    """
    ...

def transpose(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    output_layout: Text | None = None,
    perm: Ints | None = None,
    preserve: bool | None = False,
    transpose_layout: bool | None = True,
) -> DataNode:
    """Puts the axes into another order.

    Inputs:
      input: data of any kind.

    Outputs:
      output: the data with its axes in that order.

    Args:
      output_layout: Layout of the output; it overrides every other layout.
      perm: For each axis of the output, the number of the input axis. By default the order is
        reversed.
      transpose_layout: Whether the letters of the layout move with their axes; otherwise the layout
        stays.
    """
    ...

def trivial_augment_wide(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    augmentations: Texts | None = ...,
    bytes_per_sample_hint: Ints | None = [0],
    clamp: bool | None = False,
    excluded: Texts | None = ...,
    fill_value: Floats | None = [128],
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    max_translate_abs: Floats | None = [],
    max_translate_rel: Floats | None = [],
    num_magnitude_bins: int | None = 31,
    pixels: Text | None = "rounded",
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Applies one augmentation to each image. It and its magnitude are drawn (TrivialAugment,
    wide).

    Inputs:
      images: pictures or sequences: uint8 of layout HWC or FHWC.

    Outputs:
      augmented: images of the same shape.

    Args:
      augmentations: The suite: augmentations with the ranges of their magnitudes, such as "rotate 0
        30 signed". By default it is the suite of the publication. Default: .
      clamp: Whether the pixels at the border are repeated outside of an image, in place of
        fill_value.
      excluded: Names of augmentations that the suite shall not have. Default: .
      fill_value: Value outside of an image that is warped: one for all channels, or one for each.
      interp_type: INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC.
      max_translate_abs: The longest translation in pixels: one number, or one for the height and
        one for the width.
      max_translate_rel: The longest translation as a share of the height and width: one number, or
        one for each.
      num_magnitude_bins: The number of bins.
      pixels: How pixels are computed: "rounded" as by the operators of the same names, or
        "truncated" as by Pillow.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Height and width that translations are shares of; by default the extents of the image.
    """
    ...

def uniform(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    range: Floats | Fed | None = [-1, 1],
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
    values: Floats | Fed | None = None,
) -> DataNode:
    """Draws numbers evenly from a range without its end, or from a list of values.

    Deprecated: use random.uniform.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      numbers: numbers.

    Args:
      dtype: Output type: float32, the default, float64 or an integer, to which numbers are rounded.
      range: Start and end of the range. The end is excluded.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
      values: The values to choose from, all equally likely. If they are given, range is not used.
    """
    ...

def warp_affine(
    __data: Input,
    __mtx: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    fill_value: float | None = None,
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
    inverse_map: bool | None = True,
    matrix: Floats | Fed | None = [],
    output_dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    size: Floats | Fed | None = [],
) -> DataNode:
    """Warps images by an affine transform. The transform maps each pixel of the output to the point
    of the input that it shows. Points are counted from the corner of an image, so that the centre
    of the first pixel is (0.5, 0.5).

    Inputs:
      data: pictures, volumes or sequences of them.
      mtx: the float32 transform, in place of the argument; may be left out.

    Outputs:
      output: the warped images.

    Args:
      dtype: Type of the output: the input's type, which is the default, or float32. For a float32
        input it is any input type.
      fill_value: Value outside the input; by default the value at its border.
      interp_type: INTERP_LINEAR or INTERP_NN.
      inverse_map: Whether the transform maps the output to the input; otherwise it maps the input
        to the output.
      matrix: The transform, row by row. A row has factors for x and y, for z in volumes, and the
        offset.
      output_dtype: The older name of dtype. Deprecated: use dtype.
      size: Height and width of the output, or depth, height and width for volumes; by default the
        size of the input.
    """
    ...

def water(
    __images: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    ampl_x: float | None = 10,
    ampl_y: float | None = 10,
    bytes_per_sample_hint: Ints | None = [0],
    fill_value: float | None = 0,
    freq_x: float | None = 0.04908738521234052,
    freq_y: float | None = 0.04908738521234052,
    interp_type: DALIInterpType | None = DALIInterpType.INTERP_NN,
    mask: int | Fed | None = 1,
    phase_x: float | None = 0,
    phase_y: float | None = 0,
    preserve: bool | None = False,
) -> DataNode:
    """Makes images look as if seen through moving water. Pixels move sideways by a sine of their
    row, and up and down by a cosine of their column.

    Inputs:
      images: pictures of uint8 or float32.

    Outputs:
      output: the pictures with their pixels moved.

    Args:
      ampl_x: Largest distance in pixels that a pixel moves sideways.
      ampl_y: Largest distance in pixels that a pixel moves up or down.
      fill_value: Value outside the input.
      freq_x: Radians of the sine per row.
      freq_y: Radians of the cosine per column.
      interp_type: INTERP_NN or INTERP_LINEAR.
      mask: Whether pixels are moved: 0 means no.
      phase_x: Start of the sine in radians.
      phase_y: Start of the cosine in radians.
    """
    ...

def zeros(
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = DALIDataType.INT32,
    layout: Text | None = None,
    preserve: bool | None = False,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Returns zeros.

    Outputs:
      output: zeros.

    Args:
      dtype: Type of the output.
      layout: Layout of the output.
      shape: Shape of the output; by default a scalar.
    """
    ...

def zeros_like(
    __data_like: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
) -> DataNode:
    """Returns zeros in the shape of other data.

    Inputs:
      data_like: data with the shape, layout and type of the output; the contents are not read.

    Outputs:
      output: zeros.

    Args:
      dtype: Type of the output; by default the input's type.
    """
    ...
