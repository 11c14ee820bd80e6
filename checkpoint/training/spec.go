package training

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// PolicySpec is a policy as data, under Orbax's class and argument names:
//
//	{"policy": "LatestN", "args": {"n": 3}}
//
// AllSavePolicy and AllPreservationPolicy are ours. Durations are in seconds.
// Unknown names are errors.
type PolicySpec struct {
	Policy string          `json:"policy"`
	Args   json.RawMessage `json:"args,omitempty"`
}

// String returns the name and the arguments: LatestN{"n":3}.
func (s PolicySpec) String() string {
	if a := string(bytes.TrimSpace(s.Args)); a != "" && a != "{}" && a != "null" {
		return s.Policy + a
	}
	return s.Policy
}

// The arguments of the policies. Pointers are optional arguments: nil stands for Python's null
// value.
type (
	noArgs       struct{}
	intervalArgs struct {
		Interval int64 `json:"interval"`
	}
	stepsArgs struct {
		Steps []int64 `json:"steps"`
	}
	continuousArgs struct {
		Seconds *float64 `json:"minimum_interval_secs,omitempty"`
	}
	policiesArgs struct {
		Policies []PolicySpec `json:"policies"`
	}
	countArgs struct {
		N *int `json:"n,omitempty"`
	}
	secondsArgs struct {
		Seconds float64 `json:"interval_secs"`
	}
	everyArgs struct {
		Interval int64 `json:"interval_steps"`
		Exact    *bool `json:"exact_interval,omitempty"`
		Max      *int  `json:"max_to_keep,omitempty"`
	}
	closestArgs struct {
		Interval int64 `json:"interval_steps"`
		Max      *int  `json:"max_to_keep,omitempty"`
	}
	durationArgs struct {
		Seconds float64 `json:"duration"`
	}
	bestArgs struct {
		Metric  string `json:"metric"`
		Reverse bool   `json:"reverse,omitempty"`
		N       *int   `json:"n,omitempty"`
		Keep    *bool  `json:"keep_checkpoints_without_metrics,omitempty"`
	}
)

// Save returns the save decision policy.
func (s PolicySpec) Save() (SavePolicy, error) {
	switch s.Policy {
	case "FixedIntervalPolicy":
		return build(s, func(a intervalArgs) (SavePolicy, error) { return FixedInterval{a.Interval}, nil })
	case "SpecificStepsPolicy":
		return build(s, func(a stepsArgs) (SavePolicy, error) { return SpecificSteps(a.Steps), nil })
	case "InitialSavePolicy":
		return build(s, func(noArgs) (SavePolicy, error) { return InitialSave{}, nil })
	case "ContinuousCheckpointingPolicy":
		return build(s, func(a continuousArgs) (SavePolicy, error) { return Continuous{seconds(or(a.Seconds, 0))}, nil })
	case "PreemptionCheckpointingPolicy":
		return build(s, func(noArgs) (SavePolicy, error) { return Preemption{}, nil })
	case "AnySavePolicy":
		return buildOf(s, PolicySpec.Save, func(parts []SavePolicy) SavePolicy { return AnySave(parts) })
	case "AllSavePolicy":
		return buildOf(s, PolicySpec.Save, func(parts []SavePolicy) SavePolicy { return AllSave(parts) })
	}
	return nil, s.unknown("save decision")
}

// Preservation returns the preservation policy.
func (s PolicySpec) Preservation() (PreservationPolicy, error) {
	switch s.Policy {
	case "PreserveAll":
		return build(s, func(noArgs) (PreservationPolicy, error) { return PreserveAll{}, nil })
	case "LatestN":
		return build(s, func(a countArgs) (PreservationPolicy, error) { return LatestN{or(a.N, Unlimited)}, nil })
	case "LatestDuration":
		return build(s, func(a durationArgs) (PreservationPolicy, error) { return LatestDuration{seconds(a.Seconds)}, nil })
	case "EveryNSeconds":
		return build(s, func(a secondsArgs) (PreservationPolicy, error) { return EveryInterval{seconds(a.Seconds)}, nil })
	case "EveryNSteps":
		return build(s, func(a everyArgs) (PreservationPolicy, error) {
			return EveryNSteps{Interval: a.Interval, Inexact: a.Exact != nil && !*a.Exact, Max: or(a.Max, 0)}, nil
		})
	case "EveryNStepsClosest":
		return build(s, func(a closestArgs) (PreservationPolicy, error) {
			return EveryNStepsClosest{a.Interval, or(a.Max, 0)}, nil
		})
	case "CustomSteps":
		return build(s, func(a stepsArgs) (PreservationPolicy, error) { return CustomSteps(a.Steps), nil })
	case "BestN":
		return build(s, func(a bestArgs) (PreservationPolicy, error) {
			return BestN{Metric: a.Metric, Lowest: a.Reverse, N: or(a.N, Unlimited), DropWithoutMetrics: a.Keep != nil &&
				!*a.Keep}, nil
		})
	case "AnyPreservationPolicy":
		return buildOf(s, PolicySpec.Preservation, func(parts []PreservationPolicy) PreservationPolicy {
			return AnyPreservation(parts)
		})
	case "AllPreservationPolicy":
		return buildOf(s, PolicySpec.Preservation, func(parts []PreservationPolicy) PreservationPolicy {
			return AllPreservation(parts)
		})
	}
	return nil, s.unknown("preservation")
}

