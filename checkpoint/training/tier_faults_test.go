package training_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

var errSour = errors.New("a fault of the test")

// sour is a store one of whose calls fails, once.
type sour struct {
	store.Store
	mu   sync.Mutex
	left int // calls until then; 0 is never
	what string
}

func (s *sour) arm(left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.what = left, ""
}

func (s *sour) happened() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.what
}

func (s *sour) hit(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return nil
	}
	if s.left--; s.left > 0 {
		return nil
	}
	s.what = what
	return &errs.Error{Kind: errs.IO, Op: what, Err: errSour}
}

func (s *sour) Open(ctx context.Context, name string) (store.Reader, error) {
	if err := s.hit("Open " + name); err != nil {
		return nil, err
	}
	r, err := s.Store.Open(ctx, name)
	return sourReader{r, s, name}, err
}

type sourReader struct {
	store.Reader
	s    *sour
	name string
}

func (r sourReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := r.s.hit("ReadAt " + r.name); err != nil {
		return err
	}
	return r.Reader.ReadAt(ctx, p, off)
}

func (s *sour) Stat(ctx context.Context, name string) (store.Info, error) {
	if err := s.hit("Stat " + name); err != nil {
		return store.Info{}, err
	}
	return s.Store.Stat(ctx, name)
}

func (s *sour) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := s.hit("List " + dir); err != nil {
			yield(store.Info{}, err)
			return
		}
		s.Store.List(ctx, dir)(yield)
	}
}

func (s *sour) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	if err := s.hit("Put " + name); err != nil {
		return err
	}
	return s.Store.Put(ctx, name, b, o)
}

func (s *sour) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	if err := s.hit("Begin " + final); err != nil {
		return nil, err
	}
	return s.Store.Begin(ctx, final, o)
}

func (s *sour) Hide(ctx context.Context, name string) (func() error, error) {
	if err := s.hit("Hide " + name); err != nil {
		return nil, err
	}
	free, err := store.Hide(ctx, s.Store, name)
	if free == nil {
		return nil, err
	}
	return func() error { return errors.Join(s.hit("free "+name), free()) }, err
}

func (s *sour) CleanStaging(ctx context.Context, dir string, keep func(store.Info) bool) ([]string, error) {
	if err := s.hit("CleanStaging " + dir); err != nil {
		return nil, err
	}
	return s.Store.CleanStaging(ctx, dir, keep)
}

func (s *sour) Lock(ctx context.Context, dir string) (io.Closer, error) {
	if err := s.hit("Lock " + dir); err != nil {
		return nil, err
	}
	l, err := s.Store.(store.Locker).Lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	return sourLock{l.(store.HeldLock), s}, nil
}

type sourLock struct {
	store.HeldLock
	s *sour
}

func (l sourLock) Check(ctx context.Context) error {
	if err := l.s.hit("Check"); err != nil {
		return err
	}
	return l.HeldLock.Check(ctx)
}

