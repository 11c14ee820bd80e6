package dynamic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// sourcePlace is where an external source stands.
type sourcePlace struct {
	Index int64  // of the next item in its round
	Ended bool   // for good
	Saved []byte // the state of a SourceReader
}

// SourceState is where an external source stands. Its text is a state.Document.
type SourceState struct{ place sourcePlace }

const sourceKind = "external_source"

// String returns the text of the state.
func (s SourceState) String() string {
	d := state.Document{Version: state.Version, Kind: sourceKind, Position: s.place.Index}
	if s.place.Ended {
		d.Fields = map[string]string{"ended": "true"}
	}
	if s.place.Saved != nil {
		saved, err := json.Marshal(s.place.Saved)
		if err != nil {
			return ""
		}
		d.Extra = map[string]json.RawMessage{"source": saved}
	}
	text, err := d.Marshal()
	if err != nil {
		return ""
	}
	return string(text)
}

// ParseSourceState reads what SourceState.String wrote. Errors are of kind
// errs.Corrupt for what is no document, and errs.Mismatch for one of something else.
func ParseSourceState(text string) (SourceState, error) {
	d, err := state.Unmarshal([]byte(text))
	if err != nil {
		return SourceState{}, errs.Wrap("dynamic.ParseSourceState", "", err)
	}
	p := sourcePlace{Index: d.Position, Ended: d.Fields["ended"] == "true"}
	if d.Kind != sourceKind {
		return SourceState{}, &errs.Error{Kind: errs.Mismatch, Op: "dynamic.ParseSourceState",
			Want: "a state of kind " + sourceKind, Got: d.Kind}
	}
	if saved, ok := d.Extra["source"]; ok {
		if err := json.Unmarshal(saved, &p.Saved); err != nil || p.Saved == nil {
			return SourceState{}, &errs.Error{Kind: errs.Corrupt, Op: "dynamic.ParseSourceState", Subject: "source",
				Want: "base64", Got: "something else", Err: err}
		}
	}
	return SourceState{p}, nil
}

// GetState returns where the source stands, a SourceState. It fails with errs.Unsupported for a
// SourceFunc, or with the error of a SourceReader.
func (s *ExternalSource) GetState() (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return SourceState{*s.shown}, nil
	}
	p, err := s.here()
	if err != nil {
		return nil, errs.Wrap("dynamic.ExternalSource", "state", err)
	}
	return SourceState{p}, nil
}

// here is the place with what the supply saves.
func (s *ExternalSource) here() (sourcePlace, error) {
	p := s.place
	saved, err := s.from.save()
	p.Saved = saved
	return p, err
}

// SetState goes to a state: a SourceState or its text. A sequence is walked to it.
// Errors, which are of the kinds of ParseSourceState, errs.Invalid for another type, and
// errs.Mismatch where the data ends before, leave the source at its beginning or where it was.
func (s *ExternalSource) SetState(to any) error {
	var st SourceState
	switch to := to.(type) {
	case SourceState:
		st = to
	case string:
		var err error
		if st, err = ParseSourceState(to); err != nil {
			return err
		}
	default:
		return &errs.Error{Kind: errs.Invalid, Op: "ExternalSource.SetState", Want: "a SourceState or its text",
			Got: fmt.Sprintf("%T", to)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stateful := s.from.(read); stateful != (st.place.Saved != nil) {
		return &errs.Error{Kind: errs.Mismatch, Op: "ExternalSource.SetState", Want: "a state of a source of this kind",
			Got: "a state of another kind"}
	}
	s.place, s.shown = sourcePlace{}, nil
	if err := s.from.rewind(context.Background(), st.place.Index, bytes.Clone(st.place.Saved)); err != nil {
		return errs.Wrap("ExternalSource.SetState", "", err)
	}
	s.place = st.place
	s.place.Saved = nil
	return nil
}

// Here returns where the source stands after the last Next, for Show.
func (s *ExternalSource) Here() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.here()
	if err != nil { // no state to show
		return nil
	}
	return SourceState{p}
}

// Show makes GetState return a place that Here returned, until it is told another or
// SetState is called: of a loop that runs ahead, where it is for who uses it.
func (s *ExternalSource) Show(place any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := place.(SourceState); ok {
		s.shown = &st.place
	}
}
