package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/pipeline"
	_ "github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// trainInBucket is train with a bucket in place of a directory.
func trainInBucket(ctx context.Context, files string, state any, step func(*pipeline.Batch)) error {
	return train(ctx, files, "s3://bucket/runs/digits", state, step)
}

// The guide of buckets shows trainInBucket. A second call finds nothing left to do, and the state as
// it was.
func TestTrainInBucket(t *testing.T) {
	server := s3test.Start(t)
	server.Bucket(t, "bucket")
	t.Setenv("AWS_ACCESS_KEY_ID", server.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.Secret)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", server.Endpoint)
	files, err := digits.WriteDataset(t.Context(), filepath.Join(t.TempDir(), "digits"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		state := map[string][]float32{"w": {0}}
		step := func(batch *pipeline.Batch) { state["w"][0] += float32(batch.Outputs[0].NumSamples()) }
		if err := trainInBucket(t.Context(), files.TrainDir(), state, step); err != nil {
			t.Fatal(err)
		}
		if state["w"][0] != 1280 {
			t.Fatalf("%v images, want 1280", state["w"][0])
		}
	}
}
