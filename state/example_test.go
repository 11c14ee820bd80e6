package state_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/state"
)

func Example() {
	var digest state.Digest
	digest.Add(5, 0, 6, 3)
	fields := map[string]string{"seed": "7", "batch_size": "4"}
	b, err := state.Document{
		Version: state.Version, Kind: "pipeline", Position: 4,
		Config: state.HashFields(fields), Fields: fields, Digest: digest.Sum(),
	}.Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}

	stored, err := state.Unmarshal(b)
	fmt.Println(stored.Position, err)

	fields["seed"] = "8"
	now := state.Document{Version: state.Version, Kind: "pipeline", Config: state.HashFields(fields), Fields: fields}
	fmt.Println(stored.Check(now))
	// Output:
	// 4 <nil>
	// state.Check: seed: mismatch: want 8, got 7 (the state belongs to another stream)
}

func ExampleCanonical() {
	b, err := state.Canonical([]byte(`{"b": 2.50, "a": "\u003c"}`))
	fmt.Println(string(b), err)
	// Output: {"a":"<","b":2.5} <nil>
}
