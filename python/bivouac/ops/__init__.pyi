# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints, Text, Texts
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.features import Feature
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator
from bivouac._pipeline.compose import Compose as Compose
from bivouac._pipeline.external import ExternalSource as ExternalSource
from bivouac._pipeline.python_function import DLTensorPythonFunction as DLTensorPythonFunction
from bivouac._pipeline.python_function import PythonFunction as PythonFunction
from bivouac.ops import decoders as decoders
from bivouac.ops import encoders as encoders
from bivouac.ops import experimental as experimental
from bivouac.ops import io as io
from bivouac.ops import noise as noise
from bivouac.ops import random as random
from bivouac.ops import readers as readers
from bivouac.ops import reductions as reductions
from bivouac.ops import segmentation as segmentation
from bivouac.ops import transforms as transforms

class AudioDecoder(Operator):
    """Decodes sound: WAV, RF64, AIFF, FLAC, Ogg Vorbis, Ogg Opus, and MP3 if the program ffmpeg is
    there. The mean of the channels can be taken, and the sound can be resampled. A file that is cut
    or damaged is an error.

    Deprecated: use decoders.audio.

    The arguments are those of `bivouac.fn.audio_decoder`.
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

class AudioResample(Operator):
    """Resamples signals with a windowed sinc. The scale is given, or follows from rates or from the
    length of the output. The filter does not become wider for a smaller rate: frequencies above
    half of the new rate are folded back.

    The arguments are those of `bivouac.fn.audio_resample`.
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

class AutoAugment(Operator):
    """Applies a sub-policy to each image: augmentations with their probabilities and magnitudes
    (AutoAugment).

    The arguments are those of `bivouac.fn.auto_augment`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class BatchPermutation(Operator):
    """Draws a permutation of the samples of a batch, for permute_batch: each sample holds one
    number.

    The arguments are those of `bivouac.fn.batch_permutation`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        _scope: bool | Fed | None = None,
        allow_repetitions: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        no_fixed_points: bool | None = False,
        preserve: bool | None = False,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class BbFlip(Operator):
    """Mirrors boxes like the operator flip mirrors images. Coordinates are from 0 to 1.

    The arguments are those of `bivouac.fn.bb_flip`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        horizontal: int | Fed | None = 1,
        ltrb: bool | None = False,
        preserve: bool | None = False,
        vertical: int | Fed | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class BBoxPaste(Operator):
    """Moves boxes with an image that the operator paste puts on a larger canvas. Coordinates are
    from 0 to 1.

    The arguments are those of `bivouac.fn.bbox_paste`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        ltrb: bool | None = False,
        paste_x: float | Fed | None = 0.5,
        paste_y: float | Fed | None = 0.5,
        preserve: bool | None = False,
        ratio: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class BBoxPrune(Operator):
    """Cuts boxes at the edges of the image and drops boxes of which too little is left, with their
    labels. A box without area, an inverted box and a box with NaN are always dropped.

    The arguments are those of `bivouac.fn.bbox_prune`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        __labels: Input | None = None,
        /,
        **kwargs: Any,
    ) -> Any: ...

class BBoxRotate(Operator):
    """Turns boxes like the operator rotate turns an image. A turned box is the upright box around
    its corners. It is cut at the edges of the canvas, and dropped with its label if too little of
    it is left.

    The arguments are those of `bivouac.fn.bbox_rotate`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        angle: float | Fed | None = None,
        bbox_layout: Text | None = "xyXY",
        bbox_normalized: bool | None = True,
        bytes_per_sample_hint: Ints | None = [0],
        input_shape: Ints | Fed | None = None,
        keep_size: bool | None = False,
        mode: Text | None = "expand",
        preserve: bool | None = False,
        remove_threshold: float | None = 0.1,
        shape_layout: Text | None = "HW",
        size: Floats | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        __labels: Input | None = None,
        /,
        **kwargs: Any,
    ) -> Any: ...

