package clustertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

// paused is the view of a process that can be stopped, as by SIGSTOP or a cut network: its requests
// wait.
type paused struct {
	cluster.Board
	mu   sync.Mutex
	wait chan struct{} // not nil while it is stopped
}

func newPaused(b cluster.Board) *paused { return &paused{Board: b} }

func (b *paused) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait = make(chan struct{})
}

func (b *paused) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.wait)
	b.wait = nil
}

func (b *paused) enter(ctx context.Context) error {
	b.mu.Lock()
	wait := b.wait
	b.mu.Unlock()
	if wait == nil {
		return nil
	}
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return &errs.Error{Kind: errs.Canceled, Op: "clustertest", Err: context.Cause(ctx)}
	}
}

func (b *paused) Get(ctx context.Context, key string) (cluster.Document, error) {
	if err := b.enter(ctx); err != nil {
		return cluster.Document{}, err
	}
	return b.Board.Get(ctx, key)
}

func (b *paused) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if err := b.enter(ctx); err != nil {
		return "", err
	}
	return b.Board.Put(ctx, key, value, version)
}

func (b *paused) Delete(ctx context.Context, key, version string) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	return b.Board.Delete(ctx, key, version)
}

func (b *paused) List(ctx context.Context, prefix string) ([]cluster.Document, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	return b.Board.List(ctx, prefix)
}

// faulty is a board whose requests are slow, fail before or after they were carried out, or are
// answered by garbage.
type faulty struct {
	cluster.Board
	mu      sync.Mutex
	rng     *rand.Rand
	rate    float64 // of requests that fail
	slow    time.Duration
	garbage string // a prefix of keys whose documents are garbage
	broken  error  // what all requests return
	lose    int    // the reply of this Put is lost, counted from 1
}

