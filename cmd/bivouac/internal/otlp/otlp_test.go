package otlp

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bivouac-ml/bivouac/errs"
)

func environment(values map[string]string) Environment {
	return func(name string) string { return values[name] }
}

// TestSettings reads variables as the specification says: a variable of a signal comes before
// the variable of all signals.
func TestSettings(t *testing.T) {
	const all, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for _, c := range []struct {
		env  map[string]string
		want config
	}{
		{nil, config{url: "http://localhost:4318/v1/traces", timeout: 10 * time.Second}},
		{map[string]string{all + "ENDPOINT": "https://c.example/otlp/", all + "TIMEOUT": "2500", all + "COMPRESSION": "gzip"},
			config{url: "https://c.example/otlp/v1/traces", timeout: 2500 * time.Millisecond, gzip: true}},
		{map[string]string{all + "ENDPOINT": "http://c:4318", traces + "ENDPOINT": "http://d:9/own", traces + "TIMEOUT": "1",
			all + "COMPRESSION": "gzip", traces + "COMPRESSION": "none", traces + "PROTOCOL": "http/protobuf",
			all + "PROTOCOL": "grpc"}, config{url: "http://d:9/own", timeout: time.Millisecond}},
		{map[string]string{all + "HEADERS": "authorization=Bearer%20x, tenant = a ,"}, config{
			url: "http://localhost:4318/v1/traces", timeout: 10 * time.Second,
			headers: http.Header{"Authorization": {"Bearer x"}, "Tenant": {"a"}}}},
	} {
		if c.want.headers == nil {
			c.want.headers = http.Header{}
		}
		got, err := environment(c.env).config(Traces)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(config{})); err != nil || d != "" {
			t.Errorf("%v: %v %s", c.env, err, d)
		}
	}
}

// TestWrongSettings names the variable, and tells no secret.
func TestWrongSettings(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pem")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	const own = "OTEL_EXPORTER_OTLP_METRICS_"
	for variable, values := range map[string][]string{
		"OTEL_METRICS_EXPORTER": {"prometheus", "otlp,none"},
		own + "ENDPOINT":        {"c:4318", "ftp://c", "http://", "%"},
		own + "PROTOCOL":        {"grpc", "http/json"},
		own + "TIMEOUT":         {"0", "-1", "1s", "99999999999"},
		own + "COMPRESSION":     {"zstd"},
		own + "HEADERS":         {"password", "=password", "a b=password", "a=password%0a", "a=%zzpassword"},
		own + "CERTIFICATE":     {missing, empty},
		own + "CLIENT_KEY":      {missing},
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": {"sometimes"},
	} {
		for _, v := range values {
			env := environment(map[string]string{"OTEL_METRICS_EXPORTER": "otlp", variable: v})
			e, failed := env.Exporters()
			if len(failed) != 1 || e.Metrics != nil || e.Spans != nil {
				t.Errorf("%s=%s: %v, exporter %v", variable, v, failed, e.Metrics)
				continue
			}
			text := failed[0].Error()
			if name := strings.ReplaceAll(variable, "CLIENT_KEY", "CLIENT_CERTIFICATE"); !strings.Contains(text, name) &&
				!strings.Contains(text, strings.Replace(name, "METRICS_", "", 1)) || strings.Contains(text, "password") {
				t.Errorf("%s=%s: %s", variable, v, text)
			}
		}
	}
}

// answers is a transport that gives answers, and then takes everything.
type answers struct {
	list  []int // statuses; 0 is no answer
	after string
	calls int
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if a.calls++; a.calls <= len(a.list) {
		status = a.list[a.calls-1]
	}
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != "spans" {
		return nil, errors.New("another body")
	}
	if status == 0 {
		return nil, errors.New("nobody answers")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody,
		Header: http.Header{"Retry-After": {a.after}}}, nil
}

// TestMessagesAreSentAgain posts to a collector that is away or busy, on a clock that does not
// wait.
func TestMessagesAreSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answers
		calls       int
		fails       bool
		least, most time.Duration
		closed      bool
		limit       time.Duration
	}{
		"at once": {answers: answers{}, calls: 1},
		"comes back": {answers: answers{list: []int{0, 503, 429}}, calls: 4, least: 3500 * time.Millisecond,
			most: 10500 * time.Millisecond},
		"asks to wait": {answers: answers{list: []int{503}, after: "7"}, calls: 2, least: 7 * time.Second, most: 7 * time.Second},
		"for too long": {answers: answers{list: []int{503}, after: "9999"}, calls: 2, least: longPause, most: longPause},
		"never":        {answers: answers{list: []int{0, 0, 0, 0, 0, 0}}, calls: mostTries, fails: true, most: time.Minute},
		"refuses":      {answers: answers{list: []int{403}}, calls: 1, fails: true},
		"elsewhere":    {answers: answers{list: []int{307}}, calls: 1, fails: true},
		"closing":      {answers: answers{list: []int{503}}, calls: 1, fails: true, closed: true},
		"time is up": {answers: answers{list: []int{503}, after: "7"}, calls: 1, fails: true, limit: time.Second,
			least: time.Second, most: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := newClient(config{url: "http://collector/v1/traces", timeout: time.Minute})
				to.http.Transport = &c.answers
				if c.closed {
					to.close()
				}
				ctx, began := t.Context(), time.Now()
				if c.limit > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, c.limit)
					defer stop()
				}
				err := to.post(ctx, []byte("spans"))
				took := time.Since(began)
				if (err != nil) != c.fails || c.answers.calls != c.calls || took < c.least || took > c.most {
					t.Errorf("%v after %d calls and %v", err, c.answers.calls, took)
				}
				if err != nil && (errs.KindOf(err) != errs.IO || !strings.Contains(err.Error(), "http://collector/v1/traces")) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// TestCertificates posts over TLS with the certificate of the environment. Headers with secrets do
