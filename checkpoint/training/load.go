package training

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Load reads the item "state" of a step, or of the newest for Latest.
func (c *Checkpointer) Load(ctx context.Context, step int64, o *checkpoint.LoadOptions) (*tree.Node, error) {
	return read(ctx, c, "training.Load", step, o, checkpoint.Load)
}

// LoadInto reads the item "state" of a step into dst, as checkpoint.LoadInto does.
func (c *Checkpointer) LoadInto(ctx context.Context, step int64, dst any, o *checkpoint.LoadOptions) error {
	_, err := read(ctx, c, "training.LoadInto", step, o,
		func(ctx context.Context, path string, o *checkpoint.LoadOptions) (struct{}, error) {
			return struct{}{}, checkpoint.LoadInto(ctx, path, dst, o)
		})
	return err
}

// LoadCheckpointables reads all items of a step: trees as *tree.Node, JSON as
// json.RawMessage, text protobufs as checkpoint.ProtoText.
func (c *Checkpointer) LoadCheckpointables(ctx context.Context, step int64,
	o *checkpoint.LoadOptions) (map[string]any, error) {
	return read(ctx, c, "training.LoadCheckpointables", step, o, checkpoint.LoadCheckpointables)
}

// Metadata describes a step without reading its arrays.
func (c *Checkpointer) Metadata(ctx context.Context, step int64) (*checkpoint.Info, error) {
	return read(ctx, c, "training.Metadata", step, nil, checkpoint.Metadata)
}

// CheckpointablesMetadata is Metadata with what the handlers of items say of them,
// as checkpoint.CheckpointablesMetadata.
func (c *Checkpointer) CheckpointablesMetadata(ctx context.Context, step int64) (*checkpoint.Info, error) {
	return read(ctx, c, "training.CheckpointablesMetadata", step, nil, checkpoint.CheckpointablesMetadata)
}

// Label is what a step is signed as: "step 12".
func Label(step int64) string { return "step " + strconv.FormatInt(step, 10) }

// merged returns the options of a call, completed by the options of the Checkpointer.
func (c *Checkpointer) merged(ctx context.Context, o *checkpoint.LoadOptions) (d checkpoint.LoadOptions, err error) {
	if o != nil {
		d = *o
	}
	asked := d.CheckpointLayout
	d.Options, err = options.Resolve(ctx, d.Options, c.opts.Options)
	d.CheckpointLayout = asked // the Checkpointer's layout is for what it saves
	return d, err
}

// loadOptions returns the options for a load of a step. With a key, the step must be the one that
// its name claims, not one of another time.
func (c *Checkpointer) loadOptions(ctx context.Context, in Info,
	o *checkpoint.LoadOptions) (*checkpoint.LoadOptions, error) {
	d, err := c.merged(ctx, o)
	d.Store, d.Label = c.store, ""
	if d.Verification != nil {
		d.Label = Label(in.Step)
	}
	return &d, errs.Wrap("training.Load", c.dir, err)
}

// Reload lists the directory again, for what other processes did there. Directories that look like
// steps and are not whole checkpoints are reported to OnEvent and not listed. Reload reads each
// step from one directory. It does so while no save of this Checkpointer publishes and none of its
// steps is removed. A step that another process removes meanwhile is not listed.
//
// Reload lists the further tiers too. A tier that does not answer keeps its list, and OnEvent gets
// TierFailed.
func (c *Checkpointer) Reload(ctx context.Context) error {
	err := c.reloadNearest(ctx)
	if err == nil {
		err = c.reloadTiers(ctx)
	}
	return errs.Wrap("training.Reload", c.dir, err)
}

// reloadNearest lists the directory of the run again.
func (c *Checkpointer) reloadNearest(ctx context.Context) error {
	events, err := c.reload(ctx)
	c.tell(events)
	return err
}

