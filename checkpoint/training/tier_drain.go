package training

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// DrainOptions modify Drain; nil is the zero value.
type DrainOptions struct {
	// Newest copies the newest step to all tiers, whatever their policies say: for a machine that goes
	// away. It comes first. The copy of an older step goes on before it only if more than half of that
	// step was sent.
	Newest bool
}

// Drain copies the steps that the further tiers still want, the newest first, until all is copied
// or ctx ends. It sends TierState for each tier, and returns what the tiers lack. A copy that fails
// is tried once more. Afterwards nothing is copied any more. Without further tiers Drain does
// nothing.
//
// Call it before a machine goes away, with the time that is left as the deadline. Close calls it
// with Uploads.Patience. Only the first call has an effect.
func (c *Checkpointer) Drain(ctx context.Context, o *DrainOptions) error {
	u := &c.uploads
	if len(u.tiers) == 0 {
		return nil
	}
	u.mu.Lock()
	if u.draining {
		u.mu.Unlock()
		u.over.Wait()
		return nil
	}
	if o != nil && o.Newest && c.writer {
		u.offered = true
		c.wantNewest()
	}
	if !u.offered { // a reader
		u.draining = true
		u.mu.Unlock()
		return nil
	}
	c.startUploads()
	u.draining = true
	u.wakeAll()
	stop := u.stop
	u.mu.Unlock()
	if stop != nil {
		end := context.AfterFunc(ctx, stop)
		u.over.Wait()
		end()
		stop()
	}
	return c.drained(ctx)
}

// wantNewest makes all tiers want the newest step of the nearest tier. uploads.mu is held.
func (c *Checkpointer) wantNewest() {
	near := c.snapshot()
	if len(near) == 0 {
		return
	}
	in := near[len(near)-1]
	for _, t := range c.uploads.tiers {
		if _, has := t.far.own(in.Step); !has {
			t.waiting[in.Step] = want{in, false}
		}
		const half = 0.5
		if t.busy >= 0 && t.busy != in.Step && t.sent <= half && t.abandon != nil {
			t.abandon()
		}
	}
}

// drained sends what each tier has, and returns what they lack.
func (c *Checkpointer) drained(ctx context.Context) error {
	u := &c.uploads
	var events []Event
	var all []error
	u.mu.Lock()
	for _, t := range u.tiers {
		e := Event{Kind: TierState, Step: -1, Tier: t.Name}
		if list := t.far.snapshot(); len(list) > 0 {
			last := list[len(list)-1]
			e.Step, e.Name = last.Step, last.Directory
		}
		lost := t.lost
		for _, step := range t.order() {
			why := errors.Join(context.Cause(ctx), t.err)
			if why == nil {
				why = t.why
			}
			lost = append(lost, &errs.Error{Kind: cmp.Or(errs.KindOf(why), errs.Canceled),
				Subject: "step " + strconv.FormatInt(step, 10) + " for " + t.Name,
				Got:     "no time was left to copy it", Err: why})
		}
		e.Err = errors.Join(lost...)
		if e.Step >= 0 {
			e.Reason = "its newest step is " + strconv.FormatInt(e.Step, 10)
		} else {
			e.Reason = "it has no step"
		}
		if e.Err != nil {
			all = append(all, e.Err)
		}
		events = append(events, e)
	}
	u.mu.Unlock()
	c.tell(events)
	if len(all) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(all[0]), Op: "training.Drain", Subject: c.dir,
		Want: "all steps that the tiers want", Err: errors.Join(all...),
		Remedy: "bivouac sync copies them later, as long as " + c.dir + " has them"}
}

// closeTiers ends the copies and frees the locks of the tiers.
func (c *Checkpointer) closeTiers() error {
	patience := cmp.Or(c.opts.Uploads.Patience, defaultPatience)
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, 0))
	defer cancel()
	err := c.Drain(ctx, nil)
	for _, t := range c.uploads.tiers {
		t.turn.Lock()
		err = errors.Join(err, t.far.unlock())
		t.turn.Unlock()
	}
	return err
}
