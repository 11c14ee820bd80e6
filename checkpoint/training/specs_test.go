package training

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

// What is printed is read as the same policy.
func TestPolicySpecs(t *testing.T) {
	for _, p := range []SavePolicy{
		FixedInterval{10}, SpecificSteps{1, 5}, InitialSave{}, Continuous{}, Continuous{90 * time.Second}, Preemption{},
		AllSave{FixedInterval{10}, AnySave{Continuous{}, Preemption{}}}, DefaultSave(),
	} {
		spec, err := SaveSpec(p)
		if err != nil {
			t.Errorf("%T: %v", p, err)
			continue
		}
		again, err := reread(t, spec).Save()
		if d := cmp.Diff(p, again); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", spec, err, d)
		}
	}
	for _, p := range []PreservationPolicy{
		PreserveAll{}, LatestN{3}, LatestN{Unlimited}, LatestN{0}, LatestDuration{time.Hour}, EveryInterval{1500 * time.Millisecond},
		EveryNSteps{Interval: 5}, EveryNSteps{Interval: 5, Inexact: true, Max: 2}, EveryNStepsClosest{Interval: 7, Max: 1}, CustomSteps{3},
		BestN{Metric: "loss", Lowest: true, N: 2, DropWithoutMetrics: true}, BestN{Metric: "acc", N: Unlimited},
		AnyPreservation{LatestN{1}, AllPreservation{EveryNSteps{Interval: 5}, LatestDuration{time.Minute}}},
	} {
		spec, err := PreservationSpec(p)
		if err != nil {
			t.Errorf("%T: %v", p, err)
			continue
		}
		again, err := reread(t, spec).Preservation()
		if d := cmp.Diff(p, again); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", spec, err, d)
		}
	}
}

func reread(t *testing.T, s PolicySpec) (again PolicySpec) {
	t.Helper()
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestPolicySpecsRefused(t *testing.T) {
	for _, text := range []string{
		`{"policy": "Surprise"}`, `{"policy": "LatestN", "args": {"steps": [1]}}`, `{"policy": "PreserveAll", "args": {"n": 1}}`,
		`{"policy": "LatestN", "args": {"n": -2}}`, `{"policy": "EveryNSteps"}`, `{"policy": "LatestDuration"}`, `{"policy": "BestN", "args": {}}`,
		`{"policy": "FixedIntervalPolicy", "args": {}}`, `{"policy": "PreserveAll", "args": 3}`, `{"policy": "AllSavePolicy"}`, `{"policy": "AllPreservationPolicy"}`,
		`{"policy": "AnySavePolicy", "args": {"policies": [{"policy": "Surprise"}]}}`, `{"policy": "AnyPreservationPolicy", "args": {"policies": [{"policy": "Surprise"}]}}`,
	} {
		var s PolicySpec
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if p, err := s.Save(); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: got %v, %v", text, p, err)
		}
		if p, err := s.Preservation(); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: got %v, %v", text, p, err)
		}
	}
	for _, p := range []PreservationPolicy{BestN{Value: metricOf("loss"), N: 1},
		AnyPreservation{BestN{Compare: func(a, b Info) int { return 0 }}}} {
		if _, err := PreservationSpec(p); errs.KindOf(err) != errs.Unsupported {
			t.Errorf("%T: %v", p, err)
		}
	}
}

// metricOf is a metric function that does what BestN.Metric does.
func metricOf(name string) func(Info) (float64, bool) {
	return func(c Info) (float64, bool) { v, ok := c.Metrics[name]; return v, ok }
}

func ranked(metrics ...any) []Info {
	var out []Info
	for i, m := range metrics {
		in := Info{Step: int64(i), Time: at(float64(10 * i))}
		if v, ok := m.(float64); ok {
			in.Metrics = map[string]float64{"loss": v}
		}
		out = append(out, in)
	}
	return out
}

