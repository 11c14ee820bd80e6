package main

import "strings"

// wantsTelemetry reports whether the environment asks for spans or metrics. get returns a variable.
func wantsTelemetry(get func(name string) string) bool {
	if strings.EqualFold(strings.TrimSpace(get("OTEL_SDK_DISABLED")), "true") {
		return false
	}
	for _, signal := range []string{"TRACES", "METRICS"} {
		switch exporter := strings.TrimSpace(get("OTEL_" + signal + "_EXPORTER")); exporter {
		case "none":
		case "":
			if get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}
