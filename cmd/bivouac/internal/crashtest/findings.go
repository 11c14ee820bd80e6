package crashtest

import (
	"fmt"
	"slices"
	"strings"
)

// Findings are how a run compares with the unbroken run.
type Findings struct {
	Steps         int     `json:"steps"` // of the run, without those that were done again
	UnbrokenSteps int     `json:"unbroken_steps"`
	Samples       Samples `json:"samples"`
	Losses        Series  `json:"losses"`
	Weights       Series  `json:"weights"` // only the last ones decide
}

// equal reports whether nothing differs.
func (f *Findings) equal() bool {
	return f.Samples.equal() && f.Steps == f.UnbrokenSteps && f.Losses.Equal && f.Weights.Equal
}

// historyOf returns the history of a run, and the history of its first rank with how each of its
// lives began.
func historyOf(n numbering, calm, runs []*watcher) (life, history) {
	var all []life
	var first history
	for i, rank := range ranksOf(runs) {
		var lives []life
		for _, w := range runs {
			lives = append(lives, w.lives(rank)...)
		}
		var unbroken life
		for _, w := range calm {
			for _, l := range w.lives(rank) {
				unbroken = append(unbroken, l...)
			}
		}
		h := trace(n, lives, unbroken)
		if i == 0 {
			first = h
		}
		all = append(all, h.entries)
	}
	if len(all) == 0 {
		return nil, first
	}
	return join(all), first
}

func ranksOf(runs []*watcher) []int {
	var out []int
	for _, w := range runs {
		out = append(out, w.ranks()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newFindings compares a run with the unbroken one.
func newFindings(n numbering, calm, runs []*watcher) *Findings {
	killed, _ := historyOf(n, calm, runs)
	unbroken, _ := historyOf(n, nil, calm)
	a, b := steps(unbroken), steps(killed)
	return &Findings{
		Steps: len(b), UnbrokenSteps: len(a),
		Samples: compareSamples(unbroken, killed),
		Losses:  compareSeries(a, b, true, func(s step) string { return strings.Join(s.loss, ",") }),
		Weights: compareSeries(a, b, false, func(s step) string { return s.weights }),
	}
}

// compare enters what the killed run did.
func (r *Report) compare(n numbering, calm, runs []*watcher) {
	var lives []life
	for _, w := range slices.Concat(calm, runs) {
		for _, rank := range w.ranks() {
			lives = append(lives, w.lives(rank)...)
		}
	}
	if n != byRecords {
		n = numberingOf(lives...)
	}
	r.Places = [...]string{"steps", "epochs and steps", "inferred"}[n]
	r.Findings = *newFindings(n, calm, runs)
	_, first := historyOf(n, calm, runs)
	ranks := ranksOf(runs)
	next := 0 // the life that follows the kill
	for i := range r.Kills {
		next += len(runs[i].lives(ranks0(ranks)))
		if i+1 >= len(runs) || len(runs[i+1].lives(ranks0(ranks))) == 0 || next >= len(first.resumes) {
			continue // killed again before its first record, or nothing was left to do
		}
		at := first.resumes[next]
		if at.missing != nil {
			r.note("start %d goes on after step %d, which was not recorded; record each step before it is saved",
				i+2, *at.missing)
		}
		r.Kills[i].Resumed, r.Kills[i].Redone, r.Kills[i].Recorded = at.step, at.redone, true
	}
	r.Restarts = len(runs) - 1
	if len(r.Kills) > 0 {
		r.SecondsPerKill = (r.KilledSeconds - r.UnbrokenSeconds) / float64(len(r.Kills))
	}
	if n == byRecords {
		r.note("the records have no numbers that rise, so where the job resumed is inferred; " +
			"give step=, and epoch= if steps begin again")
	}
	torn := 0
	for _, w := range runs {
		for _, f := range w.files {
			if f.reader.Torn {
				torn++
			}
		}
	}
	if torn > 0 {
		r.note("%d kills came while a record was written; its line is torn and left out", torn)
	}
}

func ranks0(ranks []int) int {
	if len(ranks) == 0 {
		return 0
	}
	return ranks[0]
}

func (r *Report) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// differs reports whether something was compared and is not equal.
func (r *Report) differs() bool { return !r.Findings.equal() }

// judge enters the failures. Differences between two runs without a kill are not blamed on kills.
func (r *Report) judge() {
	if n := len(r.Kills); n < r.Planned && r.Stopped == "" {
		r.note("%d of %d kills came in time; the job ended before the others", n, r.Planned)
	}
	if r.Stopped != "" {
		r.fail("the job does not survive its kills: %s", r.Stopped)
		return
	}
	f := &r.Findings
	var itself Findings
	if r.Again != nil {
		itself = *r.Again
	}
	s, own := f.Samples, itself.Samples
	r.found(s.Lost > 0, own.Lost > 0, "%d of %d samples were lost", s.Lost, s.Unbroken)
	r.found(s.Repeated > 0, own.Repeated > 0, "%d samples were repeated", s.Repeated)
	r.found(s.Moved > 0, own.Moved > 0, "%d samples came in another order", s.Moved)
	if s.Lost+s.Repeated+s.Moved == 0 {
		r.found(s.Batches > 0, own.Batches > 0, "%d steps got the samples in other batches", s.Batches)
	}
	r.found(f.Steps != f.UnbrokenSteps, itself.Steps != itself.UnbrokenSteps,
		"there are %d steps, the unbroken run has %d", f.Steps, f.UnbrokenSteps)
	if f.Losses.Recorded {
		r.found(!f.Losses.Equal, r.Again != nil && !itself.Losses.Equal, "the losses differ%s", f.Losses.from())
	}
	if f.Weights.Recorded {
		r.found(!f.Weights.Equal, r.Again != nil && !itself.Weights.Equal, "the final weights differ%s", f.Weights.from())
	}
}

// from says where a series begins to differ.
func (s Series) from() string {
	if s.From == nil {
		return ""
	}
	return fmt.Sprint(", from step ", *s.From, " on")
}

// found enters a finding, if there is one.
func (r *Report) found(is, byItself bool, format string, args ...any) {
	switch text := fmt.Sprintf(format, args...); {
	case !is:
	case byItself:
		r.fail("undecided: %s; two runs without a kill differ in this too, so make the job deterministic first", text)
	default:
		r.fail("%s", text)
	}
}

func (r *Report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}
