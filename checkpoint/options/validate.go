package options

import (
	"crypto/ed25519"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Validate returns an error for the first field whose value makes no sense, contradicts another
// field, or is refused here. The error names the field as Orbax does. Fields that are unset are not
// checked: Resolve checks the complete options. Kinds: errs.Invalid, and errs.Unsupported for
// refused options.
func (o Options) Validate() error {
	for _, check := range []func(Options) error{
		Options.agreeLayout, Options.agreeCompression, Options.checkNames, Options.checkNumbers,
		Options.checkStorage, Options.checkProcesses, Options.checkFiles, Options.checkOurs,
	} {
		if err := check(o); err != nil {
			return err
		}
	}
	return nil
}

// complete validates options after all scopes were applied.
func (o Options) complete() error {
	if err := o.Validate(); err != nil {
		return err
	}
	l, err := o.StoredLayout()
	if err != nil {
		return err
	}
	if o.Bivouac.ZarrMetadataKey != "" && l != OCDBTZarr2 && l != PlainZarr2 {
		return invalid("bivouac.zarr_metadata_key", "a layout of zarr v2", "layout "+l.String(),
			"leave it unset: zarr v3 always uses zarr.json")
	}
	m := o.Multiprocessing
	if m.ProcessIndex != nil && int(*m.ProcessIndex) >= m.ProcessCount {
		return invalid("multiprocessing.process_index", fmt.Sprintf("less than process_count, %d", m.ProcessCount),
			strconv.Itoa(int(*m.ProcessIndex)), "")
	}
	if m.ProcessCount > 1 && m.Barrier == nil && *m.PrimaryHost != EveryHost {
		return invalid("multiprocessing.process_count", "a barrier for more than one process", "no barrier",
			"set Multiprocessing.Barrier; or set primary_host to null if each process has its own file system")
	}
	for _, p := range m.ActiveProcesses {
		if p >= m.ProcessCount {
			return invalid("multiprocessing.active_processes", fmt.Sprintf("less than process_count, %d",
				m.ProcessCount),
				strconv.Itoa(p), "")
		}
	}
	if m.PrimaryHost != nil && int(*m.PrimaryHost) >= m.ProcessCount {
		return invalid("multiprocessing.primary_host", fmt.Sprintf("less than process_count, %d", m.ProcessCount),
			strconv.Itoa(int(*m.PrimaryHost)), "")
	}
	return nil
}

func invalid(field, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "options.Validate", Subject: field, Want: want, Got: got, Remedy: remedy}
}

// checkNames returns an error for the value of an enumeration that is not a constant.
func (o Options) checkNames() error {
	for _, c := range []struct {
		field string
		value int
		names []string
	}{
		{"checkpoint_layout", int(o.CheckpointLayout), checkpointLayouts},
		{"atomicity.mode", int(o.Atomicity.Mode), atomicityModes},
		{"file.temporary_path_class", int(o.File.TemporaryPath), atomicityModes},
		{"pathways.checkpointing_impl", int(o.Pathways.CheckpointingImpl), pathwaysImpls},
		{"bivouac.layout", int(o.Bivouac.Layout), layoutNames},
		{"bivouac.compression", int(o.Bivouac.Compression), compressionNames},
	} {
		if c.value >= len(c.names) {
			return invalid(c.field, "one of "+strings.Join(c.names[1:], ", "), strconv.Itoa(c.value), "")
		}
	}
	if !strangeToggle(reflect.ValueOf(o)) {
		return nil
	}
	var err error
	walk(o, func(f field) bool {
		if t, ok := f.value.Interface().(Toggle); ok && t > Off {
			err = invalid(f.name, "Inherit, On or Off", strconv.Itoa(int(t)), "")
		}
		return err == nil
	})
	return err
}

// strangeToggle reports whether a toggle has a value that is not a constant. It does not compute
// the names of options, which would take longer than everything else here.
func strangeToggle(v reflect.Value) bool {
	toggle := reflect.TypeFor[Toggle]()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Type() == toggle && f.Uint() > uint64(Off) || isGroup(f.Type()) && strangeToggle(f) {
			return true
		}
	}
	return false
}

