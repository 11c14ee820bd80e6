package op

// Region is a part of an image: a row, a column, and how many of both.
type Region struct{ Y, X, H, W int }

// Regional is implemented by kernels that may read no more than a part of the image,
// of layout HWC, that is their first input. What makes it, and feeds nothing else,
// may leave out the rest.
type Regional interface {
	// Region returns the part of sample s that Run will read, of an image of that
	// height and width; ok is false where that cannot be told. All other inputs of the
	// sample are there. An error is that of Run.
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
