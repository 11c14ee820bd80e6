package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// progress returns how far the stream has come, with the states of its external sources.
func (p *Pipeline) progress() Progress {
	at := p.ring.Token()
	at.Sources, at.Faults = nil, p.faults
	for _, in := range p.inputs {
		if in.source.source.state == nil {
			continue
		}
		if at.Sources == nil {
			at.Sources = map[string][]byte{}
		}
		at.Sources[in.node.Name] = in.state
	}
	return at
}

// resumable returns an error that says why an external source cannot go on at a place of the stream.
func (p *Pipeline) resumable(at Progress) error {
	for _, in := range p.inputs {
		if err := in.resumable(at); err != nil {
			return in.wrap(err)
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
			return &errs.Error{Kind: errs.Mismatch, Want: "a state that has that of the source", Got: "one without"}
		}
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Want: "a source that can be moved", Got: fmt.Sprintf("one without index or state, and position %d", at.Position),
		Remedy: "use BatchFunc or SampleFunc, or From with a source that is state.Stateful"}
}

// moveInputs moves the stream to a place, its external sources as well. What was fed is dropped.
func (p *Pipeline) moveInputs(at Progress) error {
	p.counters, p.faults = at.Iterator, at.Faults
	at.Iterator, at.Faults = nil, Faults{}
	if err := p.move(at); err != nil {
		return err
	}
	for _, in := range p.inputs {
		if in.gives == nil {
			in.clear()
		}
		if s, st := in.source.source.state, at.Sources[in.node.Name]; s != nil && st != nil {
			if err := s.SetState(st); err != nil {
				return in.wrap(err)
			}
			in.state = append(in.state[:0], st...)
		}
	}
	return nil
}
