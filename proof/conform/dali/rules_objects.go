package dali

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
)

// duck is an object of the class Duck.
type duck struct{ state any }

func (*duck) CheckpointType() string { return "Duck" }

func (d *duck) GetState() (any, error) { return d.state, nil }

func (d *duck) SetState(state any) error {
	if fmt.Sprint(state) == "refuse" {
		return &errs.Error{Kind: errs.Invalid, Got: "refused"}
	}
	d.state = state
	return nil
}

// stateless is an object of the class Plain, which has no state: in Go no object at all.
type stateless struct{ _ int }

func (*stateless) CheckpointType() string { return "Plain" }
func (*stateless) GetState() (any, error) {
	return nil, &errs.Error{Kind: errs.Unsupported, Got: "no GetState"}
}
func (*stateless) SetState(any) error { return &errs.Error{Kind: errs.Unsupported, Got: "no SetState"} }

// pythonic is a state that is neither text nor an object: it prints as in Python.
type pythonic struct{ v any }

func (p pythonic) String() string { return pythonText(p.v) }

// pythonText is Python's repr of a JSON value.
func pythonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return python(v)
	case string:
		return "'" + v + "'"
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = pythonText(v[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

func printed(state any) string {
	if state == nil {
		return "None"
	}
	return fmt.Sprint(state)
}

// describedState returns the class and text of a state, or nil without a state.
func describedState(s any) any {
	switch s.(type) {
	case nil:
		return nil
	case random.State:
		return []string{"State", fmt.Sprint(s)}
	case readers.State:
		return []string{"ReaderState", fmt.Sprint(s)}
	}
	return []string{"str", fmt.Sprint(s)}
}

// classOf is the type that a state is put for.
func classOf(v any) any {
	t, ok := v.(map[string]any)
	switch {
	case !ok:
		return v
	case t["class"] == "RNG":
		return "RNG"
	case t["class"] == "Duck":
		return &duck{}
	case t["class"] == "File":
		return "File"
	}
	return t["value"]
}

// pythonBytes are bytes, which print as no state does.
type pythonBytes string

func (b pythonBytes) String() string { return "b'" + string(b) + "'" }

// pythonRNG and pythonReader take bytes that went through a checkpoint.
type (
	pythonRNG    struct{ *random.RNG }
	pythonReader struct {
		*readers.Reader
		refused error // what its first iteration raises
	}
)

// CheckpointType returns DALI's name of the class.
func (*pythonRNG) CheckpointType() string { return "RNG" }

func (g *pythonRNG) SetState(state any) error { return g.RNG.SetState(unwrapped(state)) }

func (r *pythonReader) SetState(state any) error { return r.Reader.SetState(unwrapped(state)) }

func unwrapped(state any) any {
	if b, ok := state.(pythonBytes); ok {
		return []byte(b)
	}
	return state
}
