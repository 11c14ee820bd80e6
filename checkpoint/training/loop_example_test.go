package training_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// The classic training loop: resume from the newest step, or begin; save as the
// policy says; be told of every failure.
func ExampleCheckpointer_initOrRestore() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	type state struct {
		Step int64
		W    []float32
	}
	train := func(until int64) error {
		ctx := context.Background()
		c, err := training.Open(ctx, dir, &training.Options{
			Save:     training.FixedInterval{Steps: 100},
			Preserve: training.AnyPreservation{training.LatestN{N: 2}, training.EveryNSteps{Interval: 1000}},
			Clean:    true,
		})
		if err != nil {
			return err
		}
		s := state{W: make([]float32, 4)}
		switch err := c.LoadInto(ctx, training.Latest, &s, nil); {
		case errors.Is(err, errs.NotFound):
			fmt.Println("begin")
		case err != nil:
			return errors.Join(err, c.Close())
		default:
			fmt.Println("resume after step", s.Step)
		}
		for s.Step < until {
			s.Step++
			s.W[0] += 0.5
			if _, err := c.SaveAsync(ctx, s.Step, &s, nil); err != nil {
				return errors.Join(err, c.Close())
			}
		}
		return c.Close()
	}
	for _, until := range []int64{250, 1250} {
		if err := train(until); err != nil {
			log.Fatal(err)
		}
	}

	c, err := training.Open(context.Background(), dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Steps())
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// begin
	// resume after step 200
	// [1000 1100 1200]
}

// Why a step was not saved, what the preservation policy would remove, and which
// step is the best.
func ExampleCheckpointer_Retention() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{Save: training.FixedInterval{Steps: 2}})
	if err != nil {
		log.Fatal(err)
	}
	for step, loss := range []float64{0.9, 0.8, 0.2, 0.5, 0.4} {
		o := &training.SaveOptions{Metrics: map[string]float64{"loss": loss}}
		if _, err := c.Save(ctx, int64(step), map[string]any{"w": []float32{1}}, o); err != nil {
			log.Fatal(err)
		}
	}
	_, reason := c.ShouldSave(5)
	fmt.Println("step 5:", reason)
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}

	c, err = training.Open(ctx, dir, &training.Options{Preserve: training.BestN{Metric: "loss", Lowest: true, N: 1}})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range c.Retention() {
		fmt.Printf("step %d: keep %v %q\n", r.Step, r.Keep, r.Reason)
	}
	best, _ := c.Best()
	fmt.Println("best", best.Step)
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 5: not a multiple of 2
	// step 0: keep false ""
	// step 2: keep true "BestN{\"metric\":\"loss\",\"reverse\":true,\"n\":1}"
	// step 4: keep true "the newest"
	// best 2
}

// Steps are deleted by hand, a save in flight is cancelled.
func ExampleCheckpointer_Delete() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	for step := range int64(3) {
		if _, err := c.Save(ctx, step, map[string]any{"w": []float32{1}}, nil); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := c.Delete(ctx, 1, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Steps())
	_, err = c.Delete(ctx, 1, nil)
	fmt.Println(errors.Is(err, errs.NotFound))
	canceled, err := c.Cancel(ctx)
	fmt.Println(canceled, err) // none is in flight
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0 2]
	// true
	// false <nil>
}

// Loading in the background, and the metadata of the run.
func ExampleCheckpointer_LoadAsync() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{Custom: map[string]any{"run": "digits"}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Save(ctx, 7, map[string]any{"w": []float32{1, 2}}, nil); err != nil {
		log.Fatal(err)
	}
	r := c.LoadAsync(ctx, training.Latest, nil)
	state, err := r.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state.Keys)
	run, err := c.RootMetadata(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(run))
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [w]
	// {"run":"digits"}
}
