//go:build unix

package bivouac_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// behind returns a tier in a bucket whose network may be cut.
func behind(server *simulated.Server, cut *atomic.Bool) []training.Tier {
	b := server.Bucket(func(simulated.Request) simulated.Fate {
		if cut != nil && cut.Load() {
			return simulated.Fate{Err: errors.New("the network is cut")}
		}
		return simulated.Fate{}
	})
	st := object.New(b, "", object.Options{Deadline: 10 * time.Second})
	return []training.Tier{{Directory: "run", Name: "bucket", Store: st}}
}

// heard collects events by kind.
type heard map[bivouac.EventKind][]bivouac.Event

func (h heard) on(e bivouac.Event) { h[e.Kind] = append(h[e.Kind], e) }

// preemptAt trains until a step, sends SIGTERM, and returns what the loop was told.
func preemptAt(t *testing.T, dir string, at int64, o bivouac.Options) (*bivouac.PreemptedError, time.Duration) {
	t.Helper()
	arrived := guard(t)
	m := newModel()
	o.State = &m
	job := opened(t, dir, &counter{Seed: 1}, o)
	var began time.Time
	e := preempted(t, job, &m, func(step int64) {
		if step == at {
			began = time.Now()
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-arrived
			bivouac.AwaitSignal(job)
		}
	})
	took := time.Since(began)
	if err := job.Close(); err != nil {
		t.Errorf("Close repeats what the loop returned: %v", err)
	}
	return e, took
}

// A job that is preempted goes on on another machine, whose disk is empty, as if nothing had
// happened, although the policy of the tier wanted none of its steps.
func TestPreemptedJobGoesOnElsewhere(t *testing.T) {
	guard(t)
	server := simulated.NewServer(0, simulated.Lies{})
	tiers := behind(server, nil)
	tiers[0].Save = training.SpecificSteps{}
	h := heard{}
	e, _ := preemptAt(t, t.TempDir(), 23, bivouac.Options{SaveEvery: 10, Tiers: tiers, OnEvent: h.on})
	if e.Committed != 23 || e.Tiers != nil || e.Err != nil {
		t.Fatalf("%+v", e)
	}
	if up := h[bivouac.Uploaded]; len(up) != 1 || up[0].Step != 23 || up[0].Tier != "bucket" {
		t.Errorf("%+v", up)
	}
	if s := h[bivouac.TierState]; len(s) != 1 || s[0].Step != 23 || s[0].Err != nil {
		t.Errorf("%+v", s)
	}
	h = heard{}
	m, err := run(t, t.TempDir(), 60, bivouac.Options{Tiers: behind(server, nil), OnEvent: h.on})
	if err != nil {
		t.Fatal(err)
	}
	if r := h[bivouac.Resumed]; len(r) != 1 || r[0].Step != 23 {
		t.Errorf("resumed: %+v", r)
	}
	if !same(m, uninterrupted(60)) {
		t.Error("another result")
	}
}

// A loop that ends by itself after SIGTERM leaves the last save to the tiers too.
func TestLoopThatEndsAfterSIGTERM(t *testing.T) {
	arrived := guard(t)
	server := simulated.NewServer(0, simulated.Lies{})
	tiers := behind(server, nil)
	tiers[0].Save = training.SpecificSteps{}
	m := newModel()
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 5, Tiers: tiers})
	for b, err := range job.Steps(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Step() == 10 { // its save is in flight
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-arrived
			bivouac.AwaitSignal(job)
			break
		}
		m.train(b)
	}
	var e *bivouac.PreemptedError
	if err := job.Close(); !errors.As(err, &e) || e.Step != 10 || e.Tiers != nil {
		t.Fatalf("%v", err)
	}
	h := heard{}
	got, err := run(t, t.TempDir(), 30, bivouac.Options{Tiers: behind(server, nil), OnEvent: h.on})
	if err != nil || !same(got, uninterrupted(30)) {
		t.Errorf("another result, or %v", err)
	}
	if r := h[bivouac.Resumed]; len(r) != 1 || r[0].Step != 10 {
		t.Errorf("resumed: %+v", r)
	}
}

