package documents_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	ckptoptions "github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recordedFields are the fields that the configurations of loaders set, under the names
// and in the order in which their values were recorded.
var recordedFields = []string{"BatchSize", "Shuffle", "Workers", "PinMemory", "DropLast", "Timeout", "MultiprocessingContext", "PrefetchFactor", "Persistent",
	"PinMemoryDevice", "SnapshotEvery", "OutOfOrder", "Seed", "Name", "GlobalBatch", "Rank", "World", "Uneven", "SettleEvery", "Streams", "OnError"}

// textSpecimens are what people write: options, rules, configurations.
func textSpecimens() []specimen {
	var all []specimen
	add := func(name, text string, read func(t *testing.T, text []byte) string) {
		all = append(all, specimen{
			name:  "text/" + name,
			write: func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(text), 0o666)) },
			read:  func(t *testing.T, path string) string { return read(t, readFile(t, path)) },
		})
	}
	add("checkpoint-options.yaml", `array:
  saving:
    use_zarr3: false
    use_ocdbt: true
    storage_options: {chunk_byte_size: 1048576}
memory: {read_concurrent_bytes: 1073741824}
pytree:
  loading: {partial_load: true}
bivouac: {compression: zstd, label: run 7}
`, func(t *testing.T, text []byte) string {
		o, err := ckptoptions.ParseYAML(text)
		check(t, err)
		return o.String() + "\n"
	})
	add("checkpoint-options.json", `{"array":{"saving":{"use_zarr3":true,"use_compression":true}},"checkpoint_layout":"orbax","bivouac":{"memory_budget":67108864}}`,
		func(t *testing.T, text []byte) string {
			o, err := ckptoptions.ParseJSON(text)
			check(t, err)
			return o.String() + "\n"
		})
	config := func(t *testing.T, text []byte) string {
		o, err := loader.FromConfig(text, options{})
		check(t, err)
		torch, err := torchdata.FromConfig(text, torchOptions{})
		check(t, err)
		out, v := "", reflect.ValueOf(o)
		for _, field := range recordedFields {
			from, name := v, field
			switch field {
			case "MultiprocessingContext", "PinMemoryDevice", "DropLast": // torch's, of which two have no effect in a loader
				from = reflect.ValueOf(torch)
			case "PinMemory":
				name = "Pinned"
			case "PrefetchFactor":
				name = "Prefetch"
			}
			if f := from.FieldByName(name); !f.IsZero() {
				out += fmt.Sprintf("%s: %+v\n", field, f)
			}
		}
		return out
	}
	add("loader.yaml", `batch_size: 64
shuffle: true
num_workers: 4
prefetch_factor: 3
persistent_workers: true
drop_last: true
timeout: 30
pin_memory: false
multiprocessing_context: fork
snapshot_every_n_steps: 5
in_order: false
seed: 18446744073709551615
rank: 3
world: 8
streams: 16
on_error: {action: skip, retries: 2, backoff: 0.5}
`, config)
	add("loader.json", `{"batch_size": null, "num_workers": 0, "prefetch_factor": null, "snapshot_every_n_steps": 0, "global_batch": 512, "world": 8}`, config)
	add("surgery.yaml", `rules:
- rename: {pattern: 'params\.(.*)', to: 'model.$1'}
- cast: {pattern: 'model\.half', dtype: float32}
- drop: {pattern: 'none'}
`, func(t *testing.T, text []byte) string {
		script, err := surgery.Parse(text)
		check(t, err)
		path := t.TempDir() + "/ckpt"
		check(t, checkpoint.Save(t.Context(), path, map[string]any{"params": map[string]any{"half": ramp(tensor.Int8, 3),
			"w": []float32{1, 2}}, "none": 3}, nil))
		n, err := checkpoint.LoadAndTransform(t.Context(), []string{path}, nil, script.Transform, nil)
		check(t, err)
		return fmt.Sprintf("%s\n%s", script, leavesOf(n))
	})
	return all
}
