// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// DecodersAudio are the arguments of decoders.audio.
type DecodersAudio struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether the mean of the channels is taken. Default: false.
	Downmix bool `op:"downmix"`

	// Type of the sound: float32 from -1 to 1, or int16 or int32 that fill the type. Floats of a file become
	// integers as they are, unless the sound is resampled or mixed. Default: float32.
	DType tensor.DType `op:"dtype"`

	// Quality of resampling, 0 to 100; see audio_resample. Default: 50.
	Quality op.Arg[float64] `op:"quality"`

	// Frames per second of the output; 0 is the rate of the file. Default: 0.
	SampleRate op.Arg[float64] `op:"sample_rate"`
}

// DecodersImage are the arguments of decoders.image.
type DecodersImage struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels that the file has. Default:
	// RGB.
	OutputType op.ImageType `op:"output_type"`

	// Type of the output. Integers use the whole range of the type; float32 is from 0 to 1. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// Whether images are turned as their EXIF orientation says. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`

	// Whether JPEG files are decoded with the fast inverse transform of libjpeg-turbo, whose error is up to five
	// levels. Default: false.
	UseFastIdct bool `op:"use_fast_idct"`

	// For decoders on GPUs; accepted, but has no effect. Default: true.
	Affine op.Arg[bool] `op:"affine"`

	// For decoders on GPUs; accepted, but has no effect. Default: 16777216.
	DeviceMemoryPadding op.Arg[int] `op:"device_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	DeviceMemoryPaddingJpeg2k int `op:"device_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 8388608.
	HostMemoryPadding op.Arg[int] `op:"host_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	HostMemoryPaddingJpeg2k int `op:"host_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.65.
	HwDecoderLoad op.Arg[float64] `op:"hw_decoder_load"`

	// For decoders on GPUs; accepted, but has no effect. Default: 1000000.
	HybridHuffmanThreshold op.Arg[int] `op:"hybrid_huffman_threshold"`

	// For decoders on GPUs; accepted, but has no effect. Default: false.
	JpegFancyUpsampling bool `op:"jpeg_fancy_upsampling"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	MemoryStats bool `op:"memory_stats"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateHeightHint int `op:"preallocate_height_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateWidthHint int `op:"preallocate_width_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	SplitStages bool `op:"split_stages"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	UseChunkAllocator bool `op:"use_chunk_allocator"`

	// For the cache of decoders on GPUs; accepted, but has no effect. Default: true.
	CacheBatchCopy op.Arg[bool] `op:"cache_batch_copy"`

	// For the cache of decoders on GPUs; accepted, but has no effect. Default: false.
	CacheDebug bool `op:"cache_debug"`

	// For the cache of decoders on GPUs; accepted, but has no effect. Default: 0.
	CacheSize int `op:"cache_size"`

	// For the cache of decoders on GPUs; accepted, but has no effect. Default: 0.
	CacheThreshold int `op:"cache_threshold"`

	// For the cache of decoders on GPUs; accepted, but has no effect. Default: "".
	CacheType string `op:"cache_type"`
}

// DecodersImageCrop are the arguments of decoders.image_crop.
type DecodersImageCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels that the file has. Default:
	// RGB.
	OutputType op.ImageType `op:"output_type"`

	// Type of the output. Integers use the whole range of the type; float32 is from 0 to 1. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// Whether images are turned as their EXIF orientation says. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`

	// Whether JPEG files are decoded with the fast inverse transform of libjpeg-turbo, whose error is up to five
	// levels. Default: false.
	UseFastIdct bool `op:"use_fast_idct"`

	// For decoders on GPUs; accepted, but has no effect. Default: true.
	Affine op.Arg[bool] `op:"affine"`

	// For decoders on GPUs; accepted, but has no effect. Default: 16777216.
	DeviceMemoryPadding op.Arg[int] `op:"device_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	DeviceMemoryPaddingJpeg2k int `op:"device_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 8388608.
	HostMemoryPadding op.Arg[int] `op:"host_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	HostMemoryPaddingJpeg2k int `op:"host_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.65.
	HwDecoderLoad op.Arg[float64] `op:"hw_decoder_load"`

	// For decoders on GPUs; accepted, but has no effect. Default: 1000000.
	HybridHuffmanThreshold op.Arg[int] `op:"hybrid_huffman_threshold"`

	// For decoders on GPUs; accepted, but has no effect. Default: false.
	JpegFancyUpsampling bool `op:"jpeg_fancy_upsampling"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	MemoryStats bool `op:"memory_stats"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateHeightHint int `op:"preallocate_height_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateWidthHint int `op:"preallocate_width_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	SplitStages bool `op:"split_stages"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	UseChunkAllocator bool `op:"use_chunk_allocator"`

	// Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with
	// crop_d, crop_h and crop_w.
	Crop op.Arg[[]float64] `op:"crop"`

	// Depth of the window of a volume, or number of frames of the window of a sequence; given together with
	// crop_h and crop_w. Default: 0.
	CropD op.Arg[float64] `op:"crop_d"`

	// Height of the window; given together with crop_w. Default: 0.
	CropH op.Arg[float64] `op:"crop_h"`

	// Width of the window; given together with crop_h. Default: 0.
	CropW op.Arg[float64] `op:"crop_w"`

	// Horizontal place of the window: 0 at the left edge, 1 at the right edge. Default: 0.5.
	CropPosX op.Arg[float64] `op:"crop_pos_x"`

	// Vertical place of the window: 0 at the top, 1 at the bottom. Default: 0.5.
	CropPosY op.Arg[float64] `op:"crop_pos_y"`

	// Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back.
	// Default: 0.5.
	CropPosZ op.Arg[float64] `op:"crop_pos_z"`

	// How the position becomes a pixel: "round" (half away from zero) or "truncate". Default: "round".
	Rounding op.Arg[string] `op:"rounding"`
}

