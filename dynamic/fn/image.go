package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
)

// ReadImage is the image of a file: HWC, as decoders.image decodes it.
func ReadImage(ctx context.Context, path string, args DecodersImageArgs) *dynamic.Tensor {
	return DecodersImage(ctx, dynamic.ReadFile(ctx, path), args)
}

// ReadImages is a batch of the images of files, in their order: HWC, as decoders.image
// decodes them. A file that cannot be read or decoded fails the batch.
func ReadImages(ctx context.Context, paths []string, args DecodersImageArgs) *dynamic.Batch {
	return DecodersImage(ctx, dynamic.ReadFiles(ctx, paths...), args)
}