class BoxEncoder(Operator):
    """Matches boxes with the default boxes (anchors) of a detector such as SSD. Each anchor takes
    the box that overlaps it most, if the overlap is above criteria. Each box is also taken by the
    anchor that overlaps it most.

    The arguments are those of `bivouac.fn.box_encoder`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        anchors: Floats | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        criteria: float | None = 0.5,
        means: Floats | None = [0, 0, 0, 0],
        offset: bool | None = False,
        preserve: bool | None = False,
        scale: float | None = 1,
        stds: Floats | None = [1, 1, 1, 1],
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        __labels: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Brightness(Operator):
    """Changes the brightness: brightness_shift * range + brightness * in, where range is 1 for
    floats and the largest value of the output type otherwise.

    The arguments are those of `bivouac.fn.brightness`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        brightness: float | Fed | None = 1,
        brightness_shift: float | Fed | None = 0,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class BrightnessContrast(Operator):
    """Changes brightness and contrast: brightness_shift * range + brightness * (contrast_center +
    contrast * (in - contrast_center)), where range is 1 for floats and the largest value of the
    output type otherwise.

    The arguments are those of `bivouac.fn.brightness_contrast`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        brightness: float | Fed | None = 1,
        brightness_shift: float | Fed | None = 0,
        bytes_per_sample_hint: Ints | None = [0],
        contrast: float | Fed | None = 1,
        contrast_center: float | Fed | None = 0.5,
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Caffe2Reader(Operator):
    """Reads samples from LMDB databases of Caffe2: an image, a label as label_type says, additional
    tensors and a box. An image of bytes has the shape [height, width, channels]; others are files.
    The first record decides the types.

    Deprecated: use readers.caffe2.

    The arguments are those of `bivouac.fn.caffe2_reader`.
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

class CaffeReader(Operator):
    """Reads images and labels from LMDB databases of Caffe. An image whose record says that it is
    not encoded has the shape [height, width, channels]; others are files. The first record decides
    which.

    Deprecated: use readers.caffe.

    The arguments are those of `bivouac.fn.caffe_reader`.
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

class Cast(Operator):
    """Converts elements to another type. Floats become integers by rounding half away from zero and
    saturating. Integers are saturated if the other type is narrower.

    The arguments are those of `bivouac.fn.cast`.
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
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class CastLike(Operator):
    """Converts elements to the type of other data, like cast.

    The arguments are those of `bivouac.fn.cast_like`.
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
        __input: Input,
        __like: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Cat(Operator):
    """Joins data along an existing axis. Samples without elements are ignored, whatever their shape
    is. The output has the layout of the first input.

    The arguments are those of `bivouac.fn.cat`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axis: int | None = 0,
        axis_name: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        *input: Input,
        **kwargs: Any,
    ) -> DataNode: ...

class Clahe(Operator):
    """Equalizes the histograms of the tiles of an image, with limited contrast (CLAHE). A pixel
    between the centres of tiles gets the mean of their results, weighted by distance. Colour images
    change their lightness only, unless luma_only is false.

    The arguments are those of `bivouac.fn.clahe`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bins: int | None = 256,
        bytes_per_sample_hint: Ints | None = [0],
        clip_limit: float | None = None,
        luma_only: bool | None = True,
        preserve: bool | None = False,
        tiles_x: int | None = None,
        tiles_y: int | None = None,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class COCOReader(Operator):
    """Reads images and their boxes and labels, and on request their masks and ids, from a folder
    and a file of annotations in COCO's format. The outputs are images, boxes and labels, then
    polygons and vertices or pixelwise masks, then the ids of the images. Images come in the order
    of their ids.

    Deprecated: use readers.coco.

    The arguments are those of `bivouac.fn.coco_reader`.
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

class CoinFlip(Operator):
    """Draws 1 with a given probability, and 0 otherwise.

    Deprecated: use random.coin_flip.

    The arguments are those of `bivouac.fn.coin_flip`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        probability: float | Fed | None = 0.5,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ColorSpaceConversion(Operator):
    """Converts images from one colour space to another: RGB, BGR, GRAY or YCbCr. Y of YCbCr lies in
    16 to 235, and Cb and Cr in 16 to 240 (ITU-R BT.601).

    The arguments are those of `bivouac.fn.color_space_conversion`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        image_type: DALIImageType | None = None,
        output_type: DALIImageType | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ColorTwist(Operator):
    """Turns the hue and changes saturation, contrast and brightness of RGB images, as one linear
    map of the channels. Contrast does not change the value 0.5 of floats and 128 of integers.

    The arguments are those of `bivouac.fn.color_twist`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        brightness: float | Fed | None = 1,
        bytes_per_sample_hint: Ints | None = [0],
        contrast: float | Fed | None = 1,
        dtype: DALIDataType | None = None,
        hue: float | Fed | None = 0,
        image_type: DALIImageType | None = DALIImageType.RGB,
        preserve: bool | None = False,
        saturation: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Constant(Operator):
    """Returns the same numbers for every sample.

    The arguments are those of `bivouac.fn.constant`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        fdata: Floats | None = None,
        idata: Ints | None = None,
        layout: Text | None = "",
        preserve: bool | None = False,
        shape: Ints | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class Contrast(Operator):
    """Changes the contrast: contrast_center + contrast * (in - contrast_center).

    The arguments are those of `bivouac.fn.contrast`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        contrast: float | Fed | None = 1,
        contrast_center: float | Fed | None = 0.5,
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class CoordFlip(Operator):
    """Mirrors points: a flipped coordinate becomes 2 * center - x, in float32.

    The arguments are those of `bivouac.fn.coord_flip`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __points: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class CoordTransform(Operator):
    """Multiplies points by a matrix and adds an offset: M * x + T, in float32; integers are rounded
    half away from zero and saturated.

    The arguments are those of `bivouac.fn.coord_transform`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        M: Floats | Fed | None = None,
        MT: Floats | Fed | None = None,
        T: Floats | Fed | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __points: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Copy(Operator):
    """Returns the data unchanged.

    The arguments are those of `bivouac.fn.copy`.
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
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Crop(Operator):
    """Cuts a window out of an image, out of every image of a sequence, or out of a volume.

    The arguments are those of `bivouac.fn.crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class CropMirrorNormalize(Operator):
    """Cuts a window out of an image, can mirror it, and normalises it: scale * (in - mean) / std +
    shift, which is computed as (in - (mean - shift * std / scale)) * (scale / std). The output is
    laid out for training: CHW float32 by default.

    The arguments are those of `bivouac.fn.crop_mirror_normalize`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Cutmix(Operator):
    """Puts a window of a partner into an image, at the same place. The window has the share 1 -
    ratio of the area, before it is cut at the edges. Labels are mixed by the areas. Draw the ratio
    with random.beta.

    The arguments are those of `bivouac.fn.cutmix`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        centre_x: float | Fed | None = 0.5,
        centre_y: float | Fed | None = 0.5,
        even: bool | None = False,
        preserve: bool | None = False,
        ratio: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        __partners: Input,
        __labels: Input | None = None,
        __partner_labels: Input | None = None,
        /,
        **kwargs: Any,
    ) -> Any: ...

class Debayer(Operator):
    """Makes RGB images of the raw images of sensors, whose pixels have one colour each
    (demosaicing). Height and width must be even.

    The arguments are those of `bivouac.fn.debayer`.
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

