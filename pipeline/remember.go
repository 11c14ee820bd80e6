package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// openMinds notes what the functions with a State remember at the start. Another pipeline of the
// same definition cannot use them.
func (p *Pipeline) openMinds() error {
	for _, n := range exec.Minds(p.graph) {
		if !mind(n).Use() {
			return wrapMind(n, &errs.Error{Kind: errs.Busy, Want: "one open pipeline for a function with a State",
				Got: "another pipeline of this definition", Remedy: "close it first, or define the pipeline again"})
		}
		p.minds = append(p.minds, n)
		b, err := mind(n).AppendState(nil)
		if err != nil {
			return wrapMind(n, err)
		}
		p.remembered, p.fresh = append(p.remembered, slices.Clone(b)), append(p.fresh, b)
	}
	return nil
}

// closeMinds lets another pipeline use the functions.
func (p *Pipeline) closeMinds() {
	for _, n := range p.minds {
		mind(n).Leave()
	}
}

func mind(n *graph.Node) op.Remembering { return n.Kernel.(op.Remembering) }

func wrapMind(n *graph.Node, err error) error {
	return errs.Wrap(n.Schema.FullName(), "state of node "+n.Name, err)
}

// mindAt returns what function i remembers in a state. A state of the start may lack it.
func (p *Pipeline) mindAt(i int, at Progress) ([]byte, error) {
	b, ok := at.Sources[p.minds[i].Name]
	switch {
	case ok:
		return b, nil
	case at.Position == 0:
		return p.fresh[i], nil
	}
	return nil, wrapMind(p.minds[i], &errs.Error{Kind: errs.Mismatch,
		Want: "a state that holds what the function remembers",
		Got:  fmt.Sprintf("a state of position %d without it", at.Position)})
}

// moveMinds makes the functions remember what a state holds. If one refuses it, none changes. undo
// gives them back what they remembered. No batch may be in the making.
func (p *Pipeline) moveMinds(at Progress) (undo func() error, err error) {
	before := make([][]byte, len(p.minds))
	for i := range p.minds {
		before[i] = slices.Clone(p.remembered[i])
	}
	done := 0
	undo = func() (err error) {
		for i := range done {
			p.remembered[i] = before[i]
			err = errors.Join(err, mind(p.minds[i]).SetState(before[i]))
		}
		return err
	}
	for i, n := range p.minds {
		b, err := p.mindAt(i, at)
		if err == nil {
			err = wrapMind(n, mind(n).SetState(b))
		}
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		p.remembered[i], done = append(p.remembered[i][:0], b...), done+1
	}
	return undo, nil
}
