package demo

import (
	"fmt"
	"io"
	"strconv"
)

// Report is what a demonstration found.
type Report struct {
	Seed          uint64   `json:"seed"`
	Steps         int64    `json:"steps"`
	SaveEvery     int64    `json:"save_every"`
	Train         int      `json:"train_samples"`
	Test          int      `json:"test_samples"`
	Saves         int      `json:"saves"`
	PauseMicros   int64    `json:"pause_us"`  // median stop of the trainer for a save
	CommitMicros  int64    `json:"commit_us"` // median time from there to the commit
	Uninterrupted Side     `json:"uninterrupted"`
	Interrupted   Side     `json:"interrupted"`
	Kills         []Kill   `json:"kills"`
	Executed      int64    `json:"executed"` // steps of the interrupted training, those done twice included
	Bound         int64    `json:"bound"`    // what Executed may be at most
	Failures      []string `json:"failures"` // empty when all is as it must be
	Plot          string   `json:"plot"`
	Page          string   `json:"page"`
	Result        string   `json:"result"`
	Seconds       float64  `json:"seconds"`
}

// Side is one of the two trainings, as digests.
type Side struct {
	Order       string  `json:"order"`  // ids of the samples, step by step
	Pixels      string  `json:"pixels"` // the batches after augmentation
	Losses      string  `json:"losses"`
	State       string  `json:"state"` // weights, optimizer, step and random state at the end
	LastLoss    float32 `json:"last_loss"`
	Accuracy    float64 `json:"accuracy"` // on the test digits, from 0 to 1
	Checkpoints string  `json:"checkpoints"`
}

// Kill is one death and what the next child made of it.
type Kill struct {
	Step         int64 `json:"step"`         // last one that was announced
	Acknowledged int64 `json:"acknowledged"` // newest step that was announced as committed
	InCommit     bool  `json:"in_commit"`
	Commit       int64 `json:"commit,omitempty"` // step whose commit was under way
	Resumed      int64 `json:"resumed"`          // step that the next child carried on after
	Lost         int64 `json:"lost"`             // steps that had to be executed again
	Bound        int64 `json:"bound"`            // what Lost may be at most: a save interval, and the steps done during the save in flight
}

// lowestAccuracy is what a sound training reaches, given the default number of steps.
const (
	lowestAccuracy = 0.95
	soundSteps     = 600
)

func (s *Side) finish(e Event) { s.State, s.Accuracy = e.State, e.Accuracy }

func (s *Side) fill(l *ledger, checkpoints string) {
	s.Order, s.Pixels, s.Losses = l.digest(hashOrder), l.digest(hashPixels), l.digest(hashLoss)
	s.Checkpoints = checkpoints
	if n := len(l.steps); n > 0 {
		s.LastLoss = l.steps[n-1].Loss
	}
}

// fail enters a finding that must not be.
func (r *Report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

func (r *Report) inCommit() int {
	n := 0
	for _, k := range r.Kills {
		if k.InCommit {
			n++
		}
	}
	return n
}

// follow enters how the life after the last kill began.
func (r *Report) follow(l life) {
	if len(r.Kills) == 0 {
		return
	}
	n := len(r.Kills)
	k := &r.Kills[n-1]
	k.Resumed, k.Lost = l.resumed, k.Step-l.resumed
	switch {
	case k.Resumed == 0:
		r.fail("after kill %d the training began from zero", n)
	case k.Resumed < k.Acknowledged:
		r.fail("after kill %d it resumed from step %d, but step %d was acknowledged as committed", n, k.Resumed, k.Acknowledged)
	case k.Lost > k.Bound:
		r.fail("kill %d cost %d steps, at most %d are allowed", n, k.Lost, k.Bound)
	}
}

// judge compares the trainings when both are done.
func (r *Report) judge(planned int) {
	r.Bound = r.Steps
	for _, k := range r.Kills {
		r.Bound += k.Bound
	}
	if r.Executed > r.Bound {
		r.fail("%d steps were executed, at most %d are allowed", r.Executed, r.Bound)
	}
	if n := len(r.Kills); n < planned {
		r.fail("%d of %d kills came in time", n, planned)
	}
	if got, want := r.inCommit(), commitKills(planned); got < want {
		r.fail("%d kills hit a commit, %d are wanted", got, want)
	}
	for _, row := range r.rows() {
		if row.a != row.b {
			r.fail("%s differ: %s and %s", row.name, row.a, row.b)
		}
	}
	if a := r.Uninterrupted.Accuracy; r.Steps >= soundSteps && a < lowestAccuracy {
		r.fail("test accuracy is %.2f %%, at least %.0f %% are expected", 100*a, 100*lowestAccuracy)
	}
}

type row struct{ name, a, b string }

// rows are what is printed side by side, and must be equal.
func (r *Report) rows() []row {
	a, b := r.Uninterrupted, r.Interrupted
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) + " %" }
	loss := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
	return []row{
		{"sample order", a.Order, b.Order},
		{"augmented pixels", a.Pixels, b.Pixels},
		{"losses", a.Losses, b.Losses},
		{"final weights and state", a.State, b.State},
		{"last loss", loss(a.LastLoss), loss(b.LastLoss)},
		{"test accuracy", percent(a.Accuracy), percent(b.Accuracy)},
	}
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("\nkill  after step  in commit of  resumed after  steps lost  allowed\n")
	for i, k := range r.Kills {
		commit := "-"
		if k.InCommit {
			commit = strconv.FormatInt(k.Commit, 10)
		}
		p("%4d  %10d  %12s  %13d  %10d  %7d\n", i+1, k.Step, commit, k.Resumed, k.Lost, k.Bound)
	}
	if len(r.Kills) > 0 {
		p("allowed: the steps since the last commit that was acknowledged before the kill; more would be a lost commit\n")
	}
	p("\n%-24s %-34s %-34s\n", "", "uninterrupted", "interrupted")
	for _, row := range r.rows() {
		verdict := "equal"
		if row.a != row.b {
			verdict = "DIFFERENT"
		}
		p("%-24s %-34s %-34s %s\n", row.name, row.a, row.b, verdict)
	}
	p("%-24s %-34d %-34s\n", "steps executed", r.Steps, fmt.Sprintf("%d (at most %d allowed)", r.Executed, r.Bound))
	p("\n%d saves: the trainer stood still for %.2f ms each (median), the commit took %.2f ms meanwhile\n",
		r.Saves, float64(r.PauseMicros)/1000, float64(r.CommitMicros)/1000)
	p("checkpoints  %s\n             %s\n", r.Uninterrupted.Checkpoints, r.Interrupted.Checkpoints)
	p("to look at   %s\n             %s\n", r.Page, r.Plot)
	p("report       %s\n", r.Result)
	for _, f := range r.Failures {
		p("FAILED: %s\n", f)
	}
	if len(r.Failures) == 0 {
		p("\nEqual bit for bit after %d kills, in %.1f s (seed %d).\n", len(r.Kills), r.Seconds, r.Seed)
	}
}
