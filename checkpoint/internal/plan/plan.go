// Package plan turns the options of a call, resolved, into what the packages that
// save and load take: the one place that knows both.
package plan

import (
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Save returns how a save stores, bounds and signs what it writes. What one
// save alone says, such as its style and its memory, is left to the caller.
// o is what options.Resolve returned.
func Save(o options.Options) (writer.Options, error) {
	if o.InPlace() {
		return writer.Options{}, &errs.Error{Kind: errs.Unsupported, Subject: "atomicity.mode",
			Want: "a save that becomes visible whole", Got: options.CommitFile.String(),
			Remedy: "leave it out: what is saved has commit_success.txt for readers that ask for it"}
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
	}, nil
}

// copied says which leaves a save in the background copies; nil is all.
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

// leaf decides about single arrays; nil where all are stored alike.
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

// storage returns storage options as package writer takes them.
func storage(s options.Storage, c options.Compression) (writer.Storage, error) {
	if s.ChunkByteSize > math.MaxInt32 {
		return writer.Storage{}, &errs.Error{Kind: errs.Invalid, Subject: "ChunkByteSize", Want: "2 GiB at most",
			Got: strconv.FormatInt(s.ChunkByteSize, 10)}
	}
	return writer.Storage{DType: s.DType, Compression: c, ShardAxes: s.ShardAxes, ChunkBytes: int(s.ChunkByteSize)}, nil
}