// Each call of the disk or the bucket fails once while steps are copied. The failure is told, the
// copy is tried again, and at the end the bucket has what it should have, signed.
func TestEachCallOfACopyFailsOnce(t *testing.T) {
	for name, c := range map[string]struct{ far, unknown, overwrite bool }{
		"disk": {}, "bucket": {far: true}, "bucket that was away": {far: true, unknown: true},
		"disk, step overwritten": {overwrite: true}, "bucket, step overwritten": {far: true, overwrite: true},
	} {
		t.Run(name, func(t *testing.T) {
			calls := map[string]bool{}
			for left := 1; ; left++ {
				if testing.Short() && left%3 != 1 {
					continue
				}
				done := false
				inBubble(t, func(t *testing.T) {
					server, net := simulated.NewServer(0, simulated.Lies{}), &network{}
					near := &sour{Store: local.New(vfstest.NewMem(), "/run", nil)}
					far := &sour{Store: object.New(server.Bucket(net.fate), "", object.Options{Deadline: 10 * time.Second})}
					key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
					options := func(o *training.Options) {
						o.Store, o.Tiers[0].Store = near, far
						o.Custom = map[string]any{"a": 1}
						o.Bivouac.Signing = key
						o.Tiers[0].Preserve = training.LatestN{N: 1}
					}
					first := mustBoot(t, nil, server, net, options)
					first.save(t, 1)
					if err := first.Close(); err != nil {
						t.Fatal(err)
					}
					net.set(c.unknown)
					a := mustBoot(t, nil, server, net, options)
					if c.overwrite {
						a.save(t, 2, 3)
						settled(t, a)
						net.set(true)
						_, err := a.SaveCheckpointables(t.Context(), 3, map[string]any{"state": model(3), "data": position(3),
							"more": model(4)}, &training.SaveOptions{Force: true, Overwrite: true})
						if err != nil {
							t.Fatal(err)
						}
					} else {
						net.set(true)
						a.save(t, 2, 3)
					}
					time.Sleep(15500 * time.Millisecond) // between two tries, which come after whole seconds
					net.set(false)
					armed := near
					if c.far {
						armed = far
					}
					before := len(a.has(training.UploadFailed))
					armed.arm(left)
					settled(t, a)
					time.Sleep(time.Minute)
					what := armed.happened()
					armed.arm(0)
					done = what == ""
					told := func(e training.Event) bool { return errors.Is(e.Err, errSour) }
					if !done && !slices.ContainsFunc(a.has(training.UploadFailed)[before:], told) &&
						!slices.ContainsFunc(a.has(training.TierFailed), told) && !slices.ContainsFunc(a.has(training.Unfreed), told) {
						t.Errorf("call %d, %s, failed, and nobody says so", left, what)
					}
					if done && len(a.has(training.UploadFailed)[before:]) > 1 {
						t.Errorf("without a fault: %+v", a.has(training.UploadFailed)[before:])
					}
					if !done {
						calls[what] = true
					}
					if got := eventSteps(a.has(training.Uploaded)); !slices.Contains(got, 3) {
						t.Errorf("call %d, %s, failed: copied %v", left, what, got)
					}
					if err := a.Close(); err != nil {
						t.Errorf("call %d, %s, failed: %v", left, what, err)
					}
					next := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
						o.Bivouac.Signing = key
						o.Tiers[0].Preserve = training.LatestN{N: 1}
					})
					if last, _ := next.Latest(); last.Step != 3 {
						t.Errorf("call %d, %s, failed: the newest step is %d", left, what, last.Step)
					}
					if err := equals(t.Context(), next.Checkpointer, 3); err != nil {
						t.Errorf("call %d, %s, failed: %v", left, what, err)
					}
					items, err := next.LoadCheckpointables(t.Context(), 3, nil)
					if err != nil || (items["more"] != nil) != c.overwrite {
						t.Errorf("call %d, %s, failed: %v, %v", left, what, items, err)
					}
					if raw, err := next.RootMetadata(t.Context()); err != nil || string(raw) != `{"a":1}` {
						t.Errorf("call %d, %s, failed: %s, %v", left, what, raw, err)
					}
					if err := next.Close(); err != nil {
						t.Error(err)
					}
					if got := next.tier().Steps; !slices.Equal(got, []int64{3}) {
						t.Errorf("call %d, %s, failed: the bucket has %v", left, what, got)
					}
				})
				if done || t.Failed() {
					break
				}
			}
			t.Logf("%d different calls", len(calls))
			if len(calls) < 3 {
				t.Errorf("only %v failed", calls)
			}
		})
	}
}

// deaf is a store that says nothing of why a call was ended. Its first transaction waits for that.
type deaf struct {
	store.Store
	once sync.Once
}

func (d *deaf) Begin(ctx context.Context, final string, o store.TxnOptions) (txn store.Txn, err error) {
	d.once.Do(func() {
		<-ctx.Done()
		err = errors.New("interrupted")
	})
	if err != nil {
		return nil, err
	}
	return d.Store.Begin(ctx, final, o)
}

// A copy is given up for the newest step, whatever the store makes of it.
func TestNewestStepComesFirstOnAnyStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Tiers[0].Store = &deaf{Store: o.Tiers[0].Store}
		})
		a.save(t, 10)
		time.Sleep(time.Second)
		a.save(t, 11)
		if err := a.Drain(t.Context(), &training.DrainOptions{Newest: true}); err != nil {
			t.Error(err)
		}
		if got := eventSteps(a.has(training.Uploaded)); !slices.Equal(got, []int64{11, 10}) {
			t.Errorf("copied in the order %v", got)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// unpinnable is a store whose first pins fail.
type unpinnable struct {
	store.Store
	s *sour
}

func (u unpinnable) Pin(ctx context.Context, name string) (store.Pinned, error) {
	if err := u.s.hit("Pin"); err != nil {
		return nil, err
	}
	return store.Pin(ctx, u.Store, name)
}

// A step that cannot be held is not copied, and not given up either.
func TestStepThatCannotBeHeld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, pins := simulated.NewServer(0, simulated.Lies{}), &sour{}
		net := &network{}
		a := mustBoot(t, nil, server, net, func(o *training.Options) {
			o.Store = unpinnable{local.New(vfstest.NewMem(), "/run", nil), pins}
		})
		net.set(true)
		a.save(t, 1)
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		before := len(a.has(training.UploadFailed))
		pins.arm(1)
		net.set(false)
		settled(t, a)
		if e := a.has(training.UploadFailed)[before:]; pins.happened() == "" || !slices.ContainsFunc(e,
			func(e training.Event) bool { return errors.Is(e.Err, errSour) }) {
			t.Errorf("%+v", e)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1)
	})
}