class DumpImage(Operator):
    """Writes each image to a file in the working directory and returns it. The name of the file has
    the place in the batch, the suffix and 0, such as 3-suffix-0.ppm, so that a batch overwrites the
    files of the previous batch. The format is PNM in text.

    The arguments are those of `bivouac.fn.dump_image`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        input_layout: Text | None = "HWC",
        preserve: bool | None = False,
        suffix: Text | None = "",
    ) -> None: ...
    def __call__(
        self,
        __image: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ElementExtract(Operator):
    """Takes elements, such as frames, out of sequences. Each element is an output.

    The arguments are those of `bivouac.fn.element_extract`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        element_map: Ints | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> Any: ...

class Equalize(Operator):
    """Spreads the values of each channel of an image over the whole range, so that every part of
    the range has about as many pixels (histogram equalization). A channel of one value keeps it.

    The arguments are those of `bivouac.fn.equalize`.
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

class Erase(Operator):
    """Overwrites regions of an array with a value. Anchors and shapes give the regions along some
    axes, region after region. Along all other axes a region covers the whole axis. Starts and ends
    are truncated to integers.

    The arguments are those of `bivouac.fn.erase`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ExpandDims(Operator):
    """Inserts axes of extent 1 between the axes of the data.

    The arguments are those of `bivouac.fn.expand_dims`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        new_axis_names: Text | None = "",
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class FastResizeCropMirror(Operator):
    """Resizes an image, cuts a window out of the result and can mirror it, in one step: only the
    window is computed. The window may extend beyond the resized image; the edge of the image is
    repeated there.

    Deprecated: use resize_crop_mirror.

    The arguments are those of `bivouac.fn.fast_resize_crop_mirror`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class FileReader(Operator):
    """Reads whole files and their labels. With file_root, each folder below it is a class: folders
    are sorted by the bytes of their names and numbered from 0, empty ones too, and so are the files
    in each; deeper folders are not entered.

    Deprecated: use readers.file.

    The arguments are those of `bivouac.fn.file_reader`.
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

class Filter(Operator):
    """Filters images with a matrix of weights: a pixel becomes the weighted sum of the pixels
    around it. The matrix is not turned around (it is a correlation).

    The arguments are those of `bivouac.fn.filter`.
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

