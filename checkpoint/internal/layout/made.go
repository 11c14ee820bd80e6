package layout

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// made is an array that lies in no file by itself: a function fills boxes of it.
type made struct {
	shape tensor.Shape
	size  int // of an element
	read  func(ctx context.Context, box zarr.Box, dst []byte) error
}

// Make gives the leaf, which has a DType and a Shape, an array whose boxes read
// fills, in C order and from several goroutines. It verifies what it reads.
func (l *Leaf) Make(read func(ctx context.Context, box zarr.Box, dst []byte) error) {
	l.array = made{l.Shape, l.DType.Size(), read}
}

// unit implements source: an element.
func (m made) unit() []int { return slices.Repeat([]int{1}, len(m.shape)) }

// readRegion implements source.
func (m made) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	if place, ok := box.Run(region, m.size); ok {
		return m.read(ctx, region, dst[place.Offset:place.Offset+place.Length])
	}
	b := w.take(&w.whole, region.Len()*m.size)
	if err := m.read(ctx, region, b); err != nil {
		return err
	}
	zarr.CopyBox(box, dst, region, b, m.size)
	return nil
}

// checkBox implements source.
func (m made) checkBox(zarr.Box, []byte) error { return nil }

// entire implements source.
func (m made) entire() bool { return false }
