package bucket_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/bucket"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// Processes of one rank join and leave in turn, while requests take their time: the last member of
// a job leaves, and removes its documents, while the next one joins. No member loses its rank,
// and nothing is left over.
func TestJoinAndLeaveInTurn(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			server := simulated.NewServer(0, simulated.Lies{})
			var wait sync.WaitGroup
			for actor := range uint64(3) {
				wait.Go(func() {
					var mu sync.Mutex
					rng := rand.New(rand.NewPCG(seed, actor))
					draw := func(most int) time.Duration {
						mu.Lock()
						defer mu.Unlock()
						return time.Duration(rng.IntN(most)) * time.Millisecond
					}
					b, err := bucket.New(t.Context(), server.Bucket(func(simulated.Request) simulated.Fate {
						return simulated.Fate{Delay: draw(60), Reply: draw(60)}
					}), "run")
					if err != nil {
						t.Error(err)
						return
					}
					for range 4 {
						turn(t, b, cluster.Options{Job: []string{"a", "b"}[seed%2*actor%2], Lease: 8 * time.Second}, draw)
					}
				})
			}
			wait.Wait()
			time.Sleep(time.Second)
			for _, key := range server.Keys() {
				t.Errorf("seed %d: %s is left over", seed, key)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// turn joins, once the others let it, stays for some signs of life, and leaves.
func turn(t *testing.T, b cluster.Board, o cluster.Options, draw func(most int) time.Duration) {
	m, err := cluster.Join(t.Context(), b, o)
	for errs.KindOf(err) == errs.Busy {
		time.Sleep(draw(300))
		m, err = cluster.Join(t.Context(), b, o)
	}
	if err != nil {
		t.Error(err)
		return
	}
	time.Sleep(draw(200))
	if draw(2) == 0 {
		time.Sleep(5 * time.Second) // the job is looked at again
	}
	if err := m.Barrier(context.Background(), "k"); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
