package training

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// A copy that failed is tried again after a pause, which doubles from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// offer asks the policy of each further tier whether it wants a step that was just committed in the
// nearest tier.
func (c *Checkpointer) offer(in Info) {
	if len(c.uploads.tiers) == 0 || !c.writer {
		return
	}
	preempted := c.preempted()
	now := c.opts.Now()
	u := &c.uploads
	u.mu.Lock()
	old := !u.offered && !u.draining
	u.mu.Unlock()
	if old {
		c.offerAll(in.Step)
	}
	u.mu.Lock()
	for _, t := range u.tiers {
		if u.draining {
			break
		}
		_, has := t.far.own(in.Step)
		d := Decision{Step: in.Step, Now: now, Previous: t.before(in.Step), Saving: len(t.waiting) > 0 && t.err == nil,
			Preempt: preempted}
		if save, _ := t.Save.ShouldSave(d); save || preempted || has {
			t.waiting[in.Step] = want{in, has}
		}
	}
	gone := c.prune()
	c.startUploads()
	u.mu.Unlock()
	c.tell(gone)
}

// offerAll asks the policies about the steps below a step that the nearest tier has and a further
// tier does not, because an earlier process ended before it had copied them.
func (c *Checkpointer) offerAll(below int64) {
	near := c.snapshot()
	i, _ := indexOf(near, below)
	near = near[:i:i]
	u := &c.uploads
	for _, t := range u.tiers {
		c.markUntidy(t)
	}
	u.mu.Lock()
	u.offered = true
	for _, t := range u.tiers {
		c.offerOld(t, near)
	}
	c.prune() // what the policy of a tier would remove was removed there, or never wanted
	c.startUploads()
	u.mu.Unlock()
}

// offerOld implements offerAll for one tier. uploads.mu is held.
func (c *Checkpointer) offerOld(t *tier, near []Info) {
	far := t.far.snapshot()
	if !t.known || stale(near, far) {
		return
	}
	for _, in := range near {
		if _, has := indexOf(far, in.Step); has {
			continue
		}
		d := Decision{Step: in.Step, Now: in.Time, Previous: t.before(in.Step)}
		if save, _ := t.Save.ShouldSave(d); save {
			t.waiting[in.Step] = want{in, t.replace[in.Step]}
		}
	}
}

// before returns the steps below a step that a tier has or that wait for it. uploads.mu is held.
func (t *tier) before(step int64) []Info {
	list := t.with()
	i, _ := indexOf(list, step)
	return list[:i:i]
}

// with returns the steps that a tier has and those that wait for it, ascending. uploads.mu is held.
func (t *tier) with() []Info {
	waiting := make([]Info, 0, len(t.waiting))
	for _, w := range t.waiting {
		waiting = append(waiting, w.Info)
	}
	slices.SortFunc(waiting, func(a, b Info) int { return int(max(min(a.Step-b.Step, 1), -1)) })
	return merged(waiting, t.far.snapshot())
}

// prune drops the steps that wait for a tier whose preservation policy would remove them at once.
// uploads.mu is held. It returns the events to send.
func (c *Checkpointer) prune() (events []Event) {
	for _, t := range c.uploads.tiers {
		if len(t.waiting) == 0 {
			continue
		}
		list := t.with()
		for i, keep := range t.far.keeps(context.Background(), list) {
			w, waits := t.waiting[list[i].Step]
			if keep || !waits || w.Step == t.busy || w.overwrite {
				continue
			}
			delete(t.waiting, w.Step)
			events = append(events, Event{Kind: GivenUp, Step: w.Step, Name: w.Directory, Tier: t.Name,
				Reason: "newer steps wait, and the policy of the tier would not keep it"})
		}
	}
	return events
}

func (c *Checkpointer) tell(events []Event) {
	for _, e := range events {
		c.opts.OnEvent(e)
	}
}

