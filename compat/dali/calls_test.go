package dali_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestReadersTell asks a pipeline for the sizes of the data sets of its readers.
func TestReadersTell(t *testing.T) {
	root := numbered(t, 7)
	p := startPipe(t, dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2}},
		func(b *pipeline.Builder) []pipeline.Node {
			part := b.Op("readers.file", op.Args{"name": "part", "file_root": root, "num_shards": 2, "shard_id": 1,
				"pad_last_batch": true})
			whole := b.Op("readers.file", op.Args{"name": "whole", "file_root": root, "stick_to_shard": true})
			return append(part, whole...)
		})
	if d := cmp.Diff(map[string]int64{"part": 8, "whole": 7}, p.EpochSizes()); d != "" {
		t.Errorf("sizes (-want +got):\n%s", d)
	}
	got, err := p.ReaderMeta("part")
	if want := (dali.ReaderMeta{EpochSize: 7, EpochSizePadded: 8, NumberOfShards: 2, ShardID: 1,
		PadLastBatch: 1}); err != nil || got != want {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	got, err = p.ReaderMeta("whole")
	if want := (dali.ReaderMeta{EpochSize: 7, EpochSizePadded: 7, NumberOfShards: 1,
		StickToShard: 1}); err != nil || got != want {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	if _, err := p.ReaderMeta("other"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a reader that is not there: %v", err)
	}
}

// TestWaysAreNotMixed holds the check of DALI: Run, ScheduleRun with its kin and iterators are not
// mixed.
func TestWaysAreNotMixed(t *testing.T) {
	ctx := t.Context()
	make := func() *dali.Pipeline { return startPipe(t, dali.PipelineOptions{}, number) }
	p := make()
	if err := p.Build(); err != nil {
		t.Error(err)
	}
	if _, err := p.Run(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.ScheduleRun(ctx); !errors.Is(err, errs.Invalid) {
		t.Errorf("ScheduleRun after Run: %v", err)
	}
	if _, err := p.Next(ctx); err != nil {
		t.Errorf("Next is not part of the check: %v", err)
	}
	p.EnableAPICheck(false)
	if err := p.ScheduleRun(ctx); err != nil {
		t.Errorf("without the check: %v", err)
	}
	p = make()
	if _, err := dali.NewIterator(ctx, []*dali.Pipeline{p}, dali.IteratorOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(ctx, nil); !errors.Is(err, errs.Invalid) {
		t.Errorf("Run after an iterator: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"Build": p.Build(), "ScheduleRun": p.ScheduleRun(ctx),
		"ReleaseOutputs": p.ReleaseOutputs()} {
		if !errors.Is(err, errs.Closed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestDALICallsAtTheSameTime makes calls while another one is under way. They fail and change
// nothing.
func TestDALICallsAtTheSameTime(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	ones := pipeline.SampleFunc(func(context.Context, pipeline.SampleInfo) ([]tensor.Tensor, error) {
		entered <- struct{}{}
		<-open
		return []tensor.Tensor{ints(7)}, nil
	})
	o := dali.PipelineOptions{Options: pipeline.Options{Prefetch: pipeline.NoPrefetch}}
	p := startPipe(t, o, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, ones, pipeline.SourceOptions{Name: "in"})
	})
	done := make(chan error)
	go func() {
		_, err := p.Run(t.Context(), nil)
		done <- err
	}()
	<-entered
	for name, call := range map[string]func() error{
		"Run":            func() error { _, err := p.Run(t.Context(), nil); return err },
		"ScheduleRun":    func() error { return p.ScheduleRun(t.Context()) },
		"ShareOutputs":   func() error { _, err := p.ShareOutputs(t.Context()); return err },
		"ReleaseOutputs": p.ReleaseOutputs,
		"FeedInput":      func() error { return p.FeedInput("in", ints(1), nil) },
		"Reset":          p.Reset,
		"SetState":       func() error { return p.SetState([]byte("{}")) },
		"Close":          p.Close,
	} {
		if err := call(); !errors.Is(err, errs.Busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(open)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := p.InputFeedCount("out"); !errors.Is(err, errs.NotFound) {
		t.Errorf("an input that is not there: %v", err)
	}
}

// TestIterSetupFeedsRun lets Run call IterSetup, which feeds the pipeline that calls it.
func TestIterSetupFeedsRun(t *testing.T) {
	d, err := dali.DefineBy(native(pipeline.Options{BatchSize: 2}), &counted{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // nothing was written
	for i := range 3 {
		b, err := p.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := firsts(t, b)[1]; got != float64(i+1) {
			t.Errorf("run %d gives %v", i, got)
		}
	}
	if _, err := p.Run(t.Context(), nil); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
