package training

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// PolicySpec is a policy as data, under Orbax's class and argument names:
//
//	{"policy": "LatestN", "args": {"n": 3}}
//
// Unknown names are errors.
type PolicySpec struct {
	Policy string          `json:"policy"`
	Args   json.RawMessage `json:"args"`
}

func (s PolicySpec) args(into any) error {
	dec := json.NewDecoder(bytes.NewReader(s.Args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "training.PolicySpec", Subject: s.Policy, Got: "args " + string(s.Args), Err: err}
	}
	return nil
}

func (s PolicySpec) unknown(what string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "training.PolicySpec", Subject: strconv.Quote(s.Policy), Got: "no " + what + " policy of this name"}
}

// Save returns the save decision policy.
func (s PolicySpec) Save() (p SavePolicy, err error) {
	var a struct {
		Interval *int64       `json:"interval"`
		Steps    []int64      `json:"steps"`
		MinSecs  *float64     `json:"minimum_interval_secs"`
		Policies []PolicySpec `json:"policies"`
	}
	if err := s.args(&a); err != nil {
		return nil, err
	}
	switch s.Policy {
	case "FixedIntervalPolicy":
		p = FixedInterval{orZero(a.Interval)}
	case "SpecificStepsPolicy":
		p = SpecificSteps(a.Steps)
	case "InitialSavePolicy":
		p = InitialSave{}
	case "ContinuousCheckpointingPolicy":
		p = Continuous{seconds(orZero(a.MinSecs))}
	case "PreemptionCheckpointingPolicy":
		p = Preemption{}
	case "AnySavePolicy":
		any := AnySave{}
		for _, q := range a.Policies {
			sub, err := q.Save()
			if err != nil {
				return nil, err
			}
			any = append(any, sub)
		}
		p = any
	default:
		return nil, s.unknown("save decision")
	}
	return p, p.Validate()
}

// Preservation returns the preservation policy.
func (s PolicySpec) Preservation() (p PreservationPolicy, err error) {
	var a struct {
		N        *int         `json:"n"`
		Secs     *float64     `json:"interval_secs"`
		Interval *int64       `json:"interval_steps"`
		Exact    *bool        `json:"exact_interval"`
		Max      *int         `json:"max_to_keep"`
		Steps    []int64      `json:"steps"`
		Metric   string       `json:"metric"`
		Reverse  bool         `json:"reverse"`
		Keep     *bool        `json:"keep_checkpoints_without_metrics"`
		Policies []PolicySpec `json:"policies"`
	}
	if err := s.args(&a); err != nil {
		return nil, err
	}
	n := Unlimited
	if a.N != nil {
		n = *a.N
	}
	switch s.Policy {
	case "PreserveAll":
		p = PreserveAll{}
	case "LatestN":
		p = LatestN{n}
	case "EveryNSeconds":
		p = EveryInterval{seconds(orZero(a.Secs))}
	case "EveryNSteps":
		p = EveryNSteps{Interval: orZero(a.Interval), Inexact: a.Exact != nil && !*a.Exact, Max: orZero(a.Max)}
	case "EveryNStepsClosest":
		p = EveryNStepsClosest{Interval: orZero(a.Interval), Max: orZero(a.Max)}
	case "CustomSteps":
		p = CustomSteps(a.Steps)
	case "BestN":
		p = BestN{Metric: MetricNamed(a.Metric), Lowest: a.Reverse, N: n, DropWithoutMetrics: a.Keep != nil && !*a.Keep}
	case "AnyPreservationPolicy":
		any := AnyPreservation{}
		for _, q := range a.Policies {
			sub, err := q.Preservation()
			if err != nil {
				return nil, err
			}
			any = append(any, sub)
		}
		p = any
	default:
		return nil, s.unknown("preservation")
	}
	return p, p.Validate()
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
