package azure_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
	"github.com/bivouac-ml/bivouac/store/object/azure/azuretest"
	"github.com/bivouac-ml/bivouac/store/object/buckettest"
)

// The driver keeps the laws of object.Bucket on Azurite.
func TestLaws(t *testing.T) {
	lonely(t)
	server := azuretest.Start(t)
	url := server.Container(t, "laws")
	b, _, err := azure.Open(context.Background(), url, azure.Options{Key: server.Key})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	buckettest.Run(t, buckettest.Server{
		Open:              func(*testing.T) (object.Bucket, string) { return b, fmt.Sprintf("law-%02d/", n.Add(1)) },
		ConditionalDelete: true, NoBackslash: true,
	})
}
