// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ExperimentalReadersFits are the arguments of experimental.readers.fits.
type ExperimentalReadersFits struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Directory whose files, and those in its folders, are read, or what files and file_list are relative to.
	FileRoot string `op:"file_root"`

	// Pattern of file names, with file_root alone. It tells upper from lower case. Default: "*.fits".
	FileFilter op.Arg[string] `op:"file_filter"`

	// Text file with a path on each line, instead of file_root; its own folder is the default of file_root.
	FileList string `op:"file_list"`

	// Paths of the files, in this order, instead of file_root.
	Files []string `op:"files"`

	// Number of the HDU of each output. The first HDU is 1. Default: 2.
	HduIndices []int `op:"hdu_indices"`

	// A type for each output, which is checked and has no other effect: images have the types of their files.
	Dtypes []tensor.DType `op:"dtypes"`

	// Whether each epoch comes in its own random order instead of the order of the data set. Default: false.
	RandomShuffle bool `op:"random_shuffle"`

	// Seed of the order; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Each epoch comes in an order of its own, in DALI by shuffling the whole list. Default: false.
	ShuffleAfterEpoch bool `op:"shuffle_after_epoch"`

	// Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else the reader's seed.
	ShuffleAfterEpochSeed op.Arg[int] `op:"shuffle_after_epoch_seed"`

	// Number of parts that the data set is cut into, for as many pipelines. Default: 1.
	NumShards op.Arg[int] `op:"num_shards"`

	// The part that is read first. Default: 0.
	ShardId int `op:"shard_id"`

	// Reads the same part in every epoch; otherwise the next one. Default: false.
	StickToShard bool `op:"stick_to_shard"`

	// Fills the last batch of an epoch with its last sample, so that all shards have as many batches. Default:
	// false.
	PadLastBatch bool `op:"pad_last_batch"`

	// Number of samples that DALI's shuffle picks from. Outside DALI's mode all samples are shuffled, for any
	// value. Default: 1024.
	InitialFill op.Arg[int] `op:"initial_fill"`

	// Batches that DALI's reader reads ahead; no effect: Options.ReadAheadBytes bounds what is read ahead.
	// Default: 1.
	PrefetchQueueDepth op.Arg[int] `op:"prefetch_queue_depth"`

	// Memory that DALI sets aside for a sample; no effect. Default: 1048576.
	TensorInitBytes op.Arg[int] `op:"tensor_init_bytes"`

	// Asks the system to read files ahead; no effect. Default: false.
	ReadAhead bool `op:"read_ahead"`

	// Looks at the data set when the first batch is made; no effect: that is done when a pipeline is made.
	// Default: false.
	LazyInit bool `op:"lazy_init"`

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ExperimentalReadersVideo are the arguments of experimental.readers.video.
type ExperimentalReadersVideo struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Number of frames of a clip. Required.
	SequenceLength op.Arg[int] `op:"sequence_length"`

	// Paths of the videos.
	Filenames []string `op:"filenames"`

	// Directory with a folder for each label, which has the videos. Default: "".
	FileRoot string `op:"file_root"`

	// List of videos: in each line a path, a label, and the start and the end of the part that is read, if it is
	// not the whole video. Default: "".
	FileList string `op:"file_list"`

	// A label for each of filenames.
	Labels []int `op:"labels"`

	// What start and end are: timestamps in seconds, or frames; a negative number of a frame counts from the end.
	// Default: "timestamps".
	FileListFormat op.Arg[string] `op:"file_list_format"`

	// How a start and an end between frames are rounded: start_down_end_up, start_up_end_down, all_up or
	// all_down. The end is no part of the clip. Default: "start_down_end_up".
	FileListRounding op.Arg[string] `op:"file_list_rounding"`

	// Accepted, but has no effect: the end is never included. Default: true.
	FileListIncludeEnd op.Arg[bool] `op:"file_list_include_end"`

	// Frames from the start of a clip to the start of the next; below 1 it is sequence_length times stride.
	// Default: -1.
	Step op.Arg[int] `op:"step"`

	// Frames from one frame of a clip to the next. Default: 1.
	Stride op.Arg[int] `op:"stride"`

	// What stands for frames beyond the end. With none, the clip at the end that is not whole is left out.
	// constant is fill_value; edge (or repeat) the last frame; reflect_101 (reflect) or reflect_1001 (symmetric)
	// the video back and forth. Default: "none".
	PadMode op.Arg[string] `op:"pad_mode"`

	// Colour of pad_mode constant: a number from 0 to 255, or one for each channel. Default: 0.
	FillValue []int `op:"fill_value"`

	// Reads one clip of each video, whose frames are spread evenly over it. step, stride and pad_mode have no
	// effect. Default: false.
	UniformSample bool `op:"uniform_sample"`

	// Adds an output with numbers of frames: scalar (or True) for the first frame, sequence for each frame.
	// Default: "none".
	EnableFrameNum op.Arg[string] `op:"enable_frame_num"`

	// Adds an output with the times of the frames. Default: false.
	EnableTimestamps bool `op:"enable_timestamps"`

	// Colour space of the frames: RGB. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

	// A file that keeps the indices of the videos, so that opening does not read the videos. It is made if it is
	// missing, and made anew for videos that changed. Default: "".
	IndexPath string `op:"index_path"`

	// Whether each epoch comes in its own random order instead of the order of the data set. Default: false.
	RandomShuffle bool `op:"random_shuffle"`

	// Seed of the order; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`

	// Number of parts that the data set is cut into, for as many pipelines. Default: 1.
	NumShards op.Arg[int] `op:"num_shards"`

	// The part that is read first. Default: 0.
	ShardId int `op:"shard_id"`

	// Reads the same part in every epoch; otherwise the next one. Default: false.
	StickToShard bool `op:"stick_to_shard"`

	// Fills the last batch of an epoch with its last sample, so that all shards have as many batches. Default:
	// false.
	PadLastBatch bool `op:"pad_last_batch"`

	// Number of samples that DALI's shuffle picks from. Outside DALI's mode all samples are shuffled, for any
	// value. Default: 1024.
	InitialFill op.Arg[int] `op:"initial_fill"`

	// Batches that DALI's reader reads ahead; no effect: Options.ReadAheadBytes bounds what is read ahead.
	// Default: 1.
	PrefetchQueueDepth op.Arg[int] `op:"prefetch_queue_depth"`

	// Memory that DALI sets aside for a sample; no effect. Default: 1048576.
	TensorInitBytes op.Arg[int] `op:"tensor_init_bytes"`

	// Asks the system to read files ahead; no effect. Default: false.
	ReadAhead bool `op:"read_ahead"`

	// Looks at the data set when the first batch is made; no effect: that is done when a pipeline is made.
	// Default: false.
	LazyInit bool `op:"lazy_init"`

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}
