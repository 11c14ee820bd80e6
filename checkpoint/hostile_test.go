package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/store"
)

// madeUp is a small checkpoint of a layout as another library would have left
// it: with the arrays "a" and "left" and without anything of ours, so that
// nothing but what the format itself says protects a reader.
func madeUp(t *testing.T, o writer.Options) content {
	t.Helper()
	v := values(31)
	s := preserveAs(t, "foreign", o, 31, map[string]any{"state": map[string]any{"left": v["left"], "a": v["a"]}})
	files := s.files.with(manifest.Name, nil)
	if doc := files["state/_METADATA"]; doc != nil {
		files = files.with("state/_METADATA", bytes.Replace(doc, []byte(`{"bivouac":{"manifest":1}}`), []byte("{}"), 1))
	}
	if file := files[safetensors.SingleName]; file != nil {
		files = files.with(safetensors.SingleName, header(withoutMetadata(t))(file))
	}
	return files
}

// withoutMetadata removes the metadata from the header of a safetensors file.
func withoutMetadata(t *testing.T) func(h []byte) []byte {
	return func(h []byte) []byte {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(h, &members); err != nil {
			t.Fatal(err)
		}
		delete(members, "__metadata__")
		h, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

// watched notes the names that are opened, so that a test can tell whether one
// leads out of the checkpoint.
type watched struct {
	contentStore
	mu    *sync.Mutex
	names *[]string
}

func (w watched) Open(ctx context.Context, name string) (store.Reader, error) {
	w.mu.Lock()
	*w.names = append(*w.names, name)
	w.mu.Unlock()
	return w.contentStore.Open(ctx, name)
}

// hostile is a checkpoint that somebody made up.
type hostile struct {
	name string
	file string // of the checkpoint, that is changed
	edit func(b []byte) []byte
	// says is what the error must contain: the file or the key, and the reason.
	says []string
}

func replace(from, to string) func([]byte) []byte {
	return func(b []byte) []byte {
		if !bytes.Contains(b, []byte(from)) {
			panic(fmt.Sprintf("%q is not in %s", from, b))
		}
		return bytes.ReplaceAll(b, []byte(from), []byte(to))
	}
}

func gone([]byte) []byte  { return nil }
func empty([]byte) []byte { return []byte{} }

// bomb is a zstd frame of a few kilobytes that decodes to 256 MiB.
func bomb([]byte) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	zeros := make([]byte, 1<<20)
	for range 256 {
		w.Write(zeros) //nolint:errcheck // to memory
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// header changes the header of a safetensors file and its length.
func header(edit func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		n := binary.LittleEndian.Uint64(b)
		h := edit(bytes.Clone(b[8 : 8+n]))
		return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h, b[8+n:])
	}
}

const (
	absurd     = "4611686018427387904"
	largeShape = "a shape larger than the file"
)

// documents are the same in all layouts of Orbax.
var documents = []hostile{
	{"a name that leaves the checkpoint", "state/_METADATA", replace(`"key":"left"`, `"key":"../../secret"`), []string{"secret"}},
	{"an absolute name", "state/_METADATA", replace(`"key":"left"`, `"key":"/etc/passwd"`), []string{"passwd"}},
	{"a name of dots", "state/_METADATA", replace(`"key":"left"`, `"key":".."`), []string{".."}},
	{"a name with a NUL", "state/_METADATA", replace(`"key":"left"`, `"key":"le\u0000ft"`), []string{"ft"}},
	{"two leaves of one name", "state/_METADATA", replace(`{"key":"a","key_type":2}`, `{"key":"left","key_type":2}`), []string{"left"}},
	{"a member twice", "state/_METADATA", replace(`"use_zarr3":`, `"use_zarr3":"no","use_zarr3":`), []string{"_METADATA", "use_zarr3"}},
	{"an absurd index", "state/_METADATA", replace(`{"key":"left","key_type":2}`, `{"key":"`+absurd+`","key_type":1}`), []string{absurd}},
	{"no JSON", "state/_METADATA", replace(`{"tree_metadata"`, `{"tree_metadata`), []string{"_METADATA"}},
	{"nesting without end", "state/_METADATA", func([]byte) []byte { return bytes.Repeat([]byte(`{"tree_metadata":`), 1<<16) }, []string{"_METADATA"}},
	{"an empty document", "state/_METADATA", empty, []string{"_METADATA"}},
	{"an empty description", "_CHECKPOINT_METADATA", empty, []string{"_CHECKPOINT_METADATA"}},
}

var hostiles = map[string]struct {
	o     writer.Options
	cases []hostile
}{
	"ocdbt-zarr3": {writer.Options{Layout: options.OCDBTZarr3}, append([]hostile{
		{"no database", "state/manifest.ocdbt", gone, []string{"manifest.ocdbt"}},
		{"an empty database", "state/manifest.ocdbt", empty, []string{"manifest.ocdbt"}},
		{"an absurd length", "state/manifest.ocdbt", func(b []byte) []byte { return append(bytes.Repeat([]byte{255}, 12), b[12:]...) }, []string{"manifest.ocdbt"}},
	}, documents...)},
	"ocdbt-zarr2": {writer.Options{Layout: options.OCDBTZarr2}, documents},
	"zarr3": {writer.Options{Layout: options.PlainZarr3}, append([]hostile{
		{"an absurd shape", "state/left/zarr.json", replace(`"shape":[300]`, `"shape":[`+absurd+`]`), []string{"left"}},
		{"a product that overflows", "state/left/zarr.json", replace(`"shape":[300]`, `"shape":[`+absurd+`,8]`), []string{"left"}},
		{largeShape, "state/left/zarr.json", replace(`[300]`, `[1099511627776]`), []string{"left"}},
		{"a negative shape", "state/left/zarr.json", replace(`"shape":[300]`, `"shape":[-300]`), []string{"left", "shape"}},
		{"chunks of nothing", "state/left/zarr.json", replace(`"chunk_shape":[300]`, `"chunk_shape":[0]`), []string{"left", "chunk"}},
		{"more chunks than atoms", "state/left/zarr.json", func(b []byte) []byte {
			return replace(`"chunk_shape":[300]`, `"chunk_shape":[1]`)(replace(`"shape":[300],"zarr`, `"shape":[`+absurd+`],"zarr`)(b))
		}, []string{"left"}},
		{"a member twice", "state/left/zarr.json", replace(`"data_type":"float32"`, `"data_type":"float32","data_type":"int32"`), []string{"left", "data_type"}},
		{"an unknown dtype", "state/left/zarr.json", replace(`"float32"`, `"float33"`), []string{"left", "float33"}},
		{"an unknown codec", "state/left/zarr.json", replace(`"crc32c"`, `"pickle"`), []string{"left", "pickle"}},
		{"a group where an array was", "state/left/zarr.json", replace(`"node_type":"array"`, `"node_type":"group"`), []string{"left"}},
		{"no metadata", "state/left/zarr.json", gone, []string{"left"}},
		{"empty metadata", "state/left/zarr.json", empty, []string{"left"}},
		{"a chunk that is missing", "state/left/c/0", gone, []string{"left"}},
		{"an empty chunk", "state/left/c/0", empty, []string{"left"}},
		{"an index that points out of the chunk", "state/left/c/0", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[len(b)-18] ^= 0x40
			return b
		}, []string{"left"}},
	}, documents...)},
	"zarr2": {writer.Options{Layout: options.PlainZarr2, Storage: writer.Storage{Compression: options.Zstd}}, append([]hostile{
		{"a decompression bomb", "state/left/0", bomb, []string{"left"}},
		{"an absurd shape", "state/left/.zarray", replace(`"shape":[300]`, `"shape":[`+absurd+`]`), []string{"left"}},
		{"an absurd chunk", "state/left/.zarray", replace(`"chunks":[300]`, `"chunks":[`+absurd+`]`), []string{"left"}},
		{"an object dtype", "state/left/.zarray", replace(`"<f4"`, `"|O"`), []string{"left", "|O"}},
		{"an unknown compressor", "state/left/.zarray", replace(`"zstd"`, `"pickle"`), []string{"left", "pickle"}},
		{"a filter", "state/left/.zarray", replace(`"filters":null`, `"filters":[{"id":"pickle"}]`), []string{"left"}},
		{"a chunk that is missing", "state/left/0", gone, []string{"left"}},
		{"an empty chunk", "state/left/0", empty, []string{"left"}},
		{"a member twice", "state/left/.zarray", replace(`"order":"C"`, `"order":"C","order":"F"`), []string{"left", "order"}},
	}, documents...)},
	"safetensors": {writer.Options{Layout: options.SafetensorsLayout}, []hostile{
		{"an absurd header", "model.safetensors", func(b []byte) []byte { return append(bytes.Repeat([]byte{0x7f}, 8), b[8:]...) }, []string{"model.safetensors"}},
		{"offsets past the end", "model.safetensors", header(func(h []byte) []byte {
			return bytes.Replace(h, []byte(`"data_offsets":[0,`), []byte(`"data_offsets":[9000000,`), 1)
		}), []string{"model.safetensors"}},
		{"an absurd shape", "model.safetensors", header(replace(`"shape":[300]`, `"shape":[`+absurd+`,4]`)), []string{"model.safetensors", "left"}},
		{"a tensor twice", "model.safetensors", header(replace(`"a":{"dtype"`, `"left":{"dtype"`)), []string{"model.safetensors", "left"}},
		{"an unknown dtype", "model.safetensors", header(replace(`"F32"`, `"F33"`)), []string{"model.safetensors", "F33"}},
		{"an empty file", "model.safetensors", empty, []string{"model.safetensors"}},
	}},
}

