package training_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// Each committed step gets to the bucket. A machine with an empty disk finds the newest one there,
// reads it and goes on.
func TestTierBringsStepsToAnEmptyDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Custom = map[string]any{"a": 1}
		})
		a.save(t, 1, 2, 3)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		up := a.has(training.Uploaded)
		if got := eventSteps(up); len(got) != 3 || !slices.Contains(got, 3) || up[0].Tier != bucketName || up[0].Bytes == 0 {
			t.Errorf("uploaded: %+v", up)
		}
		if e := a.has(training.TierState); len(e) != 1 || e[0].Step != 3 || e[0].Err != nil {
			t.Errorf("the state at the end: %+v", e)
		}
		bucketHolds(t, server, 1, 2, 3)

		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		if last, ok := b.Latest(); !ok || last.Step != 3 || !slices.Equal(b.Steps(), []int64{1, 2, 3}) {
			t.Fatalf("a new machine has %v, latest %+v", b.Steps(), last)
		}
		for _, n := range []int64{1, 3} {
			if err := equals(t.Context(), b.Checkpointer, n); err != nil {
				t.Error(err)
			}
		}
		if raw, err := b.RootMetadata(t.Context()); err != nil || string(raw) != `{"a":1}` {
			t.Errorf("metadata of the run: %s, %v", raw, err)
		}
		if save, reason := b.ShouldSave(3); save {
			t.Errorf("step 3 exists, and would be saved: %s", reason)
		}
		if _, err := b.Save(t.Context(), 3, model(3), &training.SaveOptions{Force: true}); errs.KindOf(err) != errs.Exists {
			t.Errorf("step 3 was saved over the one of the bucket: %v", err)
		}
		b.save(t, 4)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.near(), []int64{4}) {
			t.Errorf("the new disk has %v", b.near())
		}
		bucketHolds(t, server, 1, 2, 3, 4)
	})
}

// Each tier has its own policies.
func TestTierPolicies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Preserve = training.LatestN{N: 3}
			o.Tiers[0].Save = training.FixedInterval{Steps: 2}
			o.Tiers[0].Preserve = training.LatestN{N: 2}
		})
		for n := int64(1); n <= 9; n++ {
			a.save(t, n)
			settled(t, a)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.near(), []int64{7, 8, 9}) || !slices.Equal(a.tier().Steps, []int64{6, 8}) {
			t.Errorf("near %v, bucket %v", a.near(), a.tier().Steps)
		}
		bucketHolds(t, server, 6, 8)
		removed := 0
		for _, e := range a.has(training.Removed) {
			if e.Tier == bucketName {
				removed++
			}
		}
		if removed != 2 {
			t.Errorf("%d steps were removed from the bucket, want 2", removed)
		}
	})
}

// While a step is copied it stays, and so does the newest that waits. The others go as the policy
// of the disk says, with an event, and nothing that was given up is copied.
func TestRetentionWaitsForCopies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, func(o *training.Options) {
			o.Preserve = training.LatestN{N: 1}
			o.Uploads.Rate = 100 // bytes a second: minutes for a step
		})
		a.save(t, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		a.save(t, 2, 3, 4, 5)
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.near(), []int64{1, 5}) {
			t.Errorf("while step 1 is copied, the disk has %v", a.near())
		}
		if w := a.tier().Waiting; !slices.Equal(w, []int64{1, 5}) {
			t.Errorf("waiting: %v", w)
		}
		settled(t, a)
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.near(), []int64{5}) {
			t.Errorf("when all is copied, the disk has %v", a.near())
		}
		if got := eventSteps(a.has(training.Uploaded)); !slices.Equal(got, []int64{1, 5}) {
			t.Errorf("copied: %v", got)
		}
		given := eventSteps(a.has(training.GivenUp))
		slices.Sort(given)
		if !slices.Equal(given, []int64{2, 3, 4}) {
			t.Errorf("given up: %v", given)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 5)
	})
}

// Hold keeps more waiting steps than one on the disk.
func TestHoldKeepsWaitingSteps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		net := &network{}
		a := mustBoot(t, vfstest.NewMem(), server, net, func(o *training.Options) {
			o.Preserve = training.LatestN{N: 1}
			o.Tiers[0].Hold = 3
		})
		net.set(true)
		a.save(t, 1, 2, 3, 4, 5)
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if near := a.near(); len(near) > 4 || !slices.Contains(near, 3) || !slices.Contains(near, 4) {
			t.Errorf("the disk has %v", near)
		}
		net.set(false)
		settled(t, a)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if got := a.tier().Steps; !slices.Contains(got, 3) || !slices.Contains(got, 4) || !slices.Contains(got, 5) {
			t.Errorf("the bucket has %v", got)
		}
		if !slices.Equal(a.near(), []int64{5}) {
			t.Errorf("at the end the disk has %v", a.near())
		}
	})
}

