package record_test

import (
	"log"

	"github.com/bivouac-ml/bivouac/record"
)

// A loop records each step before it is saved. Without BIVOUAC_RECORD the call does nothing.
func ExampleStep() {
	weights := map[string]any{"w": []float32{0, 0}}
	for step := int64(1); step <= 3; step++ {
		ids := []int64{2 * step, 2*step + 1} // of the samples of this step
		loss := train(weights, ids)
		if err := record.Step(step, ids, weights, &record.Options{Loss: []float64{loss}}); err != nil {
			log.Fatal(err)
		}
		// Save the step here.
	}
	// Output:
}

func train(map[string]any, []int64) float64 { return 0 }
