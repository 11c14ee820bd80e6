package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/telemetry"
)

// noted is an Observer that notes what it is told.
type noted struct {
	begun []telemetry.Operation
	ended []telemetry.Outcome
}

type partKey struct{}

// Begin implements telemetry.Observer.
func (n *noted) Begin(ctx context.Context, op telemetry.Operation) (context.Context, telemetry.Ending) {
	n.begun = append(n.begun, op)
	return context.WithValue(ctx, partKey{}, op.Name), func(o telemetry.Outcome) { n.ended = append(n.ended, o) }
}

// Batch implements telemetry.Observer.
func (*noted) Batch(context.Context, telemetry.Batch) {}

// Step implements telemetry.Observer.
func (*noted) Step(context.Context, telemetry.Step) {}

func TestBeginTellsTheObserverOfTheContext(t *testing.T) {
	var n noted
	op := telemetry.Operation{Name: telemetry.Save, Path: "run", Step: 3}
	ctx, told := telemetry.Begin(telemetry.With(t.Context(), &n), op)
	why := errors.New("disk full")
	told.End(telemetry.Outcome{Err: why, Bytes: 7})
	if len(n.begun) != 1 || n.begun[0] != op || ctx.Value(partKey{}) != telemetry.Save {
		t.Errorf("begun %v, in the context %v", n.begun, ctx.Value(partKey{}))
	}
	if len(n.ended) != 1 || n.ended[0].Err != why || n.ended[0].Bytes != 7 {
		t.Errorf("ended %v", n.ended)
	}
}

// TestNobodyWatches begins operations of contexts without an Observer: they stay as they are.
func TestNobodyWatches(t *testing.T) {
	for name, ctx := range map[string]context.Context{
		"never": t.Context(), "taken away": telemetry.With(telemetry.With(t.Context(), &noted{}), nil),
	} {
		if o := telemetry.Of(ctx); o != nil {
			t.Errorf("%s: observer %v, want nil", name, o)
		}
		part, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Load})
		told.End(telemetry.Outcome{})
		if part != ctx || told != nil {
			t.Errorf("%s: Begin changed the context, or returned an Ending", name)
		}
	}
}

func TestNobodyWatchesCostsNoMemory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		_, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Step: telemetry.NoStep})
		told.End(telemetry.Outcome{})
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// BenchmarkNobodyWatches is what a batch and a step pay without an Observer, below the contexts
// that a job makes.
func BenchmarkNobodyWatches(b *testing.B) {
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		if telemetry.Of(ctx) != nil {
			b.Fatal("an observer")
		}
	}
}