// build decodes the arguments, makes a policy from them and validates it.
func build[A any, P interface{ Validate() error }](s PolicySpec, of func(A) (P, error)) (p P, err error) {
	var a A
	if raw := bytes.TrimSpace(s.Args); len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		err := dec.Decode(&a)
		if _, more := dec.Token(); err == nil && more != io.EOF {
			err = &errs.Error{Kind: errs.Invalid, Want: "one JSON object"}
		}
		if err != nil {
			return p, &errs.Error{Kind: errs.Invalid, Op: "training.PolicySpec", Subject: s.Policy, Got: "args " + string(raw),
				Err: err}
		}
	}
	if p, err = of(a); err != nil {
		return p, err
	}
	return p, p.Validate()
}

// buildOf makes a policy that consists of other policies.
func buildOf[P interface{ Validate() error }](s PolicySpec, part func(PolicySpec) (P, error),
	of func([]P) P) (P, error) {
	return build(s, func(a policiesArgs) (P, error) {
		parts, err := each(a.Policies, part)
		return of(parts), err
	})
}

// each converts the parts of a policy.
func each[P, Q any](parts []P, convert func(P) (Q, error)) ([]Q, error) {
	out := make([]Q, 0, len(parts))
	for _, q := range parts {
		sub, err := convert(q)
		if err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// SaveSpec returns a save decision policy as data. A policy of another package
// has no such form: errs.Unsupported.
func SaveSpec(p SavePolicy) (PolicySpec, error) {
	switch p := p.(type) {
	case FixedInterval:
		return spec("FixedIntervalPolicy", intervalArgs{p.Steps})
	case SpecificSteps:
		return spec("SpecificStepsPolicy", stepsArgs{p})
	case InitialSave:
		return spec("InitialSavePolicy", noArgs{})
	case Continuous:
		return spec("ContinuousCheckpointingPolicy", continuousArgs{unless(p.MinInterval.Seconds(), 0)})
	case Preemption:
		return spec("PreemptionCheckpointingPolicy", noArgs{})
	case AnySave:
		return specOf("AnySavePolicy", p, SaveSpec)
	case AllSave:
		return specOf("AllSavePolicy", p, SaveSpec)
	}
	return PolicySpec{}, noSpec(p)
}

// PreservationSpec returns a preservation policy as data. A policy of another
// package, and one that ranks by a function, has no such form: errs.Unsupported.
func PreservationSpec(p PreservationPolicy) (PolicySpec, error) {
	switch p := p.(type) {
	case PreserveAll:
		return spec("PreserveAll", noArgs{})
	case LatestN:
		return spec("LatestN", countArgs{unless(p.N, Unlimited)})
	case LatestDuration:
		return spec("LatestDuration", durationArgs{p.Duration.Seconds()})
	case EveryInterval:
		return spec("EveryNSeconds", secondsArgs{p.Interval.Seconds()})
	case EveryNSteps:
		return spec("EveryNSteps", everyArgs{p.Interval, unless(!p.Inexact, true), unless(max(0, p.Max), 0)})
	case EveryNStepsClosest:
		return spec("EveryNStepsClosest", closestArgs{p.Interval, unless(max(0, p.Max), 0)})
	case CustomSteps:
		return spec("CustomSteps", stepsArgs{p})
	case BestN:
		if p.Value == nil && p.Compare == nil {
			return spec("BestN", bestArgs{p.Metric, p.Lowest, unless(p.N, Unlimited), unless(!p.DropWithoutMetrics, true)})
		}
	case AnyPreservation:
		return specOf("AnyPreservationPolicy", p, PreservationSpec)
	case AllPreservation:
		return specOf("AllPreservationPolicy", p, PreservationSpec)
	}
	return PolicySpec{}, noSpec(p)
}

func spec(name string, args any) (PolicySpec, error) {
	raw, err := json.Marshal(args)
	return PolicySpec{Policy: name, Args: raw}, err
}

func specOf[P any](name string, parts []P, convert func(P) (PolicySpec, error)) (PolicySpec, error) {
	specs, err := each(parts, convert)
	if err != nil {
		return PolicySpec{}, err
	}
	return spec(name, policiesArgs{specs})
}

func noSpec(p any) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "training.PolicySpec", Got: typeName(p),
		Want: "a policy of this package, without functions"}
}

func (s PolicySpec) unknown(what string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "training.PolicySpec", Subject: strconv.Quote(s.Policy),
		Got: "no " + what + " policy of this name"}
}

// or returns the value that p points to, or v if p is nil.
func or[T any](p *T, v T) T {
	if p != nil {
		v = *p
	}
	return v
}

// unless returns nil if v is the implied value, which need not be written.
func unless[T comparable](v, implied T) *T {
	if v == implied {
		return nil
	}
	return &v
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
