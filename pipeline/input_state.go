package pipeline

import (
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// progress returns how far the stream has come, with the states of its external sources and
// functions.
func (p *Pipeline) progress() Progress {
	at := p.turned(p.ring.Token())
	at.Sources, at.Faults, at.Came = nil, p.faults, nil
	for i, n := range p.counted {
		if i < len(p.came) {
			if at.Came == nil {
				at.Came = map[string]int64{}
			}
			at.Came[n.Name] = p.came[i]
		}
	}
	for _, in := range p.inputs {
		if in.source.source.state == nil {
			continue
		}
		if at.Sources == nil {
			at.Sources = map[string][]byte{}
		}
		at.Sources[in.node.Name] = in.state
	}
	for i, n := range p.minds {
		if at.Sources == nil {
			at.Sources = map[string][]byte{}
		}
		at.Sources[n.Name] = p.remembered[i]
	}
	return at
}

// resumable returns an error if an external source cannot continue at the given place of the
// stream.
func (p *Pipeline) resumable(at Progress) error {
	for _, in := range p.inputs {
		if err := in.resumable(at); err != nil {
			return in.wrap(err)
		}
	}
	for i := range p.minds {
		if _, err := p.mindAt(i, at); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) resumable(at Progress) error {
	src := &in.source.source
	switch {
	case src.fed(), src.indexed(), at.Position == 0 && !in.taken:
		return nil
	case src.state != nil:
		if _, ok := at.Sources[in.node.Name]; !ok {
			return &errs.Error{Kind: errs.Mismatch, Want: "a state that holds the state of the source",
				Got: "a state without it"}
		}
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Want: "a source that can be moved",
		Got:    fmt.Sprintf("a source without index or state, at position %d", at.Position),
		Remedy: "use BatchFunc or SampleFunc, or From with a source that is state.Stateful"}
}

// moveInputs moves the stream and its external sources to a place. Data that was fed is dropped. If
// a source refuses its state, nothing changes.
func (p *Pipeline) moveInputs(at Progress) error {
	if len(p.minds) > 0 {
		p.ring.Reset(p.ring.Token()) // batches in the making call the functions
	}
	undo, err := p.moveMinds(at)
	if err != nil {
		return err
	}
	if err := p.moveSources(at.Sources); err != nil {
		return errors.Join(err, undo())
	}
	p.consumer, p.faults = at.Consumer, at.Faults
	p.came = p.came[:0]
	for _, n := range p.counted {
		p.came = append(p.came, at.Came[n.Name])
	}
	at.Consumer, at.Sources, at.Faults, at.Came = nil, nil, faults.Ledger{}, nil
	if err := p.move(at); err != nil {
		return err
	}
	p.tell(Event{Kind: Moved, Position: at.Position})
	for _, in := range p.inputs {
		if in.gives == nil {
			in.clear()
		}
	}
	return nil
}

// moveSources sets the states of the stateful sources. If one fails, no source moves.
func (p *Pipeline) moveSources(states map[string][]byte) error {
	var undo []func() error
	for _, in := range p.inputs {
		s, st := in.source.source.state, states[in.node.Name]
		if s == nil || st == nil {
			continue
		}
		before, err := s.AppendState(nil)
		if err == nil {
			undo = append(undo, func() error { return s.SetState(before) })
			err = s.SetState(st)
		}
		if err != nil {
			for _, back := range undo {
				err = errors.Join(err, back())
			}
			return in.wrap(err)
		}
	}
	for _, in := range p.inputs {
		if st := states[in.node.Name]; st != nil {
			in.state = append(in.state[:0], st...)
		}
	}
	return nil
}
