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

// Options are all groups of Orbax's Context and one of our own. Every field's
// zero is "inherit". Options that were handed to this package are not changed
// any more by it; what it returns may share nothing with them but functions,
// registries, stores and keys.
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

// PyTree is about the structure of trees.
type PyTree struct {
	Saving  TreeSaving  `json:"saving"`
	Loading TreeLoading `json:"loading"`
	// LeafHandlers saves and loads leaves of types of its own. Default: none.
	LeafHandlers *handler.LeafRegistry `json:"-" orbax:"leaf_handlers"`
}

// TreeSaving is how the structure is recorded.
type TreeSaving struct {
	Metadata TreeMetadata `json:"pytree_metadata_options"`
}

// TreeMetadata is what of the structure is recorded.
type TreeMetadata struct {
	// SupportRichTypes also records tuples and named types as such; else readers
	// see lists and dictionaries. Default: Off.
	SupportRichTypes Toggle `json:"support_rich_types"`
}

// TreeLoading is how a wanted tree is compared with the saved one.
type TreeLoading struct {
	// PartialLoad lets the wanted tree leave out what was saved. Default: Off.
	PartialLoad Toggle `json:"partial_load"`
}

// Asynchronous is about saves and loads in the background.
type Asynchronous struct {
	// Timeout bounds a save in the background, from the call to the commit, the wait
	// for an earlier one aside. A save that takes longer is given up, nothing of it
	// visible: errs.Canceled, with context.DeadlineExceeded in its chain. Unlimited =
	// none. In text seconds, where -1 is Unlimited. Default: 1200 s.
	Timeout time.Duration `json:"timeout_secs"`
	// SaveTimeout bounds any save, background or not; a save in the background
	// ends with the earlier one. Unlimited = none. Default: Unlimited. Ours.
	SaveTimeout time.Duration `json:"save_timeout_secs"`
	// LoadTimeout bounds any load. Unlimited = none. Default: Unlimited. Ours.
	LoadTimeout time.Duration `json:"load_timeout_secs"`
	// PostFinalizationCallback is called once for each save in the background when
	// it is durable and visible, as a checkpoint, a step or a part of a session,
	// before its result is there; not for one that failed. It may load what was
	// saved; what waits for the save, as the next one of a Checkpointer or session
	// does, would wait forever. Default: none.
	PostFinalizationCallback func() `json:"-" orbax:"post_finalization_callback"`
	// CreateDirectoriesAsynchronously has no effect: nothing is visible before
	// the commit, and the directory of the transaction is made in the background.
	// Default: On.
	CreateDirectoriesAsynchronously Toggle `json:"create_directories_asynchronously"`
}

// Host is the number of a process of the job, counted from 0.
type Host int

// EveryHost as the primary host has every process do what the primary one does,
// each on a file system of its own.
const EveryHost Host = -1

// Multiprocessing is about the processes of one job.
type Multiprocessing struct {
	// PrimaryHost is the process that creates, commits and removes;
	// new(EveryHost) = each does. In text null is EveryHost. Default: 0.
	PrimaryHost *Host `json:"primary_host"`
	// ActiveProcesses are those that take part, PrimaryHost among them. nil
	// inherits. Default: all.
	ActiveProcesses []int `json:"active_processes"`
	// BarrierSyncKeyPrefix stands before the keys of barriers, so that several
	// checkpointers of one job do not meet each other's. Default: none.
	BarrierSyncKeyPrefix string `json:"barrier_sync_key_prefix"`
	// Barrier returns when every active process has called it with this key, or
	// fails. It has to be set where ProcessCount is above 1 and PrimaryHost is
	// not EveryHost. Default: none. Ours; Orbax has JAX's.
	Barrier func(ctx context.Context, key string) error `json:"-" orbax:"barrier"`
	// ProcessIndex is the number of this process. Default: 0. Ours.
	ProcessIndex *Host `json:"process_index"`
	// ProcessCount is how many processes the job has. Default: 1. Ours.
	ProcessCount int `json:"process_count"`
}

// File is about directories and files.
type File struct {
	// PathPermissionMode is the mode of the directories that a save makes, missing
	// parents among them, less the umask as in Orbax; files have it without the bits
	// for execution, other than in Orbax, and those that are linked keep their own. It
	// is errs.Unsupported with a store that has no permissions. In text a number, so
	// that decimal 488 and YAML's 0o750 are rwxr-x---. Default: 0777.
	PathPermissionMode fs.FileMode `json:"path_permission_mode"`
	// Store is where paths lead, in place of Orbax's path_class. Default: the
	// local file system.
	Store store.Store `json:"-" orbax:"path_class"`
	// SkipSyncFileValidations has no effect: the checks before a save are one
	// look at the target, without which Overwrite could not be refused in time.
	// Default: Off.
	SkipSyncFileValidations Toggle `json:"skip_sync_file_validations"`
	// TemporaryPath is the same choice as Atomicity.Mode, under the name that
	// Orbax's v0 has for it; the two must agree. Default: Atomicity.Mode.
	TemporaryPath AtomicityMode `json:"temporary_path_class"`
}

