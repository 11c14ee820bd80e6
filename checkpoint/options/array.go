package options

import (
	"context"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Array has the options for arrays.
type Array struct {
	Saving  ArraySaving  `json:"saving"`
	Loading ArrayLoading `json:"loading"`
}

// Storage is how one array is stored.
type Storage struct {
	// DType is the dtype to which the array is cast when it is saved, as tensor.Cast casts. Unlike in
	// Orbax, numbers and PRNG keys keep their dtypes, and a value that the dtype cannot hold is
	// errs.Mismatch. Default: the dtype of the array.
	DType tensor.DType `json:"dtype"`
	// ChunkByteSize is the largest size of a chunk, in bytes. A size below one element is refused when
	// the array is saved. Default: the default of the writer, about 4 MiB.
	ChunkByteSize int64 `json:"chunk_byte_size"`
	// ShardAxes are the axes along which chunks are cut first. An array may lack such an axis, but an
	// axis that all arrays of an item lack is refused when they are saved. nil inherits. Default: no
	// axes.
	ShardAxes []int `json:"shard_axes"`
}

// ArraySaving is how arrays are saved.
type ArraySaving struct {
	Storage Storage `json:"storage_options"`
	// UseOCDBT stores the arrays of an item in one database. Off stores each array in a directory.
	// Default: On.
	UseOCDBT Toggle `json:"use_ocdbt"`
	// UseZarr3 stores zarr v3. Off stores zarr v2. Default: On.
	UseZarr3 Toggle `json:"use_zarr3"`
	// UseCompression compresses arrays of more than 1024 bytes. Default: Off, unlike in Orbax: floats
	// hardly shrink, and compression is the slowest part of a save.
	UseCompression Toggle `json:"use_compression"`
	// OCDBTTargetDataFileSize is the size in bytes at which a data file of the database is full;
	// Unlimited is no bound. In text 0 is Unlimited, as in Orbax. Default: the default of the writer.
	OCDBTTargetDataFileSize FileSize `json:"ocdbt_target_data_file_size"`
	// EnablePinnedHostTransfer has no effect: there is no device memory.
	// Default: Off.
	EnablePinnedHostTransfer Toggle `json:"enable_pinned_host_transfer"`
	// EnablePostMergeValidation has no effect: what is committed is always compared with its manifest.
	// Default: On.
	EnablePostMergeValidation Toggle `json:"enable_post_merge_validation"`
	// UseReplicaParallel makes processes that have the same shard share the work: each writes its
	// slice of the shard. Slices lie along the first axis that divides evenly, as in Orbax; if none
	// does, fewer processes write. Off lets the lowest process write the shard. It acts on Shards in
	// saves of several processes. The elements of replicas must be equal. Default: Off.
	UseReplicaParallel Toggle `json:"use_replica_parallel"`
	// MinSliceBytesForReplicaParallel is the size of the smallest slice, in bytes. Default: 64 KiB. In
	// Orbax the default is no minimum, which is 1 here.
	MinSliceBytesForReplicaParallel int64 `json:"min_slice_bytes_for_replica_parallel"`
	// MaxReplicasForReplicaParallel is the largest number of processes that share a shard. Default: no
	// bound.
	MaxReplicasForReplicaParallel int `json:"max_replicas_for_replica_parallel"`
	// EnableReplicaParallelSeparateFolder is refused by saves of several processes with
	// UseReplicaParallel: all processes write one database, and nothing is merged from folders. Other
	// saves ignore it. Default: Off.
	EnableReplicaParallelSeparateFolder Toggle `json:"enable_replica_parallel_separate_folder"`
	// EnableWriteShardingFile writes the file _sharding, which names the devices of arrays of JAX.
	// Without it, Orbax loads these arrays only with an abstract tree. It does not concern other
	// arrays. Default: On.
	EnableWriteShardingFile Toggle `json:"enable_write_sharding_file"`
	// ArrayMetadataStore writes array_metadatas, which has the shapes of the chunks of arrays of JAX.
	// PRNG keys are recorded there also without it, because Orbax could not load them. In text null is
	// Off, like None in Orbax. Default: On.
	ArrayMetadataStore Toggle `json:"array_metadata_store"`
	// ScopedStorage returns storage options for a leaf. Its fields that are set take precedence over
	// Bivouac.LeafStorage and Storage. Default: nil.
	ScopedStorage LeafFunc `json:"-" orbax:"scoped_storage_options_creator"`
}

// ArrayLoading is how arrays are loaded.
type ArrayLoading struct {
	// EnablePaddingAndTruncation pads or truncates an array that was saved in another shape than the
	// wanted one. Off makes such an array errs.Mismatch. Default: Off.
	EnablePaddingAndTruncation Toggle `json:"enable_padding_and_truncation"`
	// RaiseArrayDataMissingError refuses arrays with missing chunks. Off reads missing chunks as the
	// fill value of the array, mostly zeros, and the LoadReport says so. If there is a manifest, as in
	// each checkpoint of Bivouac, every chunk must exist in both cases. Default: On.
	RaiseArrayDataMissingError Toggle `json:"raise_array_data_missing_error"`
	// UseLoadAndBroadcast makes one replica read the arrays from the store, verify them and send them
	// to the other replicas. All processes of the job make the same calls of Load, LoadInto and
	// LoadCheckpointables, in the same order. Other calls, and items and leaves that are not arrays,
	// are read by each process for itself. Salvage is refused. Default: Off.
	UseLoadAndBroadcast Toggle           `json:"use_load_and_broadcast"`
	LoadAndBroadcast    LoadAndBroadcast `json:"load_and_broadcast_options"`
}

// LoadAndBroadcast says which process reads if ArrayLoading.UseLoadAndBroadcast is On, and how the
// others receive.
//
// A load succeeds on all processes, or fails on all. If the replica that reads finds damage, ends
// or hangs, the error on the others names its process. Nothing is read a second time.
type LoadAndBroadcast struct {
	// ReplicaAxisIndex is the axis of the mesh along which replicas lie. Processes that differ only on
	// this axis must ask for the same boxes. Default: 0.
	ReplicaAxisIndex *int `json:"replica_axis_index"`
	// PrimaryReplicaID is the replica that reads: its place on the axis. Default: 0.
	PrimaryReplicaID *int `json:"primary_replica_id"`
	// BroadcastMemoryLimitBytes bounds the buffers of a process for the broadcast, in bytes, at least
	// 4 KiB for each replica that receives. The arrays are sent from the memory into which they are
	// loaded, so no other copies exist. Default: Unlimited, which is 64 KiB for each replica.
	BroadcastMemoryLimitBytes Limit `json:"broadcast_memory_limit_bytes"`
	// BroadcastMemoryScalingFactor has no effect: no limit follows from the memory that is free.
	BroadcastMemoryScalingFactor float64 `json:"broadcast_memory_scaling_factor"`
	// MeshShape is the shape of the mesh of processes; the last axis runs fastest. nil inherits.
	// Default: one axis with all processes. Not an option of Orbax, which takes the mesh of an array.
	MeshShape []int `json:"mesh_shape"`
	// Peers connects this process to the others; package cluster/peer has one. It must be set if
	// there are several processes. Default: nil. Not an option of Orbax, which uses the collectives
	// of JAX.
	Peers Peers `json:"-" orbax:"peers"`
}

// Peers connects a process to the other processes of its job. All methods may be called
// concurrently.
type Peers interface {
	// Rank returns the number of this process, and World the number of processes.
	Rank() int
	World() int
	// Limits returns how long a process that works may send nothing, and how long it may wait for
	// others.
	Limits() (silence, deadline time.Duration)
	// Acquire waits until no other load of this process uses the Peers. release ends the use.
	Acquire(ctx context.Context) (release func(), err error)
	// Exchange gives a value to all processes and returns the values of all, by rank. The n-th call of
	// each process meets the n-th call of the others.
	Exchange(ctx context.Context, given []byte) ([][]byte, error)
	// Offer calls send for each process that opens the stream of this name. A Write fails if the
	// process takes nothing for the time of silence. w has a method Flush() error. withdraw ends the
	// offer, and returns when no call of send goes on.
	Offer(name string, send func(ctx context.Context, rank int, w io.Writer) error) (withdraw func())
	// Open opens a stream of another process. A Read fails if nothing comes for the time of silence.
	Open(ctx context.Context, from int, name string) (io.ReadCloser, error)
}

// Memory bounds the memory of saves and loads.
type Memory struct {
	// WriteConcurrentBytes bounds the encoded bytes that a save holds for the store or has handed to
	// it and that are not written yet. One write is always allowed: about 4 MiB, or a chunk if that is
	// larger. In text null is Unlimited. Default: Unlimited, with at most eight writes at a time.
	WriteConcurrentBytes Limit `json:"write_concurrent_bytes"`
	// ReadConcurrentBytes bounds the bytes that a load has requested from the store, and the bytes
	// that it holds beyond its result, which otherwise take some 32 MiB. A chunk that must be decoded
	// as a whole is held in any case. In text null is Unlimited. Default: Unlimited.
	ReadConcurrentBytes Limit `json:"read_concurrent_bytes"`
	// TransferConcurrentBytes bounds the copies that a save in the background makes of the state. A
	// state that does not fit is read while it is written, and the caller is blocked meanwhile. In
	// text null is Unlimited. Default: Unlimited.
	TransferConcurrentBytes Limit `json:"transfer_concurrent_bytes"`
	// Regulator is refused: it changes a limit according to the memory that the process uses, so saves
	// would differ from run to run. Set the limit itself.
	Regulator *Regulator `json:"regulator_options"`
	// ExpectedSurgeBytes is subtracted from TransferConcurrentBytes and MemoryBudget for the save, if
	// these are limits. Default: 0.
	ExpectedSurgeBytes int64 `json:"expected_surge_bytes"`
	// IsPrioritizedKey reports whether a save in the background copies the leaf before it returns to
	// the caller, whatever the memory budget, and writes it before other leaves. The other leaves are
	// read while they are written: they must not be changed until the save is done or Release was
	// called. A leaf that shares a file with a leaf of priority is copied with it, such as all leaves
	// of a safetensors file. Default: all leaves are copied.
	IsPrioritizedKey func(key tree.Path) bool `json:"-" orbax:"is_prioritized_key_fn"`
	// Status receives the progress of each leaf that stores something. Default: nil.
	Status StatusCallback `json:"-" orbax:"serialization_status_callback"`
	// DeepcopyHostArrays copies the state for a save in the background. Off hands it over, except what
	// IsPrioritizedKey names: the caller must not change it before the save is done, or Release was
	// called. Default: On.
	DeepcopyHostArrays Toggle `json:"deepcopy_host_arrays"`
}

// StatusCallback receives the progress of leaves. Its methods are called from several goroutines.
type StatusCallback interface {
	// OnTransferEnd is called when the leaf is isolated from its owner.
	OnTransferEnd(key tree.Path)
	// OnWriteEnd is called when the leaf is handed to the store.
	OnWriteEnd(key tree.Path)
}

// Regulator is Orbax's controller of memory limits. Validate refuses it.
type Regulator struct {
	// MaxMemoryLimitGiB and MinMemoryLimitGiB bound the limit, in GiB.
	MaxMemoryLimitGiB float64 `json:"max_memory_limit_gib"`
	MinMemoryLimitGiB float64 `json:"min_memory_limit_gib"`
	// TargetRatio is the fraction of the memory that may be in use.
	TargetRatio float64 `json:"target_ratio"`
	// KP, KI and KD are the gains of the controller.
	KP float64 `json:"kp"`
	KI float64 `json:"ki"`
	KD float64 `json:"kd"`
}

// Default returns the options that hold if nothing is set: Orbax's options, except UseCompression.
func Default() Options {
	return Options{
		CheckpointLayout: Orbax,
		PyTree:           PyTree{Saving: TreeSaving{Metadata: TreeMetadata{SupportRichTypes: Off}}, Loading: TreeLoading{PartialLoad: Off}},
		Array: Array{
			Saving: ArraySaving{
				UseOCDBT: On, UseZarr3: On, UseCompression: Off,
				EnablePinnedHostTransfer: Off, EnablePostMergeValidation: On,
				UseReplicaParallel: Off, EnableReplicaParallelSeparateFolder: Off,
				EnableWriteShardingFile: On, ArrayMetadataStore: On,
			},
			Loading: ArrayLoading{
				EnablePaddingAndTruncation: Off, RaiseArrayDataMissingError: On, UseLoadAndBroadcast: Off,
				LoadAndBroadcast: LoadAndBroadcast{
					ReplicaAxisIndex: new(0), PrimaryReplicaID: new(0),
					BroadcastMemoryLimitBytes: Unlimited, BroadcastMemoryScalingFactor: 0.75,
				},
			},
		},
		Asynchronous: Asynchronous{
			Timeout: 1200 * time.Second, SaveTimeout: Unlimited, LoadTimeout: Unlimited,
			CreateDirectoriesAsynchronously: On,
		},
		Multiprocessing: Multiprocessing{PrimaryHost: new(Host(0)), ProcessIndex: new(Host(0)), ProcessCount: 1},
		File:            File{SkipSyncFileValidations: Off},
		Atomicity:       Atomicity{Mode: AutoAtomicity, AllowLegacyAtomicRename: Off},
		Memory: Memory{
			WriteConcurrentBytes: Unlimited, ReadConcurrentBytes: Unlimited, TransferConcurrentBytes: Unlimited,
			DeepcopyHostArrays: On,
		},
	}
}
