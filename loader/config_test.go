package loader_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestFromConfig(t *testing.T) {
	base := options{BatchSize: 3, Streams: 9}
	want := options{BatchSize: 64, Shuffle: true, Workers: 4, Prefetch: 3, Persistent: true, Tail: order.Drop,
		Timeout: 1500 * time.Millisecond,
		Pinned:  true, SnapshotEvery: 5, OutOfOrder: true, Seed: 1<<64 - 1, Rank: 2, World: 8, Streams: 9,
		OnError: faults.Policy{Action: faults.Skip, Retries: 2, Backoff: 100 * time.Millisecond}}
	yaml := `
batch_size: 64
shuffle: true
num_workers: 4
prefetch_factor: 3
persistent_workers: true
drop_last: true
timeout: 1.5
pin_memory: true
pin_memory_device: cpu
multiprocessing_context: spawn
snapshot_every_n_steps: 5
in_order: false
seed: 18446744073709551615
rank: 2
world: 8
on_error: {action: skip, retries: 2, backoff: 0.1}
`
	got, err := loader.FromConfig([]byte(yaml), base)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(options{}, "Collate", "WorkerInit", "Log",
		"Generator")); diff != "" {
		t.Error(diff)
	}
	for text, check := range map[string]func(options) bool{
		``:                               func(o options) bool { return o.BatchSize == 3 },
		`{"batch_size": null}`:           func(o options) bool { return o.BatchSize == loader.NoBatching },
		`snapshot_every_n_steps: 0`:      func(o options) bool { return o.SnapshotEvery == loader.SnapshotNever },
		`snapshot_every_n_steps: null`:   func(o options) bool { return o.SnapshotEvery == loader.SnapshotNever },
		`snapshot_every_n_steps: -4`:     func(o options) bool { return o.SnapshotEvery == 4 },
		`{"shuffle": null, "timeout":0}`: func(o options) bool { return !o.Shuffle && o.Timeout == 0 },
	} {
		if o, err := loader.FromConfig([]byte(text), base); err != nil || !check(o) {
			t.Errorf("%s: %v %+v", text, err, o)
		}
	}
}

func TestFromConfigRefuses(t *testing.T) {
	for text, name := range map[string]string{
		`batch_size: 0`: "batch_size", `batch_size: -1`: "batch_size", `batch_size: true`: "batch_size", `batch_size: 1.5`: "batch_size",
		`batch_size: "2"`: "batch_size", `batch_size: [2]`: "batch_size", `num_workers: -1`: "num_workers", `num_workers: null`: "num_workers",
		`prefetch_factor: 0`: "prefetch_factor", `timeout: -1`: "timeout", `timeout: .nan`: "timeout", `timeout: 1e300`: "timeout", `shuffle: 1`: "shuffle",
		`drop_last: "no"`: "drop_last", `in_order: null`: "in_order", `multiprocessing_context: 3`: "multiprocessing_context",
		`snapshot_every_n_steps: x`: "snapshot_every_n_steps", `nonsense: 1`: "nonsense", `sampler: sequential`: "sampler",
		"seed: 1\nseed: 2": "seed", `seed: -1`: "seed", `world: 0`: "world", `on_error: skip`: "on_error", `on_error: {action: leave}`: "on_error.action",
		`on_error: {retry: 1}`: "on_error.retry", `[1]`: "line 1", `{`: "YAML", `1: 2`: "1 in line 1", "a: &x 1\nbatch_size: *x": "a in line 1",
	} {
		_, err := loader.FromConfig([]byte(text), options{})
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A misspelt name is told with its line and the name that was meant: of each option that
// a configuration may have, and of their parts.
func TestFromConfigSuggests(t *testing.T) {
	names := []string{"batch_size", "shuffle", "num_workers", "prefetch_factor", "persistent_workers", "drop_last",
		"timeout", "pin_memory", "pin_memory_device",
		"multiprocessing_context", "snapshot_every_n_steps", "in_order", "seed", "name", "global_batch", "rank", "world",
		"streams", "uneven", "settle_every_n_steps", "on_error"}
	for _, name := range names {
		wrong := name[:len(name)-1] + "x"
		_, err := loader.FromConfig([]byte("# options\n"+wrong+": 1"), options{})
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "line 2") ||
			!strings.Contains(err.Error(), "did you mean "+strconv.Quote(name)+"?") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for text, want := range map[string]string{
		"on_error: {retrie: 1}":  `did you mean "retries"?`,
		"on_error: {acton: 1}":   `did you mean "action"?`,
		"batch_size: 1\nseed: {": "line 2",
		"{":                      "want YAML or JSON, got text that is neither",
	} {
		if _, err := loader.FromConfig([]byte(text), options{}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "yaml:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzFromConfig(f *testing.F) {
	f.Add("batch_size: 64\nshuffle: true")
	f.Add(`{"on_error":{"action":"skip"},"timeout":3}`)
	f.Add("a: &x [*x]")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := loader.FromConfig[int64, tensor.Tensor]([]byte(text), options{})
		if err != nil {
			if !errors.Is(err, errs.Invalid) {
				t.Fatalf("kind of %v", err)
			}
			return
		}
		o.Workers, o.Pinned = min(o.Workers, 2), false
		l, err := loader.New(ids(4), o)
		if err != nil {
			return
		}
		l.Close()
	})
}
