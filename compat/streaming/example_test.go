package streaming_test

import (
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/compat/streaming"
)

// ExampleState_Resume goes on from a state of a StreamingDataset on other nodes: position 0 is the
// first sample that was not delivered.
func ExampleState_Resume() {
	saved := []byte(`{"epoch": 1, "sample_in_epoch": 96, "num_canonical_nodes": 2,
		"shuffle_seed": 9176, "initial_physical_nodes": 2}`)
	state, err := streaming.ParseState(saved)
	if err != nil {
		log.Fatal(err)
	}
	shuffle, split := state.Resume(
		streaming.Shuffle{Algorithm: streaming.Py1e, Shards: []int64{100, 100, 56}},
		streaming.Split{Nodes: 1, Ranks: 2, Workers: 2, Batch: 4})
	epoch, err := streaming.NewEpoch(shuffle)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := epoch.Rank(split, 0, 1) // node 0, rank 1
	if err != nil {
		log.Fatal(err)
	}
	first := make([]int64, 8)
	n := ids.Fill(0, first)
	fmt.Println(n, first)
	// Output:
	// 8 [16 76 15 4 40 99 32 67]
}
