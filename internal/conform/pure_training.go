package main

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// comparePreservation asks a preservation policy which checkpoints it keeps.
func comparePreservation(r *report, o *object) {
	p, err := policySpec(r, o.raw("spec")).Preservation()
	var keep []bool
	if cs := checkpointInfos(r, o, "checkpoints"); err == nil {
		keep = append([]bool{}, p.Preserve(cs, latest(cs))...)
	}
	verdict(r, o, keep, err)
}

// compareDecision asks a save decision policy.
func compareDecision(r *report, o *object) {
	p, err := training.PolicySpec{Policy: o.str("policy"), Args: o.raw("args")}.Save()
	d := training.Decision{
		Step: o.integer("step"), Now: moment(r, o, "seconds"), Previous: checkpointInfos(r, o, "previous"),
		Saving: o.boolean("is_saving_in_progress"), Preempt: o.boolean("reached_preemption"),
	}
	var save bool
	if err == nil {
		save, _ = p.ShouldSave(d)
	}
	verdict(r, o, save, err)
}

// latest is the time that the policies are asked at.
func latest(cs []training.Info) (t time.Time) {
	if len(cs) > 0 {
		t = cs[len(cs)-1].Time
	}
	return t
}

func policySpec(r *report, raw json.RawMessage) (spec training.PolicySpec) {
	if err := json.Unmarshal(raw, &spec); err != nil {
		r.fail("spec: %v", err)
	}
	return spec
}

// checkpointInfos reads a list of steps with their times and metrics.
func checkpointInfos(r *report, o *object, key string) []training.Info {
	var list []training.Info
	for _, v := range o.list(key) {
		w := newObject(r, key+" ", v)
		in := training.Info{Step: w.integer("step"), Time: moment(r, w, "seconds")}
		if m, ok := w.get("metrics").(map[string]any); ok {
			in.Metrics = metricsOf(m)
		}
		w.done()
		list = append(list, in)
	}
	return list
}

func metricsOf(m map[string]any) map[string]float64 {
	out := map[string]float64{}
	for k, v := range m {
		n, _ := v.(json.Number)
		out[k], _ = n.Float64()
	}
	return out
}

// moment reads seconds since an origin that the cases leave open.
func moment(r *report, o *object, key string) time.Time {
	n, _ := o.get(key).(json.Number)
	s, err := n.Float64()
	if err != nil {
		r.fail("%s%s: want seconds, got %v", o.where, key, o.m[key])
	}
	return time.Unix(1_700_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

// compareNames reads the names of directories as steps, and names one.
func compareNames(r *report, o *object) {
	f := nameFormat(o.child("format"))
	probe := o.integer("probe")
	found, _ := training.Resolve(f, o.strings("directories"))
	directory := found[probe]
	sameSteps(r, o.child("found"), found)
	verdict(r, o.child("build"), f.Name(probe), f.Validate())
	var missing error
	if directory == "" {
		missing = errs.NotFound
	}
	verdict(r, o.child("find"), directory, missing)
}

// sameSteps compares steps and their directories, ascending.
func sameSteps(r *report, o *object, found map[int64]string) {
	pairs := [][2]any{}
	for _, step := range slices.Sorted(maps.Keys(found)) {
		pairs = append(pairs, [2]any{step, found[step]})
	}
	verdict(r, o, pairs, nil)
}