// reload implements Reload, and returns the events to send.
func (c *Checkpointer) reload(ctx context.Context) (events []Event, err error) {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	whole := map[string]Info{}
	var damaged []suspect
	var found []*looked
	for e, err := range c.store.List(ctx, c.root) {
		if errs.KindOf(err) == errs.NotFound {
			break // nothing was saved yet
		}
		if err != nil {
			return events, err
		}
		step, ok := c.opts.Names.Parse(e.Name)
		if !ok || !e.Dir {
			continue
		}
		found = append(found, &looked{step: step, entry: e})
	}
	if err := c.inspectAll(ctx, found); err != nil {
		return events, err
	}
	trusted := c.trusted
	if o, err := c.merged(ctx, nil); err == nil && o.Verification == nil {
		trusted = func(context.Context, Info) error { return nil } // there is no key to ask for each step
	}
	for _, l := range found {
		step, e, in, err := l.step, l.entry, l.in, l.err
		switch errs.KindOf(err) {
		case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
			return events, err
		case errs.NotFound:
			if _, gone := c.store.Stat(ctx, c.path(e.Name)); errs.KindOf(gone) == errs.NotFound {
				continue // another process removed it
			}
		}
		if err != nil {
			damaged = append(damaged, suspect{step, e, err})
			continue
		}
		if err := trusted(ctx, in); err != nil {
			events = append(events, Event{Kind: Skipped, Step: step, Name: e.Name, Err: err})
			continue
		}
		whole[e.Name] = in
	}
	// All steps are inspected before any is renamed.
	for _, d := range damaged {
		event, again, err := c.passOver(ctx, d.step, d.entry, d.why)
		if err != nil {
			return events, err
		}
		if again == nil {
			if event.Kind != 0 {
				events = append(events, event)
			}
			continue
		}
		if err := trusted(ctx, *again); err != nil {
			events = append(events, Event{Kind: Skipped, Step: d.step, Name: d.entry.Name, Err: err})
			continue
		}
		whole[d.entry.Name] = *again
	}
	list, others := c.preferred(whole)
	c.mu.Lock()
	c.list = list
	c.mu.Unlock()
	return append(events, others...), nil
}

// looked is a directory with the name of a step, and the result of inspect for it.
type looked struct {
	step  int64
	entry store.Info
	in    Info
	err   error
}

// manySteps is the number of steps from which several goroutines inspect them. Each step needs a
// few dozen system calls, which wait for each other or for the disk.
const manySteps = 128

// inspectAll inspects the directories in order, up to the first that cannot be identified. It calls
// Options.Inspect for those that are whole, from one goroutine.
func (c *Checkpointer) inspectAll(ctx context.Context, found []*looked) error {
	if len(found) == 0 {
		return nil
	}
	how, err := c.inspection(ctx)
	if err != nil {
		return err
	}
	workers := 1
	if len(found) >= manySteps && c.opts.Inspect == nil {
		workers = min(runtime.GOMAXPROCS(0), 16)
	}
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
			l := found[i]
			l.in, l.err = c.inspectAs(ctx, how, l.step, l.entry, c.opts.Inspect)
			switch errs.KindOf(l.err) {
			case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
				next.Store(int64(len(found))) // the directories before it are inspected or being inspected
			}
		}
	}
	if workers == 1 {
		work()
		return nil
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(work)
	}
	group.Wait()
	return nil
}

// suspect is a directory with the name of a step that is not a whole checkpoint.
type suspect struct {
	step  int64
	entry store.Info
	why   error
}

// trusted returns an error if the verification key did not sign the step. The step stays where it
// is: the key may be the wrong one.
func (c *Checkpointer) trusted(ctx context.Context, in Info) error {
	o, err := c.loadOptions(ctx, in, nil)
	if err != nil || o.Verification == nil {
		return err
	}
	return plan.Load(o.Options).Read(ctx, c.store, c.path(in.Directory), func(*layout.Checkpoint) error { return nil })
}

// preferred returns one checkpoint per step, ascending, and the events for the others.
func (c *Checkpointer) preferred(whole map[string]Info) (list []Info, events []Event) {
	steps, others := Resolve(c.opts.Names, slices.Sorted(maps.Keys(whole)))
	for _, name := range others {
		step := whole[name].Step
		events = append(events, Event{Kind: Skipped, Step: step, Name: name, Err: &errs.Error{
			Kind: errs.Exists, Subject: name, Got: "another checkpoint of the step, " + steps[step]}})
	}
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		list = append(list, whole[steps[step]])
	}
	return list, events
}

// passOver handles a directory that has the name of a step and is not a whole checkpoint. A damaged
// one would block the name of its step, so with Options.Clean it is set aside. If it then proves
// whole, because another process just put it there, it gets its name back and is returned.
func (c *Checkpointer) passOver(ctx context.Context, step int64, e store.Info, why error) (Event, *Info, error) {
	if c.looking && errs.KindOf(why) == errs.Corrupt {
		c.passed = true
		return Event{}, nil, nil // Reload sends the event
	}
	if !c.opts.Clean || !c.writer || errs.KindOf(why) != errs.Corrupt {
		return Event{Kind: Skipped, Step: step, Name: e.Name, Err: why}, nil, nil
	}
	name := e.Name
	if err := c.headLoses(ctx, step); err != nil {
		return Event{}, nil, err
	}
	to, err := c.setAside(ctx, name)
	if err != nil {
		return Event{}, nil, err
	}
	e.Name = to
	if in, err := c.inspect(ctx, step, e); err == nil && c.store.Rename(ctx, c.path(to), c.path(name)) == nil {
		in.Directory = name
		return Event{}, &in, nil
	}
	return Event{Kind: Quarantined, Step: step, Name: to, Err: why}, nil, nil
}

