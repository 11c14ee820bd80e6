// Package op defines operators: the schema that describes an operator, the registry that finds it,
// the kernel that computes it, and the arguments that a graph gives it. The package does not depend
// on graphs or threads.
//
// # Schemas
//
// A [Schema] is the single source of an operator's interface: name and module path (as in DALI),
// inputs, outputs and parameters with type, default and meaning. Validation, the typed builders of
// pipeline/fn and the documentation are made from it.
//
// # Arguments
//
// A parameter takes a constant ([Const]) or, if the schema allows it, one value per sample ([Of]).
// The zero [Arg] is the default. A graph resolves the arguments of a node into a [Config]. The
// schema's New makes a [Kernel] from it.
//
// # Kernels
//
// A kernel is made once per node and executor. Many workers may run it at once, each with its own
// [Block]. So a kernel holds no state that changes. State that a worker reuses is in [PerWorker],
// and memory for one run comes from [Scratch].
//
//	┌ Block ───────────────────────────────────────────────┐
//	│ In(i, s)    sample s of input i          (read only) │
//	│ Out(i, s …) memory for sample s of output i          │
//	│ Alias       passes (a view of) an input through      │
//	│ RNG(s)      the random stream of sample s at this op │
//	│ Scratch     memory until Run returns                 │
//	└──────────────────────────────────────────────────────┘
//
// The executor decides how many samples a block has. The number never changes the result of an
// operator, unless its kernel is [Batched].
package op

import "github.com/bivouac-ml/bivouac/internal/enum"

// ImageType is the colour space of a decoded image, with DALI's numbers.
type ImageType uint8

// The image types. Operators refuse types that they do not support.
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

// Region is a part of an image: its first row and column, its height and its width.
type Region struct{ Y, X, H, W int }

// Regional is implemented by kernels that may read only a part of their first input, an image of
// layout HWC. The node that makes the image may leave out the rest if it feeds no other node.
type Regional interface {
	// Region returns the part of sample s that Run will read, for an image of the given height and
	// width. ok is false if the part is not known. All other inputs of the sample are present. Run
	// returns the same error.
	Region(b *Block, s, height, width int) (r Region, ok bool)
}

// Windowed is implemented by kernels whose only output is an image and that can compute only a part
// of it. They get the part from [Block.Wanted].
type Windowed interface {
	// Windowed reports whether this kernel, with its arguments, can compute only a part.
	Windowed() bool
}

// Wanted returns the part of sample s of output 0 that will be read, for an image of the given
// height and width. ok is false if the whole image may be read. The other elements may have any
// value, but the sample has the shape of the whole image.
func (b *Block) Wanted(s, height, width int) (r Region, ok bool) {
	if b.x.Wanted == nil {
		return Region{}, false
	}
	return b.x.Wanted(s, height, width)
}
