package training

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Latest as a step means the newest checkpoint.
const Latest int64 = -1

// Checkpointer keeps the checkpoints of one directory. All methods may be
// called concurrently; saves run one after the other. Close must be called.
type Checkpointer struct {
	opts  Options
	store store.Store
	root  string // name of the directory in store
	dir   string // the directory as it was given, for messages

	// deciding is held while the name of a step is added, removed or changed, and while a call decides
	// about such a change by looking at the names. It is locked before mu.
	deciding sync.Mutex
	looking  bool // Open still looks, and must not rename anything yet
	passed   bool // a damaged step was not renamed because of looking

	saving  sync.Mutex   // held by the call that prepares a save
	memory  *arena.Arena // snapshots; owned by the save in flight
	limit   int64        // bytes of memory; 0 means no limit
	locked  bool         // this process is the writer of the directory, or the store has no locks
	writer  bool         // no other process of a joint save is the writer
	lock    io.Closer    // nil without a lock
	scrub   *scrubber    // nil without Options.Scrub
	unsound unsound
	head    head
	uploads uploads // to the further tiers

	signing ed25519.PrivateKey // signs saves, unless a call has its own key
	trust   ed25519.PublicKey  // must have signed the head; nil checks no signature

	mu       sync.Mutex
	list     []Info // ascending; its elements never change, so that snapshot may share it
	doubts   []Info // saves that may not survive power loss
	pending  *checkpoint.Response[bool]
	retired  *removal        // of the last commit; nil before the first, and with Options.Foreground
	removing <-chan struct{} // closed when all removals so far are over; nil before the first
	failed   []error         // failures in the background that no call has returned yet
	closed   bool
}

// Open opens the checkpoints of dir; it need not exist yet. o may be nil.
//
// The process that saves there holds a lock: from Open on with Options.Clean, otherwise from the
// first save on, until Close or its end. A second process gets errs.Busy, which names the holder.
// Readers need no lock.
func Open(ctx context.Context, dir string, o *Options) (*Checkpointer, error) {
	opts := o.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, errs.Wrap("training.Open", dir, err)
	}
	eff, err := options.Resolve(ctx, options.Options{}, opts.Options)
	if err != nil {
		return nil, errs.Wrap("training.Open", dir, err)
	}
	if opts.Store == nil {
		opts.Store = eff.File.Store
	}
	st, root, err := locate.Directory(dir, opts.Store)
	if err == nil {
		st, err = store.WithPermissions(st, eff.File.PathPermissionMode)
	}
	if err != nil {
		return nil, errs.Wrap("training.Open", dir, err)
	}
	c := &Checkpointer{opts: opts, store: st, root: root, dir: dir, limit: eff.Budget(), writer: !saving.Follows(eff) &&
		!saving.Absent(eff), trust: eff.Verification, signing: eff.Signing}
	if c.trust == nil && eff.Signing != nil {
		c.trust = eff.Signing.Public().(ed25519.PublicKey)
	}
	c.uploads.watcher = telemetry.Of(ctx)
	if err := c.newTiers(eff.File.PathPermissionMode); err != nil {
		return nil, errs.Wrap("training.Open", dir, err)
	}
	if err := c.start(ctx); err != nil {
		err = errors.Join(err, c.unlock())
		for _, t := range c.uploads.tiers {
			err = errors.Join(err, t.far.unlock())
		}
		return nil, errs.Wrap("training.Open", dir, err)
	}
	return c, nil
}

// start cleans up the directory and reads its steps.
func (c *Checkpointer) start(ctx context.Context) (err error) {
	if err = c.checkLevel(ctx); err != nil {
		return err
	}
	if err = c.openToWrite(ctx); err != nil {
		return err
	}
	if err = c.writeRoot(ctx); err != nil {
		return err
	}
	if err = c.loadHead(ctx); err != nil {
		return err
	}
	if c.opts.Reserve > 0 {
		if c.memory, err = arena.Open(c.reserve(), arena.Options{Limit: int(c.limit), Touch: true}); err != nil {
			return err
		}
	}
	err = c.listFirst(ctx) // the last call that may rename something
	if err == nil {
		err = c.openTiers(ctx)
	}
	if err != nil && c.memory != nil {
		err = errors.Join(err, c.memory.Close())
	}
	if err == nil {
		c.startScrub(ctx)
	}
	return err
}

// listFirst lists the directory for Open. It sets damaged steps aside only when Open cannot fail
// any more.
func (c *Checkpointer) listFirst(ctx context.Context) error {
	c.looking = c.opts.Clean && (c.opts.LookFirst || c.trust != nil)
	events, err := c.reload(ctx)
	c.looking = false
	if err == nil {
		err = c.checkHead(ctx, c.trust)
	}
	if err == nil && c.passed && !c.opts.LookFirst {
		return errs.Wrap("training.Reload", c.dir, c.reloadNearest(ctx)) // it sends all events
	}
	for _, e := range events {
		c.opts.OnEvent(e)
	}
	return errs.Wrap("training.Reload", c.dir, err)
}