class Flip(Operator):
    """Reverses images along their axes: left and right, top and bottom, front and back.

    The arguments are those of `bivouac.fn.flip`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        depthwise: int | Fed | None = 0,
        horizontal: int | Fed | None = 1,
        preserve: bool | None = False,
        vertical: int | Fed | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class FreqMask(Operator):
    """Sets random ranges of frequencies of a spectrogram to a number (SpecAugment). The width of a
    range is drawn first: any number from 0 to the limit is as likely. Then its start is drawn.
    Without a layout the axes are frequency, then time.

    The arguments are those of `bivouac.fn.freq_mask`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: float | Fed | None = 0,
        masks: int | Fed | None = 1,
        max_fraction: float | Fed | None = 1,
        max_width: int | Fed | None = None,
        preserve: bool | None = False,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __spectrogram: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Full(Operator):
    """Repeats data to a shape, with the broadcasting rules of numpy.

    The arguments are those of `bivouac.fn.full`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        layout: Text | None = None,
        preserve: bool | None = False,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __fill_value: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class FullLike(Operator):
    """Repeats data to the shape of other data, with the broadcasting rules of numpy, and converts
    it to its type like cast. The output has the layout of the other data.

    The arguments are those of `bivouac.fn.full_like`.
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
        __data_like: Input,
        __fill_value: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class GaussianBlur(Operator):
    """Blurs with a Gaussian window along all axes except frames and channels, which are the first
    or the last. At its edges the image is mirrored; the edge itself is not repeated.

    The arguments are those of `bivouac.fn.gaussian_blur`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        sigma: Floats | Fed | None = [0],
        window_size: Ints | Fed | None = [0],
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class GetProperty(Operator):
    """Returns a property of samples as text: the bytes of its characters.

    The arguments are those of `bivouac.fn.get_property`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        key: Text | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class GridMask(Operator):
    """Makes the squares of a grid black, in every image of a sequence and every plane of a volume.
    Erased numbers are multiplied by 0: NaN stays NaN, and infinities become NaN.

    The arguments are those of `bivouac.fn.grid_mask`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        angle: float | Fed | None = 0,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        ratio: float | Fed | None = 0.5,
        shift_x: float | Fed | None = 0,
        shift_y: float | Fed | None = 0,
        tile: int | Fed | None = 100,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Hsv(Operator):
    """Turns the hue and changes the saturation and the value of RGB images, as one linear map of
    the channels.

    The arguments are those of `bivouac.fn.hsv`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.UINT8,
        hue: float | Fed | None = 0,
        preserve: bool | None = False,
        saturation: float | Fed | None = 1,
        value: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Hue(Operator):
    """Turns the hue of RGB images, as a linear map of the channels.

    The arguments are those of `bivouac.fn.hue`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        hue: float | Fed | None = 0,
        image_type: DALIImageType | None = DALIImageType.RGB,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ImageDecoder(Operator):
    """Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of GIF. JPEG 2000, AVIF
    and HEIC need the program ffmpeg.

    Deprecated: use decoders.image.

    The arguments are those of `bivouac.fn.image_decoder`.
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

class ImageDecoderCrop(Operator):
    """Decodes a window of images. Its size and place are given as for crop. The window must lie
    inside the image.

    Deprecated: use decoders.image_crop.

    The arguments are those of `bivouac.fn.image_decoder_crop`.
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

class ImageDecoderRandomCrop(Operator):
    """Decodes a window of images with random area, aspect ratio and place, drawn as for
    random_resized_crop.

    Deprecated: use decoders.image_random_crop.

    The arguments are those of `bivouac.fn.image_decoder_random_crop`.
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

class ImageDecoderSlice(Operator):
    """Decodes a window of images. Its start and its end or extent are inputs or arguments, as for
    slice. The window must lie inside the image.

    Deprecated: use decoders.image_slice.

    The arguments are those of `bivouac.fn.image_decoder_slice`.
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

class JpegCompressionDistortion(Operator):
    """Distorts RGB images as JPEG does: they become what they are after encoding and decoding, with
    half the colour resolution.

    The arguments are those of `bivouac.fn.jpeg_compression_distortion`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        quality: int | Fed | None = 50,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Laplacian(Operator):
    """Adds up the second derivatives along all axes except frames and channels, which are the first
    or the last. Each derivative is smoothed along the other axes. At its edges the image is
    mirrored; the edge itself is not repeated.

    The arguments are those of `bivouac.fn.laplacian`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        normalized_kernel: bool | None = False,
        preserve: bool | None = False,
        scale: Floats | Fed | None = [1],
        smoothing_size: Ints | Fed | None = None,
        window_size: Ints | Fed | None = [3],
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class LogMel(Operator):
    """Computes mel spectrograms in decibels in one pass. The result equals the chain of
    preemphasis_filter, spectrogram, mel_filter_bank and to_decibels with the same arguments to the
    bit.

    The arguments are those of `bivouac.fn.log_mel`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class LookupTable(Operator):
    """Replaces integers by their entries in a table.

    The arguments are those of `bivouac.fn.lookup_table`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        default_value: float | None = 0,
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        keys: Ints | None = [],
        output_dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        values: Floats | None = [],
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class MelFilterBank(Operator):
    """Converts spectrograms to mel spectrograms with triangular filters. The axis of frequencies is
    the letter f of the layout. Without a layout it is the first of two axes, and the second to last
    of more.

    The arguments are those of `bivouac.fn.mel_filter_bank`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        freq_high: float | None = 0,
        freq_low: float | None = 0,
        mel_formula: Text | None = "slaney",
        nfilter: int | None = 128,
        normalize: bool | None = True,
        preserve: bool | None = False,
        sample_rate: float | None = 44100,
    ) -> None: ...
    def __call__(
        self,
        __spectrogram: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class MFCC(Operator):
    """Computes cepstral coefficients of mel spectrograms in decibels: a discrete cosine transform
    along an axis, whose first numbers are kept.

    The arguments are those of `bivouac.fn.mfcc`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axis: int | None = 0,
        bytes_per_sample_hint: Ints | None = [0],
        dct_type: int | None = 2,
        lifter: float | None = 0,
        n_mfcc: int | None = 20,
        normalize: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __mels: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Mixup(Operator):
    """Mixes two samples: ratio * image + (1 - ratio) * partner. Labels are mixed in the same way.
    Draw the ratio with random.beta.

    The arguments are those of `bivouac.fn.mixup`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        ratio: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        __partners: Input,
        __labels: Input | None = None,
        __partner_labels: Input | None = None,
        /,
        **kwargs: Any,
    ) -> Any: ...

