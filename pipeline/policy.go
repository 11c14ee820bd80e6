package pipeline

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// ErrorPolicy says what becomes of a sample that cannot be read, or at which an operator
// fails that works on what its reader gave.
type ErrorPolicy uint8

// The policies.
const (
	// FailOnError makes it the error of the batch.
	FailOnError ErrorPolicy = iota
	// SkipOnError delivers the batch without the sample.
	SkipOnError
	// ReplaceOnError puts the sample that follows in the data set into its place, or one of the
	// next sixteen. Behind an operator that needs the whole batch it is too late for that: there
	// the batch fails.
	ReplaceOnError
	// ZeroOnError delivers zeros in its place, without elements where only the data tells how many.
	ZeroOnError
)

var policyNames = [...]string{"error", "skip", "replace", "zero"}

// String returns the name of the policy.
func (e ErrorPolicy) String() string {
	if int(e) < len(policyNames) {
		return policyNames[e]
	}
	return fmt.Sprintf("ErrorPolicy(%d)", uint8(e))
}

// ParseErrorPolicy returns the policy of that name.
func ParseErrorPolicy(name string) (ErrorPolicy, error) {
	if i := slices.Index(policyNames[:], name); i >= 0 {
		return ErrorPolicy(i), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "pipeline.ParseErrorPolicy", Want: "error, skip, replace or zero", Got: name}
}

// Fault is a sample that failed, and that a policy excused.
type Fault struct {
	Position int64  `json:"position"` // in the stream
	Reader   string `json:"reader"`   // name of its node
	ID       int64  `json:"id"`       // in the data set
	Action   string `json:"action"`   // name of the policy
	Reason   string `json:"reason"`   // the error: operator, file and what was wrong
}

// Faults are the samples of delivered batches that failed: the last of them in order, and how many there were.
type Faults struct {
	Count int64   `json:"count"`
	Last  []Fault `json:"last"`
}

// mostFaults is how many are kept.
const mostFaults = 256

// add notes a fault, which makes the oldest go when there are too many.
func (l *Faults) add(f Fault) {
	l.Count++
	if len(l.Last) == mostFaults {
		l.Last = slices.Delete(l.Last, 0, 1)
	}
	l.Last = append(l.Last, f)
}

// Faults returns the samples of delivered batches that failed and were excused. They are part of
// the state, so that they are not forgotten over interruptions; each rank notes its own.
func (p *Pipeline) Faults() Faults {
	return Faults{Count: p.faults.Count, Last: slices.Clone(p.faults.Last)}
}

// onError returns the policy of each reader.
func (o *Options) onError(readers []*graph.Node) ([]ErrorPolicy, error) {
	list := make([]ErrorPolicy, len(readers))
	known := map[string]bool{"": true}
	for i, n := range readers {
		known[n.Name] = true
		list[i] = o.OnError[""]
		if by, ok := o.OnError[n.Name]; ok {
			list[i] = by
		}
	}
	for name, e := range o.OnError {
		switch {
		case !known[name]:
			return nil, invalid("OnError", "names of readers", fmt.Sprintf("%q", name))
		case e > ZeroOnError:
			return nil, invalid("OnError", "policies", e)
		}
	}
	return list, nil
}

// actions are the policies as the executor knows them.
func actions(list []ErrorPolicy) []faults.Action {
	var out []faults.Action
	for _, e := range list {
		out = append(out, [...]faults.Action{faults.Fail, faults.Skip, faults.Replace, faults.Zero}[e])
	}
	return out
}

// settleFaults notes what failed in a batch that is delivered, and takes skipped samples out of its ids.
func (p *Pipeline) settleFaults(s *slot) {
	failed := s.frame.Faults()
	if len(failed) == 0 {
		return
	}
	p.meter.faults.Add(int64(len(failed)))
	for _, f := range failed {
		fault := Fault{Position: f.Position, Reader: f.Reader, ID: f.ID, Action: f.Action.String(), Reason: f.Reason}
		p.faults.add(fault)
		p.tell(Event{Kind: SampleExcused, Fault: &fault})
	}
	s.ids = s.ids[:0]
	for i, id := range s.batch.IDs {
		if !s.frame.Skipped(i) {
			s.ids = append(s.ids, id)
		}
	}
	s.batch.IDs = s.ids
}
