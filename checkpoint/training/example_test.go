package training_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{
		Save:     training.FixedInterval{Steps: 10},
		Preserve: training.LatestN{N: 2},
	})
	if err != nil {
		log.Fatal(err)
	}
	weights := []float32{0, 0}
	for step := int64(1); step <= 35; step++ {
		weights[0] += 0.5
		if _, err := c.SaveAsync(ctx, step, map[string]any{"w": weights}, nil); err != nil {
			log.Fatal(err) // or the failure of an earlier save
		}
	}
	if err := c.Close(); err != nil { // waits for the last
		log.Fatal(err)
	}
	for _, in := range c.Checkpoints() {
		fmt.Println("step", in.Step)
	}

	if err := c.LoadInto(ctx, training.Latest, map[string]any{"w": weights}, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)
	// Output:
	// step 20
	// step 30
	// [15 0]
}

// The best checkpoints by a metric are kept beside the newest.
func ExampleBestN() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{Preserve: training.AnyPreservation{
		training.LatestN{N: 1},
		training.BestN{Metric: "loss", Lowest: true, N: 1},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for step, loss := range []float64{0.9, 0.2, 0.4, 0.3} {
		o := &training.SaveOptions{Metrics: map[string]float64{"loss": loss}}
		if _, err := c.Save(ctx, int64(step), map[string]any{"w": []float32{1}}, o); err != nil {
			log.Fatal(err)
		}
	}
	for _, in := range c.Checkpoints() {
		fmt.Println("step", in.Step, "loss", in.Metrics["loss"])
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 1 loss 0.2
	// step 3 loss 0.3
}
