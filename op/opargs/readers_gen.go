// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ReadersArrayRecord are the arguments of readers.array_record.
type ReadersArrayRecord struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. Required.
	Paths []string `op:"paths"`

	// Memory for parts of files that were decoded and hold other samples too; the part that was decoded last
	// always stays. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

// ReadersArrow are the arguments of readers.arrow.
type ReadersArrow struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. Required.
	Paths []string `op:"paths"`

	// Names of the columns, an output each; by default all, in the order of the first file.
	Columns []string `op:"columns"`

	// Number that stands for null in numbers; null strings and lists become empty. By default a null is an error
	// of its sample.
	Nulls op.Arg[float64] `op:"nulls"`

	// Memory for parts of files that were decoded and hold other samples too; the part that was decoded last
	// always stays. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersCsv are the arguments of readers.csv.
type ReadersCsv struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name.
	// Required.
	Path []string `op:"path"`

	// The index that bivouac index made; by default bivouac.index beside the first file, or else the records are
	// found when the data set is opened.
	IndexPath string `op:"index_path"`

	// Names of the columns to read; by default all.
	Columns []string `op:"columns"`

	// Type of each column, or one for all; text is uint8, the default.
	Dtypes []tensor.DType `op:"dtypes"`

	// Whether the first row of each file has the names of its columns. Default: true.
	Header op.Arg[bool] `op:"header"`

	// Names of all columns in the order of the files, instead of the header; without both, columns are 0, 1, ….
	Names []string `op:"names"`

	// The character between fields; by default a tab if the first file is called .tsv, and a comma otherwise.
	Delimiter string `op:"delimiter"`

	// The character around fields that have delimiters or line ends; an empty text: none. Default: "\"".
	Quote op.Arg[string] `op:"quote"`

	// What a sample gets for a field that is not there: error, empty (no elements) or default (a value of
	// defaults). Default: "error".
	Missing op.Arg[string] `op:"missing"`

	// Values of missing fields, one for each field, as they would stand in the file.
	Defaults []string `op:"defaults"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersFolder are the arguments of readers.folder.
type ReadersFolder struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The folder. Required.
	Path string `op:"path"`

	// The split, such as train; by default the only one. Default: "".
	Split string `op:"split"`

	// Names of the columns of the metadata to read; by default all, in the order of the file.
	Columns []string `op:"columns"`

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

// ReadersJsonl are the arguments of readers.jsonl.
type ReadersJsonl struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name.
	// Required.
	Path []string `op:"path"`

	// The index that bivouac index made; by default bivouac.index beside the first file, or else the records are
	// found when the data set is opened.
	IndexPath string `op:"index_path"`

	// Names of members, with dots for members of members: meta.length. A backslash makes a dot part of a name.
	// Required.
	Fields []string `op:"fields"`

	// Type of each field, or one for all; text is uint8. By default the first value of a field tells: uint8,
	// bool, int64 or float64.
	Dtypes []tensor.DType `op:"dtypes"`

	// What a sample gets for a field that is not there: error, empty (no elements) or default (a value of
	// defaults). Default: "error".
	Missing op.Arg[string] `op:"missing"`

	// Values of missing fields, one for each field, as they would stand in the file.
	Defaults []string `op:"defaults"`

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

// ReadersLitdata are the arguments of readers.litdata.
type ReadersLitdata struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// The folder with the index.json. Required.
	Path string `op:"path"`

	// Names of the leaves, an output each, such as label or meta.id; by default all.
	Columns []string `op:"columns"`

	// Tokens of a sample, of data that litdata's TokensLoader reads. What is left at the end of a chunk is left
	// out, as there.
	BlockSize op.Arg[int] `op:"block_size"`

	// Memory for parts of files that were decoded and hold other samples too; the part that was decoded last
	// always stays. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

// ReadersMds are the arguments of readers.mds.
type ReadersMds struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Folders with an index.json, in this order. Required.
	Paths []string `op:"paths"`

	// Names of the columns, an output each; by default all, in the order of index.json.
	Columns []string `op:"columns"`

	// Compares each shard with its hashes in index.json when it is first read. Default: true.
	VerifyHashes op.Arg[bool] `op:"verify_hashes"`

	// Memory for parts of files that were decoded and hold other samples too; the part that was decoded last
	// always stays. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

// ReadersMxnet are the arguments of readers.mxnet.
type ReadersMxnet struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the RecordIO files, in this order. Required.
	Path []string `op:"path"`

	// An index with a line "key offset" for each record: one for each file, or one for all files, as if they were
	// one after the other; or one bivouac.index. An empty list stands for the bivouac.index beside the data, or
	// for what is found in the files. Required.
	IndexPath []string `op:"index_path"`

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

	// The rate to which samples are resampled; by default they keep theirs. Default: -1.
	SampleRate op.Arg[float64] `op:"sample_rate"`

	// Quality of resampling, 0 to 100; see audio_resample. Default: 50.
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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersNpz are the arguments of readers.npz.
type ReadersNpz struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name.
	// Required.
	Path []string `op:"path"`

	// Names of the arrays to read; by default all of the first file, sorted by name.
	Columns []string `op:"columns"`

	// Whether the checksum of an array is compared, once, before its first row is read. That reads the whole
	// array. Default: true.
	Verify op.Arg[bool] `op:"verify"`

	// Memory for arrays that are read as a whole. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersParquet are the arguments of readers.parquet.
type ReadersParquet struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. Required.
	Paths []string `op:"paths"`

	// Names of the columns, an output each; by default all, in the order of the first file.
	Columns []string `op:"columns"`

	// Number that stands for null in numbers; null strings and lists become empty. By default a null is an error
	// of its sample.
	Nulls op.Arg[float64] `op:"nulls"`

	// Memory for parts of files that were decoded and hold other samples too; the part that was decoded last
	// always stays. Default: 268435456.
	CacheBytes op.Arg[int] `op:"cache_bytes"`

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

// ReadersSafetensors are the arguments of readers.safetensors.
type ReadersSafetensors struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name.
	// Required.
	Path []string `op:"path"`

	// Names of the arrays to read; by default all of the first file, sorted by name.
	Columns []string `op:"columns"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersTfrecord are the arguments of readers.tfrecord.
