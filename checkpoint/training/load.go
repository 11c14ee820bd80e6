package training

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
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
	in, err := c.find("training.Load", step)
	if err != nil {
		return nil, err
	}
	lo, err := c.loadOptions(ctx, in, o)
	if err != nil {
		return nil, err
	}
	return checkpoint.Load(ctx, c.path(in.Directory), lo)
}

// LoadInto reads the item "state" of a step into dst, as checkpoint.LoadInto does.
func (c *Checkpointer) LoadInto(ctx context.Context, step int64, dst any, o *checkpoint.LoadOptions) error {
	in, err := c.find("training.LoadInto", step)
	if err != nil {
		return err
	}
	lo, err := c.loadOptions(ctx, in, o)
	if err != nil {
		return err
	}
	return checkpoint.LoadInto(ctx, c.path(in.Directory), dst, lo)
}

// LoadCheckpointables reads all items of a step: trees as *tree.Node, JSON as
// json.RawMessage, text protobufs as checkpoint.ProtoText.
func (c *Checkpointer) LoadCheckpointables(ctx context.Context, step int64, o *checkpoint.LoadOptions) (map[string]any, error) {
	in, err := c.find("training.LoadCheckpointables", step)
	if err != nil {
		return nil, err
	}
	lo, err := c.loadOptions(ctx, in, o)
	if err != nil {
		return nil, err
	}
	return checkpoint.LoadCheckpointables(ctx, c.path(in.Directory), lo)
}

