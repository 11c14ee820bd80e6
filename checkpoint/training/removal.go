package training

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// removal is what the preservation policy gives up after a commit: first all steps
// become invisible, then their bytes go.
type removal struct {
	hidden chan struct{} // closed when no name is left
	err    error         // why one is left, set before hidden is closed
	over   chan struct{} // closed when the bytes are gone as well, and all that was removed before
}

// hiddenStep is a step that was removed and whose bytes are still there.
type hiddenStep struct {
	Info
	free func() error
}

// retire lets the preservation policy speak: in the background, where the next
// save and Close wait for it and tell its failure, or at once.
func (c *Checkpointer) retire(ctx context.Context, subject string) error {
	ctx = context.WithoutCancel(ctx) // which ends with the save
	fail := func(err error) error {
		if err = errs.Wrap("training.Save", subject+" is committed, removing older steps", err); err != nil {
			c.keepFailure(err)
		}
		return err
	}
	if c.opts.Foreground {
		hidden, err := c.retain(ctx)
		return fail(errors.Join(err, c.free(hidden)))
	}
	r := &removal{hidden: make(chan struct{}), over: make(chan struct{})}
	c.mu.Lock()
	before := c.removing
	c.removing, c.retired = r.over, r
	c.mu.Unlock()
	go func() {
		defer close(r.over)
		if before != nil {
			<-before
		}
		hidden, err := c.retain(ctx)
		r.err = fail(err)
		close(r.hidden)
		fail(c.free(hidden)) //nolint:errcheck // it is kept
	}()
	return nil
}

// retirement waits until what the last save has given up is invisible, and returns the
// failure of that. A failure to free its bytes may come any time later.
func (c *Checkpointer) retirement() error {
	<-c.hidden()
	c.mu.Lock()
	r := c.retired
	c.mu.Unlock()
	if r == nil || r.err == nil {
		return nil
	}
	c.forgive(r.err)
	return r.err
}

