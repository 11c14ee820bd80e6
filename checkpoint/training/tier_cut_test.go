package training_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// cutAfter cuts the network at the request with this number from now on; 0 is never.
func (n *network) cutAfter(left int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left = left
}

func (n *network) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

// A call whose requests do not get through returns an error: at whichever request the bucket is
// lost.
func TestCallsThatLoseTheBucketFail(t *testing.T) {
	signed := func(o *training.Options) {
		o.Bivouac.Signing = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	}
	for name, c := range map[string]struct {
		options func(*training.Options)
		empty   bool // on a machine with an empty disk
		call    func(ctx context.Context, m *booted) error
	}{
		"delete": {call: func(ctx context.Context, m *booted) error {
			_, err := m.Delete(ctx, 3, nil)
			return err
		}},
		"delete what only the bucket has": {empty: true, call: func(ctx context.Context, m *booted) error {
			_, err := m.Delete(ctx, 3, nil)
			return err
		}},
		"quarantine": {call: func(ctx context.Context, m *booted) error {
			return m.Quarantine(ctx, 3, errors.New("a test"))
		}},
		"load": {empty: true, call: func(ctx context.Context, m *booted) error { return equals(ctx, m.Checkpointer, 2) }},
		"metadata": {empty: true, call: func(ctx context.Context, m *booted) error {
			_, err := m.Metadata(ctx, training.Latest)
			return err
		}},
		"lease": {empty: true, call: func(ctx context.Context, m *booted) error {
			l, err := m.Lease(ctx, training.Latest)
			if err != nil {
				return err
			}
			if l.Step != 3 {
				return fmt.Errorf("a lease of step %d", l.Step)
			}
			if !m.net.isCut() {
				m.net.cutAfter(0)
			}
			return l.Close()
		}},
		"metadata of the run": {empty: true, call: func(ctx context.Context, m *booted) error {
			raw, err := m.RootMetadata(ctx)
			if err == nil && string(raw) != `{"a":1}` {
				return fmt.Errorf("metadata %s", raw)
			}
			return err
		}},
		"open":        {empty: true},
		"open signed": {empty: true, options: signed},
		"open afresh": {options: func(o *training.Options) { o.StartFresh = true }},
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for left := 1; ; left++ {
				done := false
				inBubble(t, func(t *testing.T) {
					server, disk := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem()
					keyed := c.options != nil && name == "open signed"
					a := mustBoot(t, disk, server, &network{}, func(o *training.Options) {
						o.Custom = map[string]any{"a": 1}
						if keyed {
							signed(o)
						}
					})
					a.save(t, 1, 2, 3)
					if err := a.Close(); err != nil {
						t.Fatal(err)
					}
					if c.empty {
						disk = vfstest.NewMem()
					}
					net := &network{}
					if c.call == nil {
						net.cutAfter(left)
						m, err := boot(disk, server, net, c.options)
						done = !net.isCut()
						if (err == nil) != done {
							t.Errorf("cut at request %d: %v", left, err)
						}
						if err != nil {
							failed++
							return
						}
						net.cutAfter(0)
						if err := m.Close(); err != nil {
							t.Error(err)
						}
						return
					}
					m := mustBoot(t, disk, server, net, c.options)
					net.cutAfter(left)
					err := c.call(t.Context(), m)
					done = !net.isCut()
					if (err == nil) != done {
						t.Errorf("cut at request %d: %v", left, err)
					}
					net.cutAfter(0)
					net.set(false)
					if err != nil {
						failed++
						m.Wait(t.Context()) //nolint:errcheck // the same failure
					}
					if err := m.Close(); err != nil {
						t.Errorf("cut at request %d: Close: %v", left, err)
					}
				})
				if t.Failed() || done {
					break
				}
			}
			if failed == 0 {
				t.Error("it sends no request")
			}
		})
	}
}

