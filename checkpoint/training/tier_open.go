package training

import (
	"context"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// openTiers reads what the further tiers have, and begins to copy what they want. The nearest tier
// is listed already.
func (c *Checkpointer) openTiers(ctx context.Context) error {
	u := &c.uploads
	if len(u.tiers) == 0 {
		return nil
	}
	failed := make([]error, len(u.tiers))
	var group sync.WaitGroup
	for i, t := range u.tiers {
		group.Go(func() { failed[i] = c.openTier(ctx, t) })
	}
	group.Wait()
	for i, t := range u.tiers {
		if failed[i] == nil {
			continue
		}
		c.forgetTier(t, failed[i])
		if err := c.unreachable(t, failed[i]); err != nil {
			return err
		}
	}
	if err := c.agree(ctx); err != nil {
		return err
	}
	for _, t := range u.tiers {
		if c.trust == nil || !stale(c.snapshot(), t.far.snapshot()) {
			continue
		}
		if err := t.far.checkHead(ctx, c.trust); err != nil {
			return errs.Wrap("", t.Name, err)
		}
	}
	if err := c.newestIsWhole(ctx); err != nil {
		return err
	}
	if c.opts.Clean && c.writer {
		c.offerAll(math.MaxInt64)
	}
	return nil
}

// openTier lists a tier. With StartFresh it moves its steps aside first.
func (c *Checkpointer) openTier(ctx context.Context, t *tier) error {
	if err := t.far.checkLevel(ctx); err != nil {
		return err
	}
	if c.opts.StartFresh && c.writer {
		if err := t.far.openToWrite(ctx); err != nil {
			return err
		}
	}
	return c.listTier(ctx, t)
}

// listTier reads the names of the steps of a tier, with a few requests for any number of steps. A
// directory of a tier appears whole, so no step is opened unless a policy ranks the steps by what
// they contain.
func (c *Checkpointer) listTier(ctx context.Context, t *tier) error {
	list, err := t.names(ctx)
	t.far.mu.Lock()
	t.far.list = list // nil after an error
	t.far.mu.Unlock()
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	t.known, t.why = err == nil, err
	return err
}

// names returns the steps of a tier, ascending.
func (t *tier) names(ctx context.Context) ([]Info, error) {
	far := t.far
	whole := map[string]Info{}
	var found []*looked
	for e, err := range far.store.List(ctx, far.root) {
		if errs.KindOf(err) == errs.NotFound && !errors.Is(err, store.ErrNoStore) {
			break // nothing was copied yet
		}
		if err != nil {
			return nil, err
		}
		step, ok := far.opts.Names.Parse(e.Name)
		if !ok || !e.Dir || store.IsStaging(e.Name) {
			continue
		}
		whole[e.Name] = Info{Step: step, Directory: e.Name, Time: e.ModTime}
		found = append(found, &looked{step: step, entry: e})
	}
	var failed error
	if ranks(t.Preserve) || ranks(far.opts.Preserve) {
		failed = far.inspectAll(ctx, found)
		for _, l := range found {
			if l.err == nil {
				whole[l.entry.Name] = l.in
			}
		}
	}
	list, _ := far.preferred(whole)
	return list, failed
}

// ranks reports whether a policy needs more than the steps and their times.
func ranks(p PreservationPolicy) bool {
	if _, ok := ranking(p); ok {
		return true
	}
	return !builtIn(p)
}

// unreachable returns an error for a tier that could not be listed, unless the job can go on
// without it: because the nearest tier has a whole step. Then it sends TierFailed.
func (c *Checkpointer) unreachable(t *tier, why error) error {
	switch errs.KindOf(why) {
	case errs.Invalid, errs.Unsupported, errs.Canceled, errs.Mismatch:
		return errs.Wrap("", t.Name, why)
	}
	near := c.snapshot()
	if c.opts.StartFresh {
		return &errs.Error{Op: "", Subject: t.Name, Err: why, Remedy: "StartFresh moves the steps of all tiers: " +
			"make the tier reachable, or leave it out of Options.Tiers"}
	}
	if len(near) > 0 {
		c.opts.OnEvent(Event{Kind: TierFailed, Step: near[len(near)-1].Step, Tier: t.Name, Err: why,
			Reason: "going on with the steps of " + c.dir})
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(why), Subject: t.Name, Want: "the list of the steps of the tier, because " +
		c.dir + " has no step", Err: why,
		Remedy: "make the tier reachable; leave it out of Options.Tiers to begin without its steps"}
}

// agree returns an error if two tiers have different checkpoints under the number of their newest
// common step: then they are of two jobs, or of one job that went on from two places.
func (c *Checkpointer) agree(ctx context.Context) error {
	for i, t := range c.uploads.tiers {
		err := c.agreeWith(ctx, t, c.uploads.tiers[:i])
		if err == nil {
			continue
		}
		c.forgetTier(t, err)
		if err := c.unreachable(t, err); err != nil {
			return err
		}
	}
	return nil
}

// agreeWith compares a tier with the nearest tier and the tiers before it.
func (c *Checkpointer) agreeWith(ctx context.Context, t *tier, before []*tier) error {
	if err := c.agreeOn(ctx, c, c.dir, t); err != nil {
		return err
	}
	for _, other := range before {
		if err := c.agreeOn(ctx, other.far, other.Name, t); err != nil {
			return err
		}
	}
	return nil
}

// agreeOn compares the newest step that a tier has in common with another one.
func (c *Checkpointer) agreeOn(ctx context.Context, near *Checkpointer, name string, t *tier) error {
	a, b, ok := newestCommon(near.snapshot(), t.far.snapshot())
	if !ok {
		return nil
	}
	x, err := identity(ctx, near, a)
	if errs.KindOf(err) == errs.Corrupt || err == nil && x == "" {
		return nil // it is found when it is read
	}
	if err != nil {
		return err
	}
	y, err := identity(ctx, t.far, b)
	switch {
	case errs.KindOf(err) == errs.Corrupt:
		c.passTier(t, b, err)
		return nil
	case err != nil || y == "" || x == y:
		return err
	}
	return disagree(a.Step, name, t.Name)
}

func disagree(step int64, a, b string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: b, Want: "the step " + strconv.FormatInt(step, 10) + " of " + a,
		Got: "another checkpoint of this number, of another job or of another continuation of this job",
		Remedy: "give each job directories of its own; to go on with one of the two, move the other away " +
			"(bivouac diff shows how they differ)"}
}

