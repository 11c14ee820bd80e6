package peer_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/peer"
)

// loadTogether loads a checkpoint that one process reads for all. All processes call it.
func loadTogether(ctx context.Context, m *cluster.Member, path string, state any) error {
	peers, err := peer.Open(ctx, m, peer.Options{})
	if err != nil {
		return err
	}
	var o checkpoint.LoadOptions
	o.Array.Loading.UseLoadAndBroadcast = options.On
	o.Array.Loading.LoadAndBroadcast.Peers = peers
	err = checkpoint.LoadInto(ctx, path, state, &o)
	return errors.Join(err, peers.Close())
}

// The guide shows loadTogether.
func TestLoadTogether(t *testing.T) {
	const world = 3
	path := filepath.Join(t.TempDir(), "checkpoint")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": []float32{1, 2, 3}}, nil); err != nil {
		t.Fatal(err)
	}
	board := cluster.InProcess()
	var wait sync.WaitGroup
	for rank := range world {
		wait.Go(func() {
			m, err := cluster.Join(t.Context(), board, cluster.Options{Rank: rank, World: world})
			if err != nil {
				t.Error(err)
				return
			}
			w := make([]float32, 3)
			err = loadTogether(t.Context(), m, path, map[string]any{"w": w})
			if err := errors.Join(err, m.Close()); err != nil || w[2] != 3 {
				t.Errorf("rank %d: %v, %v", rank, w, err)
			}
		})
	}
	wait.Wait()
}
