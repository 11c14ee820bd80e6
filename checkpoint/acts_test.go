package checkpoint_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// facts are what an option of saves may change of a checkpoint.
type facts struct {
	Layout             string
	OCDBT, Zarr3, Rich bool
	Element, Read      string // of the array "w": its type, and what is read of it at once
	Bytes              int64
	Files              int
}

// factsOf saves a state under ctx, and returns what it finds.
func factsOf(ctx context.Context, t *testing.T) facts {
	t.Helper()
	at := filepath.Join(t.TempDir(), "c")
	type pair struct{ A, B int }
	state := map[string]any{"w": tensor.New(tensor.Float32, 1024, 1024), "v": tensor.New(tensor.Float32, 1024, 256),
		"p": pair{1, 2}}
	if err := checkpoint.Save(ctx, at, state, nil); err != nil {
		t.Fatal(err)
	}
	info, err := checkpoint.Metadata(ctx, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	it := info.Items[0]
	f := facts{Layout: info.Layout, OCDBT: it.UseOCDBT, Zarr3: it.UseZarr3, Rich: it.RichTypes}
	for _, l := range it.Leaves {
		if l.Param == "w" {
			f.Element, f.Read = l.DType.String(), fmt.Sprint(l.ReadShape)
		}
	}
	err = filepath.WalkDir(at, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := d.Info()
		f.Files++
		f.Bytes += in.Size() &^ 4095 // documents have times and random names
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// storing are options of the text form that change what is stored, each with how.
var storing = map[string]struct {
	text string
	want func(before, after facts) bool
}{
	"checkpoint_layout": {`{"checkpoint_layout":"safetensors"}`, func(_, f facts) bool { return f.Layout == "safetensors" }},
	"pytree.saving.pytree_metadata_options.support_rich_types": {`{"pytree":{"saving":{"pytree_metadata_options":{"support_rich_types":true}}}}`,
		func(b, f facts) bool { return f.Rich && !b.Rich }},
	"array.saving.storage_options.dtype":           {`{"array":{"saving":{"storage_options":{"dtype":"bfloat16"}}}}`, func(b, f facts) bool { return f.Element == "bfloat16" && f.Bytes < b.Bytes }},
	"array.saving.storage_options.chunk_byte_size": {`{"array":{"saving":{"storage_options":{"chunk_byte_size":65536}}}}`, func(_, f facts) bool { return f.Read == "[16 1024]" }},
	"array.saving.storage_options.shard_axes":      {`{"array":{"saving":{"storage_options":{"shard_axes":[1]}}}}`, func(b, f facts) bool { return f.Read != b.Read && strings.HasPrefix(f.Read, "[1024 ") }},
	"array.saving.use_ocdbt":                       {`{"array":{"saving":{"use_ocdbt":false}}}`, func(b, f facts) bool { return b.OCDBT && !f.OCDBT }},
	"array.saving.use_zarr3":                       {`{"array":{"saving":{"use_zarr3":false}}}`, func(b, f facts) bool { return b.Zarr3 && !f.Zarr3 }},
	"array.saving.use_compression":                 {`{"array":{"saving":{"use_compression":true}}}`, func(b, f facts) bool { return f.Bytes < b.Bytes/2 }},
	"array.saving.ocdbt_target_data_file_size":     {`{"array":{"saving":{"ocdbt_target_data_file_size":1048576}}}`, func(b, f facts) bool { return f.Files > b.Files }},
	"bivouac.layout":                               {`{"bivouac":{"layout":"zarr2"}}`, func(_, f facts) bool { return !f.OCDBT && !f.Zarr3 }},
	"bivouac.compression":                          {`{"bivouac":{"compression":"bytesplit"}}`, func(b, f facts) bool { return f.Bytes < b.Bytes/2 }},
	"bivouac.leaf_storage":                         {`{"bivouac":{"leaf_storage":[{"match":"w","storage_options":{"chunk_byte_size":65536}}]}}`, func(_, f facts) bool { return f.Read == "[16 1024]" }},
}

// acting are the others, each with what it changes.
var acting = map[string]func(*testing.T){
	"array.saving.scoped_storage_options_creator": func(t *testing.T) {
		var o options.Options
		o.Array.Saving.ScopedStorage = func(key tree.Path, _ any) *options.Storage { return &options.Storage{ChunkByteSize: 1 << 16} }
		if f := factsOf(options.With(t.Context(), o), t); f.Read != "[16 1024]" {
			t.Error(f)
		}
	},
	"pytree.loading.partial_load": func(t *testing.T) {
		var o options.Options
		o.PyTree.Loading.PartialLoad = options.On
		loadsWith(t, o, map[string]any{"b": map[string]any{"c": nil}}, errs.Mismatch, 0)
	},
	"array.loading.enable_padding_and_truncation": func(t *testing.T) {
		var o options.Options
		o.Array.Loading.EnablePaddingAndTruncation = options.On
		loadsWith(t, o, map[string]any{"a": make([]int32, 6), "b": nil, "j": make([]float32, 2)}, errs.Mismatch, 0)
	},
	"bivouac.pad": func(t *testing.T) {
		o := options.Options{Bivouac: options.Bivouac{Pad: options.On}}
		loadsWith(t, o, map[string]any{"a": make([]int32, 6), "b": nil, "j": nil}, errs.Mismatch, 0)
		loadsWith(t, o, map[string]any{"a": make([]int32, 2), "b": nil, "j": nil}, errs.Mismatch, errs.Mismatch)
	},
	"bivouac.truncate": func(t *testing.T) {
		o := options.Options{Bivouac: options.Bivouac{Truncate: options.On}}
		loadsWith(t, o, map[string]any{"a": make([]int32, 2), "b": nil, "j": nil}, errs.Mismatch, 0)
		loadsWith(t, o, map[string]any{"a": make([]int32, 6), "b": nil, "j": nil}, errs.Mismatch, errs.Mismatch)
	},
	"asynchronous.load_timeout_secs": func(t *testing.T) {
		loadsWith(t, options.Options{Asynchronous: options.Asynchronous{LoadTimeout: 1}}, nil, 0, errs.Canceled)
	},
	"asynchronous.save_timeout_secs": func(t *testing.T) {
		b := newBlunder(t)
		o := &checkpoint.SaveOptions{Options: options.Options{Asynchronous: options.Asynchronous{SaveTimeout: 1}}}
		if err := checkpoint.Save(t.Context(), b.path("new"), map[string]any{"a": 1}, o); errs.KindOf(err) != errs.Canceled {
			t.Error(err)
		}
	},
	"asynchronous.timeout_secs": func(t *testing.T) {
		b := newBlunder(t)
		o := &checkpoint.SaveOptions{Options: options.Options{Asynchronous: options.Asynchronous{Timeout: 1}}}
		if err := checkpoint.Save(t.Context(), b.path("waited for"), map[string]any{"a": 1}, o); err != nil {
			t.Error(err)
		}
		r, err := checkpoint.SaveAsync(t.Context(), b.path("new"), map[string]any{"a": 1}, o)
		if err == nil {
			_, err = r.Result(t.Context())
		}
		if errs.KindOf(err) != errs.Canceled || checkpoint.IsCheckpoint(t.Context(), b.path("new"), nil) {
			t.Error(err)
		}
	},
	"asynchronous.post_finalization_callback": func(t *testing.T) {
		b, calls := newBlunder(t), 0
		o := &checkpoint.SaveOptions{}
		o.Asynchronous.PostFinalizationCallback = func() { calls++ }
		r, err := checkpoint.SaveAsync(t.Context(), b.path("new"), map[string]any{"a": 1}, o)
		if err == nil {
			_, err = r.Result(t.Context())
		}
		if err != nil || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	},
	"file.path_class": func(t *testing.T) {
		ctx := options.With(t.Context(), options.Options{File: options.File{Store: local.New(vfstest.NewMem(), "/", nil)}})
		if err := checkpoint.Save(ctx, "c", map[string]any{"a": 1}, nil); err != nil {
			t.Fatal(err)
		}
		if !checkpoint.IsCheckpoint(ctx, "c", nil) || checkpoint.IsCheckpoint(t.Context(), "c", nil) {
			t.Error("not in the store of the context")
		}
	},
	"checkpointables.registry": func(t *testing.T) {
		r, err := handler.Local(nil, true)
		if err == nil {
			err = r.Add(handler.JSON{}, "x")
		}
		if err != nil {
			t.Fatal(err)
		}
		b := newBlunder(t)
		with := options.With(t.Context(), options.Options{Checkpointables: options.Checkpointables{Registry: r}})
		for kind, ctx := range map[string]context.Context{"json": with, "tree": t.Context()} {
			name := "as " + kind
			if err := checkpoint.SaveCheckpointables(ctx, b.path(name), map[string]any{"x": map[string]any{"a": 1}}, nil); err != nil {
				t.Fatal(err)
			}
			info, err := checkpoint.Metadata(t.Context(), b.path(name), nil)
			if err != nil || info.Items[0].Kind != kind {
				t.Errorf("%+v, %v", info, err)
			}
		}
	},
	"deletion.gcs_deletion_options.todelete_full_path": func(t *testing.T) {
		b := newBlunder(t)
		o := &checkpoint.DeleteOptions{}
		o.Deletion.GCS.TodeleteFullPath = "trash"
		if _, err := checkpoint.Delete(t.Context(), b.path("ok"), o); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(b.path("trash")); err != nil || len(left) != 1 || checkpoint.IsCheckpoint(t.Context(), b.path("ok"), nil) {
			t.Errorf("%v, %v", left, err)
		}
	},
	"memory.transfer_concurrent_bytes": func(t *testing.T) {
		copies(t, options.Options{Memory: options.Memory{TransferConcurrentBytes: 9 << 20}})
	},
	"memory.expected_surge_bytes": func(t *testing.T) {
		copies(t, options.Options{Memory: options.Memory{TransferConcurrentBytes: 64 << 20, ExpectedSurgeBytes: 55 << 20}})
	},
	"bivouac.memory_budget": func(t *testing.T) { copies(t, options.Options{Bivouac: options.Bivouac{MemoryBudget: 9 << 20}}) },
	"bivouac.signing_key":   signs,
	"bivouac.verification_key": func(t *testing.T) {
		loadsWith(t, options.Options{Bivouac: options.Bivouac{Verification: make(ed25519.PublicKey, ed25519.PublicKeySize)}}, nil, 0, errs.Corrupt)
	},
	"bivouac.label": signs,
}

// loadsWith loads a checkpoint without o and with it, in the context.
func loadsWith(t *testing.T, o options.Options, abstract any, without, with errs.Kind) {
	t.Helper()
	b := newBlunder(t)
	for ctx, want := range map[context.Context]errs.Kind{t.Context(): without, options.With(t.Context(), o): with} {
		if _, err := checkpoint.Load(ctx, b.path("ok"),
			&checkpoint.LoadOptions{Abstract: abstract}); errs.KindOf(err) != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// copies holds that the state is copied, and not in the memory that o leaves.
func copies(t *testing.T, o options.Options) {
	t.Helper()
	b := newBlunder(t)
	for ctx, want := range map[context.Context]bool{t.Context(): true, options.With(t.Context(), o): false} {
		r, err := checkpoint.SaveAsync(ctx, b.path(fmt.Sprint(want)), map[string]any{"w": make([]float32, 4<<20)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.Result(t.Context()); err != nil || s.Copied != want {
			t.Errorf("copied %v, want %v; %v", s.Copied, want, err)
		}
	}
}

// signs signs with a label, and asks for it and for another one.
func signs(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	b := newBlunder(t)
	ctx := options.With(t.Context(), options.Options{Bivouac: options.Bivouac{Signing: key, Label: "mine"}})
	if err := checkpoint.Save(ctx, b.path("new"), map[string]any{"a": 1}, nil); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]errs.Kind{"mine": 0, "": 0, "other": errs.Corrupt} {
		ctx := options.With(t.Context(),
			options.Options{Bivouac: options.Bivouac{Verification: key.Public().(ed25519.PublicKey), Label: label}})
		if _, err := checkpoint.Load(ctx, b.path("new"), nil); errs.KindOf(err) != want {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// elsewhere are options that act, and the tests that show it.
var elsewhere = map[string]string{
	"array.loading.raise_array_data_missing_error":                          "TestRaiseArrayDataMissingError",
	"array.loading.use_load_and_broadcast":                                  "TestLoadAndBroadcast",
	"array.loading.load_and_broadcast_options.replica_axis_index":           "TestLoadAndBroadcast",
	"array.loading.load_and_broadcast_options.primary_replica_id":           "TestLoadAndBroadcast",
	"array.loading.load_and_broadcast_options.mesh_shape":                   "TestLoadAndBroadcast",
	"array.loading.load_and_broadcast_options.peers":                        "TestLoadAndBroadcast",
	"array.loading.load_and_broadcast_options.broadcast_memory_limit_bytes": "TestLoadAndBroadcast",
	"array.saving.use_replica_parallel":                                     "TestReplicasWriteTheirShares",
	"array.saving.min_slice_bytes_for_replica_parallel":                     "TestReplicasWriteTheirShares",
	"array.saving.max_replicas_for_replica_parallel":                        "TestReplicasWriteTheirShares",
	"array.saving.array_metadata_store":                                     "TestArraysOfJAX",
	"array.saving.enable_write_sharding_file":                               "TestArraysOfJAX",
	"atomicity.allow_legacy_atomic_rename":                                  "TestLoadsByCommitFile",
	"atomicity.mode":                                                        "TestLoadsByCommitFile",
	"bivouac.annotations":                                                   "TestAnnotations",
	"bivouac.parity":                                                        "TestMend",
	"bivouac.zarr_metadata_key":                                             "TestZarrMetadataKey",
	"file.path_permission_mode":                                             "TestPathPermissionMode",
	"file.temporary_path_class":                                             "TestLoadsByCommitFile",
	"memory.deepcopy_host_arrays":                                           "TestDeepcopyHostArrays",
	"memory.is_prioritized_key_fn":                                          "TestIsPrioritizedKey",
	"memory.read_concurrent_bytes":                                          "TestReadConcurrentBytes",
	"memory.serialization_status_callback":                                  "TestSerializationStatus",
	"memory.write_concurrent_bytes":                                         "TestWriteConcurrentBytes",
	"multiprocessing.active_processes":                                      "TestActiveProcesses",
	"multiprocessing.barrier":                                               "TestBarrierKeys",
	"multiprocessing.barrier_sync_key_prefix":                               "TestBarrierKeys",
	"multiprocessing.primary_host":                                          "TestPrimaryHost",
	"multiprocessing.process_count":                                         "TestSeveralProcessesAreOne",
	"multiprocessing.process_index":                                         "TestSeveralProcessesAreOne",
	"pytree.leaf_handlers":                                                  "TestLeafHandlers",
	"safetensors.max_over_read_ratio":                                       "TestSafetensorsReads",
	"safetensors.read_chunk_bytes":                                          "TestSafetensorsReads",
}

// Each option that the table of package options says to act changes something, given
// by the context or the call; each that has no effect changes nothing.
func TestOptionsAct(t *testing.T) {
	before, known := factsOf(t.Context(), t), testsHere(t)
	for name, does := range optionTable(t) {
		text, stores := storing[name]
		do, acts := acting[name]
		other := elsewhere[name]
		switch said := strings.HasPrefix(does, "acts"); {
		case said && !stores && !acts && !known[other] || !said && (stores || acts):
			t.Errorf("%s is said to be %q, and tried by %q", name, does, other)
		case stores:
			t.Run(name, func(t *testing.T) {
				o, err := options.ParseJSON([]byte(text.text))
				if err != nil {
					t.Fatal(err)
				}
				if after := factsOf(options.With(t.Context(), o), t); !text.want(before, after) {
					t.Errorf("before %+v, after %+v", before, after)
				}
			})
		case acts:
			t.Run(name, do)
		}
	}
}

// testsHere are the names of the tests of this package.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "func Test"); ok {
				out["Test"+strings.Split(name, "(")[0]] = true
			}
		}
	}
	return out
}

// optionTable is what the documentation of package options says of each option.
func optionTable(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("options", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "here\n")
	out := map[string]string{}
	for line := range strings.Lines(table) {
		if name, does, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "//")), " "); ok &&
			strings.HasPrefix(line, "//\t") {
			out[name] = strings.TrimSpace(does)
		}
	}
	if len(out) < 50 {
		t.Fatalf("%d options", len(out))
	}
	return out
}

// idle are options that are read and have no effect, with values that are not their defaults.
const idle = `{
	"array": {
		"saving": {
			"enable_pinned_host_transfer": true, "enable_post_merge_validation": false
		},
		"loading": {
			"load_and_broadcast_options": {"broadcast_memory_scaling_factor": 0.5}
		}
	},
	"asynchronous": {"create_directories_asynchronously": false},
	"file": {"skip_sync_file_validations": true},
	"pathways": {"checkpointing_impl": "no_dispatcher"}
}`

// Options that the table says to have no effect leave a checkpoint as it is.
func TestOptionsWithoutEffect(t *testing.T) {
	o, err := options.ParseJSON([]byte(idle))
	if err != nil {
		t.Fatal(err)
	}
	if before, after := factsOf(t.Context(), t), factsOf(options.With(t.Context(), o), t); before != after {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for name, does := range optionTable(t) {
		last := name[strings.LastIndex(name, ".")+1:]
		if strings.HasPrefix(does, "nothing") && !strings.Contains(idle, `"`+last+`"`) {
			t.Errorf("%s is not tried", name)
		}
	}
}
