// Package s3 opens the board of a cluster in a bucket of S3, or of a server that speaks S3:
// s3://bucket/run/.cluster. It registers the scheme s3 with cluster.Register, and is imported for
// this effect. The URL has the parameters of store/object/s3, and
// credentials are searched for in the same places.
package s3

import (
	"context"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/bucket"
	"github.com/bivouac-ml/bivouac/store/object/s3"
)

func init() { cluster.Register("s3", open) }

func open(ctx context.Context, url string) (cluster.Board, error) {
	b, prefix, err := s3.Open(ctx, url, s3.Options{})
	if err != nil {
		return nil, err
	}
	return bucket.New(ctx, b, prefix)
}
