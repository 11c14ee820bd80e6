// Package otel makes spans and metrics of OpenTelemetry from what the engines of Bivouac do. A
// trainer gives it the providers that it has already:
//
//	observer, err := otel.New(otel.Options{Tracer: tracerProvider, Meter: meterProvider})
//	ctx = telemetry.With(ctx, observer)
//	job, err := bivouac.Open(ctx, …)
//
// Spans have the names bivouac.open, bivouac.save, bivouac.snapshot, bivouac.write, bivouac.load,
// bivouac.verify, bivouac.copy and bivouac.batch. The parent of a span is the span of the context
// that the engine was called with. docs/guide/telemetry.md lists attributes and metrics.
package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Scope is the name of the tracer and of the meter.
const Scope = "github.com/bivouac-ml/bivouac"

// Options of New. The zero Options make nothing.
type Options struct {
	// Tracer makes the spans. nil makes none.
	Tracer trace.TracerProvider
	// Meter makes the metrics. nil makes none.
	Meter metric.MeterProvider
	// Batches makes a span for each batch. Without it only a batch that failed has a span, because a
	// training has many thousands of batches, and the metrics count them.
	Batches bool
}

// observer implements telemetry.Observer.
type observer struct {
	tracer  trace.Tracer
	batches bool
	instruments
}

// New returns an Observer. Many contexts may share it. The providers stay the caller's, who shuts
// them down. An error is an error of the Meter.
func New(o Options) (telemetry.Observer, error) {
	if o.Tracer == nil {
		o.Tracer = tracenoop.NewTracerProvider()
	}
	if o.Meter == nil {
		o.Meter = metricnoop.NewMeterProvider()
	}
	in, err := newInstruments(o.Meter.Meter(Scope))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "otel.New", Subject: "Options.Meter", Err: err}
	}
	return &observer{o.Tracer.Tracer(Scope), o.Batches, in}, nil
}

// Names of attributes.
const (
	pathKey      = attribute.Key("bivouac.path")
	stepKey      = attribute.Key("bivouac.step")
	bytesKey     = attribute.Key("bivouac.bytes")
	filesKey     = attribute.Key("bivouac.files")
	blockedKey   = attribute.Key("bivouac.blocked_seconds")
	declinedKey  = attribute.Key("bivouac.declined")
	resumedKey   = attribute.Key("bivouac.resumed_step")
	engineKey    = attribute.Key("bivouac.engine")
	samplesKey   = attribute.Key("bivouac.samples")
	operationKey = attribute.Key("bivouac.operation")
	errorKey     = attribute.Key("error.type")
)

// Begin implements telemetry.Observer.
func (o *observer) Begin(ctx context.Context, op telemetry.Operation) (context.Context, telemetry.Ending) {
	began := time.Now()
	ctx, span := o.tracer.Start(ctx, "bivouac."+op.Name, trace.WithTimestamp(began))
	if span.IsRecording() {
		if op.Path != "" {
			span.SetAttributes(pathKey.String(errs.WithoutSecrets(op.Path)))
		}
		if op.Step >= 0 {
			span.SetAttributes(stepKey.Int64(op.Step))
		}
	}
	return ctx, func(out telemetry.Outcome) {
		ended := time.Now()
		o.operation(ctx, op.Name, ended.Sub(began), out)
		if span.IsRecording() {
			span.SetAttributes(outcome(op.Name, out)...)
			fail(span, out.Err)
		}
		span.End(trace.WithTimestamp(ended))
	}
}

// outcome returns the attributes of an operation that ended.
func outcome(name string, out telemetry.Outcome) (list []attribute.KeyValue) {
	if out.Bytes > 0 {
		list = append(list, bytesKey.Int64(out.Bytes))
	}
	if out.Files > 0 {
		list = append(list, filesKey.Int(out.Files))
	}
	if out.Blocked > 0 {
		list = append(list, blockedKey.Float64(out.Blocked.Seconds()))
	}
	if out.Declined {
		list = append(list, declinedKey.Bool(true))
	}
	if name == telemetry.Open && out.Err == nil && out.Resumed >= 0 {
		list = append(list, resumedKey.Int64(out.Resumed))
	}
	return list
}

// fail records an error, unless it is nil.
func fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.SetAttributes(errorKey.String(errs.KindOf(err).String()))
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
}

// Batch implements telemetry.Observer.
func (o *observer) Batch(ctx context.Context, b telemetry.Batch) {
	o.batch(ctx, b)
	if !o.batches && b.Err == nil {
		return
	}
	now := time.Now()
	_, span := o.tracer.Start(ctx, "bivouac.batch", trace.WithTimestamp(now.Add(-b.Waited)))
	if span.IsRecording() {
		span.SetAttributes(engineKey.String(b.Engine), samplesKey.Int(b.Samples))
		fail(span, b.Err)
	}
	span.End(trace.WithTimestamp(now))
}

// Step implements telemetry.Observer.
func (o *observer) Step(ctx context.Context, s telemetry.Step) { o.step(ctx, s) }