class Mosaic(Operator):
    """Puts four images around a point of a canvas: above left, above right, below left and below
    right. Each image touches the point with its corner and is cut at the edges. Boxes and labels
    follow. Draw the point with random.uniform.

    The arguments are those of `bivouac.fn.mosaic`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        centre_x: float | Fed | None = 0.5,
        centre_y: float | Fed | None = 0.5,
        fill_value: int | None = 114,
        min_visibility: float | Fed | None = 0,
        preserve: bool | None = False,
        size: Ints | None = None,
    ) -> None: ...
    def __call__(
        self,
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
        **kwargs: Any,
    ) -> list[DataNode]: ...

class MultiPaste(Operator):
    """Puts regions of images on a black canvas, later regions over earlier regions. The images are
    the samples of the batch that in_ids names, or by default the sample of each input.

    The arguments are those of `bivouac.fn.multi_paste`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        *images: Input,
        **kwargs: Any,
    ) -> DataNode: ...

class MXNetReader(Operator):
    """Reads images and their labels from RecordIO files of MXNet.

    Deprecated: use readers.mxnet.

    The arguments are those of `bivouac.fn.mxnet_reader`.
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

class NemoAsrReader(Operator):
    """Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath,
    duration and text. The outputs are the audio, then the rate, the text and the index. Paths of
    audio files are relative to the working directory. The offset and the duration of an entry are a
    part of its file. Files are decoded as by decoders.audio. A program that makes no pipeline
    decodes WAV, and the formats of codec that it imports.

    Deprecated: use readers.nemo_asr.

    The arguments are those of `bivouac.fn.nemo_asr_reader`.
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

class NonsilentRegion(Operator):
    """Finds where a signal begins and ends to be louder than a threshold. The power of a window is
    the mean of its squares. The region reaches from the first to the last window that is loud
    enough.

    The arguments are those of `bivouac.fn.nonsilent_region`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cutoff_db: float | None = -60,
        preserve: bool | None = False,
        reference_power: float | None = 0,
        reset_interval: int | None = 8192,
        window_length: int | None = 2048,
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class NormalDistribution(Operator):
    """Draws numbers from a normal distribution.

    Deprecated: use random.normal.

    The arguments are those of `bivouac.fn.normal_distribution`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        mean: float | Fed | None = 0,
        preserve: bool | None = False,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
        stddev: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Normalize(Operator):
    """Subtracts the mean from elements and divides the result by the standard deviation: scale *
    (in - mean) / sqrt(stddev^2 + epsilon) + shift. A mean or deviation that is not given is
    computed from the sample, or from the batch. If a computed deviation and epsilon are 0, the
    quotient is 0. Means and deviations that are given per sample have the shape of the input, with
    extents of 1 in the folded axes.

    The arguments are those of `bivouac.fn.normalize`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class NumpyReader(Operator):
    """Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of
    each array. All have the type and the number of axes of the first file.

    Deprecated: use readers.numpy.

    The arguments are those of `bivouac.fn.numpy_reader`.
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