// Each call of the bucket, or of the disk, fails once while a run is opened. With steps on the disk
// the run is opened, or it says why not; with an empty disk it is not opened. No step counts as
// damaged because of it.
func TestEachCallOfOpenFailsOnce(t *testing.T) {
	for _, where := range []string{"bucket", "bucket, empty disk", "disk"} {
		empty := where == "bucket, empty disk"
		failed := 0
		for left := 1; ; left++ {
			done := false
			inBubble(t, func(t *testing.T) {
				server, disk := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem()
				a := mustBoot(t, disk, server, &network{}, nil)
				a.save(t, 1, 2)
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
				if empty {
					disk = vfstest.NewMem()
				}
				far := &sour{Store: object.New(server.Bucket(nil), "", object.Options{}), left: left}
				m, err := boot(disk, server, &network{}, func(o *training.Options) {
					if where != "disk" {
						o.Tiers[0].Store = far
						return
					}
					far.Store = o.Store
					o.Store = far
				})
				what := far.happened()
				far.arm(0)
				done = what == ""
				if err != nil && (!errors.Is(err, errSour) || done) || err == nil && empty && !done {
					t.Errorf("empty %v, call %d, %s, failed: %v", empty, left, what, err)
				}
				if err != nil {
					failed++
					return
				}
				if e := m.has(training.Skipped); len(e) > 0 {
					t.Errorf("empty %v, call %d, %s, failed: %+v", empty, left, what, e)
				}
				if last, _ := m.Latest(); last.Step != 2 {
					t.Errorf("empty %v, call %d, %s, failed: the newest step is %d", empty, left, what, last.Step)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				bucketHolds(t, server, 1, 2)
			})
			if done || t.Failed() {
				break
			}
		}
		if empty && failed == 0 {
			t.Error("nothing failed")
		}
	}
}

// While another process copies to a tier, nothing of the tier is deleted, set aside or moved.
func TestChangesOfATierNeedItsLock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1, 2)
		settled(t, a)
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		if _, err := b.Delete(t.Context(), 2, nil); !says(err, errs.Busy, bucketName) {
			t.Errorf("delete: %v", err)
		}
		if err := b.Quarantine(t.Context(), 2, errors.New("a test")); !says(err, errs.Busy, bucketName) {
			t.Errorf("quarantine: %v", err)
		}
		b.takeFailures(t)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := boot(vfstest.NewMem(), server, &network{}, func(o *training.Options) { o.StartFresh = true }); !says(err,
			errs.Busy, bucketName) {
			t.Errorf("a fresh start: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// A tier that was away when the run was opened stays unknown until it was listed.
func TestUnknownTierStaysUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, disk, net := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem(), &network{}
		a := mustBoot(t, disk, server, net, nil)
		a.save(t, 1)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		net.set(true)
		b := mustBoot(t, disk, server, net, func(o *training.Options) { o.Clean = false })
		if err := b.Reload(t.Context()); err != nil || b.tier().Known || b.tier().Err == nil {
			t.Errorf("%v, %+v", err, b.tier())
		}
		net.set(false)
		if err := b.Reload(t.Context()); err != nil || !b.tier().Known || b.tier().Err != nil {
			t.Errorf("%v, %+v", err, b.tier())
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A copy that is given up for a newer step is no failure, also in the middle of a request.
func TestAbandonedCopyIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, net := simulated.NewServer(0, simulated.Lies{}), &network{}
		a := mustBoot(t, vfstest.NewMem(), server, net, func(o *training.Options) {
			o.Tiers[0].Save = training.FixedInterval{Steps: 10}
			o.Tiers[0].Store = object.New(server.Bucket(net.fate), "", object.Options{})
		})
		net.mu.Lock()
		net.delay = 5 * time.Second // longer than what comes before the drain
		net.mu.Unlock()
		a.save(t, 10)
		time.Sleep(12 * time.Second)
		a.save(t, 11)
		if err := a.Drain(t.Context(), &training.DrainOptions{Newest: true}); err != nil {
			t.Fatal(err)
		}
		if got := eventSteps(a.has(training.Uploaded)); !slices.Equal(got, []int64{11, 10}) {
			t.Errorf("copied in the order %v", got)
		}
		if e := a.has(training.UploadFailed); len(e) != 0 {
			t.Errorf("%+v", e)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
