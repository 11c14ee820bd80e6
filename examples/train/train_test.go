// Package train_test has the training loops of the README and of docs/guide/resume.md.
package train_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// train calls step with 20 batches of JPEG files, which lie in one folder a class. It saves state
// into the directory run every 10 steps, and goes on after the newest saved step.
func train(ctx context.Context, files, run string, state any, step func(*pipeline.Batch)) error {
	def, err := pipeline.Define(pipeline.Options{BatchSize: 64, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: files, RandomShuffle: true})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{28}})
		return []pipeline.Node{fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{}), labels}
	})
	if err != nil {
		return err
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		return err
	}
	job, err := bivouac.Open(ctx, run, pipe, bivouac.Options{State: state, SaveEvery: 10, Keep: 3, Steps: 20})
	if err != nil {
		return err
	}
	defer job.Close()
	for batch, err := range job.Steps(ctx) {
		if err != nil {
			return err
		}
		step(batch) // forward, backward, update
	}
	return nil
}

// The README shows train.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files, err := digits.WriteDataset(ctx, filepath.Join(dir, "digits"), nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second call finds nothing left to do
		state := map[string][]float32{"w": {0}} // weights, optimizer
		step := func(batch *pipeline.Batch) { state["w"][0] += float32(batch.Outputs[0].NumSamples()) }
		if err := train(ctx, files.TrainDir(), filepath.Join(dir, "run"), state, step); err != nil {
			log.Fatal(err)
		}
		fmt.Println(state["w"][0], "images")
	}
	// Output:
	// 1280 images
	// 1280 images
}

// State has everything that the loop body reads and does not get from the batch.
type State struct {
	Step   int64
	Model  struct{ W1, B1, W2, B2 []float32 }
	Mean   map[string][]float32 // of Adam
	Square map[string][]float32
	Random string // rng.Philox as text
}

// newState returns a state whose slices have their lengths.
func newState() *State {
	s := &State{Mean: map[string][]float32{}, Square: map[string][]float32{}}
	for name, w := range map[string]*[]float32{
		"w1": &s.Model.W1, "b1": &s.Model.B1, "w2": &s.Model.W2, "b2": &s.Model.B2,
	} {
		*w = make([]float32, 8)
		s.Mean[name], s.Square[name] = make([]float32, 8), make([]float32, 8)
	}
	return s
}

// ExampleOpen trains until step 7 fails, and then again: the second run repeats steps 5 to 7.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	run := func(fails int64) error {
		ids := make(loader.Slice[int], 100)
		data, err := loader.New(ids, loader.Options[int, tensor.Tensor]{BatchSize: 10, Shuffle: true, Seed: 7})
		if err != nil {
			return err
		}
		state := newState()
		job, err := bivouac.Open(ctx, dir, data, bivouac.Options{State: state, SaveEvery: 4, Steps: 12})
		if err != nil {
			return err
		}
		defer job.Close()
		fmt.Println("begin after step", state.Step)
		for _, err := range job.Steps(ctx) {
			if err != nil {
				return err
			}
			if state.Step++; state.Step == fails {
				return errors.New("the machine is gone")
			}
		}
		fmt.Println("end after step", state.Step)
		return nil
	}
	fmt.Println(run(7))
	fmt.Println(run(0))
	// Output:
	// begin after step 0
	// the machine is gone
	// begin after step 4
	// end after step 12
	// <nil>
}

// exitStatus returns the status that a program ends with after a loop that returned err.
func exitStatus(err error) int {
	switch {
	case errors.Is(err, bivouac.ErrPreempted):
		return bivouac.ExitPreempted // the supervisor starts the program again
	case err != nil:
		return 1
	}
	return 0
}

func ExamplePreemptedError() {
	fmt.Println(exitStatus(&bivouac.PreemptedError{Step: 1234}), exitStatus(nil))
	// Output: 75 0
}