// checkNumbers returns an error for a number out of range.
func (o Options) checkNumbers() error {
	s, l, m := o.Array.Saving, o.Array.Loading.LoadAndBroadcast, o.Memory
	for _, c := range []struct {
		field   string
		value   int64
		limited bool // Unlimited is allowed
		what    string
	}{
		{"array.saving.ocdbt_target_data_file_size", int64(s.OCDBTTargetDataFileSize), true, "bytes"},
		{"array.saving.min_slice_bytes_for_replica_parallel", s.MinSliceBytesForReplicaParallel, false, "bytes"},
		{"array.saving.max_replicas_for_replica_parallel", int64(s.MaxReplicasForReplicaParallel), false, "replicas"},
		{"array.loading.load_and_broadcast_options.broadcast_memory_limit_bytes",
			int64(l.BroadcastMemoryLimitBytes), true, "bytes"},
		{"memory.write_concurrent_bytes", int64(m.WriteConcurrentBytes), true, "bytes"},
		{"memory.read_concurrent_bytes", int64(m.ReadConcurrentBytes), true, "bytes"},
		{"memory.transfer_concurrent_bytes", int64(m.TransferConcurrentBytes), true, "bytes"},
		{"memory.expected_surge_bytes", m.ExpectedSurgeBytes, false, "bytes"},
		{"bivouac.memory_budget", int64(o.Bivouac.MemoryBudget), true, "bytes"},
		{"asynchronous.timeout_secs", int64(o.Asynchronous.Timeout), true, "nanoseconds"},
		{"asynchronous.save_timeout_secs", int64(o.Asynchronous.SaveTimeout), true, "nanoseconds"},
		{"asynchronous.load_timeout_secs", int64(o.Asynchronous.LoadTimeout), true, "nanoseconds"},
		{"safetensors.read_chunk_bytes", o.Safetensors.ReadChunkBytes, false, "bytes"},
		{"multiprocessing.process_count", int64(o.Multiprocessing.ProcessCount), false, "processes"},
	} {
		if c.value >= 0 || c.limited && c.value == Unlimited {
			continue
		}
		want := "at least 1 in " + c.what
		if c.limited {
			want += ", or Unlimited"
		}
		return invalid(c.field, want, strconv.FormatInt(c.value, 10), "")
	}
	if r := o.Safetensors.MaxOverReadRatio; r != 0 && !(r >= 1) {
		return invalid("safetensors.max_over_read_ratio", "at least 1", fmt.Sprint(r), "1 reads no extra byte")
	}
	if f := l.BroadcastMemoryScalingFactor; !(f >= 0 && f <= 1) {
		return invalid("array.loading.load_and_broadcast_options.broadcast_memory_scaling_factor",
			"a number from 0 to 1", fmt.Sprint(f),
			"")
	}
	for _, c := range []struct {
		field string
		value *int
	}{{"replica_axis_index", l.ReplicaAxisIndex}, {"primary_replica_id", l.PrimaryReplicaID}} {
		if c.value != nil && *c.value < 0 {
			return invalid("array.loading.load_and_broadcast_options."+c.field, "a number from 0 on",
				strconv.Itoa(*c.value), "")
		}
	}
	if i := slices.IndexFunc(l.MeshShape, func(n int) bool { return n < 1 }); i >= 0 || l.MeshShape != nil &&
		len(l.MeshShape) == 0 {
		return invalid("array.loading.load_and_broadcast_options.mesh_shape", "the extents of axes, at least 1 each",
			fmt.Sprint(l.MeshShape), "leave it unset for one axis with all processes")
	}
	if m.Regulator != nil {
		return &errs.Error{Kind: errs.Unsupported, Op: "options.Validate", Subject: "memory.regulator_options",
			Got: "a limit that follows measured memory", Remedy: "set memory.transfer_concurrent_bytes or bivouac.memory_budget"}
	}
	return nil
}

// checkStorage checks the storage options of all arrays and of single leaves.
func (o Options) checkStorage() error {
	if err := o.Array.Saving.Storage.check("array.saving.storage_options"); err != nil {
		return err
	}
	for i, l := range o.Bivouac.LeafStorage {
		at := fmt.Sprintf("bivouac.leaf_storage[%d]", i)
		if _, err := MatchPath(l.Match, nil); err != nil {
			return invalid(at+".match",
				"keys separated by slashes, with *, ? and [a-z] within keys and ** for any number of them", strconv.Quote(l.Match),
				"")
		}
		if int(l.Compression) >= len(compressionNames) {
			return invalid(at+".compression", "one of "+strings.Join(compressionNames[1:], ", "),
				strconv.Itoa(int(l.Compression)), "")
		}
		if err := l.Storage.check(at + ".storage_options"); err != nil {
			return err
		}
	}
	return nil
}

func (s Storage) check(at string) error {
	if s.DType != 0 && !s.DType.Valid() {
		return invalid(at+".dtype", "an element type", strconv.Itoa(int(s.DType)), "")
	}
	if s.ChunkByteSize < 0 {
		return invalid(at+".chunk_byte_size", "at least 1 byte", strconv.FormatInt(s.ChunkByteSize, 10), "")
	}
	for i, a := range s.ShardAxes {
		if a < 0 || slices.Contains(s.ShardAxes[:i], a) {
			return invalid(at+".shard_axes", "different axes, counted from 0", fmt.Sprint(s.ShardAxes), "")
		}
	}
	return nil
}

