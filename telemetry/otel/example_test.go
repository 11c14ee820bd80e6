package otel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/telemetry/otel"
)

// A trainer has providers with exporters of its own. Here they keep spans and metrics in memory.
func Example() {
	ctx := context.Background()
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	tracers := trace.NewTracerProvider(trace.WithSyncer(spans))
	meters := metric.NewMeterProvider(metric.WithReader(reader))

	observer, err := otel.New(otel.Options{Tracer: tracers, Meter: meters})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx = telemetry.With(ctx, observer)

	ctx, span := tracers.Tracer("trainer").Start(ctx, "evaluate")
	if err := saveAndLoad(ctx); err != nil {
		fmt.Println(err)
		return
	}
	span.End()

	for _, s := range spans.GetSpans() {
		fmt.Printf("%s, in the trace of the trainer: %v\n", s.Name, s.SpanContext.TraceID() == span.SpanContext().TraceID())
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Unit)
	}
	// Output:
	// bivouac.snapshot, in the trace of the trainer: true
	// bivouac.write, in the trace of the trainer: true
	// bivouac.save, in the trace of the trainer: true
	// bivouac.load, in the trace of the trainer: true
	// evaluate, in the trace of the trainer: true
	// bivouac.operation.duration s
	// bivouac.operation.bytes By
	// bivouac.save.blocked s
}

// saveAndLoad is what the trainer does.
func saveAndLoad(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "checkpoint")
	if err := checkpoint.Save(ctx, path, map[string]any{"weights": []float32{1, 2, 3}}, nil); err != nil {
		return err
	}
	_, err = checkpoint.Load(ctx, path, nil)
	return err
}