// A reader sees what another process has copied when it lists again. What it knew stays if the
// bucket does not answer.
func TestReloadOfTiers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, net := simulated.NewServer(0, simulated.Lies{}), &network{}
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1)
		settled(t, a)
		reader := mustBoot(t, vfstest.NewMem(), server, net, func(o *training.Options) { o.Clean = false })
		a.save(t, 2)
		settled(t, a)
		if !slices.Equal(reader.Steps(), []int64{1}) {
			t.Errorf("before: %v", reader.Steps())
		}
		net.set(true)
		if err := reader.Reload(t.Context()); err != nil {
			t.Error(err)
		}
		if e := reader.has(training.TierFailed); len(e) != 1 || !slices.Equal(reader.Steps(), []int64{1}) {
			t.Errorf("%+v, %v", e, reader.Steps())
		}
		net.set(false)
		if err := reader.Reload(t.Context()); err != nil || !slices.Equal(reader.Steps(), []int64{1, 2}) {
			t.Errorf("after: %v, %v", reader.Steps(), err)
		}
		if err := equals(t.Context(), reader.Checkpointer, 2); err != nil {
			t.Error(err)
		}
		if err := reader.Close(); err != nil || len(reader.has(training.TierState)) != 0 {
			t.Errorf("a reader copied: %v, %+v", err, reader.has(training.TierState))
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A reader that opened its run while the bucket was away compares the bucket with its disk when it
// answers. So does the process that copies.
func TestDisagreementIsFoundLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, disk, net := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem(), &network{}
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1, 2)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		other := mustBoot(t, disk, server, net, func(o *training.Options) { o.Tiers = nil })
		other.save(t, 2)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		net.set(true)
		reader := mustBoot(t, disk, server, net, func(o *training.Options) { o.Clean = false })
		writer := mustBoot(t, disk, server, net, nil)
		net.set(false)
		if err := reader.Reload(t.Context()); !says(err, errs.Mismatch, bucketName, "step 2") {
			t.Errorf("the reader: %v", err)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		writer.save(t, 3)
		time.Sleep(time.Minute)
		if e := writer.has(training.GivenUp); len(e) != 1 || !says(e[0].Err, errs.Mismatch, bucketName, "step 2") {
			t.Errorf("%+v", e)
		}
		if err := writer.Close(); !says(err, errs.Mismatch, bucketName) {
			t.Errorf("the writer: %v", err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// Two further tiers of two jobs are found out on an empty disk, too.
func TestFurtherTiersThatDisagree(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var servers []*simulated.Server
		for range 2 {
			server := simulated.NewServer(0, simulated.Lies{})
			a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
			a.save(t, 1)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			servers = append(servers, server)
		}
		if _, err := boot(vfstest.NewMem(), servers[0], &network{}, func(o *training.Options) {
			o.Tiers = append(o.Tiers, training.Tier{Directory: "run", Name: "second",
				Store: object.New(servers[1].Bucket(nil), "", object.Options{})})
		}); !says(err, errs.Mismatch, bucketName, "second", "step 1") {
			t.Errorf("%v", err)
		}
	})
}

// A tier must not lie in a checkpoint, and a step of a newer version stops the run.
func TestTiersOfAnotherKind(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		st := object.New(server.Bucket(nil), "", object.Options{})
		if err := checkpoint.Save(t.Context(), "run", model(1), &checkpoint.SaveOptions{Store: st}); err != nil {
			t.Fatal(err)
		}
		if _, err := boot(vfstest.NewMem(), server, &network{}, nil); !says(err, errs.Invalid, "checkpoint") {
			t.Errorf("a tier that is a checkpoint: %v", err)
		}
	})
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		st := object.New(server.Bucket(nil), "", object.Options{})
		txn, err := st.Begin(t.Context(), "run/2", store.TxnOptions{})
		if err == nil {
			err = txn.Commit(t.Context(), store.Blob{Name: "bivouac.manifest", Data: newerManifest},
				store.Blob{Name: "_CHECKPOINT_METADATA", Data: []byte(`{"item_handlers": {}, "metrics": {}}`)})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := boot(vfstest.NewMem(), server, &network{}, nil); !says(err, errs.Unsupported, bucketName) {
			t.Errorf("a step of a newer version: %v", err)
		}
	})
}

// A leftover of a cut copy goes when the next process copies.
func TestLeftoversInATierGo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, disk, net := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem(), &network{}
		a := mustBoot(t, disk, server, net, func(o *training.Options) { o.Uploads.Patience = -1 })
		a.save(t, 1)
		settled(t, a)
		net.cutAfter(25)
		a.save(t, 2)
		time.Sleep(time.Minute)
		a.Close() //nolint:errcheck // it was cut off
		time.Sleep(25 * time.Hour)
		b := mustBoot(t, disk, server, &network{}, nil)
		settled(t, b)
		if e := b.has(training.Cleaned); len(e) != 1 || e[0].Tier != bucketName {
			t.Errorf("%+v", e)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// newerManifest is a manifest of a version that does not exist yet.
var newerManifest = func() []byte {
	body := []byte("bivouac.manifest 99\n")
	return fmt.Appendf(body, "end %08x\n", crc.Sum(body))
}()