// reserve returns Options.Reserve, at most the budget.
func (c *Checkpointer) reserve() int {
	n := c.opts.Reserve
	if c.limit > 0 {
		n = min(n, c.limit&^(arena.MaxAlign-1))
	}
	return int(n)
}

// writeRoot writes the metadata of the run, once.
func (c *Checkpointer) writeRoot(ctx context.Context) error {
	if c.opts.Custom == nil || !c.writer {
		return nil
	}
	custom, err := orbax.Custom(c.opts.Custom)
	if err != nil {
		return errs.Wrap("", "Options.Custom", err)
	}
	err = c.store.Put(ctx, c.path(orbax.RootDir, orbax.RootFile), orbax.AppendRoot(nil, custom),
		store.PutOptions{IfAbsent: true})
	if errors.Is(err, errs.Exists) {
		return nil
	}
	return err
}

// PutMetadata writes a file beside the metadata of the run, once: one of that name stays
// as it is, so the name must tell the contents, by a digest for instance. The error is of
// kind errs.Invalid for a name that is not one of letters, digits, ".", "-" and "_".
func (c *Checkpointer) PutMetadata(ctx context.Context, name string, b []byte) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	if name == "" || name[0] == '.' || strings.Trim(name, letters) != "" || name == orbax.RootFile {
		return &errs.Error{Kind: errs.Invalid, Op: "training.PutMetadata", Subject: strconv.Quote(name),
			Want: "a name of letters, digits, '.', '-' and '_'"}
	}
	err := c.store.Put(ctx, c.path(orbax.RootDir, name), b, store.PutOptions{IfAbsent: true})
	if errors.Is(err, errs.Exists) {
		return nil
	}
	return errs.Wrap("training.PutMetadata", c.dir, err)
}

func (c *Checkpointer) path(elem ...string) string {
	return path.Join(append([]string{c.root}, elem...)...)
}

// place returns the path of a step for functions of package checkpoint that are given
// Options.Store.
func (c *Checkpointer) place(in Info) string {
	switch {
	case c.opts.Store != nil:
		return c.path(in.Directory)
	case store.IsURL(c.dir):
		root, _ := store.SplitURL(c.dir)
		return store.JoinURL(root, c.path(in.Directory))
	}
	return filepath.Join(c.dir, in.Directory)
}

// Directory returns the directory as it was given to Open.
func (c *Checkpointer) Directory() string { return c.dir }

// Storage returns the store of the run and the name of its directory there. writer is false if
// another process publishes the steps, or if this one does not take part in saves.
func (c *Checkpointer) Storage() (st store.Store, name string, writer bool) {
	return c.store, c.root, c.writer
}

// RootMetadata returns the metadata of the run as JSON, or nil if the run has no metadata. Metadata
// that the directory of the run does not have are read from a further tier.
func (c *Checkpointer) RootMetadata(ctx context.Context) (json.RawMessage, error) {
	b, err := store.ReadAll(ctx, c.store, c.path(orbax.RootDir, orbax.RootFile))
	for _, t := range c.uploads.tiers {
		if !errors.Is(err, errs.NotFound) {
			break
		}
		b, err = store.ReadAll(ctx, t.far.store, t.far.path(orbax.RootDir, orbax.RootFile))
	}
	if errors.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap("training.RootMetadata", c.dir, err)
	}
	custom, err := orbax.ParseRoot(b)
	return custom, errs.Wrap("training.RootMetadata", c.dir, err)
}

// Info describes one committed checkpoint.
type Info struct {
	Step      int64
	Directory string    // name below the root
	Time      time.Time // of the commit
	// Metrics are the numbers given at save, or nil.
	Metrics map[string]float64
	// Custom is the checkpoint's own metadata as JSON, or nil.
	Custom json.RawMessage
}

// Checkpoints returns what is committed, ascending by step, the steps of further tiers included;
// see Tiers. Of a step that only a further tier has, Metrics and Custom may be nil and Time may be
// the time of the copy: Metadata reads the step.
func (c *Checkpointer) Checkpoints() []Info {
	return slices.Clone(c.all())
}

// snapshot returns the committed steps of the directory, without further tiers, ascending. The list
// must not be changed.
func (c *Checkpointer) snapshot() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.list)
}

// Latest returns the newest committed checkpoint; ok is false if there is no checkpoint.
func (c *Checkpointer) Latest() (last Info, ok bool) {
	list := c.all()
	if len(list) == 0 {
		return Info{}, false
	}
	return list[len(list)-1], true
}

