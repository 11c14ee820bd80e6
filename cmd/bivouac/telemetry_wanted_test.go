package main

import "testing"

func TestWantsTelemetry(t *testing.T) {
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"OTEL_SERVICE_NAME": "a"}, false},
		{map[string]string{all: "http://c:4318"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318"}, true},
		{map[string]string{all: "http://c:4318", "OTEL_SDK_DISABLED": " True "}, false},
		{map[string]string{all: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, true},
		{map[string]string{all: "http://c:4318", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, true}, // which is told
	} {
		if got := wantsTelemetry(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v, want %v", c.env, got, c.want)
		}
	}
}
