package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// compareRoot compares a directory of steps, and replays the calls that made it.
func compareRoot(ctx context.Context, r *report, o *object, at string) {
	names := nameFormat(o.child("name_format"))
	save, keep, err := policies(o)
	if err != nil {
		r.fail("%v", err)
		return
	}
	c, err := training.Open(ctx, at, &training.Options{Names: names, Preserve: keep})
	if err != nil {
		r.fail("Open: %v", err)
		return
	}
	defer c.Close()
	custom, err := c.RootMetadata(ctx)
	if err != nil {
		r.fail("RootMetadata: %v", err)
	}
	compareCustom(r, "root_custom_metadata", o.get("root_custom_metadata"), custom)

	list := c.Checkpoints()
	if got, want := stepsOf(list), o.ints("steps"); !slices.Equal(got, want) {
		r.fail("steps: got %v, want %v", got, want)
	}
	if o.has("latest") {
		last, ok := c.Latest()
		want, some := o.get("latest").(json.Number)
		if ok != some || ok && want != json.Number(itoa(last.Step)) {
			r.fail("latest: got %d (%v), want %v", last.Step, ok, o.get("latest"))
		}
	}
	if o.has("best_step") {
		best, ok := c.Best()
		want, some := o.get("best_step").(json.Number)
		if ok != some || ok && want != json.Number(itoa(best.Step)) {
			r.fail("best_step: got %d (%v), want %v", best.Step, ok, o.get("best_step"))
		}
	}
	byStep := map[int64]training.Info{}
	for _, in := range list {
		byStep[in.Step] = in
	}
	for _, v := range o.list("checkpoints") {
		w := newObject(r, "checkpoints ", v)
		step := w.integer("step")
		w.where = "step " + itoa(step) + ": "
		if got := byStep[step].Directory; got != w.str("directory") {
			r.fail("%sdirectory: got %q, want %q", w.where, got, w.str("directory"))
		}
		compareCheckpoint(ctx, r, w, filepath.Join(at, w.str("directory")))
		w.done()
	}
	for _, v := range o.list("temporary") {
		w := newObject(r, "temporary ", v)
		if _, err := checkpoint.LoadCheckpointables(ctx, filepath.Join(at, filepath.FromSlash(w.str("path"))), nil); err == nil {
			r.fail("temporary %s: loaded", w.str("path"))
		}
		w.done()
	}
	replay(ctx, r, o, training.Options{Names: names, Save: save, Preserve: keep})
}

// policies reads the members save_policy and preservation.
func policies(o *object) (training.SavePolicy, training.PreservationPolicy, error) {
	var save, preserve training.PolicySpec
	for key, spec := range map[string]*training.PolicySpec{"save_policy": &save, "preservation": &preserve} {
		if err := json.Unmarshal(o.raw(key), spec); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	decide, err := save.Save()
	if err != nil {
		return nil, nil, fmt.Errorf("save_policy: %w", err)
	}
	keep, err := preserve.Preservation()
	if err != nil {
		return nil, nil, fmt.Errorf("preservation: %w", err)
	}
	return decide, keep, nil
}

func nameFormat(o *object) training.NameFormat {
	var f training.StandardNames
	if s, ok := o.get("step_prefix").(string); ok {
		f.Prefix = &s
	}
	if o.get("step_format_fixed_length") != nil {
		f.FixedLength = int(o.integer("step_format_fixed_length"))
	}
	o.done()
	return f
}

func stepsOf(list []training.Info) []int {
	var out []int
	for _, in := range list {
		out = append(out, int(in.Step))
	}
	return out
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }

// replay makes the calls of save_calls with the policies of the case and
// compares what they returned and which steps are left.
func replay(ctx context.Context, r *report, o *object, opts training.Options) {
	dir, err := os.MkdirTemp("", "conform-")
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := training.Open(ctx, dir, &opts)
	if err != nil {
		r.fail("replay: Open: %v", err)
		return
	}
	defer c.Close()
	for _, v := range o.list("save_calls") {
		w := newObject(r, "save_calls ", v)
		step := w.integer("step")
		w.where = "save of " + itoa(step) + ": "
		so := &training.SaveOptions{Force: w.boolean("force"), Custom: w.get("custom_metadata")}
		if m, ok := w.get("metrics").(map[string]any); ok {
			so.Metrics = metricsOf(m)
		}
		got, err := c.Save(ctx, step, map[string]any{"step": step}, so)
		if err != nil {
			r.fail("%s%v", w.where, err)
		}
		if want := w.boolean("returned"); got != want {
			_, reason := c.ShouldSave(step)
			r.fail("%sreturned: got %v (%s), want %v", w.where, got, reason, want)
		}
		w.done()
	}
	want := withNewest(r, o)
	if got := stepsOf(c.Checkpoints()); !slices.Equal(got, want) {
		r.fail("replay: steps: got %v, want %v", got, want)
	}
	if err := c.Reload(ctx); err != nil {
		r.fail("replay: Reload: %v", err)
	}
	if got := stepsOf(c.Checkpoints()); !slices.Equal(got, want) {
		r.fail("replay: steps on disk: got %v, want %v", got, want)
	}
}

// withNewest returns the steps that have to be left. Bivouac removes the newest
// step only after the next one was saved; where Orbax's policy has given it up at
// once, that is told as a divergence.
func withNewest(r *report, o *object) []int {
	want := o.ints("steps")
	newest := -1
	for _, v := range o.list("save_calls") {
		if call := newObject(r, "", v); call.boolean("returned") {
			newest = max(newest, int(call.integer("step")))
		}
	}
	if newest < 0 || slices.Contains(want, newest) {
		return want
	}
	r.diverge("newest", "step %d stays until the next is saved, whatever the policy says", newest)
	want = append(want, newest)
	slices.Sort(want)
	return want
}
