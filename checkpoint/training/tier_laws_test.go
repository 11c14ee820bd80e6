package training_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// inBucket returns the steps that the bucket has now, after it has checked that each is whole.
// Nothing else may have the name of a step.
func inBucket(t *testing.T, server *simulated.Server) []int64 {
	t.Helper()
	st := object.New(server.Bucket(nil), "", object.Options{})
	c, err := training.Open(t.Context(), "run", &training.Options{Store: st,
		OnEvent: func(e training.Event) { t.Errorf("in the bucket: %s, step %d: %v", e.Kind, e.Step, e.Err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, n := range c.Steps() {
		if err := equals(t.Context(), c, n); err != nil {
			t.Error(err)
		}
	}
	return c.Steps()
}

// The process is cut off at each request of a copy in turn. What the bucket shows is whole, what
// was acknowledged is there, and the next process of the same disk brings the rest, also what the
// first had begun.
func TestCopyInterruptedAtEachRequest(t *testing.T) {
	resumed := 0
	for left := 1; ; left++ {
		if testing.Short() && left%7 != 1 {
			continue
		}
		done := false
		inBubble(t, func(t *testing.T) {
			server, disk := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem()
			net := &network{}
			a := mustBoot(t, disk, server, net, func(o *training.Options) {
				o.Uploads.Patience = -1
				o.Tiers[0].Preserve = training.LatestN{N: 2}
			})
			a.save(t, 1)
			settled(t, a)
			net.mu.Lock()
			net.left = left
			net.mu.Unlock()
			a.save(t, 2, 3, 4)
			time.Sleep(30 * time.Second)
			done = !func() bool { net.mu.Lock(); defer net.mu.Unlock(); return net.cut }()
			acked := eventSteps(a.has(training.Uploaded))
			a.Close() //nolint:errcheck // it was cut off
			time.Sleep(time.Hour)
			there := inBucket(t, server)
			if newest := slices.Max(acked); !slices.Contains(there, newest) {
				t.Errorf("cut at request %d: %v were acknowledged, and %v are there", left, acked, there)
			}
			b := mustBoot(t, disk, server, &network{}, func(o *training.Options) {
				o.Tiers[0].Preserve = training.LatestN{N: 2}
			})
			settled(t, b)
			if err := b.Close(); err != nil {
				t.Errorf("cut at request %d: %v", left, err)
			}
			if got := inBucket(t, server); !slices.Equal(got, []int64{3, 4}) {
				t.Errorf("cut at request %d: at the end the bucket has %v", left, got)
			}
			if len(b.has(training.Uploaded)) > 0 {
				resumed++
			}
		})
		if done || t.Failed() {
			t.Logf("%d requests, %d copies were brought by the next process", left, resumed)
			break
		}
	}
	if resumed == 0 {
		t.Error("no process had anything to bring")
	}
}

// Power loss at every operation of a save and its copy to a tier on the same file system: what both
// directories show is whole, and what was acknowledged survives in each.
func TestPowerLossWithATier(t *testing.T) {
	work := func(fsys vfs.FS, ack func(string)) error {
		c, err := openOn(fsys, training.Options{Clean: true, Tiers: []training.Tier{{Directory: "", Name: "far",
			Store: local.New(fsys, "/far", nil), Preserve: training.LatestN{N: keep}}},
			OnEvent: func(e training.Event) {
				switch e.Kind {
				case training.SaveCommitted:
					ack(strconv.FormatInt(e.Step, 10))
				case training.Uploaded:
					ack("far " + strconv.FormatInt(e.Step, 10))
				}
			}})
		if err != nil {
			return err
		}
		r, err := c.SaveCheckpointablesAsync(context.Background(), 30,
			map[string]any{"state": model(30), "data": position(30)}, &training.SaveOptions{Force: true})
		if err == nil {
			_, err = r.Result(context.Background())
		}
		return errors.Join(err, c.Close())
	}
	check := func(fsys vfs.FS, acked []string) error {
		var near, far []string
		for _, s := range acked {
			if len(s) > 4 {
				far = append(far, s[4:])
			} else {
				near = append(near, s)
			}
		}
		if err := survived(10, 20)(fsys, near); err != nil {
			return err
		}
		var torn error
		c, err := training.Open(context.Background(), "", &training.Options{Store: local.New(fsys, "/far", nil),
			OnEvent: func(e training.Event) { torn = fmt.Errorf("far: %s, step %d: %w", e.Kind, e.Step, e.Err) }})
		if err = errors.Join(err, torn); err != nil {
			return err
		}
		defer c.Close()
		for _, n := range c.Steps() {
			if err := equals(context.Background(), c, n); err != nil {
				return fmt.Errorf("far: %w", err)
			}
		}
		for _, s := range far {
			if n, _ := strconv.ParseInt(s, 10, 64); n == 30 && !slices.Contains(c.Steps(), n) {
				return fmt.Errorf("far: step %s was acknowledged and is gone: %v", s, c.Steps())
			}
		}
		return nil
	}
	o := &crash.Options{Setup: prepared(10, 20), Limit: sampling, Samples: 24}
	if os.Getenv("BIVOUAC_LONG") != "" {
		o.Limit = 1 << 12
	}
	report, err := crash.Run(work, check, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

// Machines follow each other over a network with faults, each cut off at some request. Each goes on
// from the newest step that it finds, on its own disk or an empty one. Whatever happens, the bucket
// shows whole steps only, a step that was acknowledged stays, no machine begins behind one, and the
// last machine, whose network is well, brings everything.
func TestTierHistories(t *testing.T) {
	histories := 200
	if testing.Short() {
		histories = 25
	}
	cut, uploaded := 0, 0
	for seed := range uint64(histories) {
		inBubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			server := simulated.NewServer(0, simulated.Lies{})
			disk, acked, next := vfstest.NewMem(), int64(-1), int64(1)
			for life := range 4 {
				last := life == 3
				net := &network{rng: rand.New(rand.NewPCG(seed, uint64(life))), left: 20 + rng.IntN(400)}
				if last {
					net = &network{}
				}
				if rng.IntN(2) == 0 {
					disk = vfstest.NewMem()
				}
				m, err := boot(disk, server, net, func(o *training.Options) {
					o.Preserve = training.LatestN{N: 2}
					o.Uploads.Patience = -1
					if last {
						o.Uploads.Patience = time.Hour
					}
				})
				if err != nil && !last && errs.KindOf(err) != errs.Mismatch {
					time.Sleep(time.Hour)
					continue // it was cut off
				}
				if errs.KindOf(err) == errs.Mismatch {
					disk = vfstest.NewMem() // its disk has steps that the others never saw
					if m, err = boot(disk, server, &network{}, nil); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				} else if err != nil {
					t.Fatalf("seed %d, life %d: %v", seed, life, err)
				}
				if newest, ok := m.Latest(); ok {
					if err := equals(t.Context(), m.Checkpointer, newest.Step); err != nil && last {
						t.Errorf("seed %d: %v", seed, err)
					}
					next = newest.Step + 1
				}
				if next <= acked {
					t.Errorf("seed %d, life %d: it goes on at step %d, and %d was acknowledged", seed, life, next, acked)
				}
				for range 1 + rng.IntN(3) {
					m.save(t, next)
					next++
					time.Sleep(time.Duration(rng.Int64N(int64(time.Minute))))
				}
				if err := m.Close(); err != nil && last {
					t.Errorf("seed %d: %v", seed, err)
				}
				for _, e := range m.has(training.Uploaded) {
					acked = max(acked, e.Step)
					uploaded++
				}
				if net.cut {
					cut++
				}
				time.Sleep(2 * time.Hour) // late requests, and leases
				if there := inBucket(t, server); acked >= 0 && !slices.Contains(there, acked) {
					t.Errorf("seed %d, life %d: %d was acknowledged, and %v are there", seed, life, acked, there)
				}
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d lives were cut off, %d steps copied", cut, uploaded)
	if cut == 0 || uploaded == 0 {
		t.Error("nothing happened")
	}
}

// Copies keep to their rate by the clock, over all tiers together.
func TestUploadRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, second := simulated.NewServer(0, simulated.Lies{}), simulated.NewServer(0, simulated.Lies{})
		const rate = 1000
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Uploads.Rate = rate
			o.Tiers[0].NoReadBack = true
			o.Tiers = append(o.Tiers, training.Tier{Directory: "run", Name: "second", NoReadBack: true,
				Store: object.New(second.Bucket(nil), "", object.Options{})})
		})
		began := time.Now()
		a.save(t, 1)
		if err := a.Drain(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		took, sent := time.Since(began), int64(0)
		for _, e := range a.has(training.Uploaded) {
			sent += e.Bytes
		}
		want := time.Duration(sent) * time.Second / rate
		if len(a.has(training.Uploaded)) != 2 || took < want-time.Millisecond || took > want+time.Minute {
			t.Errorf("%d bytes took %s, want %s", sent, took, want)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1)
		bucketHolds(t, second, 1)
	})
}

// A tier with 10,000 steps is listed once. A save costs as many requests as with few steps.
func TestTierOfManySteps(t *testing.T) {
	steps := int64(10_000)
	if testing.Short() {
		steps = 1000
	}
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		few := simulated.NewServer(0, simulated.Lies{})
		// All steps but the first share its bytes: a list reads only the names.
		st, b := object.New(server.Bucket(nil), "", object.Options{SkipProbe: true}), server.Bucket(nil)
		txn, err := st.Begin(t.Context(), "run/0", store.TxnOptions{})
		if err == nil {
			err = txn.Commit(t.Context(), store.Blob{Name: "_CHECKPOINT_METADATA", Data: []byte("{}")})
		}
		if err != nil {
			t.Fatal(err)
		}
		keys := server.Keys()
		head := keys[slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, "/heads/0") })]
		doc, _, err := b.Read(t.Context(), head, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n < steps; n++ {
			key := strings.TrimSuffix(head, "0") + strconv.FormatInt(n, 10)
			if _, err := b.Put(t.Context(), key, doc, crc.Sum(doc), object.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		cost := func(server *simulated.Server) (open, save int) {
			net := &network{}
			disk := vfstest.NewMem()
			near := mustBoot(t, disk, server, net, func(o *training.Options) { o.Tiers = nil })
			near.save(t, steps)
			if err := near.Close(); err != nil {
				t.Fatal(err)
			}
			a := mustBoot(t, disk, server, net, func(o *training.Options) {
				o.Tiers[0].Save = training.FixedInterval{Steps: 2}
				o.Tiers[0].Preserve = training.AnyPreservation{training.EveryNSteps{Interval: 1}, training.LatestN{N: 3}}
			})
			settled(t, a)
			open = net.requests()
			a.save(t, steps+2, steps+4)
			settled(t, a)
			save = net.requests() - open
			if got := a.tier().Steps; got[len(got)-1] != steps+4 {
				t.Errorf("the newest step of the bucket is %d", got[len(got)-1])
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			return open, save
		}
		openMany, saveMany := cost(server)
		openFew, saveFew := cost(few)
		t.Logf("%d steps: %d requests to open, %d for two saves; without steps %d and %d", steps, openMany, saveMany,
			openFew, saveFew)
		if openMany > openFew+20 || saveMany > saveFew+20 {
			t.Errorf("with %d steps: %d and %d requests, with few: %d and %d", steps, openMany, saveMany, openFew, saveFew)
		}
	})
}

// Before a machine goes away its newest step comes first, whatever the policy of the tier says. An
// older copy of which most was sent goes on.
func TestDrainBringsTheNewestFirst(t *testing.T) {
	for _, most := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			server := simulated.NewServer(0, simulated.Lies{})
			a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
				o.Tiers[0].Save = training.FixedInterval{Steps: 10}
				o.Tiers[0].NoReadBack = true
				o.Uploads.Rate, o.Uploads.Memory = 100, 1
			})
			a.save(t, 10)
			size := time.Duration(sentBytes(t)) * time.Second / 100
			if most {
				time.Sleep(size * 9 / 10)
			} else {
				time.Sleep(time.Second)
			}
			synctest.Wait()
			a.save(t, 11)
			ctx, cancel := context.WithTimeout(t.Context(), 100*size)
			defer cancel()
			if err := a.Drain(ctx, &training.DrainOptions{Newest: true}); err != nil {
				t.Fatal(err)
			}
			want := []int64{11, 10}
			if most {
				want = []int64{10, 11}
			}
			if got := eventSteps(a.has(training.Uploaded)); !slices.Equal(got, want) {
				t.Errorf("most was sent: %v; copied in the order %v", most, got)
			}
			a.save(t, 12)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			bucketHolds(t, server, 10, 11)
		})
	}
}

