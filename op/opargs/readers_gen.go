// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ReadersCaffe are the arguments of readers.caffe.
type ReadersCaffe struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Folders of LMDB databases, or their files data.mdb. Their records come one database after the other, in the
	// order of their keys. Required.
	Path []string `op:"path"`

	// The images are read. Default: true.
	ImageAvailable op.Arg[bool] `op:"image_available"`

	// The labels are read. Default: true.
	LabelAvailable op.Arg[bool] `op:"label_available"`

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

// ReadersCaffe2 are the arguments of readers.caffe2.
type ReadersCaffe2 struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Folders of LMDB databases, or their files data.mdb. Their records come one database after the other, in the
	// order of their keys. Required.
	Path []string `op:"path"`

	// A record begins with an image. Default: true.
	ImageAvailable op.Arg[bool] `op:"image_available"`

	// 0: a number. 1: the indices of num_labels labels, which become 1. 2: numbers. 3: indices and a tensor of
	// their weights. 4: no label. Default: 0.
	LabelType int `op:"label_type"`

	// Number of labels of label_type 1 and 3. Default: 1.
	NumLabels op.Arg[int] `op:"num_labels"`

	// Number of tensors of a record behind the label. Default: 0.
	AdditionalInputs int `op:"additional_inputs"`

	// A record ends with a box, 4 integers. Default: false.
	Bbox bool `op:"bbox"`

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

// ReadersCoco are the arguments of readers.coco.
type ReadersCoco struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Folder of the images.
	FileRoot string `op:"file_root"`

	// File of annotations in JSON.
	AnnotationsFile string `op:"annotations_file"`

	// Names of the images to read, in this order; by default all, in the order of their ids.
	Images []string `op:"images"`

	// Boxes are left, top, right and bottom instead of x, y, width and height. Default: false.
	Ltrb bool `op:"ltrb"`

	// Boxes and vertices are fractions of the image instead of pixels. Default: false.
	Ratio bool `op:"ratio"`

	// Leaves images without boxes out. Default: false.
	SkipEmpty bool `op:"skip_empty"`

	// Leaves boxes out that are narrower or lower, in pixels. Default: 0.1.
	SizeThreshold op.Arg[float64] `op:"size_threshold"`

	// Keeps annotations of crowds. Default: true.
	IncludeIscrowd op.Arg[bool] `op:"include_iscrowd"`

	// Labels are the ids of categories; by default the categories are numbered from 1, in their order in the
	// file. Default: false.
	AvoidClassRemapping bool `op:"avoid_class_remapping"`

	// Adds an output with the ids of the images. Default: false.
	ImageIds bool `op:"image_ids"`

	// Adds outputs with the polygons of the boxes and their vertices. Default: false.
	PolygonMasks bool `op:"polygon_masks"`

	// Adds an output with the label of each pixel, from polygons and run lengths. Where masks overlap, the
	// largest label wins. Default: false.
	PixelwiseMasks bool `op:"pixelwise_masks"`

	// Writes the annotations to binary files, for preprocessed_annotations. Default: false.
	SavePreprocessedAnnotations bool `op:"save_preprocessed_annotations"`

	// Folder for save_preprocessed_annotations. It must exist.
	SavePreprocessedAnnotationsDir string `op:"save_preprocessed_annotations_dir"`

	// Folder of binary files to read instead of annotations_file.
	PreprocessedAnnotations string `op:"preprocessed_annotations"`

	// Like polygon_masks, but a polygon has the places of its coordinates, which are twice the places of its
	// vertices. Default: false. Deprecated: use polygon_masks
	Masks bool `op:"masks"`

	// The old name of image_ids. Deprecated: use image_ids
	SaveImgIds op.Arg[bool] `op:"save_img_ids"`

	// The old name of save_preprocessed_annotations. Deprecated: use save_preprocessed_annotations
	DumpMetaFiles op.Arg[bool] `op:"dump_meta_files"`

	// The old name of save_preprocessed_annotations_dir. Deprecated: use save_preprocessed_annotations_dir
	DumpMetaFilesPath string `op:"dump_meta_files_path"`

	// The old name of preprocessed_annotations. Deprecated: use preprocessed_annotations
	MetaFilesPath string `op:"meta_files_path"`

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

// ReadersNemoAsr are the arguments of readers.nemo_asr.
type ReadersNemoAsr struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of manifests, whose entries come one manifest after the other. Required.
	ManifestFilepaths []string `op:"manifest_filepaths"`

	// Leaves shorter samples out, in seconds; 0 keeps all. Default: 0.
	MinDuration float64 `op:"min_duration"`

	// Leaves longer samples out, in seconds; 0 keeps all. Default: 0.
	MaxDuration float64 `op:"max_duration"`

	// Type of the audio: float32, int32 or int16. Integers fill the type. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Takes the mean of the channels. Integers of several channels need downmix false. Default: true.
	Downmix op.Arg[bool] `op:"downmix"`

	// The rate that samples must have; by default any. Samples of another rate fail, as they are not resampled.
	// Default: -1.
	SampleRate op.Arg[float64] `op:"sample_rate"`

	// Quality of resampling, 0 to 100; no effect. Default: 50.
	Quality op.Arg[float64] `op:"quality"`

	// Adds an output with the rates. Default: true.
	ReadSampleRate op.Arg[bool] `op:"read_sample_rate"`

	// Adds an output with the texts. Default: true.
	ReadText op.Arg[bool] `op:"read_text"`

	// Adds an output with the indices. Default: false.
	ReadIdxs bool `op:"read_idxs"`

	// Ignored. Deprecated: it has no effect
	NormalizeText op.Arg[bool] `op:"normalize_text"`

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
