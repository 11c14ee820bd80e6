package streaming

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// State is the result of StreamingDataset.state_dict.
type State struct {
	Epoch          int64 // -1 before the first batch of a run
	SampleInEpoch  int64 // samples of all ranks together
	CanonicalNodes int64
	Seed           int64
	InitialNodes   int64 // 0 in states of versions that did not record it
}

// fields are the names of a state, in the order in which streaming writes them.
func (s *State) fields() []struct {
	name string
	to   *int64
} {
	return []struct {
		name string
		to   *int64
	}{
		{"epoch", &s.Epoch}, {"sample_in_epoch", &s.SampleInEpoch}, {"num_canonical_nodes", &s.CanonicalNodes},
		{"shuffle_seed", &s.Seed}, {"initial_physical_nodes", &s.InitialNodes},
	}
}

// ParseState reads the JSON of a state. Zero bytes may follow it, as in the shared memory of
// streaming. Every field must be present, except initial_physical_nodes, which may be missing or
// null. No other field is allowed. The error is of kind errs.Corrupt.
func ParseState(text []byte) (State, error) {
	corrupt := func(got string, err error) (State, error) {
		return State{}, &errs.Error{Kind: errs.Corrupt, Op: "streaming.ParseState", Want: "the state of a StreamingDataset", Got: got, Err: err}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimRight(string(text), "\x00")), &values); err != nil {
		return corrupt("", err)
	}
	var s State
	for _, f := range s.fields() {
		value, found := values[f.name]
		delete(values, f.name)
		if f.name == "initial_physical_nodes" && (!found || string(value) == "null") {
			continue
		}
		if !found || string(value) == "null" {
			return corrupt("no "+f.name, nil)
		}
		if err := json.Unmarshal(value, f.to); err != nil {
			return corrupt(f.name, err)
		}
		if *f.to < 0 && (f.to != &s.Epoch || s.Epoch < -1) {
			return corrupt(fmt.Sprintf("%s %d", f.name, *f.to), nil)
		}
	}
	if s.Epoch < 0 && s.SampleInEpoch > 0 {
		return corrupt(fmt.Sprintf("%d samples before the first epoch", s.SampleInEpoch), nil)
	}
	for name := range values {
		return corrupt(fmt.Sprintf("field %q", name), nil)
	}
	return s, nil
}

// String returns the JSON of the state as Python writes it.
func (s State) String() string {
	var b strings.Builder
	for i, f := range s.fields() {
		value := fmt.Sprint(*f.to)
		if f.to == &s.InitialNodes && s.InitialNodes == 0 {
			value = "null"
		}
		fmt.Fprintf(&b, "%s%q: %s", [2]string{", ", "{"}[max(1-i, 0)], f.name, value)
	}
	return b.String() + "}"
}

// Resume returns the shuffle and the split with which a run continues from the state. They have its
// epoch, seed and canonical nodes, and drop the samples that it has seen. The partition is relaxed
// if the number of nodes has changed. A Block of 0 becomes the default. streaming ignores a state
// from before the first batch of a run: from such a state Resume takes the seed and the canonical
// nodes only if the arguments have 0.
func (s State) Resume(shuffle Shuffle, split Split) (Shuffle, Split) {
	if s.Epoch < 0 {
		s.Epoch, s.InitialNodes = 0, 0
		if shuffle.Seed != 0 {
			s.Seed = shuffle.Seed
		}
		if shuffle.CanonicalNodes != 0 {
			s.CanonicalNodes = shuffle.CanonicalNodes
		}
	}
	shuffle.Epoch, shuffle.Seed, shuffle.CanonicalNodes = s.Epoch, s.Seed, s.CanonicalNodes
	if shuffle.Block == 0 {
		shuffle.Block = DefaultBlock(s.CanonicalNodes)
	}
	split.CanonicalNodes, split.Drop, split.InitialNodes = s.CanonicalNodes, s.SampleInEpoch, s.InitialNodes
	return shuffle, split
}
