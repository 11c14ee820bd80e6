package checkpoint

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// SaveOptions modify a save; nil is the zero value.
//
// Options say how arrays are stored, how much memory a save may take and which key signs:
// Bivouac.Layout, Bivouac.Compression, Array.Saving, Bivouac.MemoryBudget, Bivouac.Signing and
// Label. If the memory budget is smaller than the state, the state is not copied. It is read while
// it is written, and SaveAsync blocks until it was read. Save uses about 40 MiB, and works with
// less.
type SaveOptions struct {
	// Options take precedence over the options of the context and the process.
	Options
	// Overwrite replaces a checkpoint of the same name, atomically: the old checkpoint stays until the
	// new one is durable. Without Overwrite a taken name is errs.Exists. A directory that is not a
	// checkpoint is never replaced, unless it is empty.
	Overwrite bool
	// Name of the checkpointable; "" is "state".
	Name string
	// PartialUpdate adds leaves and items to the checkpoint at the path. If there is no checkpoint, it
	// makes one. A leaf that exists already is errs.Exists; with Overwrite it is replaced. After any
	// interruption the checkpoint is whole, before or after the update. Data files are linked, not
	// copied. If another writer has replaced, made or removed the checkpoint since the update read it,
	// the save changes nothing and is errs.Busy: run it again. Package partial makes checkpoints that
	// stay invisible until they are complete.
	PartialUpdate bool
	// Custom is the checkpoint's metadata, a value that encodes to a JSON object.
	Custom any
	// Release, when not nil, hands the state over to SaveAsync: only scalars and small arrays are
	// copied, and the caller must not change the state before Release is called. Release is called
	// once, from another goroutine, also if the save fails. It is not called if SaveAsync itself
	// returns an error.
	Release func()
	// Watch checksums a state that was handed over at once. If the caller changes it too early, the
	// save fails with errs.Mismatch.
	Watch bool
	// Progress, when not nil, receives how many bytes of the data files were written, of how many, one
	// call at a time and from other goroutines.
	Progress func(done, total int64)
	// Base, when not empty, is the path of an earlier checkpoint, in the same directory or in Store:
	// data files that hold the same bytes are linked instead of written, and either checkpoint may be
	// removed without the other. Only files of checkpoints that were saved with a Base can be linked.
	// The first of a series names a checkpoint that does not exist, such as itself. One changed array
	// causes up to a data file (OCDBTTargetDataFileSize) to be written anew, or the array's own bytes
	// if these are more, beside the documents. OCDBTTargetDataFileSize also bounds the files of
	// safetensors.
	Base string
	// VerifyEvery says how often a file of the base is read back before it is linked: in at least
	// every VerifyEvery-th save in a row; 1 is each save, 0 is every tenth. A damaged file is written
	// anew. So damage does not spread to all copies.
	VerifyEvery int
	// Store holds the checkpoint, and the path is a name in it. nil is Options.File.Store, or if that
	// is nil too, the local file system.
	Store store.Store
}

// Save saves state as the checkpoint path and returns when it is durable. When
// ctx ends first the save is cancelled, and nothing of it visible.
func Save(ctx context.Context, path string, state any, o *SaveOptions) error {
	return SaveCheckpointables(ctx, path, o.named(state), o)
}

// SaveAsync copies state and saves the copy in the background. When it returns, the caller may
// change state. Call Result or OnComplete on the response: only these report a failure.
//
// Errors: Invalid for leaves that no file can hold, naming them; Exists for a taken name; errors of
// the store.
func SaveAsync(ctx context.Context, path string, state any, o *SaveOptions) (*Response[SaveStats], error) {
	return SaveCheckpointablesAsync(ctx, path, o.named(state), o)
}

// named returns the state under the name that the options give it.
func (o *SaveOptions) named(state any) map[string]any {
	if o == nil || o.Name == "" {
		return map[string]any{orbax.StateItem: state}
	}
	return map[string]any{o.Name: state}
}

