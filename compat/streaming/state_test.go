package streaming

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

const stateText = `{"epoch": 1, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176, "initial_physical_nodes": 2}`

func TestState(t *testing.T) {
	s, err := ParseState([]byte(stateText + "\x00\x00"))
	if err != nil || s != (State{1, 40, 4, 9176, 2}) || s.String() != stateText {
		t.Fatalf("%s, %v", s, err)
	}
	old, err := ParseState([]byte(`{"epoch": 1, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176}`))
	if err != nil || old != (State{1, 40, 4, 9176, 0}) {
		t.Fatalf("%s, %v", old, err)
	}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, stateText[:50], stateText + "x",
		`{"epoch": null, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176}`,
		`{"epoch": 1.5, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176}`,
		`{"epoch": 1, "sample_in_epoch": -40, "num_canonical_nodes": 4, "shuffle_seed": 9176}`,
		`{"epoch": 1, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 18446744073709551616}`,
		`{"Epoch": 1, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176}`,
		`{"epoch": 1, "sample_in_epoch": 40, "num_canonical_nodes": 4, "shuffle_seed": 9176, "more": 1}`,
	} {
		if _, err := ParseState([]byte(text)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// streaming writes epoch -1 before the first batch, and passes such a state over.
func TestStateBeforeTheFirstBatch(t *testing.T) {
	const text = `{"epoch": -1, "sample_in_epoch": 0, "num_canonical_nodes": 4, "shuffle_seed": 9176, "initial_physical_nodes": 2}`
	s, err := ParseState([]byte(text))
	if err != nil || s.String() != text {
		t.Fatalf("%s, %v", s, err)
	}
	shuffle, split := s.Resume(Shuffle{}, Split{})
	if shuffle.Epoch != 0 || shuffle.Seed != 9176 || shuffle.CanonicalNodes != 4 || split.CanonicalNodes != 4 || split.Drop != 0 || split.InitialNodes != 0 {
		t.Errorf("%+v, %+v", shuffle, split)
	}
	if shuffle, split = s.Resume(Shuffle{Seed: 5, CanonicalNodes: 2}, Split{}); shuffle.Seed != 5 || shuffle.CanonicalNodes != 2 || split.CanonicalNodes != 2 {
		t.Errorf("%+v, %+v", shuffle, split)
	}
	for _, text := range []string{strings.Replace(text, "-1", "-2", 1), strings.Replace(text, `epoch": 0`, `epoch": 1`, 1)} {
		if _, err := ParseState([]byte(text)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A state that reads is written as one that reads as the same.
func FuzzParseState(f *testing.F) {
	f.Add([]byte(stateText))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseState(b)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return
		}
		if again, err := ParseState([]byte(s.String())); err != nil || again != s {
			t.Fatalf("%s, then %s: %v", s, again, err)
		}
	})
}