func TestBestN(t *testing.T) {
	cs := ranked(0.5, 0.1, nil, 0.1, 0.9)
	byCompare := func(a, b Info) int {
		switch x, y := a.Metrics["loss"], b.Metrics["loss"]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	for _, p := range []BestN{{Metric: "loss"}, {Value: metricOf("loss")}, {Compare: byCompare}} {
		for _, c := range []struct {
			n            int
			lowest, drop bool
			want         []bool
			best         int
		}{
			{1, false, true, []bool{false, false, false, false, true}, 4},
			{1, true, true, []bool{false, false, false, true, false}, 3},
			{2, true, false, []bool{false, true, true, true, false}, 3},
			{0, false, false, []bool{false, false, false, false, false}, 4},
			{5, false, true, []bool{true, true, true, true, true}, 4},
			{Unlimited, false, true, []bool{true, true, true, true, true}, 4},
		} {
			p.N, p.Lowest, p.DropWithoutMetrics = c.n, c.lowest, c.drop
			if got := p.Preserve(cs, time.Time{}); !cmp.Equal(got, c.want) {
				t.Errorf("%+v: got %v, want %v", c, got, c.want)
			}
			if got := p.best(cs); got != c.best {
				t.Errorf("%+v: best %d, want %d", c, got, c.best)
			}
		}
	}
	for _, p := range []BestN{{N: 1}, {Metric: "a", Value: metricOf("a"), N: 1}, {Metric: "a", N: -2}} {
		if errs.KindOf(p.Validate()) != errs.Invalid {
			t.Errorf("%+v is valid", p)
		}
	}
	if got := (BestN{Metric: "other", N: 1}).best(cs); got != -1 {
		t.Errorf("best of no metric: %d", got)
	}
}

func TestPreservationBeyondOrbax(t *testing.T) {
	cs := ranked(0.5, 0.1, nil, 0.1, 0.9) // at 0, 10, … 40 seconds
	now := at(50)
	for name, c := range map[string]struct {
		p    PreservationPolicy
		want []bool
	}{
		"duration":      {LatestDuration{25 * time.Second}, []bool{false, false, false, true, true}},
		"exactly":       {LatestDuration{30 * time.Second}, []bool{false, false, true, true, true}},
		"none so young": {LatestDuration{5 * time.Second}, []bool{false, false, false, false, false}},
		"all":           {AllPreservation{EveryNSteps{Interval: 2}, LatestN{3}}, []bool{false, false, true, false, true}},
		"any of all":    {AnyPreservation{AllPreservation{PreserveAll{}, CustomSteps{0}}, LatestN{1}}, []bool{true, false, false, false, true}},
	} {
		if err := c.p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.p.Preserve(cs, now); !cmp.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	for _, p := range []interface{ Validate() error }{AllPreservation{}, AnyPreservation{nil}, AllSave{}, AnySave{nil},
		AllSave{FixedInterval{0}}, LatestDuration{}} {
		if errs.KindOf(p.Validate()) != errs.Invalid {
			t.Errorf("%#v is valid", p)
		}
	}
	if b, ok := ranking(AllPreservation{LatestN{1}, BestN{Metric: "m"}}); !ok || b.Metric != "m" {
		t.Errorf("ranking: %v %v", b, ok)
	}
}

func TestSaveReasons(t *testing.T) {
	d := Decision{Step: 4, Previous: ranked(nil)}
	for name, c := range map[string]struct {
		p      SavePolicy
		save   bool
		reason string
	}{
		"all":       {AllSave{FixedInterval{2}, Continuous{}}, true, "a multiple of 2; no save is in progress"},
		"all but":   {AllSave{FixedInterval{2}, SpecificSteps{5}}, false, "not a listed step"},
		"all of no": {AllSave{}, false, ""},
		"any":       {AnySave{InitialSave{}, FixedInterval{2}}, true, "a multiple of 2"},
		"none":      {AnySave{InitialSave{}, FixedInterval{3}}, false, "not the first save; not a multiple of 3"},
		"any of no": {AnySave{}, false, "no policy"},
	} {
		if save, reason := c.p.ShouldSave(d); save != c.save || reason != c.reason {
			t.Errorf("%s: got %v, %q", name, save, reason)
		}
	}
}

func TestCompositeNames(t *testing.T) {
	step := "step"
	old, padded := StandardNames{}, StandardNames{Prefix: &step, FixedLength: 4}
	f := CompositeNames{Write: padded, Read: []NameFormat{padded, old}}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := f.Name(7); got != "step_0007" {
		t.Errorf("Name: %s", got)
	}
	if d := cmp.Diff([]string{"step_0007", "7"}, f.Names(7)); d != "" {
		t.Error(d)
	}
	steps, others := Resolve(f, []string{"7", "step_0007", "3", "x", "step_7", "metadata"})
	if d := cmp.Diff(map[int64]string{7: "step_0007", 3: "3"}, steps); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"7"}, others); d != "" {
		t.Error(d)
	}
	f.Read = []NameFormat{old, padded}
	if steps, others = Resolve(f, []string{"step_0007", "7"}); steps[7] != "7" ||
		!cmp.Equal(others, []string{"step_0007"}) {
		t.Errorf("the other order: %v, %v", steps, others)
	}
	for name, bad := range map[string]CompositeNames{
		"no writer": {Read: []NameFormat{old}}, "not among": {Write: padded, Read: []NameFormat{old}}, "nil": {Write: old, Read: []NameFormat{nil, old}},
		"bad": {Write: StandardNames{FixedLength: -1}, Read: []NameFormat{old}}, "no reader": {Write: old},
	} {
		if errs.KindOf(bad.Validate()) != errs.Invalid {
			t.Errorf("%s is valid", name)
		}
	}
}

// A policy that is read is valid and can be printed.
func FuzzPolicySpec(f *testing.F) {
	for _, s := range []string{
		`{"policy":"LatestN","args":{"n":3}}`, `{"policy":"AnySavePolicy","args":{"policies":[{"policy":"InitialSavePolicy"}]}}`,
		`{"policy":"BestN","args":{"metric":"loss","reverse":true,"n":1}}`, `{"policy":"LatestDuration","args":{"duration":0.5}}`, `{"policy":"EveryNSteps","args":{"interval_steps":2,"max_to_keep":null}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s PolicySpec
		if json.Unmarshal(b, &s) != nil {
			return
		}
		if p, err := s.Save(); err == nil {
			if _, err := SaveSpec(p); err != nil || p.Validate() != nil {
				t.Fatalf("%s: %v, %v", s, err, p.Validate())
			}
		}
		if p, err := s.Preservation(); err == nil {
			if _, err := PreservationSpec(p); err != nil || p.Validate() != nil {
				t.Fatalf("%s: %v, %v", s, err, p.Validate())
			}
		}
	})
}
