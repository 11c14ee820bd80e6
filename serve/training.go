package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// trainingOpen opens a checkpointer.
func trainingOpen(k *call) (reply, error) {
	dir := k.args.place("dir")
	c := &checkpointer{places: []string{dir}, id: k.checkpointers.number(), to: k.connection, declined: map[int64]string{},
		stats: map[int64]checkpoint.SaveStats{}}
	o := &training.Options{
		Options: k.args.context(), Custom: k.args.custom(),
		Clean: k.args.flag("clean"), StartFresh: k.args.flag("start_fresh"), AcceptMissing: k.args.flag("accept_missing"),
		NoLock: k.args.flag("no_lock"), Foreground: k.args.flag("foreground"), LookFirst: k.args.flag("look_first"),
		Dedup: training.Dedup{On: k.args.flag("dedup")}, OnEvent: c.event,
	}
	if k.args.flag("journal") {
		c.rows = newRecorder(c)
	}
	o.Deletion = o.Options.Deletion
	k.processes(&o.Multiprocessing)
	err := k.policies(o, c)
	o.Names = k.names()
	if err == nil {
		err = k.tiers(o, c)
	}
	if err == nil {
		err = k.args.finish()
	}
	if err != nil {
		return reply{}, err
	}
	if c.Checkpointer, err = training.Open(k.ctx, dir, o); err != nil {
		return reply{}, err
	}
	k.checkpointers.add(c)
	return answer(map[string]int64{"checkpointer": c.id})
}

// policies reads the policies of a checkpointer.
func (k *call) policies(o *training.Options, c *checkpointer) error {
	save, ask, err := k.policy("save_policy")
	if err != nil {
		return err
	}
	if save != nil && !ask { // a client that decides itself saves with force
		if o.Save, err = save.Save(); err != nil {
			return errs.Wrap("", "argument save_policy", err)
		}
	}
	preserve, ask, err := k.policy("preservation_policy")
	switch {
	case err != nil:
		return err
	case ask:
		o.Preserve = asked{c}
	case preserve != nil:
		o.Preserve, err = preserve.Preservation()
	}
	return errs.Wrap("", "argument preservation_policy", err)
}

// policy reads a policy. ask says that the client decides.
func (k *call) policy(name string) (spec *training.PolicySpec, ask bool, err error) {
	var p struct {
		training.PolicySpec
		Ask bool `json:"ask"`
	}
	text := k.args.left[name]
	k.args.into(name, &p)
	if k.args.err != nil || text == nil || bytes.Equal(text, []byte("null")) {
		return nil, false, k.args.err
	}
	return &p.PolicySpec, p.Ask, nil
}

// nameFormat is training.StandardNames as it travels.
type nameFormat struct {
	Prefix      *string `json:"prefix"`
	FixedLength int     `json:"fixed_length"`
}

func (n nameFormat) names() training.NameFormat {
	return training.StandardNames{Prefix: n.Prefix, FixedLength: n.FixedLength}
}

// names reads how steps are spelt.
func (k *call) names() training.NameFormat {
	var n struct {
		nameFormat
		Read []nameFormat `json:"read"`
	}
	k.args.into("names", &n)
	if n.Read == nil {
		return n.nameFormat.names()
	}
	several := training.CompositeNames{Write: n.nameFormat.names()}
	for _, f := range n.Read {
		several.Read = append(several.Read, f.names())
	}
	return several
}

// checkpointer returns the checkpointer of the call.
func (k *call) checkpointer() (*checkpointer, error) {
	id := k.args.id("checkpointer")
	if k.args.err != nil {
		return nil, k.args.err
	}
	return k.checkpointers.find(id)
}

// with finds the checkpointer of a call without other arguments.
func with(do func(*call, *checkpointer) (reply, error)) func(*call) (reply, error) {
	return func(k *call) (reply, error) {
		c, err := k.checkpointer()
		if err == nil {
			err = k.args.finish()
		}
		if err != nil {
			return reply{}, err
		}
		return do(k, c)
	}
}

// trainingSave saves a step.
func trainingSave(k *call) (reply, error) {
	var c *checkpointer
	var step int64
	var reason string
	declined := false
	done, err := hand(k, func(h *handover, items map[string]any) (r *checkpoint.Response[bool], err error) {
		if c, err = k.checkpointer(); err != nil {
			return nil, err
		}
		step = k.args.id("step")
		so := k.saveOptions(h)
		o := &training.SaveOptions{Options: so.Options, Custom: so.Custom, Release: so.Release, Progress: so.Progress,
			Force: k.args.flag("force"), Overwrite: k.args.flag("overwrite"), Metrics: k.args.metrics()}
		if c.rows != nil {
			o.Before = c.flushJournal
		}
		if err := k.args.finish(); err != nil {
			return nil, err
		}
		take(c, c.declined, step)
		if r, err = c.SaveCheckpointablesAsync(k.ctx, step, items, o); err != nil {
			return nil, err
		}
		if reason, declined = take(c, c.declined, step); declined {
			h.refuse()
		}
		return r, nil
	})
	if err != nil {
		return reply{}, err
	}
	s := saved{Saved: done, Reason: reason}
	if figures, ok := take(c, c.stats, step); ok {
		s.Stats = newStats(figures)
	}
	return answer(s)
}

