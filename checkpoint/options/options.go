package options

import (
	"context"
	"crypto/ed25519"
	"io/fs"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Options are all option groups of the Context of Orbax, and one group of Bivouac. The zero value
// of each field is "inherit". This package does not change Options that it was given. Options that
// it returns share only functions, registries, stores and keys with them.
type Options struct {
	// CheckpointLayout is the family of formats. Default: Orbax.
	CheckpointLayout CheckpointLayout `json:"checkpoint_layout"`
	PyTree           PyTree           `json:"pytree"`
	Array            Array            `json:"array"`
	Asynchronous     Asynchronous     `json:"asynchronous"`
	Multiprocessing  Multiprocessing  `json:"multiprocessing"`
	File             File             `json:"file"`
	Atomicity        Atomicity        `json:"atomicity"`
	Memory           Memory           `json:"memory"`
	Checkpointables  Checkpointables  `json:"checkpointables"`
	Safetensors      Safetensors      `json:"safetensors"`
	Deletion         Deletion         `json:"deletion"`
	Pathways         Pathways         `json:"pathways"`
	// Bivouac is embedded: o.Layout is o.Bivouac.Layout.
	Bivouac `json:"bivouac"`
}

// PyTree has the options for the structure of trees.
type PyTree struct {
	Saving  TreeSaving  `json:"saving"`
	Loading TreeLoading `json:"loading"`
	// LeafHandlers are the handlers of leaves of types that trees do not know. Default: no handlers.
	LeafHandlers *handler.LeafRegistry `json:"-" orbax:"leaf_handlers"`
}

// TreeSaving is how the structure is recorded.
type TreeSaving struct {
	Metadata TreeMetadata `json:"pytree_metadata_options"`
}

// TreeMetadata says how much of the structure is recorded.
type TreeMetadata struct {
	// SupportRichTypes also records tuples and named types. Without it readers see lists and
	// dictionaries. Default: Off.
	SupportRichTypes Toggle `json:"support_rich_types"`
}

// TreeLoading is how a requested tree is compared with the saved tree.
type TreeLoading struct {
	// PartialLoad lets the requested tree leave out saved leaves. Default: Off.
	PartialLoad Toggle `json:"partial_load"`
}

// Asynchronous has the options for saves and loads in the background.
type Asynchronous struct {
	// Timeout bounds a save in the background, from the call to the commit, without the wait for an
	// earlier save. A save that takes longer is cancelled and leaves nothing visible: its error is
	// errs.Canceled, with context.DeadlineExceeded in its chain. Unlimited is no bound. In text it is
	// in seconds, and -1 is Unlimited. Default: 1200 s.
	Timeout time.Duration `json:"timeout_secs"`
	// SaveTimeout bounds every save, in the background or not. A save in the background ends at the
	// earlier one of the two bounds. Unlimited is no bound. Default: Unlimited. Not an option of
	// Orbax.
	SaveTimeout time.Duration `json:"save_timeout_secs"`
	// LoadTimeout bounds every load. Unlimited is no bound. Default: Unlimited. Not an option of
	// Orbax.
	LoadTimeout time.Duration `json:"load_timeout_secs"`
	// PostFinalizationCallback is called once for each successful save in the background, after the
	// checkpoint, step or part is durable and visible and before its result is available. It may load
	// the checkpoint. It must not wait for the save, as the next save of a Checkpointer or session
	// does: that would wait forever. Default: no callback.
	PostFinalizationCallback func() `json:"-" orbax:"post_finalization_callback"`
	// CreateDirectoriesAsynchronously has no effect: nothing is visible before
	// the commit, and the directory of the transaction is made in the background.
	// Default: On.
	CreateDirectoriesAsynchronously Toggle `json:"create_directories_asynchronously"`
}

// Host is the number of a process of the job, counted from 0.
type Host int

// EveryHost as the primary host makes every process do the work of the primary, each on its own
// file system.
const EveryHost Host = -1

// Multiprocessing has the options for jobs of several processes.
type Multiprocessing struct {
	// PrimaryHost is the process that creates, commits and removes; with new(EveryHost) each process
	// does. In text null is EveryHost. Default: 0.
	PrimaryHost *Host `json:"primary_host"`
	// ActiveProcesses are the processes that take part. They must include PrimaryHost. nil inherits.
	// Default: all processes.
	ActiveProcesses []int `json:"active_processes"`
	// BarrierSyncKeyPrefix is the prefix of barrier keys. It keeps several checkpointers of one job
	// apart. Default: no prefix.
	BarrierSyncKeyPrefix string `json:"barrier_sync_key_prefix"`
	// Barrier returns when every active process has called it with this key, or fails. It must be set
	// if ProcessCount is above 1 and PrimaryHost is not EveryHost. Default: no barrier. Not an option
	// of Orbax, which uses the barrier of JAX.
	Barrier func(ctx context.Context, key string) error `json:"-" orbax:"barrier"`
	// ProcessIndex is the number of this process. Default: 0. Not an option of Orbax.
	ProcessIndex *Host `json:"process_index"`
	// ProcessCount is the number of processes of the job. Default: 1. Not an option of Orbax.
	ProcessCount int `json:"process_count"`
}

// File has the options for directories and files.
type File struct {
	// PathPermissionMode is the mode of the directories that a save makes, including missing parents,
	// minus the umask as in Orbax. Unlike in Orbax, files get the mode too, without the bits for
	// execution. Linked files keep their mode. A store without permissions makes the option
	// errs.Unsupported. In text it is a number: decimal 488 and 0o750 in YAML are rwxr-x---. Default:
	// 0777.
	PathPermissionMode fs.FileMode `json:"path_permission_mode"`
	// Store is the store in which paths are names, in place of path_class in Orbax. Default: the local
	// file system.
	Store store.Store `json:"-" orbax:"path_class"`
	// SkipSyncFileValidations has no effect: the check before a save is one look at the target, which
	// is needed to refuse an existing one in time. Default: Off.
	SkipSyncFileValidations Toggle `json:"skip_sync_file_validations"`
	// TemporaryPath is Atomicity.Mode under its name in v0 of Orbax. The two must agree. Default:
	// Atomicity.Mode.
	TemporaryPath AtomicityMode `json:"temporary_path_class"`
}

// Atomicity is how a save becomes visible.
type Atomicity struct {
	// Mode says how a save becomes visible; see CommitFile. Every save writes commit_success.txt, in
	// any mode. Default: AutoAtomicity.
	Mode AtomicityMode `json:"mode"`
	// AllowLegacyAtomicRename, with CommitFile, also loads checkpoints without
	// commit_success.txt, which Orbax did not write on local file systems before
	// 0.12.3. Default: Off.
	AllowLegacyAtomicRename Toggle `json:"allow_legacy_atomic_rename"`
}

// Checkpointables has the options for items that are not trees.
type Checkpointables struct {
	// Registry finds the handler of an item. Default: handler.Global().
	Registry *handler.Registry `json:"-" orbax:"registry"`
}

// Safetensors has the options for reading safetensors files.
type Safetensors struct {
	// MaxOverReadRatio is how many bytes may be read for each wanted byte when reads of one array are
	// joined. 1 reads no extra byte; less is refused. Files with a manifest are read in whole
	// checksummed parts instead. Default: gaps of up to 64 KiB are read.
	MaxOverReadRatio float64 `json:"max_over_read_ratio"`
	// ReadChunkBytes is the largest size of one read. Bytes that are cast or picked from a larger
	// range are read in steps of at most 4 MiB. Default: about 4 MiB.
	ReadChunkBytes int64 `json:"read_chunk_bytes"`
}

// Deletion has the options for removing checkpoints.
type Deletion struct {
	GCS GCSDeletion `json:"gcs_deletion_options"`
}

// GCSDeletion has the name that Orbax uses. It works in any store.
type GCSDeletion struct {
	// TodeleteFullPath is a directory in the same store, absolute or relative to the directory of the
	// checkpoints. A deleted checkpoint is renamed to <name>-<time> below it instead of removed.
	// Default: no directory; the bytes are removed.
	TodeleteFullPath string `json:"todelete_full_path"`
}

// Pathways has no effect: there is no Pathways cluster.
type Pathways struct {
	// CheckpointingImpl is parsed and printed. Default: not set.
	CheckpointingImpl PathwaysImpl `json:"checkpointing_impl"`
}

// Bivouac has the options that Orbax does not have.
type Bivouac struct {
	// Layout spells CheckpointLayout, UseOCDBT and UseZarr3 in one word. A contradiction to these is
	// an error. Default: the layout that they spell.
	Layout Layout `json:"layout"`
	// Compression is UseCompression with a choice of codec. A contradiction to UseCompression is an
	// error. Default: what UseCompression says, with Zstd for On.
	Compression Compression `json:"compression"`
	// MemoryBudget bounds the memory that a save maps beyond the state, in bytes. Unlimited is no
	// bound. Default: Memory.TransferConcurrentBytes.
	MemoryBudget Limit `json:"memory_budget"`
	// Signing is the key that signs saved checkpoints. Default: no key.
	Signing ed25519.PrivateKey `json:"-" orbax:"signing_key"`
	// Verification is the key that must have signed what is loaded. In text it is its 32 bytes in
	// base64. Default: no key.
	Verification ed25519.PublicKey `json:"verification_key"`
	// Label is signed together with a checkpoint and says what it is, such as the name of the run.
	// With Verification, a loaded checkpoint must have been signed with this label. Default: no label.
	Label string `json:"label"`
	// Annotations are kept with each checkpoint, protected by its manifest, and returned by Metadata:
	// owner, purpose, licence, retention class. Orbax does not see them. The annotations of scopes are
	// joined key by key. The same holds for the parts of a checkpoint, and for a conversion and its
	// source. Default: no annotations.
	Annotations map[string]string `json:"annotations"`
	// Parity is the number of blocks of redundancy for 100 blocks of data, from 1 to 50, so that
	// bivouac repair can mend up to that share of damaged and lost blocks of a checkpoint's files. It
	// costs the same percentage of disk and of writing. Orbax does not see it. -1 is no parity.
	// Default: no parity; a checkpoint that is added to or converted keeps its parity.
	Parity int `json:"parity"`
	// Pad fills an array with zeros if it was saved smaller than the requested shape. Default:
	// Array.Loading.EnablePaddingAndTruncation.
	Pad Toggle `json:"pad"`
	// Truncate cuts an array if it was saved larger than the requested shape. Default:
	// Array.Loading.EnablePaddingAndTruncation.
	Truncate Toggle `json:"truncate"`
	// ZarrMetadataKey is the name of the metadata file of zarr v2 arrays, metadata_key in TensorStore.
	// Bivouac finds the file by itself. Orbax needs a handler of its v0 that was made with the name:
	// NumpyHandler(metadata_key=...). It is refused with zarr v3, where the name is fixed. Default:
	// .zarray.
	ZarrMetadataKey string `json:"zarr_metadata_key"`
	// LeafStorage gives single leaves their own storage options. The first entry that matches a leaf
	// counts. A scope replaces the whole list. Default: no entries.
	LeafStorage []LeafStorage `json:"leaf_storage"`
}

// LeafStorage is storage for the leaves that Match names.
type LeafStorage struct {
	// Match is a pattern of MatchPath: "params/*/w", "opt/**".
	Match   string  `json:"match"`
	Storage Storage `json:"storage_options"`
	// Compression is the compression of these leaves. Default: DefaultCompression, as for all arrays.
	Compression Compression `json:"compression"`
}

// LeafFunc returns storage options for one leaf, or nil. It is called from
// the goroutine that saves, and must not change the leaf.
type LeafFunc func(key tree.Path, leaf any) *Storage