// free has the bytes of removed steps go. What stays is told as Unfreed, and is what a
// dead save has left.
func (c *Checkpointer) free(hidden []hiddenStep) error {
	var all []error
	for _, h := range hidden {
		if err := h.free(); err != nil {
			c.opts.OnEvent(Event{Kind: Unfreed, Step: h.Step, Name: h.Directory, Err: err})
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// retain makes invisible what the preservation policy gives up, oldest first, never the
// newest, and never the last step that is whole. The caller must free what it returns,
// after an error too.
func (c *Checkpointer) retain(ctx context.Context) (hidden []hiddenStep, err error) {
	list := c.snapshot()
	keep := c.keeps(ctx, list)
	if !slices.Contains(keep, false) {
		return nil, nil
	}
	var kept, doomed []Info
	for i, in := range list {
		if keep[i] {
			kept = append(kept, in)
		} else {
			doomed = append(doomed, in)
		}
	}
	if doomed, err = c.spare(ctx, kept, doomed); err != nil {
		return nil, err
	}
	for _, in := range doomed {
		leased, err := c.leased(ctx, in)
		if err != nil {
			return hidden, err
		}
		if leased {
			c.opts.OnEvent(Event{Kind: Spared, Step: in.Step, Name: in.Directory, Reason: "a reader has a lease of it"})
			continue
		}
		free, err := c.remove(ctx, in)
		if free != nil {
			hidden = append(hidden, hiddenStep{in, free})
		}
		if err != nil {
			return hidden, err
		}
	}
	return hidden, nil
}

// follow takes out of the list what the process removes that this one saves with.
func (c *Checkpointer) follow(ctx context.Context) {
	list := c.snapshot()
	for i, keep := range c.keeps(ctx, list) {
		if !keep {
			c.unlist(list[i].Step)
		}
	}
}

// keeps says which steps the preservation policy keeps, and the newest. Policies of the
// caller get a list of their own, which they may sort. Steps that a scrub found damaged
// take nobody's place: what the policy keeps of the others is kept as well.
func (c *Checkpointer) keeps(ctx context.Context, list []Info) []bool {
	policy := func(list []Info) []bool {
		given := list
		if !builtIn(c.opts.Preserve) {
			given = slices.Clone(list)
		}
		return c.opts.Preserve.Preserve(given, c.opts.Now())
	}
	keep := policy(list)
	if sound, at := c.sound(ctx, list); len(sound) < len(list) {
		for i, k := range policy(sound) {
			keep[at[i]] = keep[at[i]] || k
		}
	}
	if n := len(list); n > 0 {
		keep[n-1] = true
	}
	return keep
}

// builtIn reports whether a policy, with all that are in it, is one of this package, which
// only read their list.
func builtIn(p PreservationPolicy) bool {
	var parts []PreservationPolicy
	switch q := p.(type) {
	case PreserveAll, LatestN, EveryInterval, EveryNSteps, EveryNStepsClosest, CustomSteps, LatestDuration, BestN:
	case AnyPreservation:
		parts = q
	case AllPreservation:
		parts = q
	default:
		return false
	}
	return !slices.ContainsFunc(parts, func(q PreservationPolicy) bool { return !builtIn(q) })
}

// spare takes the newest whole step out of those that are to go when none of those
// that are kept is whole.
func (c *Checkpointer) spare(ctx context.Context, kept, doomed []Info) ([]Info, error) {
	whole, err := c.newestWhole(ctx, kept)
	if err != nil || whole != nil {
		return doomed, err
	}
	whole, err = c.newestWhole(ctx, doomed)
	if err != nil || whole == nil {
		return nil, err
	}
	c.opts.OnEvent(Event{Kind: Spared, Step: whole.Step, Name: whole.Directory, Reason: "no other step is whole"})
	return slices.DeleteFunc(doomed, func(in Info) bool { return in.Step == whole.Step }), nil
}

// newestWhole returns the newest of some steps that is still a whole checkpoint,
// signed where there is a key, and in which no scrub has found damage; nil when none is.
func (c *Checkpointer) newestWhole(ctx context.Context, list []Info) (*Info, error) {
	list, _ = c.sound(ctx, list)
	for _, in := range slices.Backward(list) {
		damage, err := c.look(ctx, in)
		if err != nil {
			return nil, err
		}
		if damage == nil {
			return &in, nil
		}
	}
	return nil, nil
}

// look says what is wrong with a step on the list, as it is now. err is why
// nobody can tell.
func (c *Checkpointer) look(ctx context.Context, in Info) (damage, err error) {
	e, err := c.store.Stat(ctx, c.path(in.Directory))
	if err == nil {
		e.Name = in.Directory
		_, err = c.inspect(ctx, in.Step, e)
	}
	if err == nil {
		err = c.trusted(ctx, in)
	}
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
		return nil, err
	}
	return err, nil
}

// remove takes a step away as Options.Deletion says. What is no whole checkpoint
// any more is no longer listed, told as Skipped, and left where it is. The step is
// invisible then; free, which is nil where there is nothing to do, has its bytes go.
func (c *Checkpointer) remove(ctx context.Context, in Info) (free func() error, err error) {
	c.deciding.Lock()
	event, free, err := c.decide(ctx, in)
	c.deciding.Unlock()
	if event.Kind != 0 {
		c.opts.OnEvent(event)
	}
	return free, err
}

// decide is remove; it returns what OnEvent is to be told. c.deciding is held.
func (c *Checkpointer) decide(ctx context.Context, in Info) (Event, func() error, error) {
	damage, err := c.look(ctx, in)
	if err != nil {
		return Event{}, nil, err
	}
	if damage != nil {
		c.unlist(in.Step)
		if errs.KindOf(damage) != errs.NotFound {
			return Event{Kind: Skipped, Step: in.Step, Name: in.Directory, Err: damage}, nil, nil
		}
		return Event{}, nil, nil
	}
	if err := c.headLoses(ctx, in.Step); err != nil {
		return Event{}, nil, err
	}
	free, err := c.drop(ctx, in)
	if err != nil && errs.KindOf(err) != errs.NotFound {
		if _, gone := c.store.Stat(ctx, c.path(in.Directory)); errs.KindOf(gone) == errs.NotFound {
			c.unlist(in.Step)
		}
		return Event{}, nil, err
	}
	c.unlist(in.Step)
	return Event{Kind: Removed, Step: in.Step, Name: in.Directory}, free, nil
}

// drop takes the directory of a step away, or moves it to the trash; free has its
// bytes go, and is nil in the trash.
func (c *Checkpointer) drop(ctx context.Context, in Info) (free func() error, err error) {
	if c.opts.Deletion == (options.Deletion{}) {
		return store.Hide(ctx, c.store, c.path(in.Directory))
	}
	_, err = c.deleteAt(ctx, in, checkpoint.DeleteOptions{Options: options.Options{Deletion: c.deletion()}})
	return nil, err
}

// deleteAt is checkpoint.Delete of a step, in the store of the run whatever ctx says.
func (c *Checkpointer) deleteAt(ctx context.Context, in Info, o checkpoint.DeleteOptions) (bool, error) {
	o.Store, o.File.PathPermissionMode = c.store, c.opts.File.PathPermissionMode
	return checkpoint.Delete(ctx, c.path(in.Directory), &o)
}

// deletion is Options.Deletion, by names in the store.
func (c *Checkpointer) deletion() options.Deletion {
	d := c.opts.Deletion
	if trash := d.GCS.TodeleteFullPath; c.opts.Store == nil && filepath.IsAbs(trash) {
		if dir, err := filepath.Abs(c.dir); err == nil {
			if trash, err = filepath.Rel(dir, trash); err == nil {
				d.GCS.TodeleteFullPath = filepath.ToSlash(trash)
			}
		}
	}
	return d
}

// unlist takes a step off the list.
func (c *Checkpointer) unlist(step int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.index(step); found {
		c.list = slices.Delete(slices.Clone(c.list), i, i+1)
	}
}
