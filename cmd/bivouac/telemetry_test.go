//go:build !bivouac_wheel

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/examples/digits/demo"
)

// collector takes OTLP over HTTP, and keeps what came.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []span
	metrics map[string]float64 // the last value of each series, with the process in front; see seriesKey
	wrong   []string
}

// span is a span as it came over the wire.
type span struct {
	*tracepb.Span
	service    string
	attributes map[string]string
}

func newCollector(t *testing.T) *collector {
	c := &collector{metrics: map[string]float64{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		c.Close()
		if len(c.wrong) > 0 {
			t.Errorf("wrong requests: %q", c.wrong)
		}
	})
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			c.refuse(w, err.Error())
			return
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		c.refuse(w, err.Error())
		return
	}
	if got := r.Method + " " + r.Header.Get("Content-Type"); got != "POST application/x-protobuf" {
		c.refuse(w, got)
		return
	}
	switch r.URL.Path {
	case "/v1/traces":
		var m tracepb.TracesData
		if err = proto.Unmarshal(b, &m); err == nil {
			c.takeSpans(&m)
		}
	case "/v1/metrics":
		var m metricspb.MetricsData
		if err = proto.Unmarshal(b, &m); err == nil {
			c.takeMetrics(&m)
		}
	default:
		c.refuse(w, r.URL.Path)
		return
	}
	if err != nil {
		c.refuse(w, err.Error())
	}
}

func (c *collector) refuse(w http.ResponseWriter, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, why)
	w.WriteHeader(http.StatusBadRequest)
}

// texts returns attributes as text.
func texts(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.Key] = strconv.FormatInt(v.IntValue, 10)
		case *commonpb.AnyValue_BoolValue:
			out[kv.Key] = strconv.FormatBool(v.BoolValue)
		case *commonpb.AnyValue_DoubleValue:
			out[kv.Key] = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		}
	}
	return out
}

func (c *collector) takeSpans(m *tracepb.TracesData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range m.ResourceSpans {
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, texts(r.Resource.Attributes)["service.name"], texts(s.Attributes)})
			}
		}
	}
}

// seriesKey is the key of a value: a metric with what tells it apart.
func seriesKey(process, name string, list []*commonpb.KeyValue) string {
	key := process + " " + name
	a := texts(list)
	for _, k := range []string{"bivouac.engine", "bivouac.operation", "error.type"} {
		if a[k] != "" {
			key += " " + a[k]
		}
	}
	return key
}

func (c *collector) takeMetrics(m *metricspb.MetricsData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range m.ResourceMetrics {
		process := texts(r.Resource.Attributes)["process.pid"]
		for _, scope := range r.ScopeMetrics {
			for _, one := range scope.Metrics {
				for _, p := range append(one.GetSum().GetDataPoints(), one.GetGauge().GetDataPoints()...) {
					c.metrics[seriesKey(process, one.Name, p.Attributes)] = float64(p.GetAsInt())
				}
				for _, p := range one.GetHistogram().GetDataPoints() {
					c.metrics[seriesKey(process, one.Name, p.Attributes)] = float64(p.Count)
				}
			}
		}
	}
}

// of returns the spans of a trace with a name.
func (c *collector) of(trace []byte, name string) (out []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name && (trace == nil || bytes.Equal(s.TraceId, trace)) {
			out = append(out, s)
		}
	}
	return out
}

func (c *collector) metric(process int, name string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[strconv.Itoa(process)+" "+name]
}

// await waits until something has come.
func (c *collector) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !there(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// started returns a command of this program with variables.
func started(variables []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "TRACE") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "BIVOUAC_TEST_COMMAND=bivouac"), variables...)
	return cmd
}