// not follow a redirect.
func TestCertificates(t *testing.T) {
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Key") != "k" {
			w.WriteHeader(http.StatusForbidden)
		} else if r.URL.Path == "/moved" {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	name := filepath.Join(t.TempDir(), "root.pem")
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL, "OTEL_EXPORTER_OTLP_HEADERS": "key=k"}
	post := func(certificate, path string) error {
		values["OTEL_EXPORTER_OTLP_CERTIFICATE"], values["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = certificate, s.URL+path
		c, err := environment(values).config(Traces)
		if err != nil {
			t.Fatal(err)
		}
		to := newClient(c)
		to.close()
		defer to.http.CloseIdleConnections()
		return to.post(t.Context(), []byte("spans"))
	}
	if err := post(name, "/"); err != nil {
		t.Error(err)
	}
	if err := post("", "/"); err == nil {
		t.Error("a server without a known certificate was trusted")
	}
	if err := post(name, "/moved"); err == nil || stolen.Load() > 0 {
		t.Errorf("a redirect: %v, %d requests", err, stolen.Load())
	}
}

// TestRejectedPartsAreTold reads answers of collectors that took a part, and bytes that are no
// answer.
func TestRejectedPartsAreTold(t *testing.T) {
	part := protowire.AppendTag(nil, 1, protowire.VarintType)
	part = protowire.AppendVarint(part, 3)
	part = protowire.AppendTag(part, 2, protowire.BytesType)
	part = protowire.AppendString(part, "too old")
	answer := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), part)
	if err := rejected(answer); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("%v, want the reason", err)
	}
	for n := range answer {
		rejected(answer[:n]) //nolint:errcheck // it must not panic
	}
	for _, b := range []string{"", "\n\x00", "\xff\xff\xff", "<html>"} {
		if err := rejected([]byte(b)); err != nil {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// TestMetricsAreEncoded encodes each kind of metric that the command has.
func TestMetricsAreEncoded(t *testing.T) {
	at := time.Unix(100, 5)
	set := attribute.NewSet(attribute.String("s", "x"), attribute.Int("i", 7), attribute.Bool("b", true),
		attribute.Float64("f", 1.5))
	point := metricdata.DataPoint[int64]{Attributes: set, StartTime: at, Time: at.Add(time.Second), Value: 9}
	got, err := resourceMetrics(&metricdata.ResourceMetrics{
		Resource: resource.NewSchemaless(attribute.StringSlice("list", []string{"a", "b"})),
		ScopeMetrics: []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: "scope"}, Metrics: []metricdata.Metrics{
			{Name: "sum", Unit: "By", Description: "bytes", Data: metricdata.Sum[int64]{IsMonotonic: true,
				Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[int64]{point}}},
			{Name: "gauge", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{point}}},
			{Name: "histogram", Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality,
				DataPoints: []metricdata.HistogramDataPoint[float64]{{Count: 2, Sum: 3, Bounds: []float64{1},
					BucketCounts: []uint64{1, 1}, Min: metricdata.NewExtrema(0.5), Max: metricdata.NewExtrema(2.5)}}}},
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{got}})
	if err != nil {
		t.Fatal(err)
	}
	var back metricspb.MetricsData
	if err := proto.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	r := back.ResourceMetrics[0]
	if v := r.Resource.Attributes[0].Value.GetStringValue(); v != `["a","b"]` {
		t.Errorf("resource %q", v)
	}
	list := r.ScopeMetrics[0].Metrics
	sum, gauge, histogram := list[0].GetSum(), list[1].GetGauge(), list[2].GetHistogram()
	p := sum.DataPoints[0]
	if list[0].Unit != "By" || !sum.IsMonotonic || p.GetAsInt() != 9 || len(p.Attributes) != 4 ||
		sum.AggregationTemporality != temporality(metricdata.DeltaTemporality) ||
		p.StartTimeUnixNano != 100_000_000_005 || p.TimeUnixNano != 101_000_000_005 {
		t.Errorf("sum: %v", list[0])
	}
	for _, kv := range p.Attributes {
		v := kv.Value
		if !(v.GetStringValue() == "x" || v.GetIntValue() == 7 || v.GetBoolValue() || v.GetDoubleValue() == 1.5) {
			t.Errorf("attribute %v", kv)
		}
	}
	if gauge.DataPoints[0].GetAsInt() != 9 {
		t.Errorf("gauge: %v", gauge)
	}
	if h := histogram.DataPoints[0]; h.Count != 2 || h.GetSum() != 3 || h.GetMin() != 0.5 || h.GetMax() != 2.5 ||
		len(h.BucketCounts) != 2 || len(h.ExplicitBounds) != 1 || h.TimeUnixNano != 0 ||
		histogram.AggregationTemporality != temporality(metricdata.CumulativeTemporality) {
		t.Errorf("histogram: %v", histogram)
	}
	_, err = resourceMetrics(&metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{
		Metrics: []metricdata.Metrics{{Name: "other", Data: metricdata.Sum[float64]{}}}}}})
	if errs.KindOf(err) != errs.Unsupported {
		t.Errorf("a kind that the command does not have: %v", err)
	}
}
