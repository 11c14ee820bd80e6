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

// removal is the removal of the steps that the preservation policy does not keep after a commit.
// First all of them become invisible, then their bytes are freed.
type removal struct {
	hidden chan struct{} // closed when the steps are invisible
	err    error         // why a step is still visible; set before hidden is closed
	over   chan struct{} // closed when the bytes are freed too, also of earlier removals
}

// hiddenStep is a removed step whose bytes still exist.
type hiddenStep struct {
	Info
	free func() error
}

// retire applies the preservation policy: with Options.Foreground at once, else in the background.
// The next save and Close then wait for it and return its failure.
func (c *Checkpointer) retire(ctx context.Context, subject string) error {
	ctx = context.WithoutCancel(ctx) // ctx ends with the save
	fail := func(err error) error {
		if err = errs.Wrap("training.Save", subject+" is committed, removing older steps", err); err != nil {
			c.keepFailure(err)
		}
		return err
	}
	if c.opts.Foreground {
		hidden, err := c.retain(ctx, false, nil)
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
		hidden, err := c.retain(ctx, false, nil)
		r.err = fail(err)
		close(r.hidden)
		fail(c.free(hidden)) //nolint:errcheck // fail keeps it
	}()
	return nil
}

// retirement waits until the steps that the last save removed are invisible, and returns a failure
// of that. A failure to free their bytes may come at any later time.
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

// free frees the bytes of removed steps. It sends Unfreed for what stays, which then counts as the
// leftover of an interrupted save.
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

// retain makes the steps invisible that the preservation policy does not keep, oldest first. It
// never removes the newest step, nor the last whole step, nor a step with tags or a lease. With dry
// it removes nothing. decided, if not nil, receives each step that the policy gives up, and why it
// stays all the same, or "". The caller must free the steps that retain returns, also after an
// error.
func (c *Checkpointer) retain(ctx context.Context, dry bool, decided func(in Info,
	spared string)) (hidden []hiddenStep, err error) {
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
	if decided == nil {
		decided = func(Info, string) {}
	}
	spare := func(in Info, why string) {
		c.opts.OnEvent(Event{Kind: Spared, Step: in.Step, Name: in.Directory, Reason: why})
		decided(in, why)
	}
	last, none, err := c.spare(ctx, kept, doomed)
	if err != nil {
		return nil, err
	}
	if none {
		for _, in := range doomed {
			decided(in, "no step is whole")
		}
		return nil, nil
	}
	held := c.holds(doomed)
	for _, in := range doomed {
		if last != nil && in.Step == last.Step {
			spare(in, "no other step is whole")
			continue
		}
		if why := held[in.Step]; why != "" {
			spare(in, why)
			continue
		}
		leased, err := c.leased(ctx, in)
		if err != nil {
			return hidden, err
		}
		if leased {
			spare(in, "a reader has a lease of it")
			continue
		}
		why, err := c.tagged(ctx, in.Step) // directly before the removal: another process may just give it a tag
		if err != nil {
			return hidden, err
		}
		if why != "" {
			spare(in, why)
			continue
		}
		decided(in, "")
		if dry {
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

// follow removes from the list the steps that the primary of a joint save removes.
func (c *Checkpointer) follow(ctx context.Context) {
	list := c.snapshot()
	for i, keep := range c.keeps(ctx, list) {
		if !keep {
			c.unlist(list[i].Step)
		}
	}
}

// keeps reports which steps are kept: the steps of the preservation policy, and the newest. A
// policy of the caller gets its own list, which it may sort. Steps that a scrub found damaged do
// not count against the policy: the steps that it keeps of the others are kept too.
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

// builtIn reports whether a policy and all its parts are of this package. Such policies only read
// their list.
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

// spare returns the newest whole step of doomed if no kept step is whole, and nil otherwise. none
// reports that no step of both is whole.
func (c *Checkpointer) spare(ctx context.Context, kept, doomed []Info) (last *Info, none bool, err error) {
	whole, err := c.newestWhole(ctx, kept)
	if err != nil || whole != nil {
		return nil, false, err
	}
	whole, err = c.newestWhole(ctx, doomed)
	return whole, err == nil && whole == nil, err
}

// newestWhole returns the newest step that is still a whole checkpoint, is signed if there is a
// key, and has no damage that a scrub found. It returns nil if there is no such step.
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

// look returns what is wrong with a listed step now. err says why that cannot be told.
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

// remove removes a step as Options.Deletion says. A step that is no longer a whole checkpoint is
// unlisted and stays, and the event Skipped is sent. After remove the step is invisible; free frees
// its bytes, and is nil if nothing is left to free.
func (c *Checkpointer) remove(ctx context.Context, in Info) (free func() error, err error) {
	c.deciding.Lock()
	event, free, err := c.decide(ctx, in)
	c.deciding.Unlock()
	if event.Kind != 0 {
		c.opts.OnEvent(event)
	}
	return free, err
}

// decide implements remove, and returns the event to send. c.deciding is held.
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

// drop removes the directory of a step, or moves it to the trash. free frees its bytes; it is nil
// for the trash.
func (c *Checkpointer) drop(ctx context.Context, in Info) (free func() error, err error) {
	if c.opts.Deletion == (options.Deletion{}) {
		return store.Hide(ctx, c.store, c.path(in.Directory))
	}
	_, err = c.deleteAt(ctx, in, checkpoint.DeleteOptions{Options: options.Options{Deletion: c.deletion()}})
	return nil, err
}

// deleteAt calls checkpoint.Delete for a step, always in the store of the run.
func (c *Checkpointer) deleteAt(ctx context.Context, in Info, o checkpoint.DeleteOptions) (bool, error) {
	o.Store, o.File.PathPermissionMode = c.store, c.opts.File.PathPermissionMode
	return checkpoint.Delete(ctx, c.path(in.Directory), &o)
}

// deletion returns Options.Deletion with names in the store.
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

// unlist removes a step from the list.
func (c *Checkpointer) unlist(step int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.index(step); found {
		c.list = slices.Delete(slices.Clone(c.list), i, i+1)
	}
}
