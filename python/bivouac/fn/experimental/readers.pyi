# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import DTypes, Ints, Text, Texts
from bivouac._pipeline.enums import DALIImageType

def fits(
    *,
    device: str | None = None,
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
) -> Any:
    """Reads images of FITS files, plain or compressed tile by tile. Each output is an image of each
    file; all have the type and the number of axes of the first file.

    Outputs:
      image: the image of an HDU, in C order.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      dtypes: A type for each output, which is checked and has no other effect: images have the
        types of their files.
      file_filter: Pattern of file names, with file_root alone. It tells upper from lower case.
      file_list: Text file with a path on each line, instead of file_root; its own folder is the
        default of file_root.
      file_root: Directory whose files, and those in its folders, are read, or what files and
        file_list are relative to.
      files: Paths of the files, in this order, instead of file_root.
      hdu_indices: Number of the HDU of each output. The first HDU is 1.
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

def video(
    *,
    device: str | None = None,
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
    sequence_length: int,
    shard_id: int | None = 0,
    skip_cached_images: bool | None = False,
    step: int | None = -1,
    stick_to_shard: bool | None = False,
    stride: int | None = 1,
    tensor_init_bytes: int | None = 1048576,
    uniform_sample: bool | None = False,
) -> Any:
    """Reads clips of videos, as RGB: each has sequence_length frames, one every stride frames, and
    begins step frames after the clip before it. Videos are files, files in the folders of a
    directory, or parts of files in a list. The program ffmpeg must be installed, except for motion
    JPEG, GIF and WebP. A damaged frame is an error of its clips alone.

    Outputs:
      videos: frames, uint8 of layout FHWC.
      labels: with labels, file_list or file_root: the label, int32 of shape [1].
      numbers: with enable_frame_num: numbers of frames, int32; -1 for padding.
      timestamps: with enable_timestamps: the time of each frame in seconds, float64; -1 for
        padding.

    Args:
      dont_use_mmap: Reads files instead of mapping them; no effect: results are equal.
      enable_frame_num: Adds an output with numbers of frames: scalar (or True) for the first frame,
        sequence for each frame.
      enable_timestamps: Adds an output with the times of the frames.
      file_list: List of videos: in each line a path, a label, and the start and the end of the part
        that is read, if it is not the whole video.
      file_list_format: What start and end are: timestamps in seconds, or frames; a negative number
        of a frame counts from the end.
      file_list_include_end: Accepted, but has no effect: the end is never included.
      file_list_rounding: How a start and an end between frames are rounded: start_down_end_up,
        start_up_end_down, all_up or all_down. The end is no part of the clip.
      file_root: Directory with a folder for each label, which has the videos.
      filenames: Paths of the videos.
      fill_value: Colour of pad_mode constant: a number from 0 to 255, or one for each channel.
      image_type: Colour space of the frames: RGB.
      index_path: A file that keeps the indices of the videos, so that opening does not read the
        videos. It is made if it is missing, and made anew for videos that changed.
      initial_fill: Number of samples that DALI's shuffle picks from. Outside DALI's mode all
        samples are shuffled, for any value.
      labels: A label for each of filenames.
      lazy_init: Looks at the data set when the first batch is made; no effect: that is done when a
        pipeline is made.
      num_shards: Number of parts that the data set is cut into, for as many pipelines.
      pad_last_batch: Fills the last batch of an epoch with its last sample, so that all shards have
        as many batches.
      pad_mode: What stands for frames beyond the end. With none, the clip at the end that is not
        whole is left out. constant is fill_value; edge (or repeat) the last frame; reflect_101
        (reflect) or reflect_1001 (symmetric) the video back and forth.
      prefetch_queue_depth: Batches that DALI's reader reads ahead; no effect:
        Options.ReadAheadBytes bounds what is read ahead.
      random_shuffle: Whether each epoch comes in its own random order instead of the order of the
        data set.
      read_ahead: Asks the system to read files ahead; no effect.
      seed: Seed of the order; -1: the pipeline's seed.
      sequence_length: Number of frames of a clip. Required.
      shard_id: The part that is read first.
      skip_cached_images: Leaves out what a decoder has cached; no effect: there is no such cache.
      step: Frames from the start of a clip to the start of the next; below 1 it is sequence_length
        times stride.
      stick_to_shard: Reads the same part in every epoch; otherwise the next one.
      stride: Frames from one frame of a clip to the next.
      tensor_init_bytes: Memory that DALI sets aside for a sample; no effect.
      uniform_sample: Reads one clip of each video, whose frames are spread evenly over it. step,
        stride and pad_mode have no effect.
    """
    ...
