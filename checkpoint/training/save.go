package training

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// ShouldSave asks the policy whether step would be saved now, and why or why
// not. A step that is not above the latest is not saved without Force.
func (c *Checkpointer) ShouldSave(step int64) (save bool, reason string) {
	preempted := c.preempted()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shouldSave(step, preempted)
}

// preempted asks Options.Preempted, which may look at a file.
func (c *Checkpointer) preempted() bool {
	return c.opts.Preempted != nil && c.opts.Preempted.Preempted()
}

func (c *Checkpointer) shouldSave(step int64, preempted bool) (bool, string) {
	list := c.allLocked()
	if n := len(list); n > 0 && step <= list[n-1].Step {
		return false, "not above the latest step, " + strconv.FormatInt(list[n-1].Step, 10)
	}
	return c.opts.Save.ShouldSave(Decision{Step: step, Now: c.opts.Now(), Previous: list, Saving: c.inFlight(),
		Preempt: preempted})
}

// Save saves state as the item "state" of step and waits for the commit. It returns false if the
// policy did not want the step. OnEvent gets the reason, as Declined, and ShouldSave returns it.
func (c *Checkpointer) Save(ctx context.Context, step int64, state any, o *SaveOptions) (bool, error) {
	return c.SaveCheckpointables(ctx, step, map[string]any{orbax.StateItem: state}, o)
}

// SaveAsync saves like Save, but returns when the state is copied.
func (c *Checkpointer) SaveAsync(ctx context.Context, step int64, state any,
	o *SaveOptions) (*checkpoint.Response[bool], error) {
	return c.SaveCheckpointablesAsync(ctx, step, map[string]any{orbax.StateItem: state}, o)
}

// SaveCheckpointables saves several items as one step and waits for the commit, and
// until the steps that the preservation policy gives up are no longer there. Their bytes
// go in the background: the next save, Wait and Close wait for that and return its
// failure. When ctx ends first the save is cancelled, and nothing of it visible.
func (c *Checkpointer) SaveCheckpointables(ctx context.Context, step int64, items map[string]any,
	o *SaveOptions) (bool, error) {
	r, _, err := c.startSave(ctx, step, items, o, false)
	if err != nil {
		return false, err
	}
	saved, err := r.Await(ctx)
	if err != nil {
		c.takeFailure()
		return saved, err
	}
	if saved {
		return true, c.retirement()
	}
	return false, c.wait(context.WithoutCancel(ctx), c.hidden)
}

// SaveCheckpointablesAsync saves several items as one step: what tree.From takes becomes a tree of
// arrays, json.RawMessage a JSON file. It returns when everything is copied. The caller may change
// the items then, unless SaveOptions.Release hands them over.
//
// A save before this one is waited for. The failure of an earlier save that no
// call has returned is returned here, and nothing is saved.
//
// After an error that is store.ErrUncertain the step may be there: the next save
// or Open finds out, and lists it if it is.
//
// Result returns when the step is committed, and false if the policy did not want it. Steps that
// the preservation policy does not keep are removed afterwards. The next save, Wait and Close wait
// for that and return its failure.
func (c *Checkpointer) SaveCheckpointablesAsync(ctx context.Context, step int64, items map[string]any,
	o *SaveOptions) (*checkpoint.Response[bool], error) {
	r, s, err := c.startSave(ctx, step, items, o, true)
	if err != nil {
		return nil, err
	}
	if s != nil {
		s.Writer.WaitCopied()
	}
	return r, nil
}