// startSave plans the files, copies the state if that is asked for and fits, and saves in the
// background.
func startSave(ctx context.Context, path string, values map[string]any, o *SaveOptions,
	background bool) (r *Response[SaveStats], s *saving.Save, err error) {
	const op = "checkpoint.Save"
	o, err = o.resolve(ctx)
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	if saving.Absent(o.Options) {
		return absent(ctx, o.Release), nil, nil
	}
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Path: path, Step: telemetry.NoStep})
	defer func() { told.Failed(err) }()
	s, to, err := o.prepare(ctx, path, values, background)
	err = o.overtaken(ctx, to, false, err)
	if s != nil {
		err = s.Snapshot(ctx, to, err)
	}
	if err != nil {
		letGo(to)
		return nil, nil, errs.Wrap(op, path, err)
	}
	return inBackground(ctx, func(ctx context.Context) (SaveStats, error) {
		defer letGo(to)
		err := errs.Wrap(op, path, o.overtaken(ctx, to, true, s.Write(ctx, to)))
		told.End(s.Outcome(err))
		return SaveStats(s.Writer.Stats()), err
	}), s, nil
}

// absent returns the response for a process that does not take part in a save.
func absent(ctx context.Context, release func()) *Response[SaveStats] {
	return inBackground(ctx, func(context.Context) (SaveStats, error) {
		if release != nil {
			release()
		}
		return SaveStats{}, nil
	})
}

// prepare checks that the save is allowed, and plans what is written and where. o is resolved. If
// prepare fails after it made the save, Snapshot of that save must be called with the error, to
// give it up.
func (o *SaveOptions) prepare(ctx context.Context, path string, values map[string]any,
	background bool) (s *saving.Save, to saving.Target, err error) {
	st, name, err := locate.Target(path, o.Store, o.File.PathPermissionMode)
	if err != nil {
		return nil, to, err
	}
	s, err = saving.Resolve(saving.Call{Options: o.Options, Background: background, Custom: o.Custom, Release: o.Release,
		Watch: o.Watch, Progress: o.Progress})
	if err != nil {
		return nil, to, err
	}
	if err = admit(ctx, st, name, o.Overwrite || o.PartialUpdate); err == nil {
		err = layout.CheckOutside(ctx, path, o.Store)
	}
	if err == nil {
		err = s.Collect(ctx, values)
	}
	if err == nil {
		s.Options.Style = writer.V1
		s.Options.Dedup, err = o.dedup(st, path)
	}
	to = saving.Target{Store: st, Name: name, Key: path, Options: store.TxnOptions{
		Overwrite: o.Overwrite && !o.PartialUpdate, LinksOnly: s.Options.Dedup != nil,
	}}
	if err == nil && o.PartialUpdate {
		to.Options.Replaces, err = o.update(ctx, st, name, s.Items, &s.Options)
	}
	return s, to, err
}

// dedup returns the writer.Dedup that Base asks for.
func (o *SaveOptions) dedup(st store.Store, path string) (*writer.Dedup, error) {
	if o.Base == "" {
		return nil, nil
	}
	if o.VerifyEvery < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "SaveOptions.VerifyEvery", Want: "at least 0"}
	}
	name, err := locate.Beside(path, o.Base, o.Store)
	if err != nil {
		return nil, errs.Wrap("", "SaveOptions.Base", err)
	}
	return &writer.Dedup{Store: st, Bases: []string{name}, VerifyEvery: o.VerifyEvery}, nil
}

// admit returns an error unless name may be saved to: it must be free, or with overwrite a
// checkpoint or an empty directory.
func admit(ctx context.Context, st store.Store, name string, overwrite bool) error {
	_, err := st.Stat(ctx, name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil
	case err != nil:
		return err
	}
	step, err := layout.StepIn(ctx, st, name)
	if err != nil {
		return err
	}
	if step != "" {
		e := &errs.Error{Kind: errs.Invalid, Want: "the path of a checkpoint",
			Got:    "the directory of a run, which holds " + step,
			Remedy: "save below it, under the name of a step; training.Open saves steps there"}
		if !overwrite {
			e.Kind = errs.Exists
		}
		return e
	}
	if !overwrite {
		return &errs.Error{Kind: errs.Exists, Remedy: "choose another path, or set Overwrite"}
	}
	err = checkCheckpoint(ctx, st, name)
	if errs.KindOf(err) == errs.Invalid && isEmpty(ctx, st, name) {
		return nil // an empty directory was made for the checkpoint
	}
	return err
}

// isEmpty reports whether name is an empty directory.
func isEmpty(ctx context.Context, st store.Store, name string) bool {
	if info, err := st.Stat(ctx, name); err != nil || !info.Dir {
		return false
	}
	for range st.List(ctx, name) {
		return false
	}
	return true
}