// Atomicity is how a save becomes visible.
type Atomicity struct {
	// Mode is how; see CommitFile. What is saved has commit_success.txt in any mode.
	// Default: AutoAtomicity.
	Mode AtomicityMode `json:"mode"`
	// AllowLegacyAtomicRename, with CommitFile, also loads checkpoints without
	// commit_success.txt, which Orbax did not write on local file systems before
	// 0.12.3. Default: Off.
	AllowLegacyAtomicRename Toggle `json:"allow_legacy_atomic_rename"`
}

// Checkpointables is about items that are not trees.
type Checkpointables struct {
	// Registry finds the handler of an item. Default: handler.Global().
	Registry *handler.Registry `json:"-" orbax:"registry"`
}

// Safetensors is about reading safetensors files.
type Safetensors struct {
	// MaxOverReadRatio is how many bytes may be read for one that is wanted when
	// reads of one array are put together; 1 reads none in vain, less is refused.
	// Files with a manifest are read by what one checksum covers, whatever is
	// wanted of it. Default: gaps of up to 64 KiB are read.
	MaxOverReadRatio float64 `json:"max_over_read_ratio"`
	// ReadChunkBytes is the size at which a read is cut. What is cast or picked
	// from more is read by 4 MiB at most. Default: about 4 MiB.
	ReadChunkBytes int64 `json:"read_chunk_bytes"`
}

// Deletion is about removing checkpoints.
type Deletion struct {
	GCS GCSDeletion `json:"gcs_deletion_options"`
}

// GCSDeletion has Orbax's name, and works in any store.
type GCSDeletion struct {
	// TodeleteFullPath is a directory in the same store, absolute or relative to the directory of the
	// checkpoints; what is deleted is renamed to <name>-<time> below it instead. Default: none, the
	// bytes are removed.
	TodeleteFullPath string `json:"todelete_full_path"`
}

// Pathways has no effect: there is no Pathways cluster.
type Pathways struct {
	// CheckpointingImpl is read and written back. Default: none.
	CheckpointingImpl PathwaysImpl `json:"checkpointing_impl"`
}

// Bivouac is what Orbax has no option for.
type Bivouac struct {
	// Layout spells CheckpointLayout, UseOCDBT and UseZarr3 in one word; it
	// contradicts them with an error. Default: what they say.
	Layout Layout `json:"layout"`
	// Compression says more than UseCompression, and contradicts it with an
	// error. Default: what that says, where On is Zstd.
	Compression Compression `json:"compression"`
	// MemoryBudget bounds the memory that a save maps beyond the state, in bytes.
	// Unlimited = no bound. Default: Memory.TransferConcurrentBytes.
	MemoryBudget Limit `json:"memory_budget"`
	// Signing signs what is saved. Default: none.
	Signing ed25519.PrivateKey `json:"-" orbax:"signing_key"`
	// Verification refuses to load what this key did not sign. In text its 32
	// bytes in base64. Default: none.
	Verification ed25519.PublicKey `json:"verification_key"`
	// Label is signed with what is saved and says what it is, such as the name of
	// the run; with Verification, what is loaded must have been signed as it.
	// Default: none.
	Label string `json:"label"`
	// Annotations are kept with each checkpoint, under the protection of its
	// manifest, and returned by Metadata: owner, purpose, licence, retention class.
	// Orbax does not see them. Scopes are joined key by key, as are the parts of a
	// checkpoint, and what a conversion says and its source has. Default: none.
	Annotations map[string]string `json:"annotations"`
	// Parity is the number of blocks of redundancy for 100 blocks of data, from 1 to 50, so that
	// bivouac repair can mend up to that share of damaged and lost blocks of a checkpoint's files. It
	// costs the same percentage of disk and of writing. Orbax does not see it. -1 is no parity.
	// Default: no parity; a checkpoint that is added to or converted keeps its parity.
	Parity int `json:"parity"`
	// Pad fills an array that was saved smaller than it is wanted with zeros.
	// Default: Array.Loading.EnablePaddingAndTruncation.
	Pad Toggle `json:"pad"`
	// Truncate cuts an array that was saved larger than it is wanted.
	// Default: Array.Loading.EnablePaddingAndTruncation.
	Truncate Toggle `json:"truncate"`
	// ZarrMetadataKey is the name of the metadata of zarr v2 arrays, TensorStore's
	// metadata_key. Bivouac finds it by itself; Orbax reads it by handlers of its v0
	// that are made with it, NumpyHandler(metadata_key=...), and not without. It is
	// refused with zarr v3, which has one name. Default: .zarray.
	ZarrMetadataKey string `json:"zarr_metadata_key"`
	// LeafStorage gives leaves storage options of their own; the first entry that
	// matches counts. A scope replaces the list. Default: none.
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
