package pipeline_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A call while another one is under way fails with errs.Busy, and the call under way ends as if it
// had been alone.
func TestCallsAtTheSameTime(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	p := start(t, pipeline.Options{BatchSize: 1, Prefetch: pipeline.NoPrefetch},
		external(pipeline.SampleFunc(func(context.Context, pipeline.SampleInfo) ([]tensor.Tensor, error) {
			entered <- struct{}{}
			<-open
			return []tensor.Tensor{ints(7)}, nil
		}), pipeline.SourceOptions{}))
	done := make(chan error)
	go func() {
		b, err := p.Next(t.Context())
		if err == nil && b.Outputs[0].NumSamples() != 1 {
			err = errors.New("not the batch")
		}
		done <- err
	}()
	<-entered
	for name, call := range map[string]func() error{
		"Next":        func() error { _, err := p.Next(t.Context()); return err },
		"Begin":       func() error { _, err := p.Begin(t.Context(), true); return err },
		"Take":        func() error { _, err := p.Take(t.Context()); return err },
		"Release":     p.Release,
		"Unfed":       func() error { _, err := p.Unfed(1); return err },
		"Feed":        func() error { return p.Feed("in", []pipeline.Data{ints(1)}, nil) },
		"Skip":        p.Skip,
		"Reset":       p.Reset,
		"AppendState": func() error { _, err := p.AppendState(nil); return err },
		"SetState":    func() error { return p.SetState([]byte("{}")) },
		"Close":       p.Close,
	} {
		if err := call(); !errors.Is(err, errs.Busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(open)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Of the calls of several goroutines those that do not fail with errs.Busy move the stream by one
// batch each, and nothing else goes wrong.
func TestManyCallers(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 1}, files(dataset(t, 5)))
	var delivered atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				switch _, err := p.Next(context.Background()); {
				case err == nil:
					delivered.Add(1)
				case !errors.Is(err, errs.Busy):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if p.Position() != delivered.Load() || delivered.Load() == 0 {
		t.Errorf("the stream is at %d after %d batches", p.Position(), delivered.Load())
	}
}
