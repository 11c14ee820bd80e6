//go:build !bivouac_wheel

package main

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	apitrace "go.opentelemetry.io/otel/trace"

	"github.com/bivouac-ml/bivouac/cmd/bivouac/internal/otlp"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/telemetry/otel"
)

// flushTime bounds how long the end of a command waits for the collector.
const flushTime = 3 * time.Second

// telemetrySender sends what the engines of this process do.
type telemetrySender struct {
	exporters otlp.Exporters
	tracer    *trace.TracerProvider // nil: no spans
	meter     *metric.MeterProvider // nil: no metrics
	span      apitrace.Span         // of the command
}

// observe returns the context of the command. If the environment asks for it, what the engines do
// under this context is sent to a collector. The function that observe returns ends that. A
// collector that cannot be reached is told to warn once. It makes no command fail.
func observe(ctx context.Context, warn func(error)) (context.Context, func(*cobra.Command, int, error)) {
	nothing := func(*cobra.Command, int, error) {}
	if !wantsTelemetry(os.Getenv) {
		return ctx, nothing
	}
	exporters, failed := otlp.Environment(os.Getenv).Exporters()
	for _, err := range failed {
		warn(err)
	}
	if exporters.Spans == nil && exporters.Metrics == nil {
		return ctx, nothing
	}
	var once sync.Once
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) {
		once.Do(func() { warn(&errs.Error{Err: err, Remedy: "the command goes on; this is told once"}) })
	}))
	s := &telemetrySender{exporters: exporters}
	ctx, err := s.start(ctx)
	if err != nil {
		warn(err)
	}
	return ctx, s.end
}

// start makes the providers and begins the span of the command. The programs that the command
// starts find the span in their environment.
func (s *telemetrySender) start(ctx context.Context) (context.Context, error) {
	from, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "bivouac"),
			attribute.String("service.version", currentVersion().Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil {
		err = &errs.Error{Kind: errs.Invalid, Op: "telemetry", Subject: "OTEL_RESOURCE_ATTRIBUTES", Err: err}
	}
	o := otel.Options{}
	o.Batches, _ = strconv.ParseBool(os.Getenv("BIVOUAC_OTEL_BATCHES")) //nolint:errcheck // anything else is no
	if s.exporters.Spans != nil {
		s.tracer = trace.NewTracerProvider(trace.WithResource(from), trace.WithBatcher(s.exporters.Spans))
		o.Tracer = s.tracer
	}
	if s.exporters.Metrics != nil {
		s.meter = metric.NewMeterProvider(metric.WithResource(from),
			metric.WithReader(metric.NewPeriodicReader(s.exporters.Metrics)))
		o.Meter = s.meter
	}
	observer, failed := otel.New(o)
	if failed != nil {
		return ctx, failed
	}
	ctx = telemetry.With(ctx, observer)
	if s.tracer == nil {
		return ctx, err
	}
	const parent, state = "TRACEPARENT", "TRACESTATE"
	carrier := propagation.MapCarrier{"traceparent": os.Getenv(parent), "tracestate": os.Getenv(state)}
	format := propagation.TraceContext{}
	ctx, s.span = s.tracer.Tracer(otel.Scope).Start(format.Extract(ctx, carrier), "bivouac")
	format.Inject(ctx, carrier)
	os.Setenv(parent, carrier["traceparent"]) //nolint:errcheck // the value is plain text
	if carrier["tracestate"] != "" {
		os.Setenv(state, carrier["tracestate"]) //nolint:errcheck // the value is plain text
	}
	return ctx, err
}

// end ends the span of the command, and sends what is left within flushTime.
func (s *telemetrySender) end(cmd *cobra.Command, code int, err error) {
	if s.span != nil {
		if cmd != nil {
			s.span.SetName(cmd.CommandPath())
		}
		s.span.SetAttributes(attribute.Int("process.exit.code", code))
		if err != nil {
			s.span.SetAttributes(attribute.String("error.type", errs.KindOf(err).String()))
			s.span.SetStatus(codes.Error, oneLine(err))
		}
		s.span.End()
	}
	s.exporters.Closing()
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	var both sync.WaitGroup
	if s.tracer != nil {
		both.Go(func() {
			if err := s.tracer.Shutdown(ctx); err != nil {
				otelapi.Handle(err)
			}
		})
	}
	if s.meter != nil {
		both.Go(func() {
			if err := s.meter.Shutdown(ctx); err != nil {
				otelapi.Handle(err)
			}
		})
	}
	both.Wait()
}
