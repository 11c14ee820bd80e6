package s3_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/buckettest"
	"github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// The driver keeps the laws of object.Bucket on a real server.
func TestLaws(t *testing.T) {
	server := s3test.Start(t)
	url := server.Bucket(t, "laws")
	b, _, err := s3.Open(context.Background(), url, s3.Options{Credentials: server.Credentials()})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	buckettest.Run(t, buckettest.Server{
		Open:              func(*testing.T) (object.Bucket, string) { return b, fmt.Sprintf("law-%02d/", n.Add(1)) },
		ConditionalDelete: true, WholeSum: true, FileKeys: true,
	})
}
