// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ReadersFile are the arguments of readers.file.
type ReadersFile struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Directory with a folder for each class, or what files and file_list are relative to.
	FileRoot string `op:"file_root"`

	// Text file with a path and its label on each line, instead of folders; its own folder is the default of
	// file_root.
	FileList string `op:"file_list"`

	// Paths of the files, in this order, instead of folders.
	Files []string `op:"files"`

	// Labels of files; by default their index.
	Labels []int `op:"labels"`

	// Patterns of file names, of which one must match. Default: *.jpg *.jpeg *.png *.bmp *.tif *.tiff *.pnm *.ppm
	// *.pgm *.pbm *.jp2 *.webp *.flac *.ogg *.wav.
	FileFilters []string `op:"file_filters"`

	// Patterns of folder names, of which one must match; by default all do.
	DirFilters []string `op:"dir_filters"`

	// Patterns tell upper from lower case. Default: false.
	CaseSensitiveFilter bool `op:"case_sensitive_filter"`

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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersNumpy are the arguments of readers.numpy.
type ReadersNumpy struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Directory whose files, and those in its folders, are read, or what files and file_list are relative to.
	FileRoot string `op:"file_root"`

	// Pattern of file names, with file_root alone. It tells upper from lower case. Default: "*.npy".
	FileFilter op.Arg[string] `op:"file_filter"`

	// Text file with a path on each line, instead of file_root; its own folder is the default of file_root.
	FileList string `op:"file_list"`

	// Paths of the files, in this order, instead of file_root.
	Files []string `op:"files"`

	// First element of the region on each axis; the default is 0. One number is for all axes.
	RoiStart op.Arg[[]int] `op:"roi_start"`

	// Start of the region on each axis, relative to the extents.
	RelRoiStart op.Arg[[]float64] `op:"rel_roi_start"`

	// End of the region on each axis: the element after its last; the default is the extent.
	RoiEnd op.Arg[[]int] `op:"roi_end"`

	// End of the region on each axis, relative to the extents.
	RelRoiEnd op.Arg[[]float64] `op:"rel_roi_end"`

	// Extent of the region on each axis.
	RoiShape op.Arg[[]int] `op:"roi_shape"`

	// Extent of the region on each axis, relative to the extents of the array.
	RelRoiShape op.Arg[[]float64] `op:"rel_roi_shape"`

	// Axes of the region, in the order of its values; negative numbers count from the last axis; by default all
	// axes. Default: .
	RoiAxes []int `op:"roi_axes"`

	// What a region outside the array is: "error", "pad" (filled with fill_value) or "trim_to_shape" (cut).
	// Default: "error".
	OutOfBoundsPolicy op.Arg[string] `op:"out_of_bounds_policy"`

	// What fills the outside of an array with "pad". Default: 0.
	FillValue float64 `op:"fill_value"`

	// Keeps the headers of files; no effect: files are read in one piece with their headers. Default: false.
	CacheHeaderInformation bool `op:"cache_header_information"`

	// Registers buffers with a driver; no effect. Default: true.
	RegisterBuffers op.Arg[bool] `op:"register_buffers"`

	// Reads past the cache of the system; no effect. Default: false.
	UseODirect bool `op:"use_o_direct"`

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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersSequence are the arguments of readers.sequence.
type ReadersSequence struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Directory with a folder for each stream. Required.
	FileRoot string `op:"file_root"`

	// Number of frames of a sequence. Required.
	SequenceLength op.Arg[int] `op:"sequence_length"`

	// Frames from the start of a sequence to the start of the next. Default: 1.
	Step op.Arg[int] `op:"step"`

	// Frames from one frame of a sequence to the next. Default: 1.
	Stride op.Arg[int] `op:"stride"`

	// Colour space of the frames: RGB, BGR, GRAY, or ANY_DATA for the channels that the files have. Default: RGB.
	ImageType op.ImageType `op:"image_type"`

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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersWebdataset are the arguments of readers.webdataset.
type ReadersWebdataset struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the archives, in this order. Required.
	Paths []string `op:"paths"`

	// Names of the component of each output, such as "jpg;png;jpeg". The first file of a sample that has one of
	// them counts. Required.
	Ext []string `op:"ext"`

	// Indexes of the archives that wds2idx made, version 1.1 or 1.2; by default bivouac.index beside the first
	// archive, or without that, the headers of the archives.
	IndexPaths []string `op:"index_paths"`

	// What a sample without a component is: "empty" (the output is empty; the default), "skip" (it is left out)
	// or "error" (the data set is refused). Default: "".
	MissingComponentBehavior string `op:"missing_component_behavior"`

	// Type of the elements of each output; by default uint8.
	Dtypes []tensor.DType `op:"dtypes"`

	// Names of components tell upper from lower case. Default: true.
	CaseSensitiveExtensions op.Arg[bool] `op:"case_sensitive_extensions"`

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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}
