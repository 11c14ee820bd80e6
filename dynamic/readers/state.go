package readers

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// State is the state of a reader. States of the same place of readers of the same kind are equal by
// ==, so a State can be the key of a map. It prints as its text.
type State struct{ kind, text string }

// ParseState returns the state of a reader of the given kind, such as "readers.file". text is a
// text of State.String; the reader checks it in SetState. ParseState fails with errs.NotFound if
// there is no such reader.
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

// Kind returns the name of the state's reader.
func (s State) Kind() string { return s.kind }

// String returns the text of the state. SetState also accepts this text.
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

// State returns the state after the last delivered batch. It waits for a batch that is being
// delivered. It fails with errs.Sequence before the first iteration, and if the reader began
// without checkpointing.
func (r *Reader) State() (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return State{}, r.fail(errs.Closed, "State", "", "", "")
	case r.plan == nil:
		return State{}, r.fail(errs.Sequence, "State", "an iteration that has begun", "no iteration",
			"call NextEpoch before State")
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
	return r.fail(errs.Sequence, what, "a reader with checkpointing", "a reader that began without it",
		"set Options.EnableCheckpointing, or register the reader before its first iteration")
}

// GetState returns r.State(), so that a checkpoint can hold a *Reader.
func (r *Reader) GetState() (any, error) { return r.State() }

// EnableCheckpointing gives the reader states. It fails with errs.Sequence if an iteration has
// begun without checkpointing.
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

// SetState makes the reader begin at a state: a State, or its text as a string or bytes. Checks
// that need the data set are made when the iteration begins.
//
// SetState fails with errs.Sequence after an iteration has begun, with errs.Mismatch for the state
// of another kind of reader and for values of other types, and with errs.Invalid if a text is not a
// state. After an error the reader is unchanged.
func (r *Reader) SetState(state any) error {
	const what = "SetState"
	r.mu.Lock()
	defer r.mu.Unlock()
	text, follows := "", r.options.Restore.Compat
	switch s := state.(type) {
	case State:
		if text = s.text; follows == nil && s.kind != r.Kind() {
			return r.fail(errs.Mismatch, what, "a state of "+r.Kind(), "a state of "+s.kind, "")
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
		return r.fail(errs.Sequence, what, "a reader whose iteration has not begun", "a reader that has delivered batches",
			"set the state of a new reader, before NextEpoch")
	}
	check := r.options.Compat.Check
	if follows != nil {
		check = follows.Accepts
	}
	if err := check(text); err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: r.Kind() + "." + what, Subject: "state", Want: "the text of a State",
			Err: err}
	}
	text = strings.Clone(text)
	r.pending, r.states = &text, true
	return nil
}
