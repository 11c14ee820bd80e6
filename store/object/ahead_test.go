package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// long is an object of random bytes behind a network.
func long(t *testing.T, size int, o object.Options, n simulated.Network) (store.Reader, []byte) {
	t.Helper()
	server := simulated.NewServer(0, simulated.Lies{})
	want := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(size)})
	random.Read(want) //nolint:errcheck // never fails
	o.SkipProbe = true
	if err := object.New(server.Bucket(nil), "", o).Put(t.Context(), "x", want, store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := object.New(server.Bucket(n), "", o).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, want
}

// Pieces of any length, from any places, by any number of callers, have the bytes of the object.
// Requests fail and are late meanwhile, and there is memory for all windows, for a few, or for
// none.
func TestReadsAhead(t *testing.T) {
	for _, memory := range []int64{0, 9 << 20, -1} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(memory, "/", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					draws := rand.New(rand.NewPCG(seed, 1))
					draw := func(n int64) int64 { mu.Lock(); defer mu.Unlock(); return draws.Int64N(n) }
					r, want := long(t, 9<<20, object.Options{Ahead: memory}, func(q simulated.Request) simulated.Fate {
						if q.Kind != "Get" || draw(4) > 0 {
							return simulated.Fate{Delay: time.Duration(draw(int64(20 * time.Millisecond)))}
						}
						return []simulated.Fate{{Err: object.ErrThrottled}, {Lost: true}, {Delay: 3 * time.Second}}[draw(3)]
					})
					var callers sync.WaitGroup
					for caller := range 6 {
						callers.Go(func() {
							at := int64(caller) * 1_500_000
							for range 60 {
								if draw(10) == 0 {
									at = draw(r.Size())
								}
								n := min(1+draw(300_000), r.Size()-at)
								p := make([]byte, n)
								if err := r.ReadAt(t.Context(), p, at); err != nil {
									t.Error(err)
									return
								}
								if !bytes.Equal(p, want[at:at+n]) {
									t.Errorf("%d bytes from %d differ", n, at)
									return
								}
								if at += n + draw(2)*draw(1000); at >= r.Size() {
									at = 0
								}
							}
						})
					}
					callers.Wait()
				})
			})
		}
	}
}

// Scatter fills any pieces with the bytes of the object, by requests of at most a part, whatever
// fails or is late meanwhile. It refuses what ReadAt refuses.
func TestScatter(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			draws := rand.New(rand.NewPCG(seed, 2))
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return draws.IntN(n) }
			var faults atomic.Bool
			var requests atomic.Int64
			const part = 1 << 20
			r, want := long(t, 5<<20+3, object.Options{Part: part}, func(q simulated.Request) simulated.Fate {
				if q.Kind == "Get" {
					requests.Add(1)
				}
				if q.Kind != "Get" || !faults.Load() || draw(4) > 0 {
					return simulated.Fate{Delay: time.Duration(draw(int(20 * time.Millisecond)))}
				}
				return []simulated.Fate{{Err: object.ErrThrottled}, {Lost: true}, {Delay: 3 * time.Second}}[draw(3)]
			})
			s := r.(store.Scatterer)
			for i := range 60 {
				faults.Store(i > 20)
				off, n := draw(len(want)), 0
				var pieces [][]byte
				for range draw(6) {
					p := make([]byte, draw(min(len(want)-off-n, 1500<<10)+1))
					pieces, n = append(pieces, p), n+len(p)
				}
				before := requests.Load()
				if err := s.Scatter(t.Context(), int64(off), pieces...); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(bytes.Join(pieces, nil), want[off:off+n]) {
					t.Fatalf("%d pieces from %d have other bytes", len(pieces), off)
				}
				if got := requests.Load() - before; !faults.Load() && got != int64((n+part-1)/part) {
					t.Fatalf("%d bytes cost %d requests", n, got)
				}
			}
			for off, p := range map[int64][]byte{-1: {0}, r.Size() - 1: {0, 0}, r.Size() + 1: nil} {
				one, two := s.Scatter(t.Context(), off, p), r.ReadAt(t.Context(), p, off)
				if one == nil || errs.KindOf(one) != errs.KindOf(two) {
					t.Errorf("%d bytes from %d: %v, and of ReadAt %v", len(p), off, one, two)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.Scatter(ctx, 0, make([]byte, 9)); errs.KindOf(err) != errs.Canceled {
				t.Error(err)
			}
		})
	}
}