// inspect reads the Info of a step. It fails if the directory is not a whole checkpoint.
func (c *Checkpointer) inspect(ctx context.Context, step int64, e store.Info) (Info, error) {
	how, err := c.inspection(ctx)
	if err != nil {
		return Info{Step: step, Directory: e.Name, Time: e.ModTime}, err
	}
	return c.inspectAs(ctx, how, step, e, nil)
}

// inspection returns how inspect opens a step. trusted checks the signature.
func (c *Checkpointer) inspection(ctx context.Context) (layout.Options, error) {
	o, err := c.merged(ctx, nil)
	how := plan.Load(o.Options)
	how.Key, how.Label = nil, ""
	if how.Once = c.opts.Inspect != nil; how.Once {
		how.FillMissing = false // a missing chunk is damage when a step is verified
	}
	return how, errs.Wrap("training.Load", c.dir, err)
}

// inspectAs works like inspect, with the options of inspection. While the step is open it calls
// also, which may be nil.
func (c *Checkpointer) inspectAs(ctx context.Context, how layout.Options, step int64, e store.Info,
	also func(context.Context, Info) error) (Info, error) {
	in := Info{Step: step, Directory: e.Name, Time: e.ModTime}
	found := in
	err := how.Read(ctx, c.store, c.path(e.Name), func(cp *layout.Checkpoint) (err error) {
		if found, err = described(ctx, in, cp); err == nil && also != nil {
			err = also(cp.With(ctx, c.place(in), c.opts.Store), found)
		}
		return err
	})
	return found, err
}

// described adds to a step the metadata of an open checkpoint.
func described(ctx context.Context, in Info, cp *layout.Checkpoint) (Info, error) {
	if err := cp.CheckFiles(ctx); err != nil {
		return in, err
	}
	if cp.Meta.Commit != 0 {
		in.Time = time.Unix(0, cp.Meta.Commit)
	}
	in.Custom = cp.Meta.Custom
	if string(in.Custom) == "{}" {
		in.Custom = nil
	}
	if !cp.Has(orbax.MetricsItem) {
		return in, nil
	}
	raw, err := cp.JSON(ctx, orbax.MetricsItem)
	if err != nil {
		return in, err
	}
	in.Metrics = numbers(raw)
	return in, nil
}

// numbers returns the members of a JSON object that are numbers. Orbax accepts any JSON as metrics;
// policies rank by numbers.
func numbers(raw json.RawMessage) map[string]float64 {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	out := map[string]float64{}
	for k, v := range m {
		if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			out[k] = f
		}
	}
	return out
}

// Quarantine sets a listed step aside under a name that is not a step's, so that training can go on
// from the one before; nothing is deleted. why is told to OnEvent.
func (c *Checkpointer) Quarantine(ctx context.Context, step int64, why error) error {
	in, err := c.find("training.Quarantine", step)
	if err == nil {
		err = c.quarantineFar(ctx, in.Step, why)
	}
	if err != nil {
		return err
	}
	in, here := c.own(in.Step)
	if !here {
		return nil
	}
	c.deciding.Lock()
	if err := c.headLoses(ctx, in.Step); err != nil {
		c.deciding.Unlock()
		return errs.Wrap("training.Quarantine", c.dir, err)
	}
	name, err := c.setAside(ctx, in.Directory)
	if err == nil {
		c.unlist(in.Step)
	}
	c.deciding.Unlock()
	if err != nil {
		return errs.Wrap("training.Quarantine", c.dir, err)
	}
	c.opts.OnEvent(Event{Kind: Quarantined, Step: in.Step, Name: name, Err: why})
	return nil
}

// setAside renames a directory to the first free name of damaged, damaged-2, … and returns the new
// name, relative to the root.
func (c *Checkpointer) setAside(ctx context.Context, name string) (string, error) {
	to, err := layout.SetAside(ctx, c.store, c.path(name))
	return path.Base(to), err
}