// A bucket that does not answer never fails a save. Copies go on when it answers again.
func TestUnreachableTierFailsNoSave(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, net := simulated.NewServer(0, simulated.Lies{}), &network{}
		a := mustBoot(t, vfstest.NewMem(), server, net, nil)
		net.set(true)
		a.save(t, 1, 2)
		time.Sleep(5 * time.Minute)
		failed := a.has(training.UploadFailed)
		if len(failed) == 0 || failed[0].Err == nil || failed[0].Tier != bucketName || a.tier().Err == nil {
			t.Errorf("no copy failed: %+v, %+v", failed, a.tier())
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Errorf("a failure of the bucket reached the trainer: %v", err)
		}
		net.set(false)
		settled(t, a)
		if a.tier().Err != nil {
			t.Errorf("the last copy failed: %v", a.tier().Err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// At the end, Close says which steps a tier lacks, and does not wait longer than it may.
func TestCloseNamesWhatATierLacks(t *testing.T) {
	for _, patience := range []time.Duration{0, time.Second, -1} {
		inBubble(t, func(t *testing.T) {
			server, net := simulated.NewServer(0, simulated.Lies{}), &network{}
			a := mustBoot(t, vfstest.NewMem(), server, net, func(o *training.Options) { o.Uploads.Patience = patience })
			net.set(true)
			a.save(t, 7)
			began := time.Now()
			err := a.Close()
			if err == nil || !says(err, errs.KindOf(err), bucketName, "step 7", "bivouac sync") {
				t.Errorf("patience %s: %v", patience, err)
			}
			if d := time.Since(began); d > time.Minute || patience < 0 && d > time.Second {
				t.Errorf("patience %s: Close took %s", patience, d)
			}
			e := a.has(training.TierState)
			if len(e) != 1 || e[0].Step != -1 || e[0].Err == nil || e[0].Tier != bucketName {
				t.Errorf("patience %s: %+v", patience, e)
			}
			if err := a.Close(); err != nil {
				t.Errorf("a second Close: %v", err)
			}
		})
	}
}

// missing is a bucket that does not exist.
type missing struct{ object.Bucket }

func (missing) fail() error {
	return &errs.Error{Kind: errs.NotFound, Subject: bucketName, Err: object.ErrNoBucket}
}

func (m missing) Read(context.Context, string, int64) ([]byte, object.Attrs, error) {
	return nil, object.Attrs{}, m.fail()
}

func (m missing) Head(context.Context, string) (object.Attrs, error) { return object.Attrs{}, m.fail() }

func (m missing) List(context.Context, string, bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) { yield(object.Attrs{}, m.fail()) }
}

// A run does not begin from scratch because a tier could not be listed. With a step on the disk it
// goes on, and says so.
func TestUnreachableTierAtOpen(t *testing.T) {
	for _, how := range []string{"cut", "missing"} {
		inBubble(t, func(t *testing.T) {
			server := simulated.NewServer(0, simulated.Lies{})
			disk := vfstest.NewMem()
			a := mustBoot(t, disk, server, &network{}, nil)
			a.save(t, 1)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			away := func(o *training.Options) {
				if how == "missing" {
					o.Tiers[0].Store = object.New(missing{server.Bucket(nil)}, "", object.Options{})
				}
			}
			cut := &network{cut: how == "cut"}
			if _, err := boot(vfstest.NewMem(), server, cut, away); err == nil ||
				!says(err, errs.KindOf(err), bucketName, "leave it out of Options.Tiers") || errs.KindOf(err) == errs.Other {
				t.Errorf("%s, an empty disk: %v", how, err)
			}
			b := mustBoot(t, disk, server, cut, away)
			if e := b.has(training.TierFailed); len(e) != 1 || e[0].Tier != bucketName || e[0].Err == nil || e[0].Step != 1 {
				t.Errorf("%s: %+v", how, e)
			}
			if b.tier().Known || b.tier().Err == nil {
				t.Errorf("%s: %+v", how, b.tier())
			}
			b.save(t, 2)
			if _, err := b.Delete(t.Context(), 1, nil); err == nil {
				t.Errorf("%s: a step was deleted although a tier that may have it was not reached", how)
			}
			cut.set(false)
			if how == "cut" {
				settled(t, b)
			}
			err := b.Close()
			if (err == nil) != (how == "cut") {
				t.Errorf("%s: %v", how, err)
			}
			if _, err := boot(disk, server, &network{cut: true}, func(o *training.Options) {
				away(o)
				o.StartFresh = true
			}); err == nil {
				t.Errorf("%s: a fresh start left the steps of a tier where they are", how)
			}
		})
	}
}

// A damaged copy on the disk is replaced by the copy of the same step, with an event. Where every
// copy is damaged the error says so, and where one cannot be reached it is no damage.
func TestDamagedNearestCopyFallsBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, net, disk := simulated.NewServer(0, simulated.Lies{}), &network{}, vfstest.NewMem()
		a := mustBoot(t, disk, server, net, nil)
		a.save(t, 1, 2)
		settled(t, a)
		flipped(t, disk, "2")
		if err := equals(t.Context(), a.Checkpointer, training.Latest); err == nil {
			t.Fatal("the helper compares with step -1")
		}
		if err := equals(t.Context(), a.Checkpointer, 2); err != nil {
			t.Fatal(err)
		}
		e := a.has(training.FellBack)
		if len(e) == 0 || e[0].Step != 2 || e[0].Tier != bucketName || !says(e[0].Err, errs.Corrupt) {
			t.Errorf("%+v", e)
		}
		net.set(true)
		err := equals(t.Context(), a.Checkpointer, 2)
		if err == nil || says(err, errs.Corrupt) || !says(err, errs.KindOf(err), "make the tier reachable") {
			t.Errorf("the whole copy is not reached: %v", err)
		}
		if err := equals(t.Context(), a.Checkpointer, 1); err != nil {
			t.Errorf("step 1 is whole on the disk: %v", err)
		}
		net.set(false)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A damaged step is not copied. The tier gets it when it is whole.
func TestDamagedStepIsNotCopied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, net, disk := simulated.NewServer(0, simulated.Lies{}), &network{}, vfstest.NewMem()
		a := mustBoot(t, disk, server, net, nil)
		net.set(true)
		a.save(t, 1)
		flipped(t, disk, "1")
		net.set(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if e := a.has(training.GivenUp); len(e) != 1 || e[0].Step != 1 || !says(e[0].Err, errs.Corrupt) {
			t.Errorf("%+v", e)
		}
		a.save(t, 2)
		if err := a.Close(); !says(err, errs.Corrupt, "step 1", bucketName) {
			t.Errorf("Close: %v", err)
		}
		bucketHolds(t, server, 2)
	})
}

