package pipeline_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// TestParseOptions reads the same document in YAML and JSON, and names what it does not know.
func TestParseOptions(t *testing.T) {
	want := pipeline.Options{BatchSize: 8, Seed: 7, Workers: 2, Prefetch: pipeline.NoPrefetch, IOWorkers: 3, ReadAheadBytes: 4096,
		OnError: map[string]faults.Action{"r": faults.Skip, "": faults.Zero},
		Limits:  pipeline.Limits{MaxPixels: pipeline.NoLimit, MaxBytes: 10, MaxTotalBytes: 1 << 40, MaxTime: 1500 * time.Millisecond}}
	for _, text := range []string{`
# for the large pictures
batch_size: 8
seed: 7
num_threads: 2
prefetch_depth: -1
io_threads: 3
read_ahead_bytes: 4096
on_error: {r: skip, "": zero}
limits:
  max_pixels: -1
  max_bytes: 10
  max_total_bytes: 1099511627776
  max_time: 1.5s
`, `{"batch_size": 8, "seed": 7, "num_threads": 2, "prefetch_depth": -1, "io_threads": 3, "read_ahead_bytes": 4096,
	"on_error": {"r": "skip", "": "zero"}, "limits": {"max_pixels": -1, "max_bytes": 10, "max_total_bytes": 1099511627776, "max_time": "1.5s"}}`} {
		got, err := pipeline.ParseOptions([]byte(text))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	for text, says := range map[string][]string{
		"":                              nil,
		"# nothing":                     nil,
		"null":                          nil,
		"{}":                            nil,
		"limits: {max_byte: 3}":         {"line 1, column 10: limits.max_byte", `did you mean "max_bytes"?`},
		"limit:\n  max_bytes: 3":        {"line 1, column 1: limit", `did you mean "limits"?`},
		"limits: 3":                     {"limits", "a mapping", `"3"`},
		"limits:":                       {"limits", "a mapping"},
		"- 1":                           {"a mapping", "a list"},
		"limits: {max_bytes: 1.5}":      {"limits.max_bytes", "an integer", `"1.5"`},
		"limits: {max_bytes: '1'}":      {"limits.max_bytes", "an integer"},
		"limits: {max_bytes: 1e30}":     {"limits.max_bytes", "an integer"},
		"limits: {max_time: 5}":         {"limits.max_time", "a duration", `"5"`},
		"seed: 1\nseed: 2":              {"seed", "each name once"},
		"seed: -1":                      {"seed", "an integer in its range"},
		"batch_size: -3":                {"Options.BatchSize", "-3"},
		"on_error: {r: skp}":            {"on_error.r", `did you mean "skip"?`},
		"on_error: skip":                {"on_error", "a mapping"},
		"a: &a 1\nseed: *a":             {"line 1, column 1: a"},
		"seed: 1\n---\nseed: 2":         {"one document"},
		"{":                             {"YAML or JSON"},
		strings.Repeat("#", 2<<20):      {"at most 1048576 bytes"},
		strings.Repeat("[", 1<<14) + "": {"YAML or JSON"},
	} {
		_, err := pipeline.ParseOptions([]byte(text))
		if (err == nil) != (says == nil) {
			t.Errorf("%.40q: %v", text, err)
		}
		for _, word := range says {
			if !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("%.40q: %v does not say %q", text, err, word)
			}
		}
	}
	if _, err := pipeline.ReadOptions(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}