// newestCommon returns the newest step that is in both lists.
func newestCommon(a, b []Info) (x, y Info, ok bool) {
	for len(a) > 0 && len(b) > 0 {
		x, y = a[len(a)-1], b[len(b)-1]
		switch {
		case x.Step == y.Step:
			return x, y, true
		case x.Step > y.Step:
			a = a[:len(a)-1]
		default:
			b = b[:len(b)-1]
		}
	}
	return x, y, false
}

// identity returns a text that is the same for copies of a step, and "" if that cannot be told,
// because the step has no manifest.
func identity(ctx context.Context, c *Checkpointer, in Info) (string, error) {
	b, err := store.ReadAll(ctx, c.store, c.path(in.Directory, manifest.Name))
	if errs.KindOf(err) == errs.NotFound {
		return "", nil
	}
	if err == nil {
		_, err = manifest.Parse(b)
	}
	if err != nil {
		return "", err
	}
	return sumOf(b), nil
}

// newestIsWhole makes the newest step of all tiers a whole one. It opens the newest steps that only
// further tiers have, until one is whole. The others are no longer listed.
func (c *Checkpointer) newestIsWhole(ctx context.Context) error {
	for {
		list := c.all()
		if len(list) == 0 {
			return nil
		}
		in := list[len(list)-1]
		if _, near := c.own(in.Step); near {
			return nil
		}
		found := false
		for _, t := range c.uploads.tiers {
			there, has := t.far.own(in.Step)
			if !has {
				continue
			}
			whole, err := c.inspectIn(ctx, t, there)
			if err != nil {
				return err
			}
			found = found || whole
		}
		if found {
			return nil
		}
	}
}

