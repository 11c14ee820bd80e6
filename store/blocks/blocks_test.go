package blocks_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/blocks"
)

// server has one object, and counts requests.
type server struct {
	b        []byte
	requests atomic.Int64
	bytes    atomic.Int64
	wait     time.Duration
	fail     atomic.Pointer[error]
}

func newServer(n int) *server {
	s := &server{b: make([]byte, n)}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range s.b {
		s.b[i] = byte(r.Uint32())
	}
	return s
}

func (s *server) fetch(ctx context.Context, p []byte, off int64) error {
	s.requests.Add(1)
	s.bytes.Add(int64(len(p)))
	if s.wait > 0 {
		select {
		case <-time.After(s.wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := s.fail.Load(); err != nil {
		return *err
	}
	copy(p, s.b[off:])
	return nil
}

func (s *server) object(c *blocks.Cache, tag string) *blocks.Object {
	return c.Object(blocks.Version{URL: "s3://bucket/object", Tag: tag, Size: int64(len(s.b))}, s.fetch)
}

func open(t testing.TB, o blocks.Options) *blocks.Cache {
	t.Helper()
	c, err := blocks.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // the test is over
	return c
}

// check reads n bytes and compares them.
func (s *server) check(t testing.TB, o *blocks.Object, off, n int) {
	t.Helper()
	p := make([]byte, n)
	if err := o.ReadAt(context.Background(), p, int64(off)); err != nil {
		t.Fatalf("%d bytes at %d: %v", n, off, err)
	}
	if !bytes.Equal(p, s.b[off:off+n]) {
		t.Fatalf("%d bytes at %d: other bytes", n, off)
	}
}

// kinds are caches in memory and on disk, roomy and tight.
func kinds(t *testing.T) map[string]blocks.Options {
	return map[string]blocks.Options{
		"memory":       {Block: 1000},
		"tight memory": {Block: 1000, Size: 3000},
		"one byte":     {Block: 1000, Size: 1},
		"disk":         {Block: 1000, Dir: t.TempDir()},
		"tight disk":   {Block: 1000, Size: 5000, Dir: t.TempDir()},
		"no room":      {Block: 1000, Size: 100, Dir: t.TempDir()},
	}
}

// TestReads reads every kind of range from every kind of cache.
func TestReads(t *testing.T) {
	for name, o := range kinds(t) {
		for _, size := range []int{0, 1, 999, 1000, 1001, 20_500} {
			s := newServer(size)
			x := s.object(open(t, o), name)
			r := rand.New(rand.NewPCG(2, 3))
			for range 60 {
				off := r.IntN(size + 1)
				n := r.IntN(size - off + 1)
				if r.IntN(2) == 0 {
					x.Ahead(int64(off), int64(n))
				}
				s.check(t, x, off, n)
			}
			for _, bad := range [][2]int64{{-1, 1}, {0, int64(size) + 1}, {int64(size), 1}, {1 << 62, 1 << 62}} {
				if bad[1] > 1<<20 {
					bad[1] = 1 << 20
				}
				if err := x.ReadAt(context.Background(), make([]byte, bad[1]), bad[0]); !errors.Is(err, errs.Corrupt) {
					t.Errorf("%s: %d bytes at %d of %d: %v", name, bad[1], bad[0], size, err)
				}
			}
			x.Ahead(-5, 10)
			x.Ahead(int64(size), 10)
		}
	}
}

// TestManyReaders reads at many places at once from tight caches, which drop blocks meanwhile.
func TestManyReaders(t *testing.T) {
	for name, o := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			s := newServer(50_000)
			c := open(t, o)
			other := c
			if o.Dir != "" {
				other = open(t, o) // as another process
			}
			var group sync.WaitGroup
			for g := range 8 {
				group.Go(func() {
					x := s.object(c, name)
					if g%2 == 1 {
						x = s.object(other, name)
					}
					r := rand.New(rand.NewPCG(4, uint64(g)))
					for range 150 {
						off := r.IntN(len(s.b))
						n := r.IntN(min(5000, len(s.b)-off))
						x.Ahead(int64(off), int64(n))
						p := make([]byte, n)
						if err := x.ReadAt(context.Background(), p, int64(off)); err != nil || !bytes.Equal(p, s.b[off:off+n]) {
							t.Errorf("%d bytes at %d: %v", n, off, err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// TestEachBlockIsRequestedOnce reads an object from many goroutines of one process.
func TestEachBlockIsRequestedOnce(t *testing.T) {
	s := newServer(40_000)
	s.wait = time.Millisecond
	x := s.object(open(t, blocks.Options{Block: 1000}), "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for off := 0; off < len(s.b); off += 500 {
				s.check(t, x, off, 500)
			}
		})
	}
	group.Wait()
	if n := s.bytes.Load(); n != int64(len(s.b)) {
		t.Errorf("%d bytes were requested of an object of %d", n, len(s.b))
	}
}

// TestBlocksSideBySideAreOneRequest counts the requests of Ahead, of a long read, and of reads one
// after the other.
func TestBlocksSideBySideAreOneRequest(t *testing.T) {
	const block = 1 << 20
	s := newServer(16 * block)
	x := s.object(open(t, blocks.Options{Block: block}), "ahead")
	x.Ahead(0, 16*block)
	s.check(t, x, 0, 16*block)
	if n := s.requests.Load(); n != 4 {
		t.Errorf("Ahead: %d requests of 16 MiB, want 4 of 4 MiB", n)
	}
	s.requests.Store(0)
	s.check(t, s.object(open(t, blocks.Options{Block: block}), "long"), 100, 15*block)
	if n := s.requests.Load(); n != 4 {
		t.Errorf("a long read: %d requests, want 4", n)
	}
	s = newServer(64 * block / 16)
	x = s.object(open(t, blocks.Options{Block: block / 16}), "pieces")
	for off := 0; off < len(s.b); off += block / 64 {
		s.check(t, x, off, block/64)
	}
	if n := s.requests.Load(); n > 12 || s.bytes.Load() != int64(len(s.b)) {
		t.Errorf("64 blocks one after the other: %d requests of %d bytes, want at most 12 of %d", n, s.bytes.Load(), len(s.b))
	}
}

// TestReadsElsewhereRequestNothingMore reads blocks that lie far apart: no other is requested.
func TestReadsElsewhereRequestNothingMore(t *testing.T) {
	s := newServer(100_000)
	x := s.object(open(t, blocks.Options{Block: 1000}), "")
	for _, number := range []int{7, 50, 3, 90, 20} {
		s.check(t, x, 1000*number+10, 100)
	}
	if n := s.bytes.Load(); n != 5000 {
		t.Errorf("%d bytes were requested, want 5 blocks of 1000", n)
	}
}

// TestAheadIsBounded requests more ahead than the cache may hold: half of it is requested, and what
// nobody reads makes room after a while.
func TestAheadIsBounded(t *testing.T) {
	s := newServer(100_000)
	c := open(t, blocks.Options{Block: 1000, Size: 20_000})
	x := s.object(c, "")
	x.Ahead(0, 100_000)
	x.Ahead(0, 100_000)
	s.check(t, x, 0, 1) // behind the requests
	time.Sleep(20 * time.Millisecond)
	if n := s.bytes.Load(); n > 11_000 {
		t.Errorf("%d bytes were requested ahead by a cache of 20000", n)
	}
}

// TestErrors gives each reader the error of a request, and asks again.
func TestErrors(t *testing.T) {
	for name, o := range kinds(t) {
		s := newServer(5000)
		x := s.object(open(t, o), "errors "+name)
		bad := error(&errs.Error{Kind: errs.Permission, Subject: "s3://bucket/object"})
		s.fail.Store(&bad)
		x.Ahead(0, 5000)
		p := make([]byte, 3000)
		if err := x.ReadAt(context.Background(), p, 1); !errors.Is(err, errs.Permission) {
			t.Errorf("%s: %v", name, err)
		}
		s.fail.Store(nil)
		s.check(t, x, 1, 3000)
	}
}

// TestCanceledReads ends a read whose context ends. The request goes on for others.
func TestCanceledReads(t *testing.T) {
	s := newServer(1000)
	s.wait = 50 * time.Millisecond
	x := s.object(open(t, blocks.Options{Block: 1000}), "")
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := x.ReadAt(ctx, make([]byte, 10), 0); !errors.Is(err, errs.Canceled) {
		t.Errorf("%v", err)
	}
	s.check(t, x, 0, 1000)
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestClose ends requests, and refuses reads.
func TestClose(t *testing.T) {
	s := newServer(1000)
	s.wait = time.Hour
	c := open(t, blocks.Options{Block: 100})
	x := s.object(c, "")
	x.Ahead(0, 1000)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	x.Ahead(0, 1000)
	if err := x.ReadAt(context.Background(), make([]byte, 1), 0); !errors.Is(err, errs.Closed) {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []blocks.Options{{Size: -1}, {Block: -1}, {Requests: -1}} {
		if _, err := blocks.Open(o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