func (b *faulty) change(f func(b *faulty)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

// request decides the fate of a request.
func (b *faulty) request(ctx context.Context, key string, do func() error) error {
	b.mu.Lock()
	before, after := b.rng.Float64() < b.rate/2, b.rng.Float64() < b.rate/2
	slow, broken := time.Duration(0), b.broken
	if b.slow > 0 {
		slow = time.Duration(b.rng.Int64N(int64(b.slow)))
	}
	b.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	lost := &errs.Error{Kind: errs.IO, Op: "clustertest", Subject: key, Got: "an injected failure"}
	switch {
	case broken != nil:
		return broken
	case before:
		return lost
	}
	err := do()
	if after {
		return lost
	}
	return err
}

func (b *faulty) Get(ctx context.Context, key string) (d cluster.Document, err error) {
	err = b.request(ctx, key, func() (err error) { d, err = b.Board.Get(ctx, key); return err })
	if err != nil {
		return cluster.Document{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.garbage != "" && strings.HasPrefix(key, b.garbage) {
		d.Value = []byte("<html>It works!</html>")
	}
	return d, err
}

func (b *faulty) Put(ctx context.Context, key string, value []byte, version string) (v string, err error) {
	err = b.request(ctx, key, func() (err error) { v, err = b.Board.Put(ctx, key, value, version); return err })
	b.mu.Lock()
	b.lose--
	lost := b.lose == 0
	b.mu.Unlock()
	if err == nil && lost {
		err = &errs.Error{Kind: errs.IO, Op: "clustertest", Subject: key, Got: "an injected lost reply"}
	}
	if err != nil {
		return "", err
	}
	return v, err
}

func (b *faulty) Delete(ctx context.Context, key, version string) error {
	return b.request(ctx, key, func() error { return b.Board.Delete(ctx, key, version) })
}

func (b *faulty) List(ctx context.Context, prefix string) (docs []cluster.Document, err error) {
	err = b.request(ctx, prefix, func() (err error) { docs, err = b.Board.List(ctx, prefix); return err })
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range docs {
		if b.garbage != "" && strings.HasPrefix(docs[i].Key, b.garbage) {
			docs[i].Value = []byte("<html>It works!</html>")
		}
	}
	return docs, err
}

// loseReply lets one member lead, pass a barrier and leave, with reply n of its board lost. It
// returns how long that took.
func (e *env) loseReply(n int) time.Duration {
	ctx := context.Background()
	began := time.Now()
	b := &faulty{Board: e.board(), rng: rand.New(rand.NewPCG(1, 1)), lose: n}
	m, err := cluster.Join(ctx, b, e.options(0, 1))
	if err != nil {
		e.Fatal(err)
	}
	l, err := m.Lead(ctx)
	if err != nil {
		e.Fatal(err)
	}
	if err := errors.Join(m.Barrier(ctx, "k"), l.Release(ctx), m.Close()); err != nil {
		e.Error(err)
	}
	took := time.Since(began)
	e.clean()
	return took
}

// faultyAll joins members whose boards have faults.
func (e *env) faultyAll(
	world int, prepare func(b *faulty), change func(o *cluster.Options),
) ([]*cluster.Member, []*faulty) {
	e.Helper()
	boards, all := make([]*faulty, world), make([]*cluster.Member, world)
	e.each(world, func(rank int) error {
		b := &faulty{Board: e.board(), rng: rand.New(rand.NewPCG(uint64(rank), 7))}
		prepare(b)
		o := e.options(rank, world)
		if change != nil {
			change(&o)
		}
		m, err := cluster.Join(context.Background(), b, o)
		boards[rank], all[rank] = b, m
		if err == nil {
			e.Cleanup(func() { m.Close() }) //nolint:errcheck // the tests that care close it
		}
		return err
	})
	if e.Failed() {
		e.FailNow()
	}
	return all, boards
}

var faultTests = []test{
	{"FailuresAndLostReplies", func(e *env) {
		const world = 3
		all, boards := e.faultyAll(world, func(b *faulty) { b.rate = 0.2 }, nil)
		big := make([]byte, 300_000)
		e.each(world, func(rank int) error {
			m := all[rank]
			for range 10 {
				if err := m.Barrier(context.Background(), "k"); err != nil {
					return err
				}
			}
			_, err := m.Broadcast(context.Background(), "b", 1, big)
			if err == nil {
				err = m.Agree(context.Background(), "a", big)
			}
			if err != nil {
				return err
			}
			l, err := m.Lead(context.Background())
			if err != nil {
				return err
			}
			return errors.Join(l.Check(context.Background()), l.Release(context.Background()))
		})
		for _, b := range boards {
			b.change(func(b *faulty) { b.rate = 0 })
		}
		e.each(world, func(rank int) error { return all[rank].Close() })
		e.clean()
	}},
	{"OneLostReply", func(e *env) { // is no reason to wait for the end of a lease
		for n := 1; n <= 6; n++ {
			// A member that waits for the end of a lease does so each time; a busy machine does not.
			took := e.Lease + 1
			for try := 0; try < 3 && took > e.Lease; try++ {
				took = e.loseReply(n)
			}
			if took > e.Lease {
				e.Errorf("with reply %d lost it took %v, three times", n, took)
			}
		}
	}},
	{"SlowBoard", func(e *env) {
		const world = 3
		all, boards := e.faultyAll(world, func(b *faulty) { b.slow = e.Lease / 20 }, nil)
		e.each(world, func(rank int) error {
			for range 3 {
				if err := all[rank].Barrier(context.Background(), "k"); err != nil {
					return err
				}
			}
			return nil
		})
		for _, b := range boards {
			b.change(func(b *faulty) { b.slow = 0 })
		}
		e.each(world, func(rank int) error { return all[rank].Close() })
		e.clean()
	}},
	{"BoardIsGone", func(e *env) { // for a while, and for ever
		all, boards := e.faultyAll(2, func(*faulty) {}, func(o *cluster.Options) { o.Deadline = 4 * e.Lease })
		gone := &errs.Error{Kind: errs.IO, Op: "clustertest", Subject: "the board", Got: "no route to host"}
		set := func(err error) {
			for _, b := range boards {
				b.change(func(b *faulty) { b.broken = err })
			}
		}
		set(gone)
		time.AfterFunc(2*e.Lease, func() { set(nil) }) // longer than the lease, but nobody took the ranks
		e.each(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		set(gone)
		for _, err := range together(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") }) {
			e.want(err, errs.Canceled, "the board does not answer", "no route to host")
		}
		set(nil)
		e.each(2, func(rank int) error { return all[rank].Close() })
		e.clean()
	}},
	{"Garbage", func(e *env) {
		for _, prefix := range []string{"member/", "round", "job"} {
			all, boards := e.faultyAll(2, func(*faulty) {}, func(o *cluster.Options) { o.Deadline = 2 * e.Lease })
			for _, b := range boards {
				b.change(func(b *faulty) { b.garbage = prefix })
			}
			name := boards[0].Properties().Name
			failed := 0
			for rank, err := range together(2, func(rank int) error {
				for { // the document of the job is read at a sign of life
					if err := all[rank].Barrier(context.Background(), "k"); err != nil {
						return err
					}
					time.Sleep(e.Lease / 20)
				}
			}) {
				if errs.KindOf(err) == errs.Corrupt {
					e.want(err, errs.Corrupt, name+": "+prefix, "It works!")
					failed++
				} else if errs.KindOf(err) != errs.Canceled {
					e.Errorf("%s: rank %d: %v", prefix, rank, err)
				}
			}
			if failed == 0 {
				e.Errorf("%s: no error says that there is garbage", prefix)
			}
			_, err := cluster.Join(context.Background(), boards[0], e.options(1, 2))
			if prefix != "round" {
				e.want(err, errs.Corrupt, prefix, "It works!")
			}
			for _, b := range boards {
				b.change(func(b *faulty) { b.garbage = "" })
			}
			e.each(2, func(rank int) error { return all[rank].Close() })
			e.clean()
		}
	}},
	{"DeadBroadcaster", func(e *env) { // what it left is removed
		const world = 2
		all := e.all(world, func(_ int, o *cluster.Options) { o.Deadline = 3 * e.Lease })
		go func() {
			time.Sleep(e.Lease / 8)
			all[1].view.kill()
		}()
		together(world, func(rank int) error {
			if rank == 0 {
				time.Sleep(e.Lease / 2)
			}
			_, err := all[rank].Broadcast(context.Background(), "b", 1, make([]byte, 3<<20))
			return err
		})
		all[1] = e.join(e.options(1, 2))
		e.each(world, func(rank int) error {
			_, err := all[rank].Broadcast(context.Background(), "b", 1, make([]byte, 3<<20))
			return err
		})
		e.closeAll(all)
	}},
}
