package pipeline

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// actionsWanted lists the actions that a pipeline accepts, for errors.
const actionsWanted = "fail, skip, replace or zero"

// mostFaults is the most faults that are kept.
const mostFaults = 256

// Faults returns the samples of delivered batches that failed and were excused. They are part of
// the state, so that they survive interruptions. Each rank records its own faults.
func (p *Pipeline) Faults() faults.Ledger {
	return faults.Ledger{Count: p.faults.Count, Last: slices.Clone(p.faults.Last)}
}

// tellTolerated tells of each operator that failed although the batch is delivered, once.
func (p *Pipeline) tellTolerated(s *slot) {
	s.frame.Tolerated(func(n *graph.Node, err error) {
		if p.tolerated[n.Name] {
			return
		}
		if p.tolerated == nil {
			p.tolerated = map[string]bool{}
		}
		p.tolerated[n.Name] = true
		p.tell(Event{Kind: OperatorTolerated, Operator: n.Name, Err: err})
	})
}

// onError returns the action of each reader.
func (o *Options) onError(readers []*graph.Node) ([]faults.Action, error) {
	list := make([]faults.Action, len(readers))
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
		case e == faults.PassOn || e > faults.Zero:
			return nil, invalid("OnError", actionsWanted, e)
		}
	}
	return list, nil
}

// settleFaults records the faults of a delivered batch, and removes skipped samples from its ids.
func (p *Pipeline) settleFaults(s *slot) {
	failed := s.frame.Faults()
	if len(failed) == 0 {
		return
	}
	p.meter.faults.Add(int64(len(failed)))
	for _, f := range failed {
		p.faults.Add(f, mostFaults)
		p.tell(Event{Kind: SampleExcused, Fault: &f})
	}
	s.ids = s.ids[:0]
	for i, id := range s.batch.IDs {
		if !s.frame.Skipped(i) {
			s.ids = append(s.ids, id)
		}
	}
	s.batch.IDs = s.ids
}