// Two jobs with one bucket are found out by a step that both have.
func TestTiersThatDisagree(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1, 2)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		disk := vfstest.NewMem()
		other := mustBoot(t, disk, server, &network{}, func(o *training.Options) { o.Tiers = nil })
		other.save(t, 2, 3)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := boot(disk, server, &network{}, nil); !says(err, errs.Mismatch, bucketName, "step 2") {
			t.Errorf("another job has the bucket: %v", err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// Of two processes that copy to one tier, the second waits, and names the first.
func TestTwoUploaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1)
		settled(t, a)
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		b.save(t, 2)
		time.Sleep(time.Minute)
		e := b.has(training.UploadFailed)
		if len(e) == 0 || !says(e[0].Err, errs.Busy, bucketName, "process") {
			t.Fatalf("%+v", e)
		}
		if err := equals(t.Context(), b.Checkpointer, 1); err != nil {
			t.Errorf("the second process cannot read: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		settled(t, b)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 2)
	})
}

// Deleted, set aside and begun anew: what the disk no longer has is not the newest step of a tier.
func TestChangesReachTheTiers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, disk := simulated.NewServer(0, simulated.Lies{}), vfstest.NewMem()
		a := mustBoot(t, disk, server, &network{}, nil)
		a.save(t, 1, 2, 3, 4)
		settled(t, a)
		if deleted, err := a.Delete(t.Context(), 4, nil); err != nil || !deleted {
			t.Fatal(deleted, err)
		}
		if err := a.Quarantine(t.Context(), 3, fmt.Errorf("a test")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.near(), []int64{1, 2}) || !slices.Equal(a.tier().Steps, []int64{1, 2}) {
			t.Errorf("near %v, bucket %v", a.near(), a.tier().Steps)
		}
		o := &training.SaveOptions{Overwrite: true, Force: true}
		if _, err := a.SaveCheckpointables(t.Context(), 2,
			map[string]any{"state": model(2), "data": position(2), "more": model(2)}, o); err != nil {
			t.Fatal(err)
		}
		settled(t, a)
		if deleted, err := a.Delete(t.Context(), 2, &training.DeleteOptions{Name: "more"}); err != nil || !deleted {
			t.Fatal(deleted, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1, 2)

		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		if _, err := b.Delete(t.Context(), 2, &training.DeleteOptions{Name: "data"}); errs.KindOf(err) != errs.Unsupported {
			t.Errorf("an item of a step that only the bucket has: %v", err)
		}
		if deleted, err := b.Delete(t.Context(), 2, nil); err != nil || !deleted {
			t.Errorf("a step that only the bucket has: %v, %v", deleted, err)
		}
		if _, err := b.Delete(t.Context(), 1, nil); errs.KindOf(err) != errs.Invalid {
			t.Errorf("the last step of all tiers: %v", err)
		}
		b.takeFailures(t)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		fresh := mustBoot(t, disk, server, &network{}, func(o *training.Options) { o.StartFresh = true })
		if len(fresh.Steps()) != 0 {
			t.Errorf("a fresh run has the steps %v", fresh.Steps())
		}
		fresh.save(t, 1)
		if err := fresh.Close(); err != nil {
			t.Fatal(err)
		}
		bucketHolds(t, server, 1)
	})
}