// startSave plans the files, copies the state if that is asked for and fits, and saves in the
// background. It returns no save if the policy declined the step.
func (c *Checkpointer) startSave(ctx context.Context, step int64, items map[string]any, o *SaveOptions,
	background bool) (*checkpoint.Response[bool], *saving.Save, error) {
	if o == nil {
		o = &SaveOptions{}
	}
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Path: c.dir, Step: step})
	fail := func(err error) (*checkpoint.Response[bool], *saving.Save, error) {
		told.Failed(err)
		return nil, nil, errs.Wrap("training.Save", "step "+strconv.FormatInt(step, 10)+" of "+c.dir, err)
	}
	if step < 0 {
		return fail(&errs.Error{Kind: errs.Invalid, Want: "a step of at least 0"})
	}
	eff, err := options.Resolve(ctx, o.Options, c.opts.Options)
	if err != nil {
		return fail(err)
	}
	st, err := store.WithPermissions(c.store, eff.File.PathPermissionMode)
	if err != nil {
		return fail(err)
	}
	s, err := saving.Resolve(saving.Call{Options: eff, Background: background, Custom: o.Custom, Release: o.Release,
		Watch: o.Watch, Progress: o.Progress})
	if err != nil {
		return fail(err)
	}
	if saving.Absent(eff) {
		told.End(telemetry.Outcome{Declined: true})
		return skipped(ctx, o, background), nil, nil
	}
	c.saving.Lock()
	defer c.saving.Unlock()
	skip, err := c.admit(ctx, s, c.target(st, step, o.Overwrite), step, o)
	if skip {
		told.End(telemetry.Outcome{Declined: true})
		return skipped(ctx, o, background), nil, nil
	}
	start, to := time.Now(), c.target(st, step, o.Overwrite) // the step may exist only now
	in := Info{Step: step, Directory: c.directory(step), Metrics: o.Metrics}
	if in.Custom, err = c.prepare(ctx, s, to, step, items, o, background, err); err != nil {
		return fail(err)
	}
	c.opts.OnEvent(Event{Kind: SaveBegin, Step: step, Name: in.Directory, Bytes: s.Writer.Size(),
		Blocked: time.Since(start)})
	to.Before = o.Before
	r := inBackground(ctx, func(ctx context.Context) (bool, error) {
		saved, err := c.write(ctx, s, to, in, start)
		told.End(s.Outcome(err))
		return saved, err
	})
	c.mu.Lock()
	c.pending = r
	c.mu.Unlock()
	return r, s, nil
}

// skipped returns the response for a save that does not take place.
func skipped(ctx context.Context, o *SaveOptions, background bool) *checkpoint.Response[bool] {
	return inBackground(ctx, func(context.Context) (bool, error) {
		if background && o.Release != nil {
			o.Release()
		}
		return false, nil
	})
}

// target returns where a step is committed.
func (c *Checkpointer) target(st store.Store, step int64, overwrite bool) saving.Target {
	name := c.directory(step)
	return saving.Target{
		Store: st, Name: c.path(name), Key: path.Join(filepath.ToSlash(c.dir), name),
		Options: store.TxnOptions{Overwrite: overwrite, LinksOnly: c.opts.Dedup.On, Publishing: &c.deciding},
	}
}

// prepare plans and copies a step, or gives the save up if err is not nil. It returns the metadata
// of the step.
func (c *Checkpointer) prepare(ctx context.Context, s *saving.Save, to saving.Target, step int64, items map[string]any,
	o *SaveOptions, background bool, err error) (custom json.RawMessage, _ error) {
	if err == nil {
		err = s.Collect(ctx, items)
	}
	custom = s.Options.Custom // for the list, because the save forgets it
	if err == nil {
		err = addMetrics(s, items, o.Metrics)
	}
	if err == nil {
		err = c.prepareMemory(s.Options.Budget)
	}
	s.Options.Style, s.Options.Memory, s.Options.Now = writer.Step, c.memory, c.opts.Now
	s.Options.Dedup, s.Options.Pace, s.Options.Label = c.dedup(), c.pace(background), Label(step)
	if err == nil {
		s.Options.Extra, err = c.chain(ctx, s.Options.Signing, step)
	}
	return custom, s.Snapshot(ctx, to, err)
}

// prepareMemory empties the memory for snapshots. A save maps at most limit bytes of it.
func (c *Checkpointer) prepareMemory(limit int64) (err error) {
	if c.memory != nil && c.limit != limit {
		err, c.memory = c.memory.Close(), nil
	}
	if c.memory == nil && err == nil {
		c.limit = limit
		c.memory, err = arena.Open(0, arena.Options{Limit: int(limit)})
	}
	if err == nil {
		c.memory.Reset()
	}
	return err
}