// Best returns the checkpoint that ranks first by the BestN of the preservation
// policy, the later one of two equals; ok is false when the policy has none or
// no checkpoint has the metric.
func (c *Checkpointer) Best() (best Info, ok bool) {
	rank, ok := ranking(c.opts.Preserve)
	if !ok {
		return Info{}, false
	}
	list := c.Checkpoints()
	i := rank.best(list)
	if i < 0 {
		return Info{}, false
	}
	return list[i], true
}

// Steps returns the steps that are committed, ascending.
func (c *Checkpointer) Steps() []int64 {
	return stepsIn(c.all())
}

// find returns the checkpoint of a step, or the newest one for Latest.
func (c *Checkpointer) find(op string, step int64) (Info, error) {
	list := c.all()
	if step == Latest && len(list) > 0 {
		return list[len(list)-1], nil
	}
	if i, ok := indexOf(list, step); ok {
		return list[i], nil
	}
	e := &errs.Error{Kind: errs.NotFound, Op: op, Subject: c.dir, Want: "step " + strconv.FormatInt(step, 10),
		Got: steps(list)}
	if step == Latest {
		e.Want = "a checkpoint"
	}
	return Info{}, e
}

// own returns a step of the directory; ok is false if only further tiers have it.
func (c *Checkpointer) own(step int64) (in Info, ok bool) {
	list := c.snapshot()
	i, ok := indexOf(list, step)
	if ok {
		in = list[i]
	}
	return in, ok
}

// indexOf returns the index of a step in an ascending list, or the index at which to insert it.
func indexOf(list []Info, step int64) (int, bool) {
	return slices.BinarySearchFunc(list, step, func(in Info, step int64) int { return cmp.Compare(in.Step, step) })
}

func steps(list []Info) string {
	switch n := len(list); n {
	case 0:
		return "no checkpoints"
	case 1:
		return "only step " + strconv.FormatInt(list[0].Step, 10)
	default:
		return strconv.Itoa(n) + " checkpoints from step " + strconv.FormatInt(list[0].Step, 10) + " to " +
			strconv.FormatInt(list[n-1].Step, 10)
	}
}

// IsSavingInProgress reports whether a save is being written.
func (c *Checkpointer) IsSavingInProgress() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight()
}

func (c *Checkpointer) inFlight() bool {
	if c.pending == nil {
		return false
	}
	select {
	case <-c.pending.Done():
		return false
	default:
		return true
	}
}

// Wait waits for the save in flight and for removals, those after the save
// included, and returns the failures in the background that no call has returned
// yet. When ctx ends first, that is the error, and the work goes on.
func (c *Checkpointer) Wait(ctx context.Context) error { return c.wait(ctx, c.removals) }

// wait waits for the save in flight and then for the channel that last returns.
func (c *Checkpointer) wait(ctx context.Context, last func() <-chan struct{}) error {
	c.mu.Lock()
	r := c.pending
	c.mu.Unlock()
	saved := last
	if r != nil {
		saved = r.Done
	}
	for _, over := range []func() <-chan struct{}{saved, last} { // in this order: the save starts the removals
		select {
		case <-over():
		case <-ctx.Done():
			return &errs.Error{Kind: errs.Canceled, Op: "training.Wait", Subject: c.dir, Err: ctx.Err()}
		}
	}
	return c.takeFailure()
}

// removals returns a channel that is closed when all removals that have begun are over.
func (c *Checkpointer) removals() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removing == nil {
		return over()
	}
	return c.removing
}

// hidden returns a channel that is closed when the steps that the last save removed are invisible.
func (c *Checkpointer) hidden() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired == nil {
		return over()
	}
	return c.retired.hidden
}

// over returns a closed channel.
func over() <-chan struct{} {
	none := make(chan struct{})
	close(none)
	return none
}

// keepFailure keeps a failure in the background for the next call that returns failures.
func (c *Checkpointer) keepFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, err)
}

// takeFailure returns the kept failures and forgets them.
func (c *Checkpointer) takeFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errors.Join(c.failed...)
	c.failed = nil
	return err
}

// forgive drops a kept failure that the caller learns in another way.
func (c *Checkpointer) forgive(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = slices.DeleteFunc(c.failed, func(kept error) bool { return kept == err })
}

// Close waits for the save in flight, for the copies to further tiers (see Drain and Uploads) and
// for removals. It ends the scrub, releases the memory of snapshots and the locks, and returns the
// failures in the background that no other call has returned. It may be called twice; Saving and
// deleting afterwards is errs.Closed; loading works. (Orbax still saves then, and nothing waits for
// the save.)
func (c *Checkpointer) Close() error {
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	r := c.pending
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.stopScrub()
	if r != nil {
		<-r.Done()
	}
	err := c.closeTiers()
	<-c.removals()
	err = errors.Join(err, c.takeFailure())
	if c.memory != nil {
		err = errors.Join(err, c.memory.Close())
	}
	return errors.Join(err, c.unlock())
}
