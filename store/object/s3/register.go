package s3

import (
	"context"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

func init() {
	web.Register("s3", opOpen, func(ctx context.Context, url string) (object.Bucket, error) {
		b, _, err := Open(ctx, url, Options{})
		return b, err
	})
}
