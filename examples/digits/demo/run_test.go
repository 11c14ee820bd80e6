package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// interrupted does the second half of a demonstration with pretended children.
func interrupted(t *testing.T, behaviour string, seed uint64) (*demonstration, *quiet, error) {
	t.Helper()
	o := Options{Dir: t.TempDir(), Command: childOf(behaviour), Seed: seed, Steps: 200, SaveEvery: 10, Kills: 5}.WithDefaults()
	if err := os.Mkdir(filepath.Join(o.Dir, killedDir), 0o777); err != nil {
		t.Fatal(err)
	}
	screen := new(quiet)
	d := &demonstration{options: o, screen: screen, report: Report{Steps: o.Steps, SaveEvery: o.SaveEvery}}
	for step := range o.Steps {
		if err := d.calm.add(calmStep(step + 1)); err != nil {
			t.Fatal(err)
		}
	}
	d.report.Uninterrupted.finish(Event{State: "s"})
	d.report.Uninterrupted.fill(&d.calm, "")
	return d, screen, d.runKilled(context.Background())
}

func TestHonestChildPasses(t *testing.T) {
	for seed := range uint64(3) {
		d, screen, err := interrupted(t, honest, seed)
		if err != nil {
			t.Fatal(err)
		}
		r := &d.report
		// A pretended commit may be over before the kill: whether two were hit is not judged here.
		findings := slices.DeleteFunc(r.Failures, func(f string) bool { return strings.Contains(f, "hit a commit") })
		if len(findings) > 0 {
			t.Errorf("seed %d: %q", seed, findings)
		}
		if len(r.Kills) < 5 || strings.Count(screen.lines.String(), "resumed after step") != len(r.Kills) {
			t.Errorf("seed %d: %d kills, and on the screen\n%s", seed, len(r.Kills), &screen.lines)
		}
		if r.Executed <= r.Steps || r.Executed > r.Bound {
			t.Errorf("seed %d: executed %d steps of %d, at most %d", seed, r.Executed, r.Steps, r.Bound)
		}
	}
}

// A child that does not carry on as it must is found out.
func TestDishonestChildrenFail(t *testing.T) {
	for behaviour, want := range map[string]string{
		forgetful: "began from zero",
		lagging:   "was acknowledged as committed",
	} {
		d, _, err := interrupted(t, behaviour, 1)
		if err != nil {
			t.Errorf("%s: %v", behaviour, err)
			continue
		}
		if !slices.ContainsFunc(d.report.Failures, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%s: findings %q, want %q", behaviour, d.report.Failures, want)
		}
	}
	for behaviour, want := range map[string]error{
		drifting: errs.Mismatch,
		failing:  errs.Corrupt,
	} {
		if _, _, err := interrupted(t, behaviour, 1); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", behaviour, err, want)
		}
	}
	if _, _, err := interrupted(t, silent, 1); err == nil || !strings.Contains(err.Error(), "without a result") {
		t.Errorf("silent: got %v", err)
	}
}

func TestPlanKills(t *testing.T) {
	for seed := range uint64(200) {
		random := rng.NewPhilox(seed, 0, 0)
		const n, steps, every = 5, 100, 10
		kills := planKills(&random, n, steps, every)
		aimed := 0
		for i, k := range kills {
			if k.InCommit {
				aimed++
			}
			if k.At < 2*every || k.At > steps-lead || k.InCommit && k.At > steps-3*every || k.Phase < 0 || k.Phase >= 1 {
				t.Fatalf("seed %d: kill %d is %+v", seed, i, k)
			}
			if i > 0 && !k.InCommit && k.At < kills[i-1].At {
				t.Fatalf("seed %d: kills out of order: %+v", seed, kills)
			}
		}
		if aimed != 2 {
			t.Fatalf("seed %d: %d of %d aimed at commits", seed, aimed, n)
		}
	}
}

func TestLedger(t *testing.T) {
	var l ledger
	for _, step := range []int64{1, 2, 3, 2, 3, 4} {
		if err := l.add(calmStep(step)); err != nil {
			t.Fatal(err)
		}
	}
	if l.executed != 6 || len(l.steps) != 4 {
		t.Errorf("executed %d, %d steps", l.executed, len(l.steps))
	}
	other := calmStep(2)
	other.Pixels = "other"
	for name, e := range map[string]Event{"gap": calmStep(6), "zero": calmStep(0), "another result": other} {
		if err := l.add(e); !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReadEventsDropsATornLine(t *testing.T) {
	var got []int64
	err := readEvents(strings.NewReader("{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\",\"step\":2}\n{\"event\":\"st"), func(e Event) { got = append(got, e.Step) })
	if err != nil || !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := readEvents(strings.NewReader("panic: no\n"), func(Event) {}); err == nil {
		t.Error("a line that is no event passed")
	}
}

func TestJudge(t *testing.T) {
	sound := func() *Report {
		return &Report{Steps: 700, Executed: 800, Uninterrupted: Side{Accuracy: 0.97}, Interrupted: Side{Accuracy: 0.97},
			Kills: []Kill{{Bound: 50, InCommit: true}, {Bound: 60, InCommit: true}}}
	}
	tests := []struct {
		name   string
		break_ func(r *Report)
		want   string
	}{
		{"sound", func(*Report) {}, ""},
		{"too many steps", func(r *Report) { r.Executed = 811 }, "811 steps were executed, at most 810"},
		{"a kill too few", func(r *Report) { r.Kills = r.Kills[:1] }, "1 of 2 kills"},
		{"no commit hit", func(r *Report) { r.Kills[0].InCommit = false }, "1 kills hit a commit"},
		{"other weights", func(r *Report) { r.Interrupted.State = "x" }, "final weights and state differ"},
		{"other losses", func(r *Report) { r.Interrupted.Losses = "x" }, "losses differ"},
		{"other order", func(r *Report) { r.Interrupted.Order = "x" }, "sample order differ"},
		{"no learning", func(r *Report) { r.Uninterrupted.Accuracy, r.Interrupted.Accuracy = 0.9, 0.9 }, "test accuracy is 90.00 %"},
	}
	for _, tt := range tests {
		r := sound()
		tt.break_(r)
		r.judge(2)
		got := strings.Join(r.Failures, "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	for range 2 { // made, and taken over
		if err := claim(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{dataDir, killedDir} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := claim(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, killedDir)); !os.IsNotExist(err) {
		t.Errorf("the training before is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, dataDir)); err != nil {
		t.Errorf("the data set is gone: %v", err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := claim(foreign); !errors.Is(err, errs.Exists) {
		t.Errorf("foreign directory: got %v", err)
	}
	if err := claim(filepath.Join(foreign, "thesis.tex")); err == nil {
		t.Error("a file was taken over")
	}
}
