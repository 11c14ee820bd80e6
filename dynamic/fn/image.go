package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
)

// ReadImage returns the image of a file in layout HWC, as decoders.image decodes it.
func ReadImage(ctx context.Context, path string, args DecodersImageArgs) *dynamic.Tensor {
	return DecodersImage(ctx, dynamic.ReadFile(ctx, path), args)
}

// ReadImages returns a batch of the images of files, in the order of paths, in layout HWC, as
// decoders.image decodes them. If a file cannot be read or decoded, the batch fails.
func ReadImages(ctx context.Context, paths []string, args DecodersImageArgs) *dynamic.Batch {
	return DecodersImage(ctx, dynamic.ReadFiles(ctx, paths...), args)
}