// The grace time bounds the copies. The loop says which tier lacks the step, and what it has.
func TestGraceEndsCopies(t *testing.T) {
	guard(t)
	server := simulated.NewServer(0, simulated.Lies{})
	h := heard{}
	e, took := preemptAt(t, t.TempDir(), 7, bivouac.Options{SaveEvery: bivouac.Never, Grace: 300 * time.Millisecond,
		Tiers: behind(server, nil), Uploads: training.Uploads{Rate: 1}, OnEvent: h.on})
	if e.Committed != 7 || e.Err != nil || e.Tiers == nil || !strings.Contains(e.Error(), "step 7 for bucket") ||
		!errors.Is(e, errs.Canceled) {
		t.Fatalf("%v", e)
	}
	if took > 5*time.Second {
		t.Errorf("the loop ended after %s", took)
	}
	if s := h[bivouac.TierState]; len(s) != 1 || s[0].Step != -1 || s[0].Err == nil {
		t.Errorf("%+v", s)
	}
	if p := h[bivouac.Preempted]; len(p) != 1 {
		t.Errorf("%+v", p)
	}
}

// A damaged step on the disk is read from the tier: the job loses no step.
func TestDamagedStepIsReadFromTheTier(t *testing.T) {
	guard(t)
	server, dir := simulated.NewServer(0, simulated.Lies{}), t.TempDir()
	if _, err := run(t, dir, 15, bivouac.Options{Tiers: behind(server, nil)}); err != nil {
		t.Fatal(err)
	}
	flip(t, dataFile(t, filepath.Join(dir, "15")))
	h := heard{}
	m, err := run(t, dir, 40, bivouac.Options{Tiers: behind(server, nil), OnEvent: h.on})
	if err != nil {
		t.Fatal(err)
	}
	if f := h[bivouac.FellBack]; len(f) != 1 || f[0].Step != 15 || f[0].Tier != "bucket" {
		t.Errorf("%+v", f)
	}
	if r := h[bivouac.Resumed]; len(r) != 1 || r[0].Step != 15 {
		t.Errorf("resumed: %+v", r)
	}
	if !same(m, uninterrupted(40)) {
		t.Error("another result")
	}
}

// A job with an empty disk does not begin at step 0 because its bucket does not answer. With steps
// on the disk it goes on.
func TestJobWaitsForItsTier(t *testing.T) {
	guard(t)
	server, dir := simulated.NewServer(0, simulated.Lies{}), t.TempDir()
	if _, err := run(t, dir, 15, bivouac.Options{Tiers: behind(server, nil)}); err != nil {
		t.Fatal(err)
	}
	var cut atomic.Bool
	cut.Store(true)
	m := newModel()
	_, err := bivouac.Open(context.Background(), t.TempDir(), &counter{Seed: 1},
		bivouac.Options{State: &m, Tiers: behind(server, &cut)})
	if err == nil || !strings.Contains(err.Error(), "leave it out of Options.Tiers") || errs.KindOf(err) == errs.Other {
		t.Fatalf("%v", err)
	}
	if !same(m, newModel()) {
		t.Error("the state was changed")
	}
	h := heard{}
	m, err = run(t, dir, 30, bivouac.Options{Tiers: behind(server, &cut), Uploads: training.Uploads{Patience: -1},
		OnEvent: h.on})
	if err == nil || !strings.Contains(err.Error(), "bucket") {
		t.Errorf("nobody says that the bucket lacks the last steps: %v", err)
	}
	if len(h[bivouac.TierFailed]) == 0 || !same(m, uninterrupted(30)) {
		t.Errorf("%+v", h[bivouac.TierFailed])
	}
}