// inspectIn opens a step of a tier. A step that is not whole, or that the key did not sign, is no
// longer listed.
func (c *Checkpointer) inspectIn(ctx context.Context, t *tier, in Info) (whole bool, err error) {
	described, err := t.far.inspect(ctx, in.Step, store.Info{Name: in.Directory, Dir: true, ModTime: in.Time})
	if err == nil {
		err = t.far.trusted(ctx, in)
	}
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
		c.forgetTier(t, err)
		return false, c.unreachable(t, err)
	}
	if errs.KindOf(err) == errs.Unsupported { // a run that went on from an older step would have two histories
		return false, errs.Wrap("", t.Name, err)
	}
	if err != nil {
		c.passTier(t, in, err)
		return false, nil
	}
	t.far.mu.Lock()
	defer t.far.mu.Unlock()
	t.far.enter(described, true)
	return true, nil
}

// passTier removes a step that is not whole from the list of a tier. A whole copy may replace it.
func (c *Checkpointer) passTier(t *tier, in Info, why error) {
	t.far.unlist(in.Step)
	c.uploads.mu.Lock()
	t.replace[in.Step] = true
	c.uploads.mu.Unlock()
	t.far.opts.OnEvent(Event{Kind: Skipped, Step: in.Step, Name: in.Directory, Err: why})
}

// forgetTier makes a tier one that was not reached.
func (c *Checkpointer) forgetTier(t *tier, why error) {
	t.far.mu.Lock()
	t.far.list = nil
	t.far.mu.Unlock()
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	t.known, t.why = false, why
}

// lock makes this process the writer of a tier.
func (t *tier) lock(ctx context.Context) error {
	t.turn.Lock()
	defer t.turn.Unlock()
	far := t.far
	if far.locked {
		err := far.checkLock(ctx)
		if kind := errs.KindOf(err); kind == errs.Busy || kind == errs.NotFound {
			far.unlock() //nolint:errcheck // it is lost already
			far.locked = false
		}
		return err
	}
	err := far.takeLock(ctx)
	if errs.KindOf(err) == errs.Busy {
		return &errs.Error{Kind: errs.Busy, Subject: t.Name, Err: errors.Unwrap(err),
			Remedy: "one process at a time copies steps to a tier; this one tries again"}
	}
	if err != nil || !far.locked {
		return err
	}
	if err = far.clean(ctx); errs.KindOf(err) == errs.NotFound {
		return nil // there is no directory yet
	}
	return err
}

// carryMetadata copies the metadata of the run that a tier does not have.
func (c *Checkpointer) carryMetadata(ctx context.Context, t *tier) error {
	t.turn.Lock()
	defer t.turn.Unlock()
	for e, err := range c.store.List(ctx, c.path(orbax.RootDir)) {
		if errs.KindOf(err) == errs.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Dir || t.carried[e.Name] || store.IsStaging(e.Name) || strings.HasPrefix(e.Name, ".") {
			continue
		}
		b, err := store.ReadAll(ctx, c.store, c.path(orbax.RootDir, e.Name))
		if err == nil {
			err = t.far.store.Put(ctx, t.far.path(orbax.RootDir, e.Name), b, store.PutOptions{IfAbsent: true})
		}
		if err != nil && errs.KindOf(err) != errs.Exists {
			return errs.Wrap("", path.Join(orbax.RootDir, e.Name), err)
		}
		t.carried[e.Name] = true
	}
	return nil
}

// stale reports whether the nearest tier is behind a further one, as on a machine on which the job
// ran before it went on elsewhere. Then its older steps are not copied: they are of the past.
func stale(near, far []Info) bool {
	return len(far) > 0 && (len(near) == 0 || near[len(near)-1].Step < far[len(far)-1].Step)
}