type ReadersTfrecord struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the TFRecord files, in this order. Required.
	Path []string `op:"path"`

	// An index of each file, with a line "offset length" for each record; or one bivouac.index. By default the
	// bivouac.index beside the data, or what is found in the files.
	IndexPath []string `op:"index_path"`

	// The features to read: name, type, and a fixed shape or a variable length. The default is the value of a
	// record without a fixed feature; one of variable length has no values then. Required.
	Features []op.Feature `op:"features"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}

// ReadersTokens are the arguments of readers.tokens.
type ReadersTokens struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name.
	// Required.
	Path []string `op:"path"`

	// Tokens of a sample; 0: each document is a sample. Default: 0.
	Window int `op:"window"`

	// Tokens from the start of a window to the start of the next; 0: window. window-1 gives inputs and targets
	// without a gap. Default: 0.
	Stride int `op:"stride"`

	// Whether the last tokens of a file that fill no window are a sample of their own. Default: false.
	KeepShort bool `op:"keep_short"`

	// Type of the tokens in plain arrays; pairs and npy files know theirs.
	DType tensor.DType `op:"dtype"`

	// Bytes before the tokens in plain arrays. Default: 0.
	HeaderBytes int `op:"header_bytes"`

	// Type of the output; by default the type of the files. A token that it cannot hold is an error.
	OutputDtype tensor.DType `op:"output_dtype"`

	// Whether there is a second output that says where documents end. Only pairs know it. Default: false.
	Boundaries bool `op:"boundaries"`

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

	// Reads files instead of mapping them; no effect: results are equal. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}
