package readers

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// State is the state of a reader: a value, equal to others of the same place of a reader of the
// same kind, and fit to be a key of a map. It prints as its text.
type State struct{ kind, text string }

// ParseState returns the state of a reader of that kind, "readers.file", whose text
// String wrote. What it says is judged by the reader that it is given to; the
// error is of kind errs.NotFound where there is no such reader.
func ParseState(kind, text string) (State, error) {
	s, err := op.Lookup(kind)
	if err == nil && !s.Reader {
		err = &errs.Error{Kind: errs.NotFound, Op: "readers.ParseState", Subject: kind, Want: "a reader",
			Got: "another operator"}
	}
	if err != nil {
		return State{}, err
	}
	return State{kind: kind, text: text}, nil
}

// Kind returns the name of the reader that the state is of.
func (s State) Kind() string { return s.kind }

// String returns the text of the state, which SetState takes as well.
func (s State) String() string { return s.text }

// Equal reports whether other is a State of the same kind and place, or its text.
func (s State) Equal(other any) bool {
	switch o := other.(type) {
	case State:
		return s == o
	case string:
		return s.text == o
	}
	return false
}

// State returns where the reader stands: behind the batch that was delivered last. It waits for a
// batch that is being delivered. The error is of kind errs.Sequence before the first
// iteration has begun, and where the reader was begun without checkpointing.
func (r *Reader) State() (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return State{}, r.fail(errs.Closed, "State", "", "", "")
	case r.plan == nil:
		return State{}, r.fail(errs.Sequence, "State", "an iteration that has begun", "none", "call NextEpoch before State")
	case !r.states:
		return State{}, r.notEnabled("State")
	}
	at := r.ring.Token()
	if shown := r.shown.Load(); shown != nil {
		at = *shown
	}
	text, err := r.plan.Codec.State(at)
	return State{kind: r.Kind(), text: text}, errs.Wrap(r.Kind()+".State", "", err)
}

func (r *Reader) notEnabled(what string) error {
	return r.fail(errs.Sequence, what, "a reader that was begun with checkpointing", "one without",
		"set Options.EnableCheckpointing, or register the reader before its first iteration")
}

// GetState returns State; it makes *Reader something that a checkpoint can hold.
func (r *Reader) GetState() (any, error) { return r.State() }

// EnableCheckpointing makes the reader have states. The error is of kind errs.Sequence when
// its iteration has begun without.
func (r *Reader) EnableCheckpointing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enable("EnableCheckpointing")
}

func (r *Reader) enable(what string) error {
	if !r.states && r.plan != nil {
		return r.notEnabled(what)
	}
	r.states = true
	return nil
}

// SetState makes the reader begin at a state: a State, or its text as a string or bytes.
// What can only be judged with the data set is judged when the iteration begins.
//
// Errors: errs.Sequence once an iteration has begun, errs.Mismatch for the state of
// another kind of reader and for values of other types, errs.Invalid for text that is no
// state. The reader is then as before.
func (r *Reader) SetState(state any) error {
	const what = "SetState"
	r.mu.Lock()
	defer r.mu.Unlock()
	text, follows := "", r.options.Restore.Compat
	switch s := state.(type) {
	case State:
		if text = s.text; follows == nil && s.kind != r.Kind() {
			return r.fail(errs.Mismatch, what, "a state of "+r.Kind(), "one of "+s.kind, "")
		}
	case string:
		text = s
	case []byte:
		text = string(s)
	default:
		return r.fail(errs.Mismatch, what, "a readers.State, string or []byte", fmt.Sprintf("%T", state), "")
	}
	switch {
	case r.closed:
		return r.fail(errs.Closed, what, "", "", "")
	case r.plan != nil:
		return r.fail(errs.Sequence, what, "a reader whose iteration has not begun", "one that has given batches",
			"set the state of a new reader, before NextEpoch")
	}
	check := r.options.Compat.Check
	if follows != nil {
		check = follows.Accepts
	}
	if err := check(text); err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: r.Kind() + "." + what, Subject: "state", Want: "what State gave", Err: err}
	}
	text = strings.Clone(text)
	r.pending, r.states = &text, true
	return nil
}
