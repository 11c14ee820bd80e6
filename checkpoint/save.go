package checkpoint

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
)

// SaveOptions modify a save; nil is the zero value.
type SaveOptions struct {
	// Overwrite replaces a checkpoint of the same name, atomically: the old one
	// is there until the new one is durable. Without it a taken name is
	// errs.Exists. What is no checkpoint is never replaced.
	Overwrite bool
	// Name of the checkpointable; "" is "state".
	Name string
	// PartialUpdate adds the state to the checkpoint at the path, or makes the
	// first of it: leaves, and items, beside those that are there. What is there
	// already is errs.Exists; with Overwrite it is replaced, leaf by leaf. The
	// checkpoint is what it was or what it becomes, whole, whatever happens; data
	// files are linked, not copied. Package partial is for checkpoints that are not
	// to be seen before they are complete.
	PartialUpdate bool
	// Custom is the checkpoint's metadata, a value that encodes to a JSON object.
	Custom any
	// Layout is how the arrays are stored; the zero value is Orbax's default.
	Layout Layout
	// Compression of the arrays. Sizes then depend on the data, and the save
	// needs up to 128 MiB of memory, less where MemoryBudget says so.
	Compression Compression
	// ShardAxes are axes along which parts of arrays will be read: a box along
	// one of them reads little more than its own bytes. Arrays that have fewer
	// axes pass over those that they lack. Tensors of a safetensors file lie row by
	// row: there it is errs.Unsupported.
	ShardAxes []int
	// ChunkBytes is about how many bytes of an array are compressed, verified and
	// read at once; 0 is 4 MiB. Less lets small boxes read less, more makes fewer
	// files of PlainZarr2, and takes more memory: up to 16 times as much. A chunk
	// has one element at least, an array 2^20 chunks at most, and a safetensors
	// file none (errs.Unsupported).
	ChunkBytes int
	// MaxFileBytes is how many bytes of arrays a data file holds at most, unless it
	// is one array; 0 is no bound, and 64 MiB with Base. Safetensors checkpoints
	// of more are several files, model-00001-of-00003.safetensors and so on, with
	// an index. Plain layouts have a file for each array or chunk: there it is
	// errs.Unsupported.
	MaxFileBytes int64
	// Leaf, when not nil, decides about each array how it is stored; what the
	// fields above say is what it is given. StorageByPath makes one of patterns.
	Leaf StorageFunc
	// MemoryBudget bounds the memory that the save maps beyond the state; 0 =
	// no bound. SaveAsync needs as much as the state to copy it; where the
	// budget is smaller, the state is read while it is written, and the caller
	// is blocked until it was read. Save needs some 40 MiB, less will do.
	MemoryBudget int64
	// Release, when not nil, hands the state over to SaveAsync: nothing is
	// copied but scalars and small arrays, and the caller must not change the
	// state before Release is called. That is once and from another goroutine,
	// whatever becomes of the save, unless SaveAsync itself returns an error.
	Release func()
	// Watch has a state that was handed over checksummed at once, so that the
	// save fails with errs.Mismatch when it is changed too early.
	Watch bool
	// Progress, when not nil, is told how many bytes of the data files were
	// written, of how many, one call at a time and from other goroutines.
	Progress func(done, total int64)
	// Base, when not empty, is the path of an earlier checkpoint, in the same
	// directory or in Store: data files that hold the same bytes are linked
	// instead of written, and either checkpoint may be removed without the other.
	// Only files of checkpoints that were saved with a Base can be linked. The
	// first of a series names one that is not there, such as itself. One changed
	// array has up to MaxFileBytes written anew, or its own bytes where these are
	// more, beside the documents; that also bounds the files of safetensors.
	Base string
	// VerifyEvery is at the latest which save in a row reads a file of the base
	// back before it is linked, so that one damaged file does not become all
	// copies there are; 1 is each, 0 is 10. A damaged one is written anew.
	VerifyEvery int
	// Signing, when not nil, signs the manifest, which then has the SHA-256 of
	// every file, taken from the memory that is written. Loads and Verify with the
	// public key refuse every byte that it did not sign. Readers without a key,
	// Orbax among them, do not mind.
	Signing ed25519.PrivateKey
	// Label is signed with the checkpoint and says what it is, such as the name of
	// the run, so that no other of the same signer passes for it where
	// LoadOptions.Label asks. Without Signing it is nothing.
	Label string
	// Store holds the checkpoint; nil is the local file system. The path is
	// then a name in it.
	Store store.Store
}