// sentBytes returns the bytes of a step of the tests.
func sentBytes(t *testing.T) int64 {
	a := mustBoot(t, vfstest.NewMem(), simulated.NewServer(0, simulated.Lies{}), &network{}, nil)
	a.save(t, 10)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return a.has(training.Uploaded)[0].Bytes
}

// The deadline of a drain holds. What did not fit is named, and the next machine goes on from what
// did.
func TestDrainEndsAtItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) { o.Uploads.Rate = 2000 })
		a.save(t, 1)
		settled(t, a)
		a.save(t, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := a.Drain(ctx, &training.DrainOptions{Newest: true})
		if !says(err, errs.Canceled, "step 2", bucketName) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("it took %s", d)
		}
		e := a.has(training.TierState)
		if len(e) != 1 || e[0].Step != 1 || !says(e[0].Err, errs.Canceled, "step 2") {
			t.Errorf("%+v", e)
		}
		if err := a.Close(); err != nil {
			t.Errorf("Close repeats what Drain returned: %v", err)
		}
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		if last, _ := b.Latest(); last.Step != 1 {
			t.Errorf("the next machine begins at step %d", last.Step)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A preemption notice makes the tier want the step that is committed next.
func TestPreemptedStepIsCopied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, notice := simulated.NewServer(0, simulated.Lies{}), &flag{}
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Preempted = notice
			o.Tiers[0].Save = training.SpecificSteps{1}
		})
		a.save(t, 1, 2)
		notice.set = true
		a.save(t, 3)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 3)
	})
}

