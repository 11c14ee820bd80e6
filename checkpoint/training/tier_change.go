package training

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// forgetStep drops a step from what waits for the further tiers, and ends a copy of it.
func (c *Checkpointer) forgetStep(step int64) {
	u := &c.uploads
	for _, t := range u.tiers {
		u.mu.Lock()
		delete(t.waiting, step)
		ended := t.ended
		going := t.busy == step
		if going && t.abandon != nil {
			t.abandon()
		}
		u.mu.Unlock()
		if going {
			<-ended
		}
	}
}

// reached returns an error for a further tier that was not listed: nobody knows what it has.
func (c *Checkpointer) reached(t *tier) error {
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	if t.known {
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(t.why), Subject: t.Name, Want: "the list of the steps of the tier", Err: t.why,
		Remedy: "make the tier reachable, and open the run again"}
}

// deleteFar removes a step from the further tiers. Otherwise it would be the newest step again when
// the run is opened.
func (c *Checkpointer) deleteFar(ctx context.Context, step int64) (deleted bool, err error) {
	c.forgetStep(step)
	for _, t := range c.uploads.tiers {
		if err := c.reached(t); err != nil {
			return deleted, err
		}
		in, has := t.far.own(step)
		if !has {
			continue
		}
		if err := t.lock(ctx); err != nil {
			return deleted, err
		}
		free, err := t.far.remove(ctx, in)
		if free != nil && err == nil {
			err = t.far.free([]hiddenStep{{in, free}})
		}
		if err != nil {
			return true, errs.Wrap("", t.Name, err)
		}
		deleted = true
	}
	return deleted, nil
}

// quarantineFar sets a step aside in the further tiers that have it.
func (c *Checkpointer) quarantineFar(ctx context.Context, step int64, why error) error {
	if len(c.uploads.tiers) == 0 {
		return nil
	}
	c.forgetStep(step)
	for _, t := range c.uploads.tiers {
		if _, has := t.far.own(step); !has {
			continue
		}
		if err := t.lock(ctx); err != nil {
			return err
		}
		if err := t.far.Quarantine(ctx, step, why); err != nil {
			return errs.Wrap("", t.Name, err)
		}
	}
	return nil
}

// elsewhereToo reports whether a further tier has another step.
func (c *Checkpointer) elsewhereToo(step int64) bool {
	for _, t := range c.uploads.tiers {
		for _, in := range t.far.snapshot() {
			if in.Step != step {
				return true
			}
		}
	}
	return false
}

// onlyFar returns the error for a change to a part of a step that only further tiers have.
func onlyFar(step int64) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: "step " + strconv.FormatInt(step, 10),
		Want: "a step of the nearest tier", Got: "a step that only further tiers have",
		Remedy: "open the directory of the tier as a run of its own"}
}

// reloadTiers lists the further tiers again, unless this process copies to them. A tier that does
// not answer keeps its list.
func (c *Checkpointer) reloadTiers(ctx context.Context) error {
	for _, t := range c.uploads.tiers {
		t.turn.Lock()
		mine := t.far.locked
		t.turn.Unlock()
		if mine {
			continue // nobody else changes it
		}
		list, err := t.names(ctx)
		if errs.KindOf(err) == errs.Canceled {
			return err
		}
		c.uploads.mu.Lock()
		known := t.known
		if err == nil {
			t.known, t.why = true, nil
		}
		c.uploads.mu.Unlock()
		if err != nil {
			c.opts.OnEvent(Event{Kind: TierFailed, Step: -1, Tier: t.Name, Err: err, Reason: "its list is an older one"})
			continue
		}
		t.far.mu.Lock()
		t.far.list = keepDescribed(t.far.list, list)
		t.far.mu.Unlock()
		if !known {
			if err := c.agreeOn(ctx, c, c.dir, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepDescribed returns a new list of steps, with what the old list knows of them.
func keepDescribed(old, list []Info) []Info {
	for i, in := range list {
		if k, ok := indexOf(old, in.Step); ok && old[k].Directory == in.Directory && in.Metrics == nil && in.Custom == nil {
			list[i] = old[k]
		}
	}
	return list
}
