package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
)

// meeting is a barrier of two goroutines, in place of the barrier of a cluster.
type meeting struct {
	mu      sync.Mutex
	waiting chan struct{}
}

func (m *meeting) wait(ctx context.Context, _ string) error {
	m.mu.Lock()
	if w := m.waiting; w != nil { // the other one is there
		m.waiting = nil
		m.mu.Unlock()
		close(w)
		return nil
	}
	w := make(chan struct{})
	m.waiting = w
	m.mu.Unlock()
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Two processes, here goroutines, have half of the rows each, and save one checkpoint.
// Who loads it takes whatever box it needs.
func ExampleShards_severalProcesses() {
	dir, err := os.MkdirTemp("", "several")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an example
	path := filepath.Join(dir, "ckpt")
	var both meeting
	var jobs sync.WaitGroup
	for p := range 2 {
		jobs.Go(func() {
			half := tensor.FromSlice([]float32{float32(10 * p), float32(10*p + 1)}, 1, 2)
			state := map[string]any{
				"step": 7, // as the primary process, 0, has it
				"w":    checkpoint.Shards{DType: tensor.Float32, Shape: tensor.Shape{2, 2}, Parts: []checkpoint.Shard{{Origin: []int{p, 0}, Data: half}}},
			}
			var o checkpoint.SaveOptions
			o.Multiprocessing = options.Multiprocessing{ProcessIndex: new(options.Host(p)), ProcessCount: 2, Barrier: both.wait}
			if err := checkpoint.Save(context.Background(), path, state, &o); err != nil {
				log.Fatal(err)
			}
		})
	}
	jobs.Wait()

	column := func(l checkpoint.LeafInfo) checkpoint.Want {
		if l.Param != "w" {
			return checkpoint.Want{}
		}
		return checkpoint.Want{Boxes: []checkpoint.Box{{Origin: []int{0, 1}, Shape: []int{2, 1}}}}
	}
	n, err := checkpoint.Load(context.Background(), path, &checkpoint.LoadOptions{Want: column})
	if err != nil {
		log.Fatal(err)
	}
	w, err := tensor.Of[float32](n.Get("w").Value.(tensor.Tensor))
	fmt.Println(n.Get("step").Value, w, err)
	// Output: 7 [1 11] <nil>
}