// Whatever somebody made up: an error of a kind that says so, with the file or
// key and the reason, memory in proportion, and nothing outside the checkpoint
// is looked at.
func TestHostileCheckpoints(t *testing.T) {
	for layout, c := range hostiles {
		files := madeUp(t, c.o)
		if err := load(files); err != nil {
			t.Fatalf("%s, undamaged: %v", layout, err)
		}
		for _, h := range c.cases {
			t.Run(layout+"/"+h.name, func(t *testing.T) { h.try(t, files) })
		}
	}
}

func (h hostile) try(t *testing.T, files content) {
	old, ok := files[h.file]
	if !ok {
		t.Fatalf("there is no %s among %q", h.file, slices.Sorted(maps.Keys(files)))
	}
	changed := files.with(h.file, h.edit(old))
	var mu sync.Mutex
	var names []string
	st := watched{contentStore{files: changed}, &mu, &names}
	before := allocated()
	_, err := checkpoint.LoadCheckpointables(context.Background(), "c", &checkpoint.LoadOptions{Store: st})
	// Where the system promises memory that it does not have, a false shape
	// takes addresses, and no memory.
	if n := allocated() - before; n > allowance && h.name != largeShape {
		t.Errorf("%d bytes of memory", n)
	}
	if err == nil {
		t.Fatal("it loads")
	}
	if bad := refusal(err); bad != nil && !errors.Is(err, errs.Exhausted) {
		t.Error(bad)
	}
	for _, s := range append(h.says, errs.KindOf(err).String()) {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
	for _, n := range names {
		if strings.Contains(n, "..") || !strings.HasPrefix(n, "c/") {
			t.Errorf("it opened %q", n)
		}
	}
}

// A chunk that is missing is an error unless the metadata says that chunks of
// nothing but the fill value are not stored.
func TestMissingChunks(t *testing.T) {
	files := madeUp(t, writer.Options{Layout: options.PlainZarr3}).with("state/left/c/0", nil)
	if err := load(files); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("stored whatever it holds: %v", err)
	}
	says := replace(`"store_array_data_equal_to_fill_value":true`, `"store_array_data_equal_to_fill_value":false`)
	if err := load(files.with("state/_METADATA", says(files["state/_METADATA"]))); err != nil {
		t.Errorf("not stored where it holds the fill value: %v", err)
	}
}
