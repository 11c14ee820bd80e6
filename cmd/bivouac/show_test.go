package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestWatchEqualsOneLook draws a run that is looked at while it goes on, is killed and resumed.
// What is told after many looks equals what one look tells.
func TestWatchEqualsOneLook(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "run")
		st, err := local.Open(filepath.Dir(dir), nil)
		if err != nil {
			rt.Fatal(err)
		}
		g := &global{}
		watching := &teller{dir: dir, g: g}
		from := int64(0)
		for range rapid.IntRange(1, 4).Draw(rt, "attempts") {
			w := journal.New(st, "run", journal.Start{From: from, Steps: 99, SaveEvery: 10, Batch: 4},
				&journal.WriterOptions{Every: -1, SegmentBytes: 500})
			step := from
			for range rapid.IntRange(1, 4).Draw(rt, "looks") {
				for range rapid.IntRange(1, 9).Draw(rt, "steps") {
					step++
					var s journal.Scalars
					_ = s.Set("loss", 1/float64(step))
					_ = s.Set("job/seconds", 0.25)
					w.Step(step, &s)
				}
				w.Save(step, journal.Save{Took: 1})
				w.Event(journal.Event{Name: "pass ended"})
				if err := w.Flush(t.Context()); err != nil {
					rt.Fatal(err)
				}
				many, err := watching.look(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				one, err := (&teller{dir: dir, g: g}).look(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				a, b := text(rt, many), text(rt, one)
				if a != b {
					rt.Fatalf("after many looks:\n%s\nafter one:\n%s", a, b)
				}
				for _, earlier := range one.Attempts[:len(one.Attempts)-1] {
					if earlier.State != "killed" {
						rt.Fatalf("attempt %d is %s", earlier.Attempt, earlier.State)
					}
				}
				if one.Step != step || one.State != stateRunning || one.Rates == nil || one.Rates.Samples != 16 ||
					one.NextSave != (step/10+1)*10 {
					rt.Fatalf("at step %d: %s", step, a)
				}
			}
			if err := w.Close(t.Context()); err != nil {
				rt.Fatal(err)
			}
			from = rapid.Int64Range(from, step).Draw(rt, "resumes from")
		}
	})
}

// text describes a run and its curves.
func text(rt *rapid.T, r *shownRun) string {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		rt.Fatal(err)
	}
	for _, s := range r.Scalars {
		b = append(b, s.curve.String()...)
	}
	return string(b)
}

func TestLockHeldTellsRunningFromKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	st, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if held, _ := lockHeld(dir); held {
		t.Error("held before anybody took it")
	}
	lock, err := st.Lock(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	held, known := lockHeld(dir)
	if runtime.GOOS == "linux" && known && !held {
		t.Error("a lock that is held does not count")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if held, _ := lockHeld(dir); held {
		t.Error("held after Close")
	}
}
