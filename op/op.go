// Package op defines operators: the schema that describes an operator, the registry that finds it,
// the kernel that computes it and the arguments that a graph gives it. The package knows neither
// graphs nor threads.
//
// # Schemas
//
// A [Schema] is the single source of an operator's interface: name and module path (as in DALI),
// inputs, outputs and parameters with type, default and meaning. Validation, the typed builders of
// pipeline/fn and the documentation are made from it.
//
// # Arguments
//
// A parameter takes a constant, [Const], or where the schema allows it one
// value a sample, [Of]; the zero [Arg] is the default. A graph resolves the
// arguments of a node into a [Config], from which the schema's New makes a
// [Kernel].
//
// # Kernels
//
// A kernel is made once per node and executor. It may be run by many workers at
// once, each with a [Block] of its own, so it keeps nothing that changes in
// itself: what a worker reuses lives in [PerWorker], what one run needs in
// [Block.Scratch].
//
//	┌ Block ───────────────────────────────────────────────┐
//	│ In(i, s)    sample s of input i          (read only) │
//	│ Out(i, s …) memory for sample s of output i          │
//	│ Alias       passes (a view of) an input through      │
//	│ RNG(s)      the random stream of sample s at this op │
//	│ Scratch     memory until Run returns                 │
//	└──────────────────────────────────────────────────────┘
//
// How many samples a block has is up to the executor, and never enters the
// result of an operator unless its kernel is [Batched].
package op

import "github.com/bivouac-ml/bivouac/internal/enum"

// ImageType is the colour space of a decoded image, with DALI's numbers.
type ImageType uint8

// The image types. Those that no operator supports yet are refused by it.
const (
	RGB ImageType = iota
	BGR
	Gray
	YCbCr
	AnyData
)

// String returns DALI's name: "RGB".
func (t ImageType) String() string { return enum.Name(t, imageTypeNames, "unknown") }

var imageTypeNames = []string{"RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"}

// InterpType is a resampling filter, with DALI's numbers.
type InterpType uint8

// The filters.
const (
	InterpNN InterpType = iota
	InterpLinear
	InterpCubic
	InterpLanczos3
	InterpTriangular
	InterpGaussian
)

// String returns DALI's name: "INTERP_LINEAR".
func (t InterpType) String() string { return enum.Name(t, interpTypeNames, "unknown") }

var interpTypeNames = []string{
	"INTERP_NN", "INTERP_LINEAR", "INTERP_CUBIC", "INTERP_LANCZOS3", "INTERP_TRIANGULAR", "INTERP_GAUSSIAN",
}

// Region is a part of an image: a row, a column, and how many of both.
type Region struct{ Y, X, H, W int }

// Regional is implemented by kernels that may read only a part of their first input, an image of
// layout HWC. A node that makes the image, and feeds no other node, may leave out the rest.
type Regional interface {
	// Region returns the part of sample s that Run will read, for an image of the given height and
	// width. ok is false if the part is not known. All other inputs of the sample are present. Run
	// returns the same error.
	Region(b *Block, s, height, width int) (r Region, ok bool)
}

// Windowed is implemented by kernels that can make a part of the image which is their
// only output, and ask for it by [Block.Wanted].
type Windowed interface {
	// Windowed reports whether this kernel does, given its arguments.
	Windowed() bool
}

// Wanted returns the part that will be read of sample s of output 0, an image of that
// height and width; ok is false when all of it may be. The other elements may have
// any value, but the sample has the shape of the whole image.
func (b *Block) Wanted(s, height, width int) (r Region, ok bool) {
	if b.x.Wanted == nil {
		return Region{}, false
	}
	return b.x.Wanted(s, height, width)
}