class OneHot(Operator):
    """Makes a row of classes from each index, with on_value at the index and off_value elsewhere.
    An index outside the classes gives only off_value. If every sample of the batch has one element
    and no axis is given, the output has only the axis of the classes.

    The arguments are those of `bivouac.fn.one_hot`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axis: int | None = -1,
        axis_name: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        num_classes: int | None = 0,
        off_value: float | None = 0,
        on_value: float | None = 1,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Ones(Operator):
    """Returns ones.

    The arguments are those of `bivouac.fn.ones`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.INT32,
        layout: Text | None = None,
        preserve: bool | None = False,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class OnesLike(Operator):
    """Returns ones in the shape of other data.

    The arguments are those of `bivouac.fn.ones_like`.
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
        __data_like: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Pad(Operator):
    """Makes samples larger at the ends of axes. The new extent is the given one, or the largest in
    the batch, rounded up to a multiple of the alignment. No extent becomes smaller.

    The arguments are those of `bivouac.fn.pad`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        align: Ints | Fed | None = None,
        axes: Ints | Fed | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: float | Fed | None = 0,
        preserve: bool | None = False,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Paste(Operator):
    """Puts images on a larger canvas of one colour.

    The arguments are those of `bivouac.fn.paste`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: Ints | None = None,
        min_canvas_size: float | Fed | None = 0,
        n_channels: int | None = 3,
        paste_x: float | Fed | None = 0.5,
        paste_y: float | Fed | None = 0.5,
        preserve: bool | None = False,
        ratio: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PeekImageShape(Operator):
    """Returns the shape of images (height, width, channels) without decoding them.

    The arguments are those of `bivouac.fn.peek_image_shape`.
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

