package peer_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/peer"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pace bounds the bytes that all readers together get in a second to rate; 0 is no bound.
type pace struct {
	mu   sync.Mutex
	next time.Time
	rate int64
}

func (p *pace) wait(n int64) {
	if p.rate == 0 {
		return
	}
	p.mu.Lock()
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	until := p.next
	p.mu.Unlock()
	time.Sleep(time.Until(until))
}

// BenchmarkLoad loads 64 MiB in each of 4 processes: each reads for itself, or one reads for all;
// from a disk that is as fast as memory, and from a store that gives 100 MB a second to all
// together.
func BenchmarkLoad(b *testing.B) {
	const world, size = 4, 64 << 20
	dir := b.TempDir()
	if err := checkpoint.Save(b.Context(), dir+"/c", map[string]any{"w": tensor.New(tensor.Float32, size/4)},
		nil); err != nil {
		b.Fatal(err)
	}
	disk, err := local.Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	board := cluster.InProcess()
	members, peers := make([]*cluster.Member, world), make([]*peer.Peers, world)
	each := func(f func(p int) error) {
		list := make([]error, world)
		var wait sync.WaitGroup
		for p := range world {
			wait.Go(func() { list[p] = f(p) })
		}
		wait.Wait()
		if err := errors.Join(list...); err != nil {
			b.Fatal(err)
		}
	}
	each(func(p int) (err error) {
		if members[p], err = cluster.Join(b.Context(), board, cluster.Options{Rank: p, World: world}); err == nil {
			peers[p], err = peer.Open(b.Context(), members[p], peer.Options{})
		}
		return err
	})
	into := make([]map[string]any, world)
	for p := range into {
		into[p] = map[string]any{"w": tensor.New(tensor.Float32, size/4)}
	}
	for _, s := range []struct {
		name string
		rate int64
	}{{"disk", 0}, {"store", 100e6}} {
		for _, how := range []options.Toggle{options.Off, options.On} {
			b.Run(s.name+map[options.Toggle]string{options.Off: "/each", options.On: "/one"}[how], func(b *testing.B) {
				var bytes atomic.Int64
				limit := &pace{rate: s.rate}
				b.SetBytes(world * size)
				for b.Loop() {
					each(func(p int) error {
						o := checkpoint.LoadOptions{Store: counting{disk, &bytes, func(_ string, _,
							n int64) error {
							limit.wait(n)
							return nil
						}}}
						o.Array.Loading.UseLoadAndBroadcast, o.Array.Loading.LoadAndBroadcast.Peers = how, peers[p]
						return checkpoint.LoadInto(b.Context(), "c", into[p], &o)
					})
				}
				b.ReportMetric(float64(bytes.Load())/float64(b.N)/size, "copies-read")
			})
		}
	}
	each(func(p int) error { return errors.Join(peers[p].Close(), members[p].Close()) })
}
