package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bivouac-ml/bivouac/errs"
)

// Exporters send the signals that are wanted. A nil exporter sends nothing.
type Exporters struct {
	Spans   trace.SpanExporter
	Metrics metric.Exporter

	clients []*client
}

// Exporters returns the exporters that the environment asks for. They connect when there is
// something to send. The errors say why a signal that is asked for is not sent.
func (env Environment) Exporters() (e Exporters, failed []error) {
	for _, s := range []Signal{Traces, Metrics} {
		wanted, err := env.Wanted(s)
		if err == nil && wanted {
			err = env.add(&e, s)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return e, failed
}

func (env Environment) add(e *Exporters, s Signal) error {
	c, err := env.config(s)
	if err != nil {
		return err
	}
	to := newClient(c)
	if s == Traces {
		e.Spans = otlptrace.NewUnstarted(spans{to})
		if err := e.Spans.(*otlptrace.Exporter).Start(context.Background()); err != nil {
			return err
		}
	} else {
		m := &metrics{client: to, temporality: metric.DefaultTemporalitySelector}
		const name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
		switch v := env.get(name); v {
		case "", "cumulative":
		case "delta":
			m.temporality = metric.DeltaTemporalitySelector
		case "lowmemory":
			m.temporality = metric.LowMemoryTemporalitySelector
		default:
			return invalid(name, "cumulative, delta or lowmemory", v, "")
		}
		e.Metrics = m
	}
	e.clients = append(e.clients, to)
	return nil
}

// Closing makes the exporters try each message once from now on: the program is about to end.
func (e *Exporters) Closing() {
	for _, c := range e.clients {
		c.close()
	}
}

// spans implements otlptrace.Client.
type spans struct{ *client }

// Start implements otlptrace.Client.
func (spans) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (s spans) Stop(context.Context) error {
	s.close()
	s.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. TracesData has the encoding of the request of the
// protocol.
func (s spans) UploadTraces(ctx context.Context, list []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: list})
	if err != nil {
		return err
	}
	return s.post(ctx, body)
}

// metrics implements metric.Exporter.
type metrics struct {
	*client
	temporality metric.TemporalitySelector
}

// Temporality implements metric.Exporter.
func (m *metrics) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return m.temporality(k)
}

// Aggregation implements metric.Exporter.
func (m *metrics) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(k)
}

// Export implements metric.Exporter. MetricsData has the encoding of the request of the protocol.
func (m *metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	rm, err := resourceMetrics(all)
	if err != nil || len(rm.ScopeMetrics) == 0 {
		return err
	}
	body, err := proto.Marshal(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{rm}})
	if err != nil {
		return err
	}
	return m.post(ctx, body)
}

// ForceFlush implements metric.Exporter: Export keeps nothing.
func (m *metrics) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown implements metric.Exporter.
func (m *metrics) Shutdown(context.Context) error {
	m.close()
	m.http.CloseIdleConnections()
	return nil
}

// rejected returns an error if an answer says that the collector took only a part: field 1 is a
// message with the number of rejected elements and the reason.
func rejected(answer []byte) error {
	part := field(answer, 1, protowire.BytesType)
	text, _ := protowire.ConsumeBytes(part)
	count, _ := protowire.ConsumeVarint(field(text, 1, protowire.VarintType))
	why, _ := protowire.ConsumeBytes(field(text, 2, protowire.BytesType))
	if len(why) == 0 && count == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.IO, Op: "telemetry", Want: "a collector that takes everything",
		Got: "a part was rejected" + printable(why)}
}

// field returns the value of a field with what comes after it, or nil.
func field(b []byte, number protowire.Number, kind protowire.Type) []byte {
	for len(b) > 0 {
		n, t, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil
		}
		b = b[size:]
		if n == number && t == kind {
			return b
		}
		if size = protowire.ConsumeFieldValue(n, t, b); size < 0 {
			return nil
		}
		b = b[size:]
	}
	return nil
}
