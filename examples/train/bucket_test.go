package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/pipeline"
	_ "github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tensor"
)

// inBucket saves a state in a bucket, and loads it into another one.
func inBucket(ctx context.Context, state, other any) error {
	if err := checkpoint.Save(ctx, "s3://bucket/runs/7", state, nil); err != nil {
		return err
	}
	return checkpoint.LoadInto(ctx, "s3://bucket/runs/7", other, nil)
}

// withTiers opens a job that saves on a disk, and has every tenth of its saves in a bucket.
func withTiers[B any](ctx context.Context, run, bucket string, data stream.Stream[B],
	state any) (*bivouac.Job[B], error) {
	return bivouac.Open(ctx, run, data, bivouac.Options{
		State: state, SaveEvery: 100, Keep: 3, // on the disk
		Tiers: []training.Tier{{
			Directory: bucket, // s3://bucket/runs/7
			Save:      training.FixedInterval{Steps: 1000},
			Preserve:  training.LatestN{N: 10},
		}},
		Uploads: training.Uploads{Rate: 200 << 20}, // at most 200 MiB a second
	})
}

// machines trains a job with tiers on a machine, and goes on on a second one, which has nothing but
// the bucket.
func machines(t *testing.T) {
	for machine, until := range []int64{2000, 2500} {
		data, err := loader.New(make(loader.Slice[int], 100), loader.Options[int, tensor.Tensor]{BatchSize: 10, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		state := map[string][]float32{"steps": {0}}
		job, err := withTiers(t.Context(), t.TempDir(), "s3://bucket/runs/tiers", data, state)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := job.Resumed(); ok != (machine == 1) || ok && (at != 2000 || state["steps"][0] != 2000) {
			t.Errorf("machine %d resumed at %d, %v: %v", machine, at, ok, state)
		}
		for _, err := range job.Steps(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if job.Step() == until {
				break
			}
			state["steps"][0]++
		}
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
	}
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
	t.Run("tiers", machines) // with the same server: a URL has one store for the life of the process
	for range 2 {            // the second job finds nothing left to do
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