class PerFrame(Operator):
    """Marks data as sequences: the first axis becomes the axis of frames, F. The data does not
    change.

    The arguments are those of `bivouac.fn.per_frame`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        replace: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PermuteBatch(Operator):
    """Reorders the samples of a batch. Samples may be left out or repeated.

    The arguments are those of `bivouac.fn.permute_batch`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        indices: Ints | Fed | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PitchShift(Operator):
    """Makes a signal higher or lower and keeps its length: it is stretched like in time_stretch,
    and then resampled. Frequencies that would be above half of the rate are left out.

    The arguments are those of `bivouac.fn.pitch_shift`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        nfft: int | None = 2048,
        preserve: bool | None = False,
        quality: float | None = 50,
        steps: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PowerSpectrum(Operator):
    """Computes the spectrum along one axis: the magnitudes, or their squares, at the frequencies 0
    to half the rate.

    The arguments are those of `bivouac.fn.power_spectrum`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axis: int | None = -1,
        bytes_per_sample_hint: Ints | None = [0],
        nfft: int | None = None,
        power: int | None = 2,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class PreemphasisFilter(Operator):
    """Subtracts from every element the element before it, times a coefficient. Elements follow each
    other as they lie in memory, whatever the shape.

    The arguments are those of `bivouac.fn.preemphasis_filter`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        border: Text | None = "clamp",
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.FLOAT,
        preemph_coeff: float | Fed | None = 0.97,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RandAugment(Operator):
    """Applies n augmentations to each image, one after the other. Each is drawn from a suite; all
    have the magnitude m (RandAugment).

    The arguments are those of `bivouac.fn.rand_augment`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        augmentations: Texts | None = ...,
        bytes_per_sample_hint: Ints | None = [0],
        clamp: bool | None = False,
        excluded: Texts | None = ...,
        fill_value: Floats | None = [128],
        interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
        m: float | None = None,
        magnitude_deviation: float | None = 0,
        max_translate_abs: Floats | None = [],
        max_translate_rel: Floats | None = [],
        monotonic_mag: bool | None = True,
        n: int | None = None,
        num_magnitude_bins: int | None = 31,
        pixels: Text | None = "rounded",
        preserve: bool | None = False,
        probability: float | None = 1,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RandomBBoxCrop(Operator):
    """Draws a window of an image that overlaps its boxes by at least a threshold, which is drawn
    from thresholds. Boxes outside the window are dropped; the other boxes are returned in the
    window's coordinates. A search that finds no window is an error; DALI searches forever.

    The arguments are those of `bivouac.fn.random_bbox_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __boxes: Input,
        __labels: Input | None = None,
        /,
        **kwargs: Any,
    ) -> Any: ...

class RandomCropGenerator(Operator):
    """Draws windows of random area, aspect ratio and place for images of given shapes, to cut them
    with slice or while they are decoded.

    The arguments are those of `bivouac.fn.random_crop_generator`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        num_attempts: int | None = 10,
        preserve: bool | None = False,
        random_area: Floats | None = [0.08, 1],
        random_aspect_ratio: Floats | None = [0.75, 1.3333333333333333],
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __shapes: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class RandomErase(Operator):
    """Overwrites a window of an image whose area, ratio and place are drawn (random erasing). If no
    window of ten fits, the image stays as it is.

    The arguments are those of `bivouac.fn.random_erase`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        area: Floats | None = [0.02, 0.3333333333333333],
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: Floats | None = [0],
        noise: Text | None = "none",
        preserve: bool | None = False,
        probability: float | Fed | None = 0.5,
        ratio: Floats | None = [0.3, 3.3333333333333335],
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RandomResizedCrop(Operator):
    """Cuts a window of random area, aspect ratio and place out of an image and resizes it to a
    fixed size. The filter also uses pixels just outside the window.

    The arguments are those of `bivouac.fn.random_resized_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
        size: Ints | None = None,
        temp_buffer_hint: int | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Reinterpret(Operator):
    """Interprets the bytes of the elements as elements of another type. Without a shape the last
    axis becomes longer or shorter by the ratio of the sizes of the two types.

    The arguments are those of `bivouac.fn.reinterpret`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        layout: Text | None = None,
        preserve: bool | None = False,
        rel_shape: Floats | Fed | None = None,
        shape: Ints | Fed | None = None,
        src_dims: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __shape_input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Reshape(Operator):
    """Changes the shape or layout of data. The elements keep their order.

    The arguments are those of `bivouac.fn.reshape`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        layout: Text | None = None,
        preserve: bool | None = False,
        rel_shape: Floats | Fed | None = None,
        shape: Ints | Fed | None = None,
        src_dims: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __shape_input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Resize(Operator):
    """Changes the size of images, sequences of images and volumes, or of a part of each. Give the
    size as one of size, resize_shorter and resize_longer, or as some of resize_x, resize_y and
    resize_z.

    The arguments are those of `bivouac.fn.resize`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> Any: ...

class ResizeCropMirror(Operator):
    """Resizes an image, cuts a window out of the result and can mirror it, in one step: only the
    window is computed. The window may extend beyond the resized image; the edge of the image is
    repeated there.

    The arguments are those of `bivouac.fn.resize_crop_mirror`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ROIRandomCrop(Operator):
    """Draws the place of a window of a given size, so that it has as much of a region as fits:
    either the whole region lies in the window, or the window lies in the region. If the size of the
    image is given, the window lies in the image.

    The arguments are those of `bivouac.fn.roi_random_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        crop_shape: Ints | Fed | None = None,
        in_shape: Ints | Fed | None = None,
        preserve: bool | None = False,
        roi_end: Ints | Fed | None = None,
        roi_shape: Ints | Fed | None = None,
        roi_start: Ints | Fed | None = None,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __data: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Rotate(Operator):
    """Turns images around their centre. The output is as large as the turned image. Its extents are
    even or odd like the extents of the input, so that the centre stays in the middle or at the
    corner of a pixel.

    The arguments are those of `bivouac.fn.rotate`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        angle: float | Fed | None = None,
        axis: Floats | Fed | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        fill_value: float | None = None,
        interp_type: DALIInterpType | None = DALIInterpType.INTERP_LINEAR,
        keep_size: bool | None = False,
        output_dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        size: Floats | Fed | None = [],
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Saturation(Operator):
    """Changes the saturation of RGB images, as a linear map of the channels.

    The arguments are those of `bivouac.fn.saturation`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        image_type: DALIImageType | None = DALIImageType.RGB,
        preserve: bool | None = False,
        saturation: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class SequenceReader(Operator):
    """Reads sequences of images: each folder of a directory is a stream, whose images are frames in
    the order of the bytes of their names. The frames of a sequence must be equally large. Images
    are not turned as their EXIF orientation says.

    Deprecated: use readers.sequence.

    The arguments are those of `bivouac.fn.sequence_reader`.
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

class SequenceRearrange(Operator):
    """Reorders the elements of sequences, such as frames. Elements may be left out or repeated.

    The arguments are those of `bivouac.fn.sequence_rearrange`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        new_order: Ints | Fed | None = None,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Shapes(Operator):
    """Returns the extents of samples.

    Deprecated: use Node.Shape.

    The arguments are those of `bivouac.fn.shapes`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.INT64,
        preserve: bool | None = False,
        type: DALIDataType | None = None,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Slice(Operator):
    """Cuts a window out of an array of any rank. A window has a start, and an end or an extent,
    along axes given by number or by letter. Relative positions are fractions of the extents.

    The arguments are those of `bivouac.fn.slice`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __anchor: Input | None = None,
        __shape: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Spatial(Operator):
    """Applies one transform to an image and to its masks, boxes and keypoints. The steps are, in
    this order: crop, flip, affine transform around the centre, perspective, resize. A step without
    arguments does nothing.

    The arguments are those of `bivouac.fn.spatial`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
        targets: Texts | None = None,
        translate: Floats | Fed | None = [0, 0],
        vertical: int | Fed | None = 0,
    ) -> None: ...
    def __call__(
        self,
        *data: Input,
        **kwargs: Any,
    ) -> Any: ...

class Spectrogram(Operator):
    """Computes the spectra of windows of a signal: the magnitudes, or their squares, at the
    frequencies 0 to half the rate. The signal has one axis of more than one element.

    The arguments are those of `bivouac.fn.spectrogram`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Sphere(Operator):
    """Makes images look as if on a ball. Pixels move towards the middle; pixels near the middle
    move most.

    The arguments are those of `bivouac.fn.sphere`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: float | None = 0,
        interp_type: DALIInterpType | None = DALIInterpType.INTERP_NN,
        mask: int | Fed | None = 1,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Squeeze(Operator):
    """Removes axes of extent 1.

    The arguments are those of `bivouac.fn.squeeze`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | Fed | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class SSDRandomCrop(Operator):
    """Cuts a random window out of an image. All boxes overlap the window by at least a threshold,
    which is drawn too; sometimes the image stays whole. Boxes whose centre is outside the window
    are dropped with their labels.

    Deprecated: use random_bbox_crop.

    The arguments are those of `bivouac.fn.ssd_random_crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        num_attempts: int | None = 1,
        preserve: bool | None = False,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        __boxes: Input,
        __labels: Input,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Stack(Operator):
    """Joins data along a new axis.

    The arguments are those of `bivouac.fn.stack`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axis: int | None = 0,
        axis_name: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        *input: Input,
        **kwargs: Any,
    ) -> DataNode: ...