// Save saves state as the checkpoint path and returns when it is durable. When
// ctx ends first the save is cancelled, and nothing of it visible.
func Save(ctx context.Context, path string, state any, o *SaveOptions) error {
	return SaveCheckpointables(ctx, path, o.named(state), o)
}

// SaveAsync copies state, which the caller may change when it returns, and
// saves the copy in the background. Call Result on the response, or OnComplete:
// it is the only place where a failure is told.
//
// Errors: Invalid for leaves that no file could hold, naming them; Exists for a
// taken name; what the store says.
func SaveAsync(ctx context.Context, path string, state any, o *SaveOptions) (*Response[SaveStats], error) {
	return SaveCheckpointablesAsync(ctx, path, o.named(state), o)
}

// named is state under the name that the options give it.
func (o *SaveOptions) named(state any) map[string]any {
	if o == nil || o.Name == "" {
		return map[string]any{orbax.StateItem: state}
	}
	return map[string]any{o.Name: state}
}

// begin lays the state out, copies it where that is asked for and fits, and
// saves in the background.
func begin(ctx context.Context, path string, values map[string]any, o *SaveOptions, how image.Mode) (*Response[SaveStats], *image.Image, error) {
	const op = "checkpoint.Save"
	if o == nil {
		o = &SaveOptions{}
	}
	fail := func(subject string, err error) (*Response[SaveStats], *image.Image, error) {
		return nil, nil, errs.Wrap(op, subject, err)
	}
	st, name, err := locate.Checkpoint(path, o.Store)
	if err == nil {
		err = admit(ctx, st, name, o.Overwrite || o.PartialUpdate)
	}
	if err != nil {
		return fail(path, err)
	}
	scope, err := options.Resolve(ctx, options.Options{}, options.Options{})
	if err != nil {
		return fail(path, err)
	}
	items, err := image.Handlers{Items: scope.Checkpointables.Registry, Leaves: scope.PyTree.LeafHandlers}.Of(ctx, values)
	if err != nil {
		return fail(path, err)
	}
	custom, err := orbax.Custom(o.Custom)
	if err != nil {
		return fail("SaveOptions.Custom", err)
	}
	dedup, err := o.dedup(st, path)
	if err != nil {
		return fail("SaveOptions.Base", err)
	}
	memory, err := arena.Open(0, &arena.Options{Limit: int(o.MemoryBudget)})
	if err != nil {
		return fail("SaveOptions.MemoryBudget", err)
	}
	io := image.Options{
		Style: image.V1, Layout: image.Layout(o.Layout), Compression: image.Compression(o.Compression), ShardAxes: o.ShardAxes,
		ChunkBytes: o.ChunkBytes, MaxFileBytes: o.MaxFileBytes, Leaf: o.Leaf.ImageLeaf(), Dedup: dedup, Signing: o.Signing, Label: o.Label,
		Custom: custom, Memory: memory, Budget: o.MemoryBudget, Watch: o.Watch, OnRelease: o.Release, Progress: o.Progress,
	}
	if o.PartialUpdate {
		err = o.update(ctx, st, name, items, &io)
	}
	var im *image.Image
	if err == nil {
		im, err = image.Begin(items, how, io)
	}
	if err != nil {
		return fail(path, errors.Join(err, memory.Close()))
	}
	return Go(ctx, func(ctx context.Context) (SaveStats, error) {
		defer memory.Close() //nolint:errcheck // what is unmapped twice was unmapped
		txn, err := st.Begin(ctx, name, store.TxnOptions{Overwrite: o.Overwrite || io.Join != nil, LinksOnly: dedup != nil})
		if err == nil {
			_, err = im.Commit(ctx, txn)
		}
		im.Abandon()
		return NewSaveStats(im), errs.Wrap(op, path, err)
	}), im, nil
}

// dedup is what Base asks for.
func (o *SaveOptions) dedup(st store.Store, path string) (*image.Dedup, error) {
	if o.Base == "" {
		return nil, nil
	}
	if o.VerifyEvery < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "SaveOptions.VerifyEvery", Want: "0 or more"}
	}
	name, err := locate.Beside(path, o.Base, o.Store)
	if err != nil {
		return nil, err
	}
	return &image.Dedup{Store: st, Bases: []string{name}, VerifyEvery: o.VerifyEvery}, nil
}

// admit decides whether name may be saved to: a free name, or with overwrite a
// checkpoint.
func admit(ctx context.Context, st store.Store, name string, overwrite bool) error {
	_, err := st.Stat(ctx, name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil
	case err != nil:
		return err
	case !overwrite:
		return &errs.Error{Kind: errs.Exists, Remedy: "choose another path, or set Overwrite"}
	}
	return isCheckpoint(ctx, st, name)
}
