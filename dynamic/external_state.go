package dynamic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// sourcePlace is the place of an external source. Its text is a state.Document.
type sourcePlace struct {
	Index int64  // of the next item in its round
	Ended bool   // no round follows
	Saved []byte // the state of a SourceReader
}

const sourceKind = "external_source"

// String returns the text of the state.
func (p sourcePlace) String() string {
	d := state.Document{Version: state.Version, Kind: sourceKind, Position: p.Index}
	if p.Ended {
		d.Fields = map[string]string{"ended": "true"}
	}
	if p.Saved != nil {
		saved, err := json.Marshal(p.Saved)
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

// parsePlace reads a text of sourcePlace.String. It fails with errs.Corrupt if text is not a
// document, and with errs.Mismatch if the document has another kind.
func parsePlace(text string) (p sourcePlace, err error) {
	d, err := state.Unmarshal([]byte(text))
	if err != nil {
		return p, errs.Wrap("ExternalSource.SetState", "", err)
	}
	p = sourcePlace{Index: d.Position, Ended: d.Fields["ended"] == "true"}
	if d.Kind != sourceKind {
		return p, &errs.Error{Kind: errs.Mismatch, Op: "ExternalSource.SetState",
			Want: "a state of kind " + sourceKind, Got: d.Kind}
	}
	if saved, ok := d.Extra["source"]; ok {
		if err := json.Unmarshal(saved, &p.Saved); err != nil || p.Saved == nil {
			return p, &errs.Error{Kind: errs.Corrupt, Op: "ExternalSource.SetState", Subject: "source",
				Want: "base64", Got: "other text", Err: err}
		}
	}
	return p, nil
}

// GetState returns the place of the source as a value that prints as a state.Document. It fails
// with errs.Unsupported for a SourceFunc, or with the error of a SourceReader.
func (s *ExternalSource) GetState() (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return *s.shown, nil
	}
	p, err := s.here()
	if err != nil {
		return nil, errs.Wrap("dynamic.ExternalSource", "state", err)
	}
	return p, nil
}

// here returns the place of the source, with the saved state of the supply.
func (s *ExternalSource) here() (sourcePlace, error) {
	p := s.place
	saved, err := s.from.save()
	p.Saved = saved
	return p, err
}

// SetState moves the source to a state: a value that GetState returned, or its text. In a sequence
// it takes and drops the items before the state. It fails with errs.Corrupt if a text is not a
// state, with errs.Invalid for a value of another type, and with errs.Mismatch if the data ends
// before the state. After an error the source is at its beginning or where it was.
func (s *ExternalSource) SetState(to any) error {
	var p sourcePlace
	switch to := to.(type) {
	case sourcePlace:
		p = to
	case string:
		var err error
		if p, err = parsePlace(to); err != nil {
			return err
		}
	default:
		return &errs.Error{Kind: errs.Invalid, Op: "ExternalSource.SetState",
			Want: "a value that GetState returned, or its text",
			Got:  fmt.Sprintf("%T", to)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stateful := s.from.(read); stateful != (p.Saved != nil) {
		return &errs.Error{Kind: errs.Mismatch, Op: "ExternalSource.SetState", Want: "a state of a source of this kind",
			Got: "a state of another kind"}
	}
	s.place, s.shown = sourcePlace{}, nil
	if err := s.from.rewind(context.Background(), p.Index, bytes.Clone(p.Saved)); err != nil {
		return errs.Wrap("ExternalSource.SetState", "", err)
	}
	s.place = p
	s.place.Saved = nil
	return nil
}

// Here returns the place of the source after the last Next, for Show.
func (s *ExternalSource) Here() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.here()
	if err != nil { // the source has no state
		return nil
	}
	return p
}

// Show makes GetState return a place that Here returned, until the next Show or SetState. A loop
// that runs ahead calls Show with the place after the last delivered step.
func (s *ExternalSource) Show(place any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := place.(sourcePlace); ok {
		s.shown = &st
	}
}
