package otlp

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/bivouac-ml/bivouac/errs"
)

// resourceMetrics returns the message of metrics.
func resourceMetrics(all *metricdata.ResourceMetrics) (*metricspb.ResourceMetrics, error) {
	out := &metricspb.ResourceMetrics{Resource: &resourcepb.Resource{Attributes: keyValues(all.Resource.Set())},
		SchemaUrl: all.Resource.SchemaURL()}
	for _, s := range all.ScopeMetrics {
		scope := &metricspb.ScopeMetrics{SchemaUrl: s.Scope.SchemaURL,
			Scope: &commonpb.InstrumentationScope{Name: s.Scope.Name, Version: s.Scope.Version}}
		for _, m := range s.Metrics {
			one := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
			if err := setData(one, m.Data); err != nil {
				return nil, err
			}
			scope.Metrics = append(scope.Metrics, one)
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return out, nil
}

// setData sets the points of a metric. It knows the kinds of instruments that the command has.
func setData(m *metricspb.Metric, data metricdata.Aggregation) error {
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{DataPoints: points(d.DataPoints),
			AggregationTemporality: temporality(d.Temporality), IsMonotonic: d.IsMonotonic}}
	case metricdata.Gauge[int64]:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: points(d.DataPoints)}}
	case metricdata.Histogram[float64]:
		h := &metricspb.Histogram{AggregationTemporality: temporality(d.Temporality)}
		for _, p := range d.DataPoints {
			q := &metricspb.HistogramDataPoint{Attributes: keyValues(&p.Attributes), StartTimeUnixNano: nanos(p.StartTime),
				TimeUnixNano: nanos(p.Time), Count: p.Count, Sum: &p.Sum, ExplicitBounds: p.Bounds, BucketCounts: p.BucketCounts}
			if v, ok := p.Min.Value(); ok {
				q.Min = &v
			}
			if v, ok := p.Max.Value(); ok {
				q.Max = &v
			}
			h.DataPoints = append(h.DataPoints, q)
		}
		m.Data = &metricspb.Metric_Histogram{Histogram: h}
	default:
		return &errs.Error{Kind: errs.Unsupported, Op: "telemetry", Subject: "metric " + m.Name,
			Want: "a counter, a gauge or a histogram", Got: fmt.Sprintf("%T", data)}
	}
	return nil
}

// points returns the messages of integers.
func points(list []metricdata.DataPoint[int64]) (out []*metricspb.NumberDataPoint) {
	for _, p := range list {
		out = append(out, &metricspb.NumberDataPoint{Attributes: keyValues(&p.Attributes),
			StartTimeUnixNano: nanos(p.StartTime), TimeUnixNano: nanos(p.Time),
			Value: &metricspb.NumberDataPoint_AsInt{AsInt: p.Value}})
	}
	return out
}

func temporality(t metricdata.Temporality) metricspb.AggregationTemporality {
	if t == metricdata.DeltaTemporality {
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

// nanos returns the time of a point; 0 for none.
func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(0, t.UnixNano()))
}

// keyValues returns the messages of attributes. The lists of the resource become text.
func keyValues(set *attribute.Set) (out []*commonpb.KeyValue) {
	for _, kv := range set.ToSlice() {
		v := &commonpb.AnyValue{}
		switch kv.Value.Type() {
		case attribute.BOOL:
			v.Value = &commonpb.AnyValue_BoolValue{BoolValue: kv.Value.AsBool()}
		case attribute.INT64:
			v.Value = &commonpb.AnyValue_IntValue{IntValue: kv.Value.AsInt64()}
		case attribute.FLOAT64:
			v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: kv.Value.AsFloat64()}
		default:
			v.Value = &commonpb.AnyValue_StringValue{StringValue: kv.Value.String()}
		}
		out = append(out, &commonpb.KeyValue{Key: string(kv.Key), Value: v})
	}
	return out
}