func (o Options) checkProcesses() error {
	m := o.Multiprocessing
	if m.PrimaryHost != nil && *m.PrimaryHost < EveryHost {
		return invalid("multiprocessing.primary_host",
			"the number of a process, or EveryHost", strconv.Itoa(int(*m.PrimaryHost)), "")
	}
	if m.ProcessIndex != nil && *m.ProcessIndex < 0 {
		return invalid("multiprocessing.process_index", "the number of a process",
			strconv.Itoa(int(*m.ProcessIndex)), "")
	}
	if a := m.ActiveProcesses; a != nil {
		for i, p := range a {
			if p < 0 || slices.Contains(a[:i], p) {
				return invalid("multiprocessing.active_processes", "different processes", fmt.Sprint(a), "")
			}
		}
		if len(a) == 0 {
			return invalid("multiprocessing.active_processes", "at least one process", "no process",
				"leave it unset for all processes")
		}
		if m.PrimaryHost != nil && *m.PrimaryHost != EveryHost && !slices.Contains(a, int(*m.PrimaryHost)) {
			return invalid("multiprocessing.active_processes", fmt.Sprintf("a list with the primary host %d",
				*m.PrimaryHost),
				fmt.Sprint(a), "")
		}
	}
	if p := m.BarrierSyncKeyPrefix; strings.ContainsAny(p, "/\x00") {
		return invalid("multiprocessing.barrier_sync_key_prefix", "no slash", strconv.Quote(p), "")
	}
	return nil
}

func (o Options) checkFiles() error {
	if m := o.File.PathPermissionMode; m != 0 && (m&^0o777 != 0 || m&0o700 != 0o700) {
		return invalid("file.path_permission_mode", "permission bits that include rwx of the owner",
			fmt.Sprintf("%#o", uint32(m)),
			"rwxr-x--- is 0o750 in Go and YAML and 488 in JSON")
	}
	a, t := o.Atomicity.Mode, o.File.TemporaryPath
	if a != 0 && a != AutoAtomicity && t != 0 && t != AutoAtomicity && a != t {
		return contradiction("atomicity.mode", a.String(), "file.temporary_path_class", t.String())
	}
	if d := o.Deletion.GCS.TodeleteFullPath; d != "" &&
		(strings.ContainsRune(d, 0) || slices.Contains(strings.Split(d, "/"), "..") || path.Clean(d) == ".") {
		return invalid("deletion.gcs_deletion_options.todelete_full_path", "a directory, without ..",
			strconv.Quote(d), "")
	}
	return nil
}

// maxAnnotations bounds the size of all annotations together, in bytes, because every checkpoint
// has a copy.
const maxAnnotations = 64 << 10

// maxParity bounds Bivouac.Parity.
const maxParity = 50

func (o Options) checkOurs() error {
	b := o.Bivouac
	if b.Signing != nil && len(b.Signing) != ed25519.PrivateKeySize {
		return invalid("bivouac.signing_key", fmt.Sprintf("an Ed25519 private key of %d bytes", ed25519.PrivateKeySize),
			fmt.Sprintf("%d bytes", len(b.Signing)), "")
	}
	if b.Verification != nil && len(b.Verification) != ed25519.PublicKeySize {
		return invalid("bivouac.verification_key", fmt.Sprintf("an Ed25519 public key of %d bytes",
			ed25519.PublicKeySize),
			fmt.Sprintf("%d bytes", len(b.Verification)), "")
	}
	if k := b.ZarrMetadataKey; k != "" && (strings.ContainsAny(k, "/\\\x00") || k == "." || k == ".." ||
		k == "zarr.json" || strings.Trim(k, "0123456789.") == "") {
		return invalid("bivouac.zarr_metadata_key", "a file name that no chunk has", strconv.Quote(k), "")
	}
	if b.Parity < -1 || b.Parity > maxParity {
		return invalid("bivouac.parity", fmt.Sprintf("1 to %d blocks for 100 blocks of data, or -1 for no parity",
			maxParity),
			strconv.Itoa(b.Parity), "")
	}
	size := 0
	for k, v := range b.Annotations {
		if k == "" {
			return invalid("bivouac.annotations", "names that are not empty", "an empty name", "")
		}
		size += len(k) + len(v)
	}
	if size > maxAnnotations {
		return invalid("bivouac.annotations", fmt.Sprintf("at most %d bytes", maxAnnotations), strconv.Itoa(size), "")
	}
	return nil
}