// TestTelemetryOfAKilledTraining trains, kills the training and starts it again. Spans and metrics
// of both processes reach the collector.
func TestTelemetryOfAKilledTraining(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if _, err := digits.WriteDataset(t.Context(), data, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	c := newCollector(t)
	training := func(steps int64, more ...string) *exec.Cmd {
		text, err := json.Marshal(demo.Training{Run: filepath.Join(dir, "run"), Data: data, Seed: 7, Steps: steps,
			SaveEvery: 10, Threads: 1, Prefetch: 1})
		if err != nil {
			t.Fatal(err)
		}
		return started(append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SERVICE_NAME=digits",
			"OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=50"}, more...), demoTrainCommand, string(text))
	}

	first := training(100)
	credits, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Process.Kill() //nolint:errcheck // it is gone
	if _, err := credits.Write(make([]byte, 25)); err != nil {
		t.Fatal(err)
	}
	c.await(t, "the spans of two saves", func() bool { return len(c.of(nil, "bivouac.save")) == 2 })
	c.await(t, "25 steps", func() bool { return c.metric(first.Process.Pid, "bivouac.steps") == 25 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait() //nolint:errcheck // it was killed
	for i, s := range c.of(nil, "bivouac.save") {
		if step := strconv.Itoa(10 + 10*i); s.attributes["bivouac.step"] != step || s.service != "digits" ||
			s.attributes["bivouac.bytes"] == "" || s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("save %d: %v of %s", i, s.attributes, s.service)
		}
	}
	if open := c.of(nil, "bivouac.open"); len(open) != 1 || open[0].attributes["bivouac.resumed_step"] != "" {
		t.Errorf("open: %v", open)
	}

	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	second := training(30, "TRACEPARENT=00-"+trace+"-"+parent+"-01", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"BIVOUAC_OTEL_BATCHES=true")
	second.Stdin = bytes.NewReader(make([]byte, 100))
	if out, err := second.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	one := func(name string) span {
		list := c.of(id, name)
		if len(list) != 1 {
			t.Fatalf("%d spans %s, want 1", len(list), name)
		}
		return list[0]
	}
	root, open, save := one("bivouac demo-train"), one("bivouac.open"), one("bivouac.save")
	if hex.EncodeToString(root.ParentSpanId) != parent || root.attributes["process.exit.code"] != "0" {
		t.Errorf("the span of the command: parent %x, %v", root.ParentSpanId, root.attributes)
	}
	if open.attributes["bivouac.resumed_step"] != "20" || save.attributes["bivouac.step"] != "30" {
		t.Errorf("open %v, save %v", open.attributes, save.attributes)
	}
	for _, s := range []struct {
		name   string
		parent span
	}{
		{"bivouac.open", root}, {"bivouac.load", open}, {"bivouac.save", root},
		{"bivouac.snapshot", save}, {"bivouac.write", save},
	} {
		if got := one(s.name); !bytes.Equal(got.ParentSpanId, s.parent.SpanId) ||
			got.EndTimeUnixNano < got.StartTimeUnixNano || got.StartTimeUnixNano < s.parent.StartTimeUnixNano {
			t.Errorf("%s: parent %x, from %d to %d", s.name, got.ParentSpanId, got.StartTimeUnixNano, got.EndTimeUnixNano)
		}
	}
	if n := len(c.of(id, "bivouac.batch")); n < 10 {
		t.Errorf("%d spans of batches, want 10 at least", n)
	}
	for name, want := range map[string]float64{"bivouac.steps": 10, "bivouac.step.number": 30, "bivouac.step.duration": 10,
		"bivouac.operation.duration open": 1, "bivouac.operation.duration load": 1, "bivouac.operation.duration save": 1} {
		if got := c.metric(second.Process.Pid, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if batches, samples := c.metric(second.Process.Pid, "bivouac.batches pipeline"),
		c.metric(second.Process.Pid, "bivouac.samples pipeline"); batches < 10 || samples < batches {
		t.Errorf("%v batches of %v samples", batches, samples)
	}
}

// TestTelemetryOfDamage verifies a damaged checkpoint.
func TestTelemetryOfDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), dir, map[string]any{"w": make([]float32, 4096)}, nil); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "state", "ocdbt*", "d", "*"))
	if more, _ := filepath.Glob(filepath.Join(dir, "state", "d", "*")); err == nil {
		names = append(names, more...)
	}
	if len(names) == 0 {
		t.Fatal("no data files", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := newCollector(t)
	cmd := started([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + "/"}, "verify", dir)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitCorrupt {
		t.Fatalf("exit status %d, %v: %s", code, err, out)
	}
	for name, want := range map[string]map[string]string{
		"bivouac verify": {"process.exit.code": "4", "error.type": "corrupt"},
		"bivouac.verify": {"bivouac.path": dir, "error.type": "corrupt"},
	} {
		list := c.of(nil, name)
		if len(list) != 1 || list[0].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s: %v", name, list)
			continue
		}
		for k, v := range want {
			if list[0].attributes[k] != v {
				t.Errorf("%s: %s is %q, want %q", name, k, list[0].attributes[k], v)
			}
		}
	}
	if n := c.metric(cmd.Process.Pid, "bivouac.operation.duration verify corrupt"); n != 1 {
		t.Errorf("%v verifications failed, want 1", n)
	}
}

// TestTelemetryNeverFailsACommand runs a command with collectors that do not work and with settings
// that are wrong. It works as without, and there is one warning for each cause.
func TestTelemetryNeverFailsACommand(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // so that the end of the client is seen
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hangs.Close()
	defer close(release)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such tenant", http.StatusForbidden)
	}))
	defer refuses.Close()
	want, err := started(nil, "ops").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		variables []string
		warning   string
		count     int
	}{
		"no collector": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL}, "refused", 1},
		"hangs":        {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + hangs.URL}, "deadline", 1},
		"refuses":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + refuses.URL}, "403 Forbidden: no such tenant", 1},
		"gRPC": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
			"OTEL_EXPORTER_OTLP_PROTOCOL: invalid: want http/protobuf", 2},
		"no URL": {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector:4318", "OTEL_METRICS_EXPORTER=none"},
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: invalid: want a URL such as", 1},
		"another exporter": {[]string{"OTEL_METRICS_EXPORTER=prometheus"}, "OTEL_METRICS_EXPORTER: invalid: want otlp or none", 1},
		"disabled":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL, "OTEL_SDK_DISABLED=TRUE"}, "", 0},
		"none": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL, "OTEL_TRACES_EXPORTER=none",
			"OTEL_METRICS_EXPORTER=none"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := started(c.variables, "ops")
			var out, told bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &told
			if err := cmd.Run(); err != nil || !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%v: %s", err, told.Bytes())
			}
			n := strings.Count(told.String(), "bivouac: warning: ")
			if lines := strings.Count(told.String(), "\n"); n != c.count || n != lines ||
				!strings.Contains(told.String(), c.warning) {
				t.Errorf("want %d warnings with %q, got %s", c.count, c.warning, &told)
			}
		})
	}
	cmd := started([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL}, "ops", "--json")
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(told.Bytes()) {
		t.Errorf("with --json the warning is not JSON: %s", &told)
	}
}
