package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/telemetry/otel"
)

// watched is an observer with providers that keep everything.
type watched struct {
	telemetry.Observer
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
	reader *metric.ManualReader
}

func watch(tb testing.TB, batches bool) *watched {
	w := &watched{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	w.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(w.spans))
	var err error
	w.Observer, err = otel.New(otel.Options{Tracer: w.tracer,
		Meter: metric.NewMeterProvider(metric.WithReader(w.reader)), Batches: batches})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// attributes returns the attributes of a span as text.
func attributes(list []attribute.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

// metrics returns each series as "name{attributes}": its value, or the count of its histogram.
func (w *watched) metrics(t *testing.T) map[string]int64 {
	var all metricdata.ResourceMetrics
	if err := w.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[series(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					out[series(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[series(m.Name, p.Attributes)] = int64(p.Count)
				}
			default:
				t.Errorf("%s: %T", m.Name, d)
			}
		}
	}
	return out
}

func series(name string, of attribute.Set) string {
	var list []string
	for _, kv := range of.ToSlice() { // sorted by key
		list = append(list, string(kv.Key)+"="+kv.Value.String())
	}
	return name + "{" + strings.Join(list, ",") + "}"
}

// TestOperationsAreSpans ends operations in several ways. A span has the parent of its context, the
// attributes of its outcome and the error.
func TestOperationsAreSpans(t *testing.T) {
	w := watch(t, false)
	ctx, root := w.tracer.Tracer("trainer").Start(t.Context(), "training")
	ctx = telemetry.With(ctx, w)
	const url = "s3://key:secret@runs/a"
	saving, save := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Path: url, Step: 0})
	_, write := telemetry.Begin(saving, telemetry.Operation{Name: telemetry.Write, Step: telemetry.NoStep})
	full := &errs.Error{Kind: errs.Exhausted, Op: "write", Subject: "disk"}
	write.End(telemetry.Outcome{Err: full})
	save.End(telemetry.Outcome{Err: full, Bytes: 4096, Files: 3, Blocked: 1500 * time.Millisecond})
	_, open := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Open, Path: "runs/a", Step: telemetry.NoStep})
	open.End(telemetry.Outcome{Resumed: 40})
	_, declined := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Path: "runs/a", Step: 41})
	declined.End(telemetry.Outcome{Declined: true, Resumed: 7})
	root.End()

	spans := w.spans.Ended()
	if len(spans) != 5 {
		t.Fatalf("%d spans, want 5", len(spans))
	}
	for i, want := range []struct {
		name, parent string
		attributes   map[string]string
		failed       bool
	}{
		{"bivouac.write", "bivouac.save", map[string]string{"error.type": "exhausted"}, true},
		{"bivouac.save", "training", map[string]string{"error.type": "exhausted", "bivouac.step": "0",
			"bivouac.path": errs.WithoutSecrets(url), "bivouac.bytes": "4096", "bivouac.files": "3",
			"bivouac.blocked_seconds": "1.5"}, true},
		{"bivouac.open", "training", map[string]string{"bivouac.path": "runs/a", "bivouac.resumed_step": "40"}, false},
		{"bivouac.save", "training", map[string]string{"bivouac.path": "runs/a", "bivouac.step": "41",
			"bivouac.declined": "true"}, false},
	} {
		s, parent := spans[i], ""
		for _, p := range spans {
			if p.SpanContext().SpanID() == s.Parent().SpanID() {
				parent = p.Name()
			}
		}
		if s.Name() != want.name || parent != want.parent || (s.Status().Code == codes.Error) != want.failed ||
			(len(s.Events()) == 1) != want.failed {
			t.Errorf("span %d: %s below %q, status %v, %d events", i, s.Name(), parent, s.Status(), len(s.Events()))
		}
		if d := cmp.Diff(want.attributes, attributes(s.Attributes())); d != "" {
			t.Errorf("span %d: %s", i, d)
		}
		for _, text := range attributes(s.Attributes()) {
			if strings.Contains(text, "secret") {
				t.Errorf("span %d tells a secret: %s", i, text)
			}
		}
	}
	got := w.metrics(t)
	want := map[string]int64{
		"bivouac.operation.duration{bivouac.operation=write,error.type=exhausted}": 1,
		"bivouac.operation.duration{bivouac.operation=save,error.type=exhausted}":  1,
		"bivouac.operation.duration{bivouac.operation=save}":                       1,
		"bivouac.operation.duration{bivouac.operation=open}":                       1,
		"bivouac.operation.bytes{bivouac.operation=save,error.type=exhausted}":     4096,
		"bivouac.save.blocked{}": 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestBatchesAndStepsAreCounted tells batches and steps. A batch has a span if it failed, or if the
// options ask for it.
func TestBatchesAndStepsAreCounted(t *testing.T) {
	for batches, spans := range map[bool]int{false: 1, true: 5} {
		w := watch(t, batches)
		for range 3 {
			w.Batch(t.Context(), telemetry.Batch{Engine: telemetry.Loader, Samples: 32, Waited: time.Millisecond})
		}
		w.Batch(t.Context(), telemetry.Batch{Engine: telemetry.Loader, Waited: time.Second,
			Err: &errs.Error{Kind: errs.Corrupt, Op: "loader.Next"}})
		w.Batch(t.Context(), telemetry.Batch{Engine: "other", Samples: 1})
		w.Step(t.Context(), telemetry.Step{Number: 11, Took: time.Second, Data: time.Millisecond})
		w.Step(t.Context(), telemetry.Step{Number: 12, Took: time.Second, Blocked: time.Millisecond})
		want := map[string]int64{
			"bivouac.batches{bivouac.engine=loader}":                       3,
			"bivouac.batches{bivouac.engine=loader,error.type=corrupt}":    1,
			"bivouac.batches{bivouac.engine=other}":                        1,
			"bivouac.samples{bivouac.engine=loader}":                       96,
			"bivouac.samples{bivouac.engine=other}":                        1,
			"bivouac.batch.wait{bivouac.engine=loader}":                    3,
			"bivouac.batch.wait{bivouac.engine=loader,error.type=corrupt}": 1,
			"bivouac.batch.wait{bivouac.engine=other}":                     1,
			"bivouac.steps{}":          2,
			"bivouac.step.number{}":    12,
			"bivouac.step.duration{}":  2,
			"bivouac.step.data_wait{}": 2,
			"bivouac.step.blocked{}":   1,
		}
		if d := cmp.Diff(want, w.metrics(t)); d != "" {
			t.Error(d)
		}
		ended := w.spans.Ended()
		failed := 0
		for _, s := range ended {
			took := s.EndTime().Sub(s.StartTime())
			if s.Status().Code == codes.Error {
				failed++
				if took != time.Second {
					t.Errorf("a span of %v, want the time that the batch took", took)
				}
			}
		}
		if len(ended) != spans || failed != 1 {
			t.Errorf("batches %v: %d spans, %d of them failed; want %d and 1", batches, len(ended), failed, spans)
		}
	}
}

// TestOneSignal makes an observer without spans, and one without metrics.
func TestOneSignal(t *testing.T) {
	w := watch(t, true)
	for name, o := range map[string]otel.Options{"spans": {Tracer: w.tracer}, "nothing": {}} {
		observer, err := otel.New(o)
		if err != nil {
			t.Fatal(name, err)
		}
		_, told := observer.Begin(t.Context(), telemetry.Operation{Name: telemetry.Load, Step: telemetry.NoStep})
		told.End(telemetry.Outcome{Err: errors.New("gone")})
		observer.Batch(t.Context(), telemetry.Batch{Engine: telemetry.Pipeline, Err: errors.New("gone")})
		observer.Step(t.Context(), telemetry.Step{})
	}
	if n, series := len(w.spans.Ended()), w.metrics(t); n != 2 || len(series) != 0 {
		t.Errorf("%d spans and the series %v, want 2 and none", n, maps.Keys(series))
	}
}

// BenchmarkStep is what a step of a job, with its batch, pays for metrics, and for a span of its
// batch too.
func BenchmarkStep(b *testing.B) {
	for _, batches := range []bool{false, true} {
		b.Run(fmt.Sprintf("batches=%v", batches), func(b *testing.B) {
			tracer := trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter()))
			defer tracer.Shutdown(context.Background()) //nolint:errcheck // a benchmark
			o, err := otel.New(otel.Options{Tracer: tracer, Batches: batches,
				Meter: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))})
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				o.Batch(ctx, telemetry.Batch{Engine: telemetry.Loader, Samples: 32, Waited: time.Millisecond})
				o.Step(ctx, telemetry.Step{Number: 1, Took: time.Millisecond, Data: time.Microsecond, Blocked: time.Microsecond})
			}
		})
	}
}