// DecodersImageRandomCrop are the arguments of decoders.image_random_crop.
type DecodersImageRandomCrop struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels that the file has. Default:
	// RGB.
	OutputType op.ImageType `op:"output_type"`

	// Type of the output. Integers use the whole range of the type; float32 is from 0 to 1. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// Whether images are turned as their EXIF orientation says. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`

	// Whether JPEG files are decoded with the fast inverse transform of libjpeg-turbo, whose error is up to five
	// levels. Default: false.
	UseFastIdct bool `op:"use_fast_idct"`

	// For decoders on GPUs; accepted, but has no effect. Default: true.
	Affine op.Arg[bool] `op:"affine"`

	// For decoders on GPUs; accepted, but has no effect. Default: 16777216.
	DeviceMemoryPadding op.Arg[int] `op:"device_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	DeviceMemoryPaddingJpeg2k int `op:"device_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 8388608.
	HostMemoryPadding op.Arg[int] `op:"host_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	HostMemoryPaddingJpeg2k int `op:"host_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.65.
	HwDecoderLoad op.Arg[float64] `op:"hw_decoder_load"`

	// For decoders on GPUs; accepted, but has no effect. Default: 1000000.
	HybridHuffmanThreshold op.Arg[int] `op:"hybrid_huffman_threshold"`

	// For decoders on GPUs; accepted, but has no effect. Default: false.
	JpegFancyUpsampling bool `op:"jpeg_fancy_upsampling"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	MemoryStats bool `op:"memory_stats"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateHeightHint int `op:"preallocate_height_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateWidthHint int `op:"preallocate_width_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	SplitStages bool `op:"split_stages"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	UseChunkAllocator bool `op:"use_chunk_allocator"`

	// Range of the window's area as a fraction of the image's. Default: 0.08 1.
	RandomArea []float64 `op:"random_area"`

	// Range of the window's width over its height. Default: 0.75 1.333.
	RandomAspectRatio []float64 `op:"random_aspect_ratio"`

	// Number of draws before the largest window that fits is taken. Default: 10.
	NumAttempts op.Arg[int] `op:"num_attempts"`

	// Seed of this operator; -1: the pipeline's seed. Default: -1.
	Seed op.Arg[int] `op:"seed"`
}