// Neighbours come in few requests, and in a twentieth of the time.
func TestNeighboursComeTogether(t *testing.T) {
	read := func(memory int64) (requests int64, took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			r, want := long(t, 64<<20, object.Options{Ahead: memory}, func(q simulated.Request) simulated.Fate {
				if q.Kind == "Get" {
					n.Add(1)
				}
				return simulated.Fate{Delay: 30 * time.Millisecond}
			})
			n.Store(0)
			began := time.Now()
			p := make([]byte, 256<<10)
			for off := int64(0); off < r.Size(); off += int64(len(p)) {
				if err := r.ReadAt(t.Context(), p, off); err != nil || !bytes.Equal(p, want[off:off+int64(len(p))]) {
					t.Fatal(off, err)
				}
			}
			requests, took = n.Load(), time.Since(began)
		})
		return requests, took
	}
	requests, took := read(0)
	each, long := read(-1)
	if each != 256 || requests > 22 || took*10 > long {
		t.Errorf("%d requests in %v, without reading ahead %d in %v; want at most 22, and a tenth of the time",
			requests, took, each, long)
	}
}

// Pieces that follow nothing are requested as they are: no byte more.
func TestScatteredPiecesCostNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r, _ := long(t, 8<<20, object.Options{}, func(q simulated.Request) simulated.Fate {
			if q.Kind == "Get" {
				n.Add(1)
			}
			return simulated.Fate{}
		})
		n.Store(0)
		for i := range int64(50) {
			if err := r.ReadAt(t.Context(), make([]byte, 1000), (49-i)*100_000); err != nil {
				t.Fatal(err)
			}
		}
		if n.Load() != 50 {
			t.Errorf("%d requests for 50 pieces", n.Load())
		}
	})
}

// A caller that gives up does not wait for the window, and others get it.
func TestGivingUpAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, want := long(t, 4<<20, object.Options{}, func(simulated.Request) simulated.Fate {
			return simulated.Fate{Delay: time.Second}
		})
		p := make([]byte, 100_000)
		if err := r.ReadAt(t.Context(), p, 0); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		began := time.Now()
		var others sync.WaitGroup
		others.Go(func() {
			q := make([]byte, 100_000)
			if err := r.ReadAt(t.Context(), q, 200_000); err != nil || !bytes.Equal(q, want[200_000:300_000]) {
				t.Error("another caller: ", err)
			}
		})
		err := r.ReadAt(ctx, p, 100_000)
		if !errors.Is(err, errs.Canceled) || time.Since(began) > 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		others.Wait()
	})
}

// A request that takes much longer than others is sent twice, and the first answer counts.
func TestSlowRequestsAreHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r, want := long(t, 4<<20, object.Options{Ahead: -1}, func(q simulated.Request) simulated.Fate {
			if q.Kind == "Get" && n.Add(1) == 31 {
				return simulated.Fate{Delay: time.Minute}
			}
			return simulated.Fate{Delay: 10 * time.Millisecond}
		})
		n.Store(0)
		p := make([]byte, 100_000)
		for i := range int64(40) {
			began := time.Now()
			if err := r.ReadAt(t.Context(), p, i*100_000); err != nil || !bytes.Equal(p, want[i*100_000:(i+1)*100_000]) {
				t.Fatal(i, err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("piece %d took %v", i, took)
			}
		}
		if n.Load() != 41 {
			t.Errorf("%d requests, want 40 and one more", n.Load())
		}
	})
}

// Over a slow line long requests take long. That short ones are fast does not make them slow ones:
// no byte is sent twice.
func TestLongRequestsAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		var length atomic.Int64
		r, _ := long(t, 8<<20, object.Options{Ahead: -1}, func(q simulated.Request) simulated.Fate {
			if q.Kind == "Get" {
				requests.Add(1)
			}
			return simulated.Fate{Delay: time.Duration(length.Load()) * time.Microsecond} // 1 MB a second
		})
		requests.Store(0)
		for i := range int64(60) {
			n := int64(300)
			if i%6 == 5 || i < 20 { // of 20 requests, and then of each sixth
				n = 4 << 20
			}
			length.Store(n)
			if err := r.ReadAt(t.Context(), make([]byte, n), 0); err != nil {
				t.Fatal(err)
			}
		}
		if requests.Load() != 60 {
			t.Errorf("%d requests for 60 pieces", requests.Load())
		}
	})
}

// Windows of readers that stand still make room for another reader.
func TestMemoryForWindowsIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		var n atomic.Int64
		st := object.New(server.Bucket(func(q simulated.Request) simulated.Fate {
			if q.Kind == "Get" {
				n.Add(1)
			}
			return simulated.Fate{Delay: time.Millisecond}
		}), "", object.Options{Ahead: 16 << 20, SkipProbe: true})
		want := make([]byte, 8<<20)
		for i := range 5 {
			if err := st.Put(t.Context(), fmt.Sprint(i), want, store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		p := make([]byte, 128<<10)
		for i := range 5 {
			r, err := st.Open(t.Context(), fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close() //nolint:errcheck // a test
			n.Store(0)
			most := r.Size()
			if i < 4 {
				most = 3 << 20 // stands still with two windows
			}
			for off := int64(0); off < most; off += int64(len(p)) {
				if err := r.ReadAt(t.Context(), p, off); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if n.Load() > 12 {
			t.Errorf("the last reader needed %d requests for 64 pieces", n.Load())
		}
	})
}