class TensorResize(Operator):
    """Changes the extents of some axes of arrays of any rank to given sizes, or by given scales. At
    most three adjacent axes change. The other axes keep their extent, unless mode scales all axes
    alike.

    The arguments are those of `bivouac.fn.tensor_resize`.
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

class TFRecordReader(Operator):
    """Reads tf.train.Example messages from TFRecord files, and has an output for each feature that
    the argument features names. Both checksums of each record are checked.

    Deprecated: use readers.tfrecord.

    The arguments are those of `bivouac.fn.tfrecord_reader`.
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

class TimeMask(Operator):
    """Sets random ranges of times of a spectrogram to a number (SpecAugment). The width of a range
    is drawn first: any number from 0 to the limit is as likely. Then its start is drawn. Without a
    layout the axes are frequency, then time.

    The arguments are those of `bivouac.fn.time_mask`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        fill_value: float | Fed | None = 0,
        masks: int | Fed | None = 1,
        max_fraction: float | Fed | None = 1,
        max_width: int | Fed | None = None,
        preserve: bool | None = False,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __spectrogram: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class TimeStretch(Operator):
    """Makes a signal slower or faster and keeps its pitch, with a phase vocoder.

    The arguments are those of `bivouac.fn.time_stretch`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        nfft: int | None = 2048,
        preserve: bool | None = False,
        rate: float | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __signal: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class ToDecibels(Operator):
    """Converts numbers to decibels: multiplier * log10(max(10^(cutoff_db / multiplier), in /
    reference)).

    The arguments are those of `bivouac.fn.to_decibels`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        cutoff_db: float | None = -200,
        multiplier: float | None = 10,
        preserve: bool | None = False,
        reference: float | None = 0,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class TransformTranslation(Operator):
    """Makes the transform that moves points.

    Deprecated: use transforms.translation.

    The arguments are those of `bivouac.fn.transform_translation`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        offset: Floats | Fed | None = None,
        preserve: bool | None = False,
        reverse_order: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Transpose(Operator):
    """Puts the axes into another order.

    The arguments are those of `bivouac.fn.transpose`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        output_layout: Text | None = None,
        perm: Ints | None = None,
        preserve: bool | None = False,
        transpose_layout: bool | None = True,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class TrivialAugmentWide(Operator):
    """Applies one augmentation to each image. It and its magnitude are drawn (TrivialAugment,
    wide).

    The arguments are those of `bivouac.fn.trivial_augment_wide`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Uniform(Operator):
    """Draws numbers evenly from a range without its end, or from a list of values.

    Deprecated: use random.uniform.

    The arguments are those of `bivouac.fn.uniform`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        range: Floats | Fed | None = [-1, 1],
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
        values: Floats | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class WarpAffine(Operator):
    """Warps images by an affine transform. The transform maps each pixel of the output to the point
    of the input that it shows. Points are counted from the corner of an image, so that the centre
    of the first pixel is (0.5, 0.5).

    The arguments are those of `bivouac.fn.warp_affine`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __mtx: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Water(Operator):
    """Makes images look as if seen through moving water. Pixels move sideways by a sine of their
    row, and up and down by a cosine of their column.

    The arguments are those of `bivouac.fn.water`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
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
    ) -> None: ...
    def __call__(
        self,
        __images: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Zeros(Operator):
    """Returns zeros.

    The arguments are those of `bivouac.fn.zeros`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = DALIDataType.INT32,
        layout: Text | None = None,
        preserve: bool | None = False,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class ZerosLike(Operator):
    """Returns zeros in the shape of other data.

    The arguments are those of `bivouac.fn.zeros_like`.
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
        __data_like: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
