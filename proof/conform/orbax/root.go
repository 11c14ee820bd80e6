package orbax

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// compareRoot compares a directory of steps, and replays the calls that made it.
func compareRoot(ctx context.Context, r *suite.Report, o *suite.Object, at string) {
	names := nameFormat(o.Child("name_format"))
	save, keep, err := policies(o)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	c, err := training.Open(ctx, at, &training.Options{Names: names, Preserve: keep})
	if err != nil {
		r.Fail("Open: %v", err)
		return
	}
	defer c.Close()
	custom, err := c.RootMetadata(ctx)
	if err != nil {
		r.Fail("RootMetadata: %v", err)
	}
	compareCustom(r, "root_custom_metadata", o.Get("root_custom_metadata"), custom)

	list := c.Checkpoints()
	if got, want := stepsOf(list), o.Ints("steps"); !slices.Equal(got, want) {
		r.Fail("steps: got %v, want %v", got, want)
	}
	if o.Has("latest") {
		last, ok := c.Latest()
		want, some := o.Get("latest").(json.Number)
		if ok != some || ok && want != json.Number(itoa(last.Step)) {
			r.Fail("latest: got %d (%v), want %v", last.Step, ok, o.Get("latest"))
		}
	}
	if o.Has("best_step") {
		best, ok := c.Best()
		want, some := o.Get("best_step").(json.Number)
		if ok != some || ok && want != json.Number(itoa(best.Step)) {
			r.Fail("best_step: got %d (%v), want %v", best.Step, ok, o.Get("best_step"))
		}
	}
	byStep := map[int64]training.Info{}
	for _, in := range list {
		byStep[in.Step] = in
	}
	for _, v := range o.List("checkpoints") {
		w := suite.NewObject(r, "checkpoints ", v)
		step := w.Integer("step")
		w.Where = "step " + itoa(step) + ": "
		if got := byStep[step].Directory; got != w.Str("directory") {
			r.Fail("%sdirectory: got %q, want %q", w.Where, got, w.Str("directory"))
		}
		compareCheckpoint(ctx, r, w, filepath.Join(at, w.Str("directory")))
		w.Done()
	}
	for _, v := range o.List("temporary") {
		w := suite.NewObject(r, "temporary ", v)
		if _, err := checkpoint.LoadCheckpointables(ctx, filepath.Join(at, filepath.FromSlash(w.Str("path"))), nil); err == nil {
			r.Fail("temporary %s: loaded", w.Str("path"))
		}
		w.Done()
	}
	Replay(ctx, r, o, training.Options{Names: names, Save: save, Preserve: keep})
}

// policies reads the members save_policy and preservation.
func policies(o *suite.Object) (training.SavePolicy, training.PreservationPolicy, error) {
	var save, preserve training.PolicySpec
	for key, spec := range map[string]*training.PolicySpec{"save_policy": &save, "preservation": &preserve} {
		if err := json.Unmarshal(o.Raw(key), spec); err != nil {
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

func nameFormat(o *suite.Object) training.NameFormat {
	var f training.StandardNames
	if s, ok := o.Get("step_prefix").(string); ok {
		f.Prefix = &s
	}
	if o.Get("step_format_fixed_length") != nil {
		f.FixedLength = int(o.Integer("step_format_fixed_length"))
	}
	o.Done()
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

// Replay makes the calls of save_calls with the policies of the case and
// compares what they returned and which steps are left.
func Replay(ctx context.Context, r *suite.Report, o *suite.Object, opts training.Options) {
	dir, err := os.MkdirTemp("", "conform-")
	if err != nil {
		r.Fail("%v", err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := training.Open(ctx, dir, &opts)
	if err != nil {
		r.Fail("replay: Open: %v", err)
		return
	}
	defer c.Close()
	for _, v := range o.List("save_calls") {
		w := suite.NewObject(r, "save_calls ", v)
		step := w.Integer("step")
		w.Where = "save of " + itoa(step) + ": "
		so := &training.SaveOptions{Force: w.Boolean("force"), Custom: w.Get("custom_metadata")}
		if m, ok := w.Get("metrics").(map[string]any); ok {
			so.Metrics = metricsOf(m)
		}
		got, err := c.Save(ctx, step, map[string]any{"step": step}, so)
		if err != nil {
			r.Fail("%s%v", w.Where, err)
		}
		if want := w.Boolean("returned"); got != want {
			_, reason := c.ShouldSave(step)
			r.Fail("%sreturned: got %v (%s), want %v", w.Where, got, reason, want)
		}
		w.Done()
	}
	want := withNewest(r, o)
	if got := stepsOf(c.Checkpoints()); !slices.Equal(got, want) {
		r.Fail("replay: steps: got %v, want %v", got, want)
	}
	if err := c.Reload(ctx); err != nil {
		r.Fail("replay: Reload: %v", err)
	}
	if got := stepsOf(c.Checkpoints()); !slices.Equal(got, want) {
		r.Fail("replay: steps on disk: got %v, want %v", got, want)
	}
}

// withNewest returns the steps that have to be left. Bivouac removes the newest
// step only after the next one was saved; where Orbax's policy has given it up at
// once, that is told as a divergence.
func withNewest(r *suite.Report, o *suite.Object) []int {
	want := o.Ints("steps")
	newest := -1
	for _, v := range o.List("save_calls") {
		if call := suite.NewObject(r, "", v); call.Boolean("returned") {
			newest = max(newest, int(call.Integer("step")))
		}
	}
	if newest < 0 || slices.Contains(want, newest) {
		return want
	}
	r.Diverge("newest", "step %d stays until the next is saved, whatever the policy says", newest)
	want = append(want, newest)
	slices.Sort(want)
	return want
}