type flag struct{ set bool }

func (f *flag) Preempted() bool { return f.set }

// A machine on which the job ran before it went on elsewhere copies none of its old steps.
func TestStaleDiskCopiesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, disk := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem()
		net := &network{}
		a := mustBoot(t, disk, server, net, func(o *training.Options) { o.Uploads.Patience = -1 })
		a.save(t, 1)
		settled(t, a)
		net.set(true)
		a.save(t, 2)
		a.Close()             //nolint:errcheck // it was cut off
		time.Sleep(time.Hour) // until its lock is free
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		b.save(t, 3)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		again := mustBoot(t, disk, server, &network{}, nil)
		if last, _ := again.Latest(); last.Step != 3 {
			t.Errorf("the newest step is %d", last.Step)
		}
		if w := again.tier().Waiting; len(w) != 0 {
			t.Errorf("%v wait to be copied", w)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 3)
	})
}

// Steps of a signed run are signed in the bucket too, and a removed one is missed there.
func TestSignedTier(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		signed := func(o *training.Options) {
			o.Bivouac.Signing = key
			o.Bivouac.Verification = key.Public().(ed25519.PublicKey)
			o.Tiers[0].Save = training.FixedInterval{Steps: 2}
		}
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, signed)
		a.save(t, 1, 2, 3, 4)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, signed)
		if last, _ := b.Latest(); last.Step != 4 {
			t.Errorf("the newest step is %d", last.Step)
		}
		if err := equals(t.Context(), b.Checkpointer, 4); err != nil {
			t.Error(err)
		}
		b.save(t, 6)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		st := object.New(server.Bucket(nil), "", object.Options{})
		if err := st.RemoveTree(t.Context(), "run/6"); err != nil {
			t.Fatal(err)
		}
		if _, err := boot(vfstest.NewMem(), server, &network{}, signed); !says(err, errs.Corrupt, "missing") {
			t.Errorf("step 6 was removed by another program: %v", err)
		}
		stranger := func(o *training.Options) {
			signed(o)
			o.Bivouac.Signing = nil
			other := ed25519.NewKeyFromSeed([]byte("another key with 32 bytes of it."))
			o.Bivouac.Verification = other.Public().(ed25519.PublicKey)
		}
		if _, err := boot(vfstest.NewMem(), server, &network{}, stranger); err == nil {
			t.Error("another key was to have signed the steps, and the run was opened")
		}
	})
}
