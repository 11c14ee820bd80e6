package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/pipeline"
	_ "github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// inBucket saves a state in a bucket, and loads it into another one.
func inBucket(ctx context.Context, state, other any) error {
	if err := checkpoint.Save(ctx, "s3://bucket/runs/7", state, nil); err != nil {
		return err
	}
	return checkpoint.LoadInto(ctx, "s3://bucket/runs/7", other, nil)
}

// The guide of buckets shows inBucket, and says that a job is the same.
func TestBucket(t *testing.T) {
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
	saved, loaded := map[string][]float32{"w": {1, 2}}, map[string][]float32{"w": {0, 0}}
	if err := inBucket(t.Context(), saved, loaded); err != nil || loaded["w"][1] != 2 {
		t.Fatal(loaded, err)
	}
	for range 2 { // the second job finds nothing left to do
		state := map[string][]float32{"w": {0}}
		step := func(batch *pipeline.Batch) { state["w"][0] += float32(batch.Outputs[0].NumSamples()) }
		if err := train(t.Context(), files.TrainDir(), "s3://bucket/runs/digits", state, step); err != nil {
			t.Fatal(err)
		}
		if state["w"][0] != 1280 {
			t.Fatalf("%v images, want 1280", state["w"][0])
		}
	}
}
