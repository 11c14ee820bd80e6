package gcs_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/buckettest"
	"github.com/bivouac-ml/bivouac/store/object/gcs"
	"github.com/bivouac-ml/bivouac/store/object/gcs/gcstest"
)

// serverURL is the environment variable with the URL of a bucket on which the laws are tried, such
// as gs://bucket?endpoint=http://127.0.0.1:9000. They put and remove keys below laws-….
const serverURL = "BIVOUAC_TEST_GCS"

// The driver keeps the laws of object.Bucket on a server that the caller names: Google Cloud
// Storage or an emulator.
func TestLawsOnAServer(t *testing.T) {
	url := os.Getenv(serverURL)
	if url == "" {
		t.Skipf("%s names no bucket", serverURL)
	}
	laws(t, url, gcs.Options{})
}

func laws(t *testing.T, url string, o gcs.Options) {
	t.Helper()
	b, _, err := gcs.Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	beginning := time.Now().UnixNano()
	buckettest.Run(t, buckettest.Server{
		Open: func(*testing.T) (object.Bucket, string) {
			return b, fmt.Sprintf("laws-%d/%02d/", beginning, n.Add(1))
		},
		ConditionalDelete: true, WholeSum: true,
	})
}

// The driver keeps the laws of object.Bucket on a server in memory.
func TestLaws(t *testing.T) {
	laws(t, gcstest.Start(t).Bucket(t, "laws"), gcs.Options{})
}
