package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/tensor"
)

// saveTogether saves what this process has of a state. All processes call it.
func saveTogether(ctx context.Context, board, path string, state any, getenv func(string) string) error {
	env, err := cluster.FromEnvironment(getenv) // os.Getenv
	if err != nil {
		return err
	}
	m, err := cluster.Open(ctx, board, env.Options())
	if err != nil {
		return err
	}
	var o checkpoint.SaveOptions
	o.Multiprocessing = m.Multiprocessing()
	err = checkpoint.Save(ctx, path, state, &o)
	return errors.Join(err, m.Close())
}

// The guide shows saveTogether.
func TestSaveTogether(t *testing.T) {
	const world = 3
	dir := t.TempDir()
	board, path := filepath.Join(dir, "board"), filepath.Join(dir, "checkpoint")
	errors := make([]error, world)
	var wait sync.WaitGroup
	for rank := range world {
		wait.Go(func() {
			state := map[string]any{"w": checkpoint.Shards{DType: tensor.Int64, Shape: tensor.Shape{world, 2},
				Parts: []checkpoint.Shard{{Origin: []int{rank, 0}, Data: tensor.FromSlice([]int64{int64(rank), 7}, 1, 2)}}}}
			errors[rank] = saveTogether(t.Context(), board, path, state, variables(fmt.Sprint("RANK=", rank, " WORLD_SIZE=3")))
		})
	}
	wait.Wait()
	for rank, err := range errors {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	n, err := checkpoint.Load(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := n.Get("w").Tensor()
	if v, err := tensor.Of[int64](w); err != nil || fmt.Sprint(v) != "[0 7 1 7 2 7]" {
		t.Errorf("%v, %v", v, err)
	}
}

// Open says what is missing or wrong before anybody waits.
func TestOpenMistakes(t *testing.T) {
	for url, want := range map[string]string{
		"":                        "the board of a job of 2 processes",
		"nope://host/x":           "whose scheme this program knows: file",
		"etcd://user:secret@h:1/": "credentials in the URL",
		"~/run":                   "home directory",
		"file:/run":               "a URL of scheme file",
	} {
		_, err := cluster.Open(t.Context(), url, cluster.Options{World: 2})
		if err == nil || !contains(err, want) || contains(err, "secret") {
			t.Errorf("%q: want %q, got %v", url, want, err)
		}
	}
	m, err := cluster.Open(t.Context(), "", cluster.Options{}) // a job of one process needs no board
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Barrier(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
