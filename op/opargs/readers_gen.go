// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
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

	// Reads files instead of mapping them, which is always so; no effect. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Leaves out what a decoder has cached; no effect: there is no such cache. Default: false.
	SkipCachedImages bool `op:"skip_cached_images"`
}