// trainingShouldSave asks the policy.
func trainingShouldSave(k *call) (reply, error) {
	c, err := k.checkpointer()
	step := k.args.id("step")
	if err == nil {
		err = k.args.finish()
	}
	if err != nil {
		return reply{}, err
	}
	save, reason := c.ShouldSave(step)
	return answer(map[string]any{"save": save, "reason": reason})
}

// stepOf reads the step of a load. The latest step is resolved now, so that the client learns it.
func (k *call) stepOf(c *checkpointer) int64 {
	step := k.args.id("step")
	if step == training.Latest {
		if last, ok := c.Latest(); ok {
			step = last.Step
		}
	}
	k.step = &step
	return step
}

// trainingLoad loads a tree of a step.
func trainingLoad(k *call) (reply, error) {
	return k.loadTree(func(o *checkpoint.LoadOptions) (*tree.Node, error) {
		c, err := k.checkpointer()
		if err != nil {
			return nil, err
		}
		step := k.stepOf(c)
		if err := k.args.finish(); err != nil {
			return nil, err
		}
		return c.Load(k.ctx, step, o)
	})
}

// trainingLoadItems loads items of a step.
func trainingLoadItems(k *call) (reply, error) {
	return k.loadSeveral(func(o *checkpoint.LoadOptions) (map[string]any, *checkpoint.Info, error) {
		c, err := k.checkpointer()
		if err != nil {
			return nil, nil, err
		}
		step := k.stepOf(c)
		if err := k.args.finish(); err != nil {
			return nil, nil, err
		}
		items, err := c.LoadCheckpointables(k.ctx, step, o)
		if err != nil || !hasFiles(items) {
			return items, nil, err
		}
		info, err := c.Metadata(k.ctx, step)
		return items, info, err
	})
}

// trainingMetadata describes a step.
func trainingMetadata(k *call) (reply, error) {
	c, err := k.checkpointer()
	if err != nil {
		return reply{}, err
	}
	step, o := k.stepOf(c), k.metadataOptions()
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	info, err := c.describe(k.ctx, step, o)
	if err != nil {
		return reply{}, err
	}
	if o.Name != "" {
		it, ok := info.Item(o.Name)
		if !ok {
			return reply{}, &errs.Error{Kind: errs.NotFound, Op: "training.Metadata", Subject: "item " + o.Name}
		}
		info.Items = []checkpoint.ItemInfo{it}
	}
	return described(info, &step)
}

// describe returns the metadata of a step, of all items or more. Its path is whole.
func (c *checkpointer) describe(ctx context.Context, step int64, o *checkpoint.LoadOptions) (*checkpoint.Info, error) {
	if o.AllowNoManifest || o.Salvage {
		for _, s := range c.Checkpoints() {
			if s.Step == step {
				return checkpoint.Metadata(ctx, below(c.placeOf(step, c.Tiers()), s.Directory), o)
			}
		}
	}
	info, err := c.Metadata(ctx, step)
	if err == nil && !filepath.IsAbs(info.Path) && !store.IsURL(info.Path) {
		info.Path = below(c.placeOf(step, c.Tiers()), path.Base(info.Path))
	}
	return info, err
}

// trainingCheckpoints lists the steps.
func trainingCheckpoints(_ *call, c *checkpointer) (reply, error) {
	steps, tiers := newStepInfos(c.Checkpoints()), c.Tiers()
	for i, s := range steps {
		if at := c.placeOf(s.Step, tiers); at != c.places[0] {
			steps[i].Path = below(at, s.Directory)
		}
	}
	return answer(map[string]any{"checkpoints": steps, "saving": c.IsSavingInProgress()})
}

// trainingRootMetadata returns the metadata of the run.
func trainingRootMetadata(k *call, c *checkpointer) (reply, error) {
	custom, err := c.RootMetadata(k.ctx)
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]json.RawMessage{"custom": custom})
}

// trainingDelete deletes a step or an item of it.
func trainingDelete(k *call) (reply, error) {
	c, err := k.checkpointer()
	if err != nil {
		return reply{}, err
	}
	step := k.args.id("step")
	o := &training.DeleteOptions{Name: k.args.text("item"), MissingOK: k.args.flag("missing_ok"),
		Last: k.args.flag("last")}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return deletion(c.Delete(k.ctx, step, o))
}

// trainingRetention tells what the preservation policy would do.
func trainingRetention(_ *call, c *checkpointer) (reply, error) {
	type retained struct {
		Step   int64  `json:"step"`
		Keep   bool   `json:"keep"`
		Reason string `json:"reason"`
	}
	steps := []retained{}
	for _, r := range c.Retention() {
		steps = append(steps, retained{r.Step, r.Keep, r.Reason})
	}
	return answer(map[string]any{"steps": steps})
}

// trainingClose closes a checkpointer.
func trainingClose(k *call) (reply, error) {
	id := k.args.id("checkpointer")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	c, err := k.checkpointers.remove(id)
	if err != nil {
		return reply{}, err
	}
	return nothing(errors.Join(c.closeJournal(), c.closeUntil(k.ctx)))
}
