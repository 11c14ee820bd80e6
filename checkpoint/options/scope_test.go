package options

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func chunk(n int64) Options {
	o := Options{}
	o.Array.Saving.Storage.ChunkByteSize = n
	return o
}

// The first scope that says something wins.
func TestResolveOrder(t *testing.T) {
	for mask := range 16 {
		pick := func(bit int) Options {
			if mask>>bit&1 == 0 {
				return Options{}
			}
			return chunk(int64(10 + bit))
		}
		restore, err := Configure(pick(3))
		if err != nil {
			t.Fatal(err)
		}
		o, err := Resolve(With(t.Context(), pick(1)), pick(0), pick(2))
		restore()
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for bit := 3; bit >= 0; bit-- {
			if mask>>bit&1 == 1 {
				want = int64(10 + bit)
			}
		}
		if got := o.Array.Saving.Storage.ChunkByteSize; got != want {
			t.Errorf("scopes %04b: %d, want %d", mask, got, want)
		}
	}
}

// Resolve overlays all scopes over the defaults, with any values.
func TestResolveIsOverlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call, ctx, own, process := drawOptions(t), drawOptions(t), drawOptions(t), drawOptions(t)
		restore, err := Configure(process)
		if err != nil {
			t.Fatal(err)
		}
		defer restore()
		got, err := Resolve(With(context.Background(), ctx), call, own)
		want := Overlay(call, Overlay(ctx, Overlay(own, Overlay(process, Default()))))
		if err != nil {
			if want.complete() == nil {
				t.Fatal(err)
			}
			return
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWithNests(t *testing.T) {
	outer := With(t.Context(), Overlay(chunk(1), Options{CheckpointLayout: Auto}))
	o := chunk(2)
	o.Array.Saving.Storage.ShardAxes = []int{1}
	inner := With(outer, o)
	o.Array.Saving.Storage.ShardAxes[0] = 7
	if got := From(inner); got.Array.Saving.Storage.ChunkByteSize != 2 || got.CheckpointLayout != Auto ||
		got.Array.Saving.Storage.ShardAxes[0] != 1 {
		t.Errorf("inner: %v", got)
	}
	if got := From(outer); got.Array.Saving.Storage.ChunkByteSize != 1 {
		t.Errorf("outer: %v", got)
	}
	if got := From(t.Context()).String(); got != "{}" {
		t.Errorf("no scope: %v", got)
	}
}

func TestConfigure(t *testing.T) {
	if got := Configured().String(); got != "{}" {
		t.Fatalf("before: %v", got)
	}
	bad := Options{}
	bad.Safetensors.ReadChunkBytes = -1
	if _, err := Configure(bad); !errors.Is(err, errs.Invalid) || Configured().String() != "{}" {
		t.Errorf("%v, then %v", err, Configured())
	}
	first, err := Configure(chunk(1))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Configure(chunk(2))
	if err != nil {
		t.Fatal(err)
	}
	if got := Configured().Array.Saving.Storage.ChunkByteSize; got != 2 {
		t.Error(got)
	}
	second()
	if got := Configured().Array.Saving.Storage.ChunkByteSize; got != 1 {
		t.Error(got)
	}
	first()
	first()
	second() // works once
	if got := Configured().String(); got != "{}" {
		t.Errorf("after: %v", got)
	}
}

func TestConfigureConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for i := range int64(4) {
		group.Go(func() {
			for range 100 {
				restore, err := Configure(Overlay(chunk(i+1), Options{Memory: Memory{ReadConcurrentBytes: Limit(i + 1)}}))
				if err != nil {
					t.Error(err)
					return
				}
				o, err := Resolve(t.Context(), Options{}, Options{})
				if err != nil {
					t.Error(err)
				}
				if c, r := o.Array.Saving.Storage.ChunkByteSize, int64(o.Memory.ReadConcurrentBytes); c != r &&
					(c != 0 || r != Unlimited) {
					t.Errorf("half of one configuration: %d, %d", c, r)
				}
				restore()
			}
		})
	}
	group.Wait()
	if _, err := Configure(Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestResolveNamesTheScope(t *testing.T) {
	bad := chunk(-1)
	for want, resolve := range map[string]func() error{
		"the call":         func() error { _, err := Resolve(t.Context(), bad, Options{}); return err },
		"the checkpointer": func() error { _, err := Resolve(t.Context(), Options{}, bad); return err },
		"the context":      func() error { _, err := Resolve(With(t.Context(), bad), Options{}, Options{}); return err },
	} {
		if err := resolve(); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "array.saving.storage_options.chunk_byte_size") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What no scope alone is at fault for.
func TestComplete(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"bivouac.zarr_metadata_key":     func(o *Options) { o.Bivouac.ZarrMetadataKey = ".meta" },
		"multiprocessing.process_index": func(o *Options) { o.Multiprocessing.ProcessIndex = new(Host(1)) },
		"multiprocessing.process_count": func(o *Options) { o.Multiprocessing.ProcessCount = 2 },
		"multiprocessing.primary_host":  func(o *Options) { o.Multiprocessing.PrimaryHost = new(Host(3)) },
	} {
		o := Options{}
		change(&o)
		if err := o.Validate(); err != nil {
			t.Errorf("%s: alone %v", name, err)
		}
		if _, err := Resolve(t.Context(), o, Options{}); !errors.Is(err, errs.Invalid) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := Options{}
	o.Bivouac.ZarrMetadataKey, o.Array.Saving.UseZarr3 = ".meta", Off
	o.Multiprocessing = Multiprocessing{ProcessCount: 2, ProcessIndex: new(Host(1)), PrimaryHost: new(EveryHost)}
	if _, err := Resolve(t.Context(), o, Options{}); err != nil {
		t.Error(err)
	}
	o.Multiprocessing.PrimaryHost = nil
	o.Multiprocessing.Barrier = func(context.Context, string) error { return nil }
	if _, err := Resolve(t.Context(), o, Options{}); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Error(err)
	}
	if err := Default().complete(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Options)
		want   string // the field; "" = nothing wrong
		kind   errs.Kind
	}{
		{func(o *Options) { o.CheckpointLayout = 9 }, "checkpoint_layout", errs.Invalid},
		{func(o *Options) { o.PyTree.Loading.PartialLoad = 9 }, "pytree.loading.partial_load", errs.Invalid},
		{func(o *Options) { o.Bivouac.Layout = 9 }, "bivouac.layout", errs.Invalid},
		{func(o *Options) { o.Bivouac.Compression = 9 }, "bivouac.compression", errs.Invalid},
		{func(o *Options) { o.Atomicity.Mode = 9 }, "atomicity.mode", errs.Invalid},
		{func(o *Options) { o.Pathways.CheckpointingImpl = 9 }, "pathways.checkpointing_impl", errs.Invalid},
		{func(o *Options) { o.Atomicity.Mode = CommitFile }, "", 0},
		{func(o *Options) { o.File.TemporaryPath, o.Atomicity.Mode = CommitFile, AtomicRename }, "atomicity.mode", errs.Invalid},
		{func(o *Options) { o.File.TemporaryPath, o.Atomicity.Mode = AtomicRename, AutoAtomicity }, "", 0},
		{func(o *Options) { o.Memory.Regulator = &Regulator{} }, "memory.regulator_options", errs.Unsupported},
		{func(o *Options) { o.Memory.WriteConcurrentBytes = -2 }, "memory.write_concurrent_bytes", errs.Invalid},
		{func(o *Options) { o.Memory.ReadConcurrentBytes = -2 }, "memory.read_concurrent_bytes", errs.Invalid},
		{func(o *Options) { o.Memory.TransferConcurrentBytes = Unlimited }, "", 0},
		{func(o *Options) { o.Memory.TransferConcurrentBytes = -2 }, "memory.transfer_concurrent_bytes", errs.Invalid},
		{func(o *Options) { o.Memory.ExpectedSurgeBytes = -1 }, "memory.expected_surge_bytes", errs.Invalid},
		{func(o *Options) { o.Bivouac.MemoryBudget = -2 }, "bivouac.memory_budget", errs.Invalid},
		{func(o *Options) { o.Asynchronous.Timeout = -time.Second }, "asynchronous.timeout_secs", errs.Invalid},
		{func(o *Options) { o.Asynchronous.SaveTimeout = -time.Second }, "asynchronous.save_timeout_secs", errs.Invalid},
		{func(o *Options) { o.Asynchronous.LoadTimeout = Unlimited }, "", 0},
		{func(o *Options) { o.Safetensors.MaxOverReadRatio = 0.5 }, "safetensors.max_over_read_ratio", errs.Invalid},
		{func(o *Options) { o.Safetensors.MaxOverReadRatio = nan() }, "safetensors.max_over_read_ratio", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.BroadcastMemoryScalingFactor = 1.5 }, "broadcast_memory_scaling_factor", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.ReplicaAxisIndex = new(-1) }, "replica_axis_index", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.PrimaryReplicaID = new(-1) }, "primary_replica_id", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.MeshShape = []int{2, 0} }, "mesh_shape", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.MeshShape = []int{} }, "mesh_shape", errs.Invalid},
		{func(o *Options) { o.Array.Loading.LoadAndBroadcast.BroadcastMemoryScalingFactor = nan() }, "broadcast_memory_scaling_factor", errs.Invalid},
		{func(o *Options) { o.Array.Saving.OCDBTTargetDataFileSize = -2 }, "ocdbt_target_data_file_size", errs.Invalid},
		{func(o *Options) { o.Array.Saving.Storage.DType = 200 }, "storage_options.dtype", errs.Invalid},
		{func(o *Options) { o.Array.Saving.Storage.ShardAxes = []int{0, 0} }, "shard_axes", errs.Invalid},
		{func(o *Options) { o.Array.Saving.Storage.ShardAxes = []int{-1} }, "shard_axes", errs.Invalid},
		{func(o *Options) { o.Array.Saving.Storage.ShardAxes = []int{} }, "", 0},
		{func(o *Options) { o.Bivouac.LeafStorage = []LeafStorage{{Match: "["}} }, "bivouac.leaf_storage[0].match", errs.Invalid},
		{func(o *Options) {
			o.Bivouac.LeafStorage = []LeafStorage{{Match: "a", Storage: Storage{ChunkByteSize: -1}}}
		}, "bivouac.leaf_storage[0].storage_options.chunk_byte_size", errs.Invalid},
		{func(o *Options) { o.Bivouac.LeafStorage = []LeafStorage{{Match: "a", Compression: 9}} }, "bivouac.leaf_storage[0].compression", errs.Invalid},
		{func(o *Options) { o.Multiprocessing.PrimaryHost = new(Host(-2)) }, "multiprocessing.primary_host", errs.Invalid},
		{func(o *Options) { o.Multiprocessing.ProcessIndex = new(EveryHost) }, "multiprocessing.process_index", errs.Invalid},
		{func(o *Options) { o.Multiprocessing.ActiveProcesses = []int{} }, "multiprocessing.active_processes", errs.Invalid},
		{func(o *Options) { o.Multiprocessing.ActiveProcesses = []int{1, 1} }, "multiprocessing.active_processes", errs.Invalid},
		{func(o *Options) {
			o.Multiprocessing.ActiveProcesses, o.Multiprocessing.PrimaryHost = []int{1, 2}, new(Host(0))
		}, "multiprocessing.active_processes", errs.Invalid},
		{func(o *Options) {
			o.Multiprocessing.ActiveProcesses, o.Multiprocessing.PrimaryHost = []int{1, 2}, new(EveryHost)
		}, "", 0},
		{func(o *Options) { o.Multiprocessing.BarrierSyncKeyPrefix = "a/b" }, "barrier_sync_key_prefix", errs.Invalid},
		{func(o *Options) { o.File.PathPermissionMode = 0o070 }, "file.path_permission_mode", errs.Invalid},
		{func(o *Options) { o.File.PathPermissionMode = 750 }, "file.path_permission_mode", errs.Invalid},
		{func(o *Options) { o.File.PathPermissionMode = 0o750 }, "", 0},
		{func(o *Options) { o.Deletion.GCS.TodeleteFullPath = "../trash" }, "todelete_full_path", errs.Invalid},
		{func(o *Options) { o.Deletion.GCS.TodeleteFullPath = "." }, "todelete_full_path", errs.Invalid},
		{func(o *Options) { o.Deletion.GCS.TodeleteFullPath = "old/trash" }, "", 0},
		{func(o *Options) { o.Bivouac.Signing = []byte{1} }, "bivouac.signing_key", errs.Invalid},
		{func(o *Options) { o.Bivouac.Verification = []byte{1} }, "bivouac.verification_key", errs.Invalid},
		{func(o *Options) { o.Bivouac.ZarrMetadataKey = "a/b" }, "bivouac.zarr_metadata_key", errs.Invalid},
		{func(o *Options) { o.Bivouac.ZarrMetadataKey = "zarr.json" }, "bivouac.zarr_metadata_key", errs.Invalid},
		{func(o *Options) { o.Bivouac.Annotations = map[string]string{"": "x"} }, "bivouac.annotations", errs.Invalid},
		{func(o *Options) { o.Bivouac.Annotations = map[string]string{"x": strings.Repeat("x", maxAnnotations)} }, "bivouac.annotations", errs.Invalid},
	} {
		var o Options
		c.change(&o)
		err := o.Validate()
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %v of %s", err, c.kind, c.want)
		}
	}
}

func nan() float64 { z := 0.0; return z / z }

// Where no scope says anything the defaults hold, which are complete, and belong to
// who asked.
func TestResolveOfNothing(t *testing.T) {
	want := Overlay(Options{}, Default())
	if err := want.complete(); err != nil {
		t.Fatal(err)
	}
	a, err := Resolve(t.Context(), Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), a.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	*a.Multiprocessing.PrimaryHost = 7
	if b, _ := Resolve(t.Context(), Options{}, Options{}); *b.Multiprocessing.PrimaryHost != 0 {
		t.Error("what one call got, another one changed")
	}
}
