package training_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/tree"
)

// A run begins with the weights of somebody else, here a safetensors file, and its
// own optimizer: sources are steps of the run or other checkpoints.
func ExampleCheckpointer_LoadAndTransform() {
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
	if _, err := c.Save(ctx, 0, map[string]any{"params": map[string]any{}, "opt": map[string]any{"mu": []float32{1, 2}}}, nil); err != nil {
		log.Fatal(err)
	}
	from := []training.Source{
		{Step: training.Latest},
		{Path: "../../testdata/orbax/st-single/checkpoint/model.safetensors"},
	}
	warm := func(_ context.Context, sources []*tree.Node) (*tree.Node, error) {
		weights := tree.NewDict().Set("w", sources[1].Get("a.weight")).Set("b", sources[1].Get("a.bias"))
		return tree.NewDict().Set("params", weights).Set("opt", sources[0].Get("opt")), nil
	}
	state, err := c.LoadAndTransform(ctx, from, nil, warm, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range tree.Flatten(state) {
		fmt.Println(e.Path.Param(), e.Node)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// params.w float32[4,3]
	// params.b float32[4]
	// opt.mu float32[2]
}

// Names of steps, several items and the metadata of a step.
func ExampleCheckpointer_SaveCheckpointables() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{Names: training.StandardNames{Prefix: new("step"), FixedLength: 4}})
	if err != nil {
		log.Fatal(err)
	}
	items := map[string]any{"model": map[string]any{"w": []float32{1, 2}}, "opt": map[string]any{"mu": []float32{0, 0}}}
	o := &training.SaveOptions{Metrics: map[string]float64{"loss": 0.5}, Custom: map[string]any{"commit": "4f1c"}}
	if _, err := c.SaveCheckpointables(ctx, 7, items, o); err != nil {
		log.Fatal(err)
	}
	last, _ := c.Latest()
	fmt.Println(last.Step, last.Directory, last.Metrics, string(last.Custom))
	info, err := c.Metadata(ctx, 7)
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range info.Items {
		fmt.Println(it.Name, it.Kind, it.Bytes())
	}
	items, err = c.LoadCheckpointables(ctx, training.Latest, &checkpoint.LoadOptions{Abstract: map[string]any{"model": nil}})
	fmt.Println(len(items), err) // the optimizer was not read
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 7 step_0007 map[loss:0.5] {"commit":"4f1c"}
	// metrics json 0
	// model tree 8
	// opt tree 8
	// 1 <nil>
}

// When the process is told that it will be stopped, the next step is saved, whatever
// the interval says. NotifySignals is such a notice for SIGTERM and SIGUSR1.
func ExampleFileNotice() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	notice := filepath.Join(dir, "preempted") // the scheduler makes this file
	c, err := training.Open(ctx, filepath.Join(dir, "run"), &training.Options{
		Save:      training.AnySave{training.FixedInterval{Steps: 100}, training.Preemption{}},
		Preempted: training.FileNotice(notice),
	})
	if err != nil {
		log.Fatal(err)
	}
	for step := int64(1); step <= 4; step++ {
		if step == 3 {
			if err := os.WriteFile(notice, nil, 0o666); err != nil {
				log.Fatal(err)
			}
		}
		saved, err := c.Save(ctx, step, map[string]any{"w": []float32{1}}, nil)
		if err != nil {
			log.Fatal(err)
		}
		if saved {
			_, why := c.ShouldSave(step + 1)
			fmt.Println("step", step, "is saved:", why)
			break
		}
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: step 3 is saved: preemption was signalled
}
