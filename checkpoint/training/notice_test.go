//go:build unix

package training_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// A notice makes the next step one that is saved; steps that are not are told
// with the reason.
func TestPreemption(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	file := filepath.Join(t.TempDir(), "preempted")
	var declined []string
	c, err := training.Open(ctx, dir, &training.Options{
		Save:      training.AnySave{training.FixedInterval{Steps: 10}, training.Preemption{}},
		Preempted: training.AnyNotice{training.FileNotice(file)},
		OnEvent: func(e training.Event) {
			if e.Kind == training.Declined {
				declined = append(declined, e.Name+": "+e.Reason)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	save := func(step int64) bool {
		saved, err := c.Save(ctx, step, map[string]any{"w": []float32{1}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	if !save(0) || save(1) {
		t.Error("without a notice")
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if ok, reason := c.ShouldSave(2); !ok || reason != "preemption was signalled" {
		t.Errorf("with a notice: %v, %s", ok, reason)
	}
	if !save(2) {
		t.Error("step 2 was not saved")
	}
	if want := []string{"1: not a multiple of 10; no preemption was signalled"}; !slices.Equal(declined, want) {
		t.Errorf("declined: %q, want %q", declined, want)
	}
}

func TestSignalNotice(t *testing.T) {
	n := training.NotifySignals(syscall.SIGUSR1)
	defer n.Stop()
	if n.Preempted() {
		t.Fatal("before the signal")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !n.Preempted(); {
		if time.Now().After(end) {
			t.Fatal("the signal was not seen")
		}
	}
	if !n.Preempted() {
		t.Error("the notice did not stay")
	}
}

// A dry run says what the next commit would find, and removes nothing.
func TestRetention(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	open := func(p training.PreservationPolicy) *training.Checkpointer {
		c, err := training.Open(ctx, dir, &training.Options{Save: training.FixedInterval{Steps: 1}, Preserve: p,
			NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	all := open(nil)
	for step := range int64(5) {
		if _, err := all.Save(ctx, step, map[string]any{"w": []float32{1}},
			&training.SaveOptions{Metrics: map[string]float64{"loss": float64(step)}}); err != nil {
			t.Fatal(err)
		}
	}
	c := open(training.AnyPreservation{training.EveryNSteps{Interval: 2, Max: 2}, training.CustomSteps{1, 2},
		training.BestN{Value: func(in training.Info) (float64, bool) { return -in.Metrics["loss"], true }, N: 1}})
	want := []string{"BestN", `CustomSteps{"steps":[1,2]}`,
		`EveryNSteps{"interval_steps":2,"max_to_keep":2}, CustomSteps{"steps":[1,2]}`, "",
		`EveryNSteps{"interval_steps":2,"max_to_keep":2}`}
	for i, r := range c.Retention() {
		if r.Step != int64(i) || r.Keep != (want[i] != "") || r.Reason != want[i] {
			t.Errorf("step %d: got %v %q, want %q", r.Step, r.Keep, r.Reason, want[i])
		}
	}
	if none := open(training.LatestN{N: 0}).Retention(); none[0].Keep || !none[4].Keep || none[4].Reason != "the newest" {
		t.Errorf("of no policy: %v", none)
	}
	if n := len(c.Checkpoints()); n != 5 {
		t.Errorf("%d checkpoints are left", n)
	}
}

// A directory that changed its format is read in both, written in the new one,
// and a step that is overwritten keeps its name.
func TestCompositeNamesOfDirectory(t *testing.T) {
	ctx, dir, prefix := context.Background(), t.TempDir(), "step"
	state := map[string]any{"w": []float32{1}}
	save := func(names training.NameFormat, step int64, o *training.SaveOptions) {
		c, err := training.Open(ctx, dir, &training.Options{Names: names, Save: training.FixedInterval{Steps: 1}})
		if err == nil {
			_, err = c.Save(ctx, step, state, o)
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	written := training.StandardNames{Prefix: &prefix}
	both := training.CompositeNames{Write: written, Read: []training.NameFormat{written, training.StandardNames{}}}
	save(nil, 1, nil)
	save(nil, 2, nil)
	save(both, 3, nil)
	save(both, 2, &training.SaveOptions{Overwrite: true})
	save(written, 1, &training.SaveOptions{Force: true})
	var others []string
	c, err := training.Open(ctx, dir, &training.Options{Names: both,
		OnEvent: func(e training.Event) { others = append(others, e.Kind.String()+" "+e.Name) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for _, in := range c.Checkpoints() {
		got = append(got, in.Directory)
	}
	if want := []string{"step_1", "2", "step_3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"skipped 1"}; !slices.Equal(others, want) {
		t.Errorf("told %q, want %q", others, want)
	}
}
