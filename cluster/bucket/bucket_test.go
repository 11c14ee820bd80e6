package bucket_test

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/bucket"
	"github.com/bivouac-ml/bivouac/cluster/clustertest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opener returns the views of processes on one simulated server.
func opener(lies simulated.Lies, network func() simulated.Network) func(t *testing.T) func() cluster.Board {
	return func(t *testing.T) func() cluster.Board {
		server := simulated.NewServer(5*time.Hour, lies) // nobody compares the clocks
		return func() cluster.Board {
			b, err := bucket.New(context.Background(), server.Bucket(network()), "run/.cluster/")
			for range 20 { // New does not try again
				if err == nil {
					return b
				}
				b, err = bucket.New(context.Background(), server.Bucket(network()), "run/.cluster/")
			}
			t.Fatal(err)
			return nil
		}
	}
}

func none() simulated.Network { return nil }

func TestBucket(t *testing.T) {
	clustertest.Run(t, clustertest.Suite{Virtual: true, Open: opener(simulated.Lies{}, none)})
}

// Some servers cannot remove on a condition.
func TestWithoutConditionalDelete(t *testing.T) {
	clustertest.Run(t, clustertest.Suite{Virtual: true, Open: opener(simulated.Lies{NoDelete: true}, none)})
}

// slow is a network whose requests take their time.
func slow() simulated.Network {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(3, 5))
	return func(simulated.Request) simulated.Fate {
		mu.Lock()
		defer mu.Unlock()
		return simulated.Fate{Delay: time.Duration(rng.IntN(30)) * time.Millisecond,
			Reply: time.Duration(rng.IntN(30)) * time.Millisecond}
	}
}

func TestSlowNetwork(t *testing.T) {
	clustertest.Run(t, clustertest.Suite{Virtual: true, Lease: 20 * time.Second, Barriers: 100,
		Open: opener(simulated.Lies{}, slow)})
}

// bad is a network that loses replies, refuses requests for a while, and delivers requests after
// their senders gave up.
func bad(seed uint64) simulated.Network {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 11))
	return func(r simulated.Request) simulated.Fate {
		mu.Lock()
		defer mu.Unlock()
		f := simulated.Fate{Delay: time.Duration(rng.IntN(50)) * time.Millisecond,
			Reply: time.Duration(rng.IntN(50)) * time.Millisecond}
		switch rng.IntN(20) {
		case 0:
			f.Lost = true
		case 1:
			f.Err = simulated.ErrSlow
		case 2:
			f.Err = simulated.ErrServer
		case 3:
			f.Err = simulated.ErrConflict
		case 4:
			if r.Changes {
				f.Ghost = time.Duration(rng.IntN(40_000)) * time.Millisecond
			}
		}
		return f
	}
}

// Whatever the network does, barriers open only when all have come, at most one has a lease, and
// tokens grow.
func TestBadNetwork(t *testing.T) { badNetworks(t, map[bool]int{false: 60, true: 15}[testing.Short()]) }

func TestBadNetworkLong(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("make test-long runs it")
	}
	badNetworks(t, 5000)
}

func badNetworks(t *testing.T, seeds int) {
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			const world, rounds = 3, 6
			server := simulated.NewServer(-time.Hour, simulated.Lies{})
			var mu sync.Mutex
			var came [world]int
			var last int64
			holders := 0
			var wait sync.WaitGroup
			for rank := range world {
				wait.Go(func() {
					b := board(t, server, seed*10+uint64(rank))
					m, err := cluster.Join(t.Context(), b, cluster.Options{Rank: rank, World: world, Lease: 20 * time.Second})
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					for round := range rounds {
						mu.Lock()
						came[rank]++
						mu.Unlock()
						if err := m.Barrier(t.Context(), "k"); err != nil {
							t.Errorf("seed %d: %v", seed, err)
							return
						}
						mu.Lock()
						for other, n := range came {
							if n < round+1 {
								t.Errorf("seed %d: the barrier opened before rank %d had come", seed, other)
							}
						}
						mu.Unlock()
						l, err := m.Acquire(t.Context(), "writer")
						if err != nil {
							t.Errorf("seed %d: %v", seed, err)
							return
						}
						mu.Lock()
						holders++
						if holders > 1 || l.Token() <= last {
							t.Errorf("seed %d: %d have the lease, token %d after %d", seed, holders, l.Token(), last)
						}
						last = l.Token()
						mu.Unlock()
						time.Sleep(100 * time.Millisecond)
						mu.Lock()
						holders--
						mu.Unlock()
						if err := l.Release(t.Context()); err != nil && errs.KindOf(err) != errs.Busy {
							t.Logf("seed %d: %v", seed, err) // another one waits for its end
						}
					}
					if err := m.Close(); err != nil {
						t.Logf("seed %d: %v", seed, err) // the next job sweeps
					}
				})
			}
			wait.Wait()
			time.Sleep(time.Minute) // the last requests arrive
			// The next job finds a board that works, and leaves nothing.
			b, err := bucket.New(t.Context(), server.Bucket(nil), "run")
			if err != nil {
				t.Fatal(err)
			}
			m, err := cluster.Join(t.Context(), b, cluster.Options{Job: "next", Lease: 20 * time.Second})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := m.Close(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			for _, key := range server.Keys() {
				if !strings.HasPrefix(key, "run/lease/") && !strings.HasPrefix(key, "run/probe/") {
					t.Errorf("seed %d: %s is left over", seed, key)
				}
			}
		})
	}
}

func board(t *testing.T, server *simulated.Server, seed uint64) cluster.Board {
	for {
		b, err := bucket.New(t.Context(), server.Bucket(bad(seed)), "run")
		if err == nil {
			return b
		}
		seed += 1_000_000
	}
}

// A server that breaks a law is refused by the name of the law.
func TestLies(t *testing.T) {
	for law, lies := range map[string]simulated.Lies{
		"If-None-Match": {IgnoresAbsent: true},
		"If-Match":      {IgnoresTag: true},
	} {
		_, err := bucket.New(t.Context(), simulated.NewServer(0, lies).Bucket(nil), "run")
		if errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), law) ||
			!strings.Contains(err.Error(), "sim://bucket/run") {
			t.Errorf("%s: %v", law, err)
		}
	}
}

// What another program has put there is said, and where.
func TestGarbage(t *testing.T) {
	server := simulated.NewServer(0, simulated.Lies{})
	raw := server.Bucket(nil)
	b, err := bucket.New(t.Context(), raw, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", "bivouac-cluster 0123", strings.Repeat("y", 500)} {
		if _, err := raw.Put(t.Context(), "job", []byte(text), sum(text), always); err != nil {
			t.Fatal(err)
		}
		_, err := b.Get(t.Context(), "job")
		if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "sim://bucket/job") {
			t.Errorf("%q: %v", text, err)
		}
		_, err = cluster.Join(t.Context(), b, cluster.Options{Deadline: 5 * time.Second})
		if errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := b.Put(t.Context(), "big", make([]byte, 9<<20), ""); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a document that is too large: %v", err)
	}
}

var always object.Condition

func sum(text string) uint32 {
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}