// linkable is how many of the newest steps are tried until one has a readable manifest.
const linkable = 3

// dedup returns the writer.Dedup that Options.Dedup asks for, with the present steps as bases.
func (c *Checkpointer) dedup() *writer.Dedup {
	if !c.opts.Dedup.On {
		return nil
	}
	d := &writer.Dedup{Store: c.store, VerifyEvery: c.opts.Dedup.VerifyEvery, Avoid: c.avoid}
	list := c.snapshot()
	for _, in := range list[max(0, len(list)-linkable):] {
		d.Bases = append(d.Bases, c.path(in.Directory))
	}
	slices.Reverse(d.Bases)
	return d
}

// pace returns the pace of a save: Options.Pace in the background, else the zero Pace.
func (c *Checkpointer) pace(background bool) writer.Pace {
	if !background {
		return writer.Pace{}
	}
	return writer.Pace(c.opts.Pace)
}

// admit waits for the earlier save, reports its outcome, and decides whether this save takes place.
// It asks the policy before it waits, so that the policy sees whether a save is in progress. If
// several processes save and might decide differently, the primary decides.
func (c *Checkpointer) admit(ctx context.Context, s *saving.Save, to saving.Target, step int64,
	o *SaveOptions) (skip bool, err error) {
	preempted := c.preempted()
	c.mu.Lock()
	closed := c.closed
	save, reason := c.shouldSave(step, preempted)
	_, exists := indexOf(c.allLocked(), step)
	c.mu.Unlock()
	save = save || o.Force || exists
	switch {
	case closed:
		err = &errs.Error{Kind: errs.Closed, Remedy: "Open the run again"}
	case exists && !o.Overwrite:
		err = isThere()
	}
	if s.Joint() && !alike(c.opts.Save) && !o.Force {
		if save, reason, err = c.follows(ctx, s, to, save, reason, err); err != nil {
			return false, err
		}
	}
	if !save && err == nil {
		c.opts.OnEvent(Event{Kind: Declined, Step: step, Name: c.opts.Names.Name(step), Reason: reason})
		return true, nil
	}
	if err == nil {
		err = c.ready(ctx, s, step, o)
	}
	return false, err
}

// follows asks the primary, or as the primary tells the others, whether this step is saved.
func (c *Checkpointer) follows(ctx context.Context, s *saving.Save, to saving.Target, save bool, reason string,
	why error) (bool, string, error) {
	decline := reason
	if save || why != nil {
		decline = ""
	}
	declined, err := s.Meet(ctx, to, decline, why)
	if err == nil && declined == "" {
		err = why // reported when all processes agree
	}
	return declined == "", declined, err
}

