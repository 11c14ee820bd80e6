// Package plan turns the resolved options of a call into the arguments of the packages that save
// and load. No other package knows both.
package plan

import (
	"context"
	"crypto/ed25519"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Save returns how a save stores, bounds and signs its files. o is the result of options.Resolve.
// The caller sets what differs between saves, such as the style and the memory.
func Save(o options.Options) (writer.Options, error) {
	if o.InPlace() {
		return writer.Options{}, &errs.Error{Kind: errs.Unsupported, Subject: "atomicity.mode",
			Want: "a mode in which a save becomes visible as a whole", Got: options.CommitFile.String(),
			Remedy: "leave it unset: every save writes commit_success.txt for readers that need it"}
	}
	l, err := o.StoredLayout()
	if err != nil {
		return writer.Options{}, err
	}
	c, err := o.StoredCompression()
	if err != nil {
		return writer.Options{}, err
	}
	all, err := storage(o.Array.Saving.Storage, c)
	if err != nil {
		return writer.Options{}, err
	}
	return writer.Options{
		Layout: l, Storage: all, MaxFileBytes: int64(o.Array.Saving.OCDBTTargetDataFileSize), Leaf: leaf(o),
		WriteBytes: o.Memory.WriteConcurrentBytes.Bytes(), Copied: copied(o), Status: status(o),
		Annotations: o.Annotations, MetadataKey: o.ZarrMetadataKey,
		Rich:   o.PyTree.Saving.Metadata.SupportRichTypes == options.On,
		Budget: o.Budget(), Signing: o.Signing, Label: o.Label, Parity: o.Parity,
		NoSharding: o.Array.Saving.EnableWriteShardingFile == options.Off, NoArrays: o.Array.Saving.ArrayMetadataStore == options.Off,
	}, nil
}

// copied returns which leaves a save in the background copies; nil copies all.
func copied(o options.Options) func(tree.Path) bool {
	switch {
	case o.Memory.IsPrioritizedKey != nil:
		return o.Memory.IsPrioritizedKey
	case o.Memory.DeepcopyHostArrays == options.Off:
		return func(tree.Path) bool { return false }
	}
	return nil
}

// status receives the progress of leaves; it may be nil.
func status(o options.Options) writer.Status {
	if o.Memory.Status == nil {
		return nil
	}
	return o.Memory.Status
}

// Load returns how a checkpoint is opened.
func Load(o options.Options) layout.Options {
	out := layout.Options{
		Key: o.Verification, Committed: o.NeedsCommitFile(),
		OverRead: o.Safetensors.MaxOverReadRatio, ReadBytes: o.Safetensors.ReadChunkBytes,
		Reads: layout.NewLimit(o.Memory.ReadConcurrentBytes.Bytes()), FillMissing: o.Array.Loading.RaiseArrayDataMissingError == options.Off,
	}
	if out.Key != nil {
		out.Label = o.Label
	}
	return out
}

// leaf returns the function that chooses the storage of single arrays, or nil if all are stored
// alike.
func leaf(o options.Options) func(tree.Path, tensor.Spec, writer.Storage) (writer.Storage, error) {
	if o.Array.Saving.ScopedStorage == nil && len(o.LeafStorage) == 0 {
		return nil
	}
	return func(p tree.Path, spec tensor.Spec, all writer.Storage) (writer.Storage, error) {
		s, c := o.StorageFor(p, spec)
		if c == options.DefaultCompression {
			return storage(s, all.Compression)
		}
		return storage(s, c)
	}
}

// storage converts storage options for package writer.
func storage(s options.Storage, c options.Compression) (writer.Storage, error) {
	if s.ChunkByteSize > math.MaxInt32 {
		return writer.Storage{}, &errs.Error{Kind: errs.Invalid, Subject: "ChunkByteSize", Want: "at most 2 GiB",
			Got: strconv.FormatInt(s.ChunkByteSize, 10)}
	}
	return writer.Storage{DType: s.DType, Compression: c, ShardAxes: s.ShardAxes, ChunkBytes: int(s.ChunkByteSize)}, nil
}

// Resolve returns a copy of the arguments of a call, completed by the options of the
// context and the process. A nil call is the zero value. scope points at the options and
// the store in the copy; a nil store becomes the store of the options.
func Resolve[T any](ctx context.Context, call *T, scope func(*T) (*options.Options, *store.Store)) (*T, error) {
	var d T
	if call != nil {
		d = *call
	}
	o, st := scope(&d)
	var err error
	*o, err = options.Resolve(ctx, *o, options.Options{})
	if *st == nil {
		*st = o.File.Store
	}
	return &d, err
}

// Reading works like Resolve for a call that reads. CheckpointLayout and, without a Verification
// key, Label are taken only from the call, because wider scopes describe what is saved.
func Reading[T any](ctx context.Context, call *T, scope func(*T) (*options.Options, *store.Store)) (*T, error) {
	var asked options.Options
	if call != nil {
		o, _ := scope(call)
		asked = *o
	}
	d, err := Resolve(ctx, call, scope)
	o, _ := scope(d)
	o.CheckpointLayout = asked.CheckpointLayout
	if err == nil && asked.Label != "" && o.Verification == nil {
		err = &errs.Error{Kind: errs.Invalid, Subject: "Bivouac.Label", Want: "a Verification key beside the label",
			Got: "no key"}
	}
	if o.Verification == nil {
		o.Label = ""
	}
	return d, err
}

// read holds the arguments of a call that reads.
type read struct {
	options.Options
	store.Store
}

// Open returns how the checkpoint at path is opened, its store, and its name there. o and st come
// from the call.
func Open(ctx context.Context, path string, o options.Options,
	st store.Store) (layout.Options, store.Store, string, error) {
	r, err := Reading(ctx, &read{o, st}, func(r *read) (*options.Options, *store.Store) { return &r.Options, &r.Store })
	if err != nil {
		return layout.Options{}, nil, "", err
	}
	st, name, err := locate.Checkpoint(path, r.Store)
	return Load(r.Options), st, name, err
}

// OpenSigned works like Open for a complete checkpoint. If there is a key, it must have signed the
// checkpoint as label.
func OpenSigned(ctx context.Context, path string, key ed25519.PublicKey, label string,
	st store.Store) (layout.Options, store.Store, string, error) {
	o := options.Options{Bivouac: options.Bivouac{Verification: key, Label: label}}
	o.Array.Loading.RaiseArrayDataMissingError = options.On
	return Open(ctx, path, o, st)
}
