package training_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// mirrored is a checkpointer of one's own: the steps of a run lie on a fast disk, and some of them
// also on a second disk, from where they are loaded if the first has lost them. The methods that it
// does not override use the fast disk.
type mirrored struct {
	training.Interface
	second training.Interface // its policy says which steps it gets
}

// SaveCheckpointables saves on both; Save and the asynchronous ones would be alike.
func (m mirrored) SaveCheckpointables(ctx context.Context, step int64, items map[string]any, o *training.SaveOptions) (bool, error) {
	saved, err := m.Interface.SaveCheckpointables(ctx, step, items, o)
	if !saved || err != nil {
		return saved, err
	}
	_, err = m.second.SaveCheckpointablesAsync(ctx, step, items, o) // its failure is told by the next one, Wait and Close
	return true, err
}

// Save is SaveCheckpointables of the item "state".
func (m mirrored) Save(ctx context.Context, step int64, state any, o *training.SaveOptions) (bool, error) {
	return m.SaveCheckpointables(ctx, step, map[string]any{"state": state}, o)
}

// Load reads from the first disk that has the step whole.
func (m mirrored) Load(ctx context.Context, step int64, o *checkpoint.LoadOptions) (*tree.Node, error) {
	n, err := m.Interface.Load(ctx, step, o)
	if errors.Is(err, errs.NotFound) || errors.Is(err, errs.Corrupt) {
		return m.second.Load(ctx, step, o)
	}
	return n, err
}

// Wait waits for both.
func (m mirrored) Wait(ctx context.Context) error {
	return errors.Join(m.Interface.Wait(ctx), m.second.Wait(ctx))
}

// Close closes both.
func (m mirrored) Close() error { return errors.Join(m.Interface.Close(), m.second.Close()) }

// An own checkpointer, that keeps some steps on a second disk.
func ExampleInterface() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	fast, err := training.Open(ctx, filepath.Join(dir, "fast"), &training.Options{Preserve: training.LatestN{N: 1}})
	if err != nil {
		log.Fatal(err)
	}
	slow, err := training.Open(ctx, filepath.Join(dir, "slow"), &training.Options{Save: training.FixedInterval{Steps: 2}})
	if err != nil {
		log.Fatal(err)
	}
	var c training.Interface = mirrored{fast, slow}
	for step := int64(1); step <= 5; step++ {
		if _, err := c.Save(ctx, step, map[string]any{"w": []float32{float32(step)}}, nil); err != nil {
			log.Fatal(err)
		}
	}
	if err := c.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("fast", c.Steps(), "slow", slow.Steps())
	state, err := c.Load(ctx, 4, nil)
	if err != nil {
		log.Fatal(err)
	}
	w := make([]float32, 1)
	if err := tree.Into(state, map[string]any{"w": w}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w)
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// fast [5] slow [2 4]
	// [4]
}