// startUploads wakes the goroutines that copy, and starts them first if there is something to copy.
// uploads.mu is held.
func (c *Checkpointer) startUploads() {
	u := &c.uploads
	work := slices.ContainsFunc(u.tiers, func(t *tier) bool { return len(t.waiting) > 0 || t.untidy })
	if work && !u.running && !u.draining {
		u.running = true
		ctx, stop := context.WithCancel(telemetry.With(context.Background(), u.watcher))
		u.stop = stop
		for i, t := range u.tiers {
			u.over.Go(func() { c.upload(ctx, t, u.wake[i]) })
		}
	}
	u.wakeAll()
}

func (u *uploads) wakeAll() {
	for _, wake := range u.wake {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// upload copies what waits for a tier, the newest step first, until there is nothing left after
// Drain has begun, or ctx ends.
func (c *Checkpointer) upload(ctx context.Context, t *tier, wake <-chan struct{}) {
	pause := firstPause
	for last := false; ctx.Err() == nil; {
		w, tidy, draining := c.nextUpload(t)
		last = last || draining // a copy that fails from now on is not tried again
		switch {
		case tidy:
			c.tidy(ctx, t)
		case w == nil && draining:
			return
		case w == nil:
			select {
			case <-wake:
			case <-ctx.Done():
			}
		case c.brought(ctx, t, *w, c.bring(ctx, t, *w)):
			pause = firstPause
		case last:
			return // Drain says what is missing
		default:
			c.pause(ctx, pause, wake)
			pause = min(2*pause, longestPause)
		}
	}
}

// pause waits until a copy that failed is tried again. Drain makes the wait short.
func (c *Checkpointer) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !c.isDraining() {
		select {
		case <-timer.C:
			return
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Checkpointer) isDraining() bool {
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	return c.uploads.draining
}

// nextUpload returns the newest step that waits for a tier, or nil. tidy says that the policy of
// the tier comes first; when the time is short, the steps do.
func (c *Checkpointer) nextUpload(t *tier) (w *want, tidy, draining bool) {
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	draining = c.uploads.draining
	order := t.order()
	if t.untidy && (len(order) == 0 || !draining) {
		t.untidy = false
		return nil, true, draining
	}
	if len(order) == 0 {
		return nil, false, draining
	}
	next := t.waiting[order[0]]
	t.busy, t.sent, t.ended = next.Step, 0, make(chan struct{})
	return &next, false, draining
}

// tidy removes the steps of a tier that its policy does not keep. What could not be removed is
// removed after the next copy, or when the run is opened again.
func (c *Checkpointer) tidy(ctx context.Context, t *tier) {
	err := t.lock(ctx)
	if err == nil {
		var hidden []hiddenStep
		hidden, err = t.far.retain(ctx, false, nil)
		err = errors.Join(err, t.far.free(hidden))
	}
	if err != nil {
		c.opts.OnEvent(Event{Kind: TierFailed, Step: -1, Tier: t.Name, Err: err,
			Reason: "steps that its policy does not keep stay for now"})
	}
}

// markUntidy notes whether the policy of a tier gives steps up that it has.
func (c *Checkpointer) markUntidy(t *tier) {
	untidy := slices.Contains(t.far.keeps(context.Background(), t.far.snapshot()), false)
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	t.untidy = t.untidy || untidy
}

// brought records the outcome of a copy. It returns false if the copy must be tried again later.
func (c *Checkpointer) brought(ctx context.Context, t *tier, w want, err error) (over bool) {
	u := &c.uploads
	u.mu.Lock()
	abandoned := errors.Is(err, errAbandoned)
	t.busy, t.abandon = -1, nil
	close(t.ended)
	if err == nil {
		if t.waiting[w.Step].Time.Equal(w.Time) { // otherwise the step was replaced meanwhile
			delete(t.waiting, w.Step)
		}
		delete(t.replace, w.Step)
	}
	if !abandoned {
		t.err = err
	}
	var giveUp bool
	switch kind := errs.KindOf(err); {
	case err == nil || abandoned:
	case errors.Is(err, errGone):
		giveUp, t.err = true, nil
	case errors.Is(err, transfer.ErrSource), kind == errs.Mismatch, kind == errs.Unsupported, kind == errs.Invalid:
		giveUp = true
		t.lose(w.Step, err)
	}
	if giveUp {
		delete(t.waiting, w.Step)
	}
	owed := u.owed
	if err == nil || giveUp {
		u.owed = false
	}
	draining := u.draining
	u.mu.Unlock()
	switch {
	case err == nil:
	case abandoned || draining && ctx.Err() != nil:
		return true // Drain says what is missing
	case errors.Is(err, errGone):
	default:
		c.opts.OnEvent(Event{Kind: UploadFailed, Step: w.Step, Name: w.Directory, Tier: t.Name, Err: err})
	}
	if errors.Is(err, transfer.ErrSource) {
		c.noteDamage(ctx, w.Info, err)
	}
	if giveUp {
		c.opts.OnEvent(Event{Kind: GivenUp, Step: w.Step, Name: w.Directory, Tier: t.Name, Err: err,
			Reason: "it cannot be copied"})
	}
	if owed && (err == nil || giveUp) {
		c.retire(ctx, "step "+strconv.FormatInt(w.Step, 10)+" of "+c.dir) //nolint:errcheck // kept for the next call
	}
	return err == nil || giveUp
}

// mostLost bounds what a tier remembers of the steps that could not be copied.
const mostLost = 8

// lose notes that a step could not be copied. uploads.mu is held.
func (t *tier) lose(step int64, why error) {
	if len(t.lost) == mostLost {
		t.lost = t.lost[1:]
	}
	t.lost = append(t.lost, &errs.Error{Subject: "step " + strconv.FormatInt(step, 10) + " for " + t.Name, Err: why})
}

var (
	// errGone says that the step is no longer in the nearest tier.
	errGone = errors.New("the step was removed before it was copied")
	// errAbandoned ends the copy of an older step, so that the newest one comes first.
	errAbandoned = errors.New("a newer step comes first")
)

// bring copies a step to a tier, unless it is there.
func (c *Checkpointer) bring(ctx context.Context, t *tier, w want) error {
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	c.uploads.mu.Lock()
	t.abandon = func() { abandon(errAbandoned) }
	known := t.known
	c.uploads.mu.Unlock()
	began := time.Now()
	if err := t.lock(ctx); err != nil {
		return err
	}
	if !known { // it was not reached before
		if err := c.listTier(ctx, t); err != nil {
			return err
		}
		if err := c.agreeOn(ctx, c, c.dir, t); err != nil {
			c.forgetTier(t, err)
			return err
		}
	}
	src, err := store.Pin(ctx, c.store, c.path(w.Directory))
	if errs.KindOf(err) == errs.NotFound {
		return &errs.Error{Kind: errs.NotFound, Subject: w.Directory, Err: errGone}
	}
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // only read
	err = c.copyTo(ctx, t, src, w, began)
	kind := errs.KindOf(err)
	if (kind == errs.NotFound || kind == errs.Corrupt) && src.Fate(ctx, c.path(w.Directory)) != nil {
		return &errs.Error{Kind: errs.NotFound, Subject: w.Directory, Err: errors.Join(errGone, err)}
	}
	if err == nil {
		err = c.carryMetadata(ctx, t)
	}
	return err
}

// copyTo copies a pinned step to a tier and applies the policy of the tier.
func (c *Checkpointer) copyTo(ctx context.Context, t *tier, src store.Pinned, w want, began time.Time) error {
	from := transfer.Place{Store: src, Name: c.path(w.Directory), Text: c.dir + "/" + w.Directory}
	name := w.Directory
	if there, has := t.far.own(w.Step); has {
		name = there.Directory
	}
	to := transfer.Place{Store: t.far.store, Name: t.far.path(name), Text: t.Directory + "/" + name}
	files, err := transfer.Files(ctx, from)
	if err != nil {
		return err
	}
	c.uploads.mu.Lock()
	overwrite := w.overwrite || t.replace[w.Step]
	c.uploads.mu.Unlock()
	made, err := transfer.New(ctx, from, to, files, &transfer.Options{Check: true, NoReadBack: t.NoReadBack,
		Overwrite: overwrite, Budget: c.uploads.budget, Progress: func(done, total int64) {
			c.uploads.mu.Lock()
			defer c.uploads.mu.Unlock()
			t.sent = max(t.sent, float64(done)/float64(max(total, 1)))
		}})
	if err != nil {
		return err
	}
	_, err = to.Store.Stat(ctx, to.Name)
	there := err == nil
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return err
	}
	same := false
	if there {
		if same, err = c.sameCopy(ctx, t, w, name, made); err != nil {
			return err
		}
		if !same && !overwrite {
			return disagree(w.Step, c.dir, t.Name)
		}
	}
	if !same {
		if err := made.Run(ctx); err != nil {
			return err
		}
	}
	in := w.Info
	in.Directory = name
	t.far.mu.Lock()
	t.far.enter(in, true)
	t.far.mu.Unlock()
	if err := c.listFar(ctx, t, in); err != nil {
		return err
	}
	c.opts.OnEvent(Event{Kind: Uploaded, Step: w.Step, Name: name, Tier: t.Name, Bytes: made.Total(),
		Took: time.Since(began)})
	c.markUntidy(t)
	return nil
}

// sameCopy reports whether a tier has the step already.
func (c *Checkpointer) sameCopy(ctx context.Context, t *tier, w want, name string,
	made *transfer.Transfer) (bool, error) {
	x, err := identity(ctx, c, w.Info)
	if err != nil {
		return false, err
	}
	if x == "" {
		return made.Present(ctx)
	}
	there := w.Info
	there.Directory = name
	y, err := identity(ctx, t.far, there)
	if errs.KindOf(err) == errs.Corrupt {
		return false, nil
	}
	return x == y, err
}

// listFar adds a copied step to the head of a tier, if the run is signed.
func (c *Checkpointer) listFar(ctx context.Context, t *tier, in Info) error {
	if t.far.signing == nil {
		return nil
	}
	if !t.far.head.known {
		if err := t.far.loadHead(ctx); err != nil {
			return err
		}
		t.far.head.mu.Lock()
		t.far.head.known, t.far.head.key = true, t.far.signing
		t.far.head.mu.Unlock()
	}
	b, err := store.ReadAll(ctx, t.far.store, t.far.path(in.Directory, manifest.Name))
	if err != nil {
		return err
	}
	return t.far.headHas(context.WithoutCancel(ctx), in, sumOf(b))
}

// holds reports for each step that retention would remove whether it must stay because a further
// tier waits for it. The steps that need not stay are given up; see Tier.Hold.
func (c *Checkpointer) holds(doomed []Info) (held map[int64]string) {
	u := &c.uploads
	if len(u.tiers) == 0 || len(doomed) == 0 {
		return nil
	}
	held = map[int64]string{}
	var events []Event
	u.mu.Lock()
	for _, t := range u.tiers {
		order := slices.DeleteFunc(t.order(), func(step int64) bool { return step == t.busy })
		if t.busy >= 0 {
			held[t.busy] = "it is being copied to " + t.Name
		}
		for i, step := range order {
			if i < t.Hold {
				held[step] = "it waits to be copied to " + t.Name
			}
		}
	}
	for _, in := range doomed {
		if held[in.Step] != "" {
			u.owed = true
			continue
		}
		for _, t := range u.tiers {
			if w, waits := t.waiting[in.Step]; waits {
				delete(t.waiting, in.Step)
				events = append(events, Event{Kind: GivenUp, Step: w.Step, Name: w.Directory, Tier: t.Name,
					Reason: "the nearest tier removes it, and newer steps come first"})
			}
		}
	}
	u.mu.Unlock()
	c.tell(events)
	return held
}