// DecodersImageSlice are the arguments of decoders.image_slice.
type DecodersImageSlice struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Colour space of the output: RGB, BGR, GRAY, YCbCr, or ANY_DATA for the channels that the file has. Default:
	// RGB.
	OutputType op.ImageType `op:"output_type"`

	// Type of the output. Integers use the whole range of the type; float32 is from 0 to 1. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// Whether images are turned as their EXIF orientation says. Default: true.
	AdjustOrientation op.Arg[bool] `op:"adjust_orientation"`

	// Whether JPEG files are decoded with the fast inverse transform of libjpeg-turbo, whose error is up to five
	// levels. Default: false.
	UseFastIdct bool `op:"use_fast_idct"`

	// For decoders on GPUs; accepted, but has no effect. Default: true.
	Affine op.Arg[bool] `op:"affine"`

	// For decoders on GPUs; accepted, but has no effect. Default: 16777216.
	DeviceMemoryPadding op.Arg[int] `op:"device_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	DeviceMemoryPaddingJpeg2k int `op:"device_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 8388608.
	HostMemoryPadding op.Arg[int] `op:"host_memory_padding"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	HostMemoryPaddingJpeg2k int `op:"host_memory_padding_jpeg2k"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.65.
	HwDecoderLoad op.Arg[float64] `op:"hw_decoder_load"`

	// For decoders on GPUs; accepted, but has no effect. Default: 1000000.
	HybridHuffmanThreshold op.Arg[int] `op:"hybrid_huffman_threshold"`

	// For decoders on GPUs; accepted, but has no effect. Default: false.
	JpegFancyUpsampling bool `op:"jpeg_fancy_upsampling"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	MemoryStats bool `op:"memory_stats"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateHeightHint int `op:"preallocate_height_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: 0.
	PreallocateWidthHint int `op:"preallocate_width_hint"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	SplitStages bool `op:"split_stages"`

	// For decoders on GPUs; accepted, but has no effect. Default: false. Deprecated: it has no effect
	UseChunkAllocator bool `op:"use_chunk_allocator"`

	// Axes of the window, in the order of its values; negative numbers count from the last axis. Default: 1 0.
	Axes op.Arg[[]int] `op:"axes"`

	// The axes by the letters of the layout; overrides axes. Default: "WH".
	AxisNames op.Arg[string] `op:"axis_names"`

	// Whether an input anchor of floats is relative to the extents. Default: true.
	NormalizedAnchor op.Arg[bool] `op:"normalized_anchor"`

	// Whether an input shape of floats is relative to the extents. Default: true.
	NormalizedShape op.Arg[bool] `op:"normalized_shape"`

	// First element of the window on each axis; the default is 0.
	Start op.Arg[[]int] `op:"start"`

	// Start of the window on each axis, relative to the extents.
	RelStart op.Arg[[]float64] `op:"rel_start"`

	// End of the window on each axis: the element after its last; the default is the extent.
	End op.Arg[[]int] `op:"end"`

	// End of the window on each axis, relative to the extents.
	RelEnd op.Arg[[]float64] `op:"rel_end"`

	// Extent of the window on each axis.
	Shape op.Arg[[]int] `op:"shape"`

	// Extent of the window on each axis, relative to the extents of the data.
	RelShape op.Arg[[]float64] `op:"rel_shape"`
}

// DecodersInflate are the arguments of decoders.inflate.
type DecodersInflate struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// How the data is compressed: LZ4, as blocks without a frame. Default: "LZ4".
	Algorithm op.Arg[string] `op:"algorithm"`

	// Accepted, but has no effect: sizes are always checked. Default: false.
	CheckOutputSize bool `op:"check_output_size"`

	// Where each chunk begins. By default each chunk begins where the chunk before it ends.
	ChunkOffsets op.Arg[[]int] `op:"chunk_offsets"`

	// Bytes of each chunk. By default each chunk ends where the next chunk begins.
	ChunkSizes op.Arg[[]int] `op:"chunk_sizes"`

	// Type of the data. Default: uint8.
	DType tensor.DType `op:"dtype"`

	// Layout of a chunk after decompression. Default: "".
	Layout string `op:"layout"`

	// The letter of the axis of chunks. It has no effect without a layout or without chunks. Default: "F".
	SequenceAxisName op.Arg[string] `op:"sequence_axis_name"`

	// Shape of a chunk after decompression. Required.
	Shape op.Arg[[]int] `op:"shape"`
}

// DecodersNumpy are the arguments of decoders.numpy.
type DecodersNumpy struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Type of the output. It must be given, because the type must be known before the data.
	DType tensor.DType `op:"dtype"`
}

// DecodersVideo are the arguments of decoders.video.
type DecodersVideo struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Numbers of the frames, in any order; a frame may be named twice.
	Frames op.Arg[[]int] `op:"frames"`

	// The first frame; by default 0.
	StartFrame op.Arg[int] `op:"start_frame"`

	// The end of the frames: one more than the last frame. Not with sequence_length.
	EndFrame op.Arg[int] `op:"end_frame"`

	// Number of frames. Not with end_frame.
	SequenceLength op.Arg[int] `op:"sequence_length"`

	// Frames from one frame to the next; by default 1.
	Stride op.Arg[int] `op:"stride"`

	// What stands for frames that the video does not have: none leaves them out, and is an error for frames;
	// constant is fill_value; edge (or repeat) the nearest frame; reflect_101 (reflect) or reflect_1001
	// (symmetric) the video back and forth. Default: "constant".
	PadMode op.Arg[string] `op:"pad_mode"`

	// Colour of pad_mode constant: a number from 0 to 255, or one for each channel. Default: 0.
	FillValue []int `op:"fill_value"`

	// Whether key frames are looked for first; has no effect: it is always done. Default: true.
	BuildIndex op.Arg[bool] `op:"build_index"`

	// Whether threads of decoders in hardware keep to a processor; has no effect. Default: true.
	Affine op.Arg[bool] `op:"affine"`
}