// takeFailures drops failures that the test has seen.
func (m *booted) takeFailures(t *testing.T) {
	t.Helper()
	m.Wait(t.Context()) //nolint:errcheck // see above
}

// The newest step that only a bucket has may be no checkpoint. Then the step before it counts.
func TestTornStepOfATierIsPassedOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{})
		a := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		a.save(t, 1)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		st := object.New(server.Bucket(nil), "", object.Options{})
		if err := st.Put(t.Context(), "run/9/_CHECKPOINT_METADATA", []byte("{"), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		b := mustBoot(t, vfstest.NewMem(), server, &network{}, nil)
		if last, _ := b.Latest(); last.Step != 1 {
			t.Errorf("the newest step is %d", last.Step)
		}
		if e := b.has(training.Skipped); len(e) != 1 || e[0].Step != 9 || e[0].Tier != bucketName {
			t.Errorf("%+v", e)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Options that make no sense are refused before anything is touched.
func TestTierMistakes(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/run", nil)
	for want, o := range map[string]training.Options{
		"Tiers[0].Directory": {Tiers: []training.Tier{{}}},
		"Tiers[1].Hold":      {Tiers: []training.Tier{{Directory: "a"}, {Directory: "b", Hold: -1}}},
		"FixedInterval":      {Tiers: []training.Tier{{Directory: "a", Save: training.FixedInterval{}}}},
		"LatestN":            {Tiers: []training.Tier{{Directory: "a", Preserve: training.LatestN{N: -2}}}},
		"Options.Uploads":    {Uploads: training.Uploads{Rate: -1}},
		"directory of its own": {Tiers: []training.Tier{{Directory: "run", Store: st}},
			Store: st},
		"Options.Tiers[0]: store.FromURL": {Tiers: []training.Tier{{Directory: "gs://bucket/run"}}},
	} {
		if o.Store == nil {
			o.Store = st
		}
		_, err := training.Open(t.Context(), "run", &o)
		if kind := errs.KindOf(err); kind != errs.Invalid && kind != errs.Unsupported || !says(err, kind, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Steps that another program wrote have no manifest. They are copied too, and once. A directory of
// the local file system is a tier like a bucket.
func TestStepsWithoutManifestsAreCopied(t *testing.T) {
	dir, far := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "far")
	from := os.DirFS("../../testdata/orbax/v1-noocdbt-zarr2/checkpoint")
	if err := os.CopyFS(filepath.Join(dir, "5"), from); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		var copied []training.Event
		c, err := training.Open(t.Context(), dir, &training.Options{Clean: true, Tiers: []training.Tier{{Directory: far}},
			OnEvent: func(e training.Event) {
				if e.Kind == training.Uploaded {
					copied = append(copied, e)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if len(copied) != 1-round {
			t.Errorf("round %d: %+v", round, copied)
		}
	}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join(far, "5", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = training.Open(t.Context(), dir, &training.Options{Tiers: []training.Tier{{Directory: dir + "/."}}})
	if !says(err, errs.Invalid, "directory of its own") {
		t.Errorf("the directory of the run as a tier: %v", err)
	}
}

// A step without a manifest is not compared with a copy that has one.
func TestStepWithoutAManifestDisagreesWithNone(t *testing.T) {
	dir, far := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "far")
	from := os.DirFS("../../testdata/orbax/v1-noocdbt-zarr2/checkpoint")
	if err := os.CopyFS(filepath.Join(dir, "5"), from); err != nil {
		t.Fatal(err)
	}
	other, err := training.Open(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Save(t.Context(), 5, model(5), nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := training.Open(t.Context(), dir, &training.Options{Clean: true, Tiers: []training.Tier{{Directory: far}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
