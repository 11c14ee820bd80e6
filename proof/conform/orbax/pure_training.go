package orbax

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// comparePreservation asks a preservation policy which checkpoints it keeps.
func comparePreservation(r *suite.Report, o *suite.Object) {
	p, err := policySpec(r, o.Raw("spec")).Preservation()
	var keep []bool
	if cs := checkpointInfos(r, o, "checkpoints"); err == nil {
		keep = append([]bool{}, p.Preserve(cs, latest(cs))...)
	}
	verdict(r, o, keep, err)
}

// compareDecision asks a save decision policy.
func compareDecision(r *suite.Report, o *suite.Object) {
	p, err := training.PolicySpec{Policy: o.Str("policy"), Args: o.Raw("args")}.Save()
	d := training.Decision{
		Step: o.Integer("step"), Now: moment(r, o, "seconds"), Previous: checkpointInfos(r, o, "previous"),
		Saving: o.Boolean("is_saving_in_progress"), Preempt: o.Boolean("reached_preemption"),
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

func policySpec(r *suite.Report, raw json.RawMessage) (spec training.PolicySpec) {
	if err := json.Unmarshal(raw, &spec); err != nil {
		r.Fail("spec: %v", err)
	}
	return spec
}

// checkpointInfos reads a list of steps with their times and metrics.
func checkpointInfos(r *suite.Report, o *suite.Object, key string) []training.Info {
	var list []training.Info
	for _, v := range o.List(key) {
		w := suite.NewObject(r, key+" ", v)
		in := training.Info{Step: w.Integer("step"), Time: moment(r, w, "seconds")}
		if m, ok := w.Get("metrics").(map[string]any); ok {
			in.Metrics = metricsOf(m)
		}
		w.Done()
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
func moment(r *suite.Report, o *suite.Object, key string) time.Time {
	n, _ := o.Get(key).(json.Number)
	s, err := n.Float64()
	if err != nil {
		r.Fail("%s%s: want seconds, got %v", o.Where, key, o.Members[key])
	}
	return time.Unix(1_700_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

// compareNames reads the names of directories as steps, and names one.
func compareNames(r *suite.Report, o *suite.Object) {
	f := nameFormat(o.Child("format"))
	probe := o.Integer("probe")
	found, _ := training.Resolve(f, o.Strings("directories"))
	directory := found[probe]
	sameSteps(r, o.Child("found"), found)
	verdict(r, o.Child("build"), f.Name(probe), f.Validate())
	var missing error
	if directory == "" {
		missing = errs.NotFound
	}
	verdict(r, o.Child("find"), directory, missing)
}

// sameSteps compares steps and their directories, ascending.
func sameSteps(r *suite.Report, o *suite.Object, found map[int64]string) {
	pairs := [][2]any{}
	for _, step := range slices.Sorted(maps.Keys(found)) {
		pairs = append(pairs, [2]any{step, found[step]})
	}
	verdict(r, o, pairs, nil)
}
