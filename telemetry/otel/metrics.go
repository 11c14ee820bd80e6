package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// bounds are the limits of the buckets of times, in seconds: from a batch that was ready to a save
// of a large model.
var bounds = []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}

// instruments record the metrics.
type instruments struct {
	durations, blocks   metric.Float64Histogram
	bytes               metric.Int64Counter
	batchCount, samples metric.Int64Counter
	waits               metric.Float64Histogram
	steps               metric.Int64Counter
	number              metric.Int64Gauge
	stepTimes, dataWait metric.Float64Histogram
	stepBlocked         metric.Float64Histogram

	of map[string]labels // of the engines that are known
}

// labels are the attributes of the batches of an engine that did not fail.
type labels struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newLabels(list ...attribute.KeyValue) labels {
	all := metric.WithAttributeSet(attribute.NewSet(list...))
	return labels{[]metric.AddOption{all}, []metric.RecordOption{all}}
}

// maker makes instruments, and keeps the errors.
type maker struct {
	meter metric.Meter
	errs  []error
}

func (m *maker) counter(name, unit, help string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(help))
	m.errs = append(m.errs, err)
	return c
}

func (m *maker) times(name, help string) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(help),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

func newInstruments(meter metric.Meter) (instruments, error) {
	m := maker{meter: meter}
	in := instruments{
		durations:   m.times("bivouac.operation.duration", "Time of an operation: open, save, load, verify, copy."),
		bytes:       m.counter("bivouac.operation.bytes", "By", "Bytes that operations wrote, read or compared."),
		blocks:      m.times("bivouac.save.blocked", "Time that the caller of a save waited before it could go on."),
		batchCount:  m.counter("bivouac.batches", "{batch}", "Batches delivered, and batches that failed."),
		samples:     m.counter("bivouac.samples", "{sample}", "Samples delivered."),
		waits:       m.times("bivouac.batch.wait", "Time that the consumer waited for a batch."),
		steps:       m.counter("bivouac.steps", "{step}", "Steps done by this process."),
		stepTimes:   m.times("bivouac.step.duration", "Time of a step."),
		dataWait:    m.times("bivouac.step.data_wait", "Time of a step that went to waiting for the batch."),
		stepBlocked: m.times("bivouac.step.blocked", "Time of a step that went to waiting for saves, if there was any."),
		of:          map[string]labels{},
	}
	number, err := meter.Int64Gauge("bivouac.step.number", metric.WithUnit("{step}"),
		metric.WithDescription("The last step that was done, counted over all attempts."))
	in.number = number
	for _, engine := range []string{telemetry.Loader, telemetry.Pipeline} {
		in.of[engine] = newLabels(engineKey.String(engine))
	}
	return in, errors.Join(append(m.errs, err)...)
}

// operation records an operation that ended.
func (in *instruments) operation(ctx context.Context, name string, took time.Duration, out telemetry.Outcome) {
	list := []attribute.KeyValue{operationKey.String(name)}
	if out.Err != nil {
		list = append(list, errorKey.String(errs.KindOf(out.Err).String()))
	}
	l := newLabels(list...)
	in.durations.Record(ctx, took.Seconds(), l.record...)
	if out.Bytes > 0 {
		in.bytes.Add(ctx, out.Bytes, l.add...)
	}
	if name == telemetry.Save && out.Blocked > 0 {
		in.blocks.Record(ctx, out.Blocked.Seconds())
	}
}

// batch records a batch.
func (in *instruments) batch(ctx context.Context, b telemetry.Batch) {
	l, known := in.of[b.Engine]
	if b.Err != nil {
		l = newLabels(engineKey.String(b.Engine), errorKey.String(errs.KindOf(b.Err).String()))
	} else if !known {
		l = newLabels(engineKey.String(b.Engine))
	}
	in.batchCount.Add(ctx, 1, l.add...)
	in.waits.Record(ctx, b.Waited.Seconds(), l.record...)
	if b.Samples > 0 {
		in.samples.Add(ctx, int64(b.Samples), l.add...)
	}
}

// step records a step.
func (in *instruments) step(ctx context.Context, s telemetry.Step) {
	in.steps.Add(ctx, 1)
	in.number.Record(ctx, s.Number)
	in.stepTimes.Record(ctx, s.Took.Seconds())
	in.dataWait.Record(ctx, s.Data.Seconds())
	if s.Blocked > 0 {
		in.stepBlocked.Record(ctx, s.Blocked.Seconds())
	}
}