// ready waits for the earlier save and prepares the directory for the next one.
func (c *Checkpointer) ready(ctx context.Context, s *saving.Save, step int64, o *SaveOptions) error {
	if err := c.Wait(ctx); err != nil {
		return err
	}
	if !s.Follows() {
		take := c.takeLock
		if c.locked {
			take = c.checkLock
		}
		if err := take(ctx); err != nil {
			return err
		}
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	if o.Overwrite {
		return c.replaceable(ctx, step)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, settled := c.index(step); settled {
		return isThere()
	}
	return nil
}

// replaceable returns an error if the name of the step is taken by something that must not be
// overwritten. Checkpoints, damaged ones too, and empty directories may be overwritten.
func (c *Checkpointer) replaceable(ctx context.Context, step int64) error {
	name := c.directory(step)
	_, err := c.store.Stat(ctx, c.path(name))
	if err == nil {
		err = layout.Options{AllowNoManifest: true}.Read(ctx, c.store, c.path(name),
			func(*layout.Checkpoint) error { return nil })
		if errs.KindOf(err) == errs.Invalid && c.empty(ctx, name) {
			return nil
		}
		if errs.KindOf(err) == errs.Invalid || errs.KindOf(err) == errs.NotFound {
			return &errs.Error{Kind: errs.Exists, Subject: name, Got: "something that is not a checkpoint", Err: err,
				Remedy: "move it away"}
		}
	}
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Corrupt, errs.Unsupported:
		return nil
	}
	return err
}

// empty reports whether the directory of a step is empty.
func (c *Checkpointer) empty(ctx context.Context, name string) bool {
	for range c.store.List(ctx, c.path(name)) {
		return false
	}
	return true
}

func isThere() error { return &errs.Error{Kind: errs.Exists, Remedy: "set Overwrite to replace it"} }

// directory returns the name under which a step is saved: its present name, if it has one.
func (c *Checkpointer) directory(step int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, there := c.index(step); there {
		return c.list[i].Directory
	}
	return c.opts.Names.Name(step)
}

// index finds a step in the list. c.mu is held.
func (c *Checkpointer) index(step int64) (int, bool) { return indexOf(c.list, step) }

// addMetrics adds an item with the metrics to the items, which were made from values.
func addMetrics(s *saving.Save, values map[string]any, metrics map[string]float64) error {
	if metrics == nil {
		return nil
	}
	if _, taken := values[orbax.MetricsItem]; taken {
		return &errs.Error{Kind: errs.Invalid, Subject: orbax.MetricsItem, Got: "both an item of this name and metrics",
			Remedy: "rename the item"}
	}
	raw, err := json.Marshal(metrics)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Subject: "SaveOptions.Metrics", Want: "finite numbers", Err: err}
	}
	s.Items = append(s.Items, writer.Item{Name: orbax.MetricsItem, JSON: raw, File: orbax.MetricsFile,
		Handler: orbax.HandlerMetrics})
	return writer.CheckNames(s.Items)
}

// write commits one step and applies the preservation policy. It runs in the background. A failure
// is kept until a call returns it.
func (c *Checkpointer) write(ctx context.Context, s *saving.Save, to saving.Target, in Info,
	start time.Time) (bool, error) {
	subject := "step " + strconv.FormatInt(in.Step, 10) + " of " + c.dir
	to.Committed = func(at time.Time) {
		in.Time = at
		c.mu.Lock()
		c.enter(in, true)
		c.mu.Unlock()
	}
	if err := s.Write(ctx, to); err != nil {
		err = c.failedSave(in, errs.Wrap("training.Save", subject, err))
		return false, err
	}
	unlisted := c.listed(ctx, s, in)
	c.noticeCommit()
	c.opts.OnEvent(Event{Kind: SaveCommitted, Step: in.Step, Name: in.Directory, Bytes: s.Writer.Size(),
		Took: time.Since(start), Stats: checkpoint.SaveStats(s.Writer.Stats())})
	if s.Follows() {
		c.follow(ctx)
		return true, nil
	}
	c.offer(in)
	if unlisted != nil {
		err := errs.Wrap("training.Save", subject+" is committed, writing "+headName, unlisted)
		c.keepFailure(err)
		return true, err // an outdated list must not decide removals
	}
	return true, c.retire(ctx, subject)
}

// listed adds a committed step to the head, if the step was signed.
func (c *Checkpointer) listed(ctx context.Context, s *saving.Save, in Info) error {
	if s.Options.Signing == nil || s.Follows() {
		return nil
	}
	return c.headHas(context.WithoutCancel(ctx), in, s.Writer.ManifestSum())
}

// failedSave keeps the reason why a step was not saved, or not for certain, and sends the event.
func (c *Checkpointer) failedSave(in Info, err error) error {
	e := Event{Kind: SaveFailed, Step: in.Step, Name: in.Directory}
	if e.Uncertain = errors.Is(err, store.ErrUncertain); e.Uncertain {
		err = &errs.Error{Err: err, Remedy: "the next save or Open finds out whether the step was saved"}
		c.mu.Lock()
		c.doubts = append(c.doubts, in)
		c.mu.Unlock()
	}
	e.Err = err
	c.keepFailure(err)
	c.opts.OnEvent(e)
	return err
}