// Metadata describes a step without reading its arrays.
func (c *Checkpointer) Metadata(ctx context.Context, step int64) (*checkpoint.Info, error) {
	in, err := c.find("training.Metadata", step)
	if err != nil {
		return nil, err
	}
	lo, err := c.loadOptions(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return checkpoint.Metadata(ctx, c.path(in.Directory), lo)
}

// CheckpointablesMetadata is Metadata with what the handlers of items say of them,
// as checkpoint.CheckpointablesMetadata.
func (c *Checkpointer) CheckpointablesMetadata(ctx context.Context, step int64) (*checkpoint.Info, error) {
	in, err := c.find("training.CheckpointablesMetadata", step)
	if err != nil {
		return nil, err
	}
	lo, err := c.loadOptions(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return checkpoint.CheckpointablesMetadata(ctx, c.path(in.Directory), lo)
}

// Label is what a step is signed as: "step 12".
func Label(step int64) string { return "step " + strconv.FormatInt(step, 10) }

// loadOptions are those of a load of a step. With a key it must be the step that
// it passes for, not one of another time.
func (c *Checkpointer) loadOptions(ctx context.Context, in Info, o *checkpoint.LoadOptions) (*checkpoint.LoadOptions, error) {
	var d checkpoint.LoadOptions
	if o != nil {
		d = *o
	}
	var err error
	asked := d.CheckpointLayout
	d.Options, err = options.Resolve(ctx, d.Options, c.opts.Options)
	d.CheckpointLayout = asked // that of the Checkpointer is for what it saves
	d.Store, d.Label = c.store, ""
	if d.Verification != nil {
		d.Label = Label(in.Step)
	}
	return &d, errs.Wrap("training.Load", c.dir, err)
}

// Reload lists the directory again, for what other processes did there.
// Directories that look like steps and are no whole checkpoints are told to
// OnEvent and not listed.
func (c *Checkpointer) Reload(ctx context.Context) error {
	whole := map[string]Info{}
	for e, err := range c.store.List(ctx, c.root) {
		if errs.KindOf(err) == errs.NotFound {
			break // nothing was saved yet
		}
		if err != nil {
			return errs.Wrap("training.Reload", c.dir, err)
		}
		step, ok := c.opts.Names.Parse(e.Name)
		if !ok || !e.Dir {
			continue
		}
		in, err := c.inspect(ctx, step, e)
		switch errs.KindOf(err) {
		case errs.Canceled, errs.Permission, errs.IO:
			return errs.Wrap("training.Reload", c.dir, err)
		}
		if err != nil {
			if err := c.passOver(ctx, step, e.Name, err); err != nil {
				return errs.Wrap("training.Reload", c.dir, err)
			}
			continue
		}
		if err := c.trusted(ctx, in); err != nil {
			c.opts.OnEvent(Event{Kind: Skipped, Step: step, Name: e.Name, Err: err})
			continue
		}
		whole[e.Name] = in
	}
	list := c.preferred(whole)
	c.mu.Lock()
	c.list = list
	c.mu.Unlock()
	return nil
}

// trusted refuses a step that the verification key did not sign. It is left where it is:
// the key may be the wrong one.
func (c *Checkpointer) trusted(ctx context.Context, in Info) error {
	o, err := c.loadOptions(ctx, in, nil)
	if err != nil || o.Verification == nil {
		return err
	}
	_, err = plan.Load(o.Options).Open(ctx, c.store, c.path(in.Directory))
	return err
}

// preferred returns one checkpoint a step, ascending; others are told to OnEvent.
func (c *Checkpointer) preferred(whole map[string]Info) []Info {
	steps, others := Resolve(c.opts.Names, slices.Sorted(maps.Keys(whole)))
	for _, name := range others {
		step := whole[name].Step
		c.opts.OnEvent(Event{Kind: Skipped, Step: step, Name: name, Err: &errs.Error{
			Kind: errs.Exists, Subject: name, Got: "another checkpoint of the step, " + steps[step]}})
	}
	var list []Info
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		list = append(list, whole[steps[step]])
	}
	return list
}

// passOver deals with a directory that has the name of a step and is no whole
// checkpoint. One that is damaged would stand in the way of the step of its
// number; where Options.Clean allows it, it is set aside.
func (c *Checkpointer) passOver(ctx context.Context, step int64, name string, why error) error {
	if !c.opts.Clean || !c.writer || errs.KindOf(why) != errs.Corrupt {
		c.opts.OnEvent(Event{Kind: Skipped, Step: step, Name: name, Err: why})
		return nil
	}
	to, err := c.setAside(ctx, name)
	if err != nil {
		return err
	}
	c.opts.OnEvent(Event{Kind: Quarantined, Step: step, Name: to, Err: why})
	return nil
}

// inspect reads what the list says of a step. It fails when the directory is
// no whole checkpoint.
func (c *Checkpointer) inspect(ctx context.Context, step int64, e store.Info) (Info, error) {
	in := Info{Step: step, Directory: e.Name, Time: e.ModTime}
	o, err := c.loadOptions(ctx, in, nil)
	if err != nil {
		return in, err
	}
	// Whose signature it has is for trusted to say.
	cp, err := layout.Options{Committed: o.NeedsCommitFile()}.Open(ctx, c.store, c.path(e.Name))
	if err != nil {
		return in, err
	}
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

// numbers keeps the members of a JSON object that are numbers; Orbax takes any
// JSON as metrics, policies rank by numbers.
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

// Quarantine sets a listed step aside under a name that is no step's, so that
// training can go on from the one before; nothing is deleted. why is told to
// OnEvent.
func (c *Checkpointer) Quarantine(ctx context.Context, step int64, why error) error {
	in, err := c.find("training.Quarantine", step)
	if err != nil {
		return err
	}
	name, err := c.setAside(ctx, in.Directory)
	if err != nil {
		return errs.Wrap("training.Quarantine", c.dir, err)
	}
	c.unlist(in.Step)
	c.opts.OnEvent(Event{Kind: Quarantined, Step: in.Step, Name: name, Err: why})
	return nil
}

// setAside renames a directory to the first free name of damaged, damaged-2, …
// and returns that, below the root.
func (c *Checkpointer) setAside(ctx context.Context, name string) (string, error) {
	to, err := layout.SetAside(ctx, c.store, c.path(name))
	return path.Base(to), err
}
