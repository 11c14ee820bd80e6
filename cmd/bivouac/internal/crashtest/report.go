package crashtest

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/recording"
)

// Report is what a crash test found.
type Report struct {
	Command  []string `json:"command"`
	Seed     uint64   `json:"seed"`
	Signal   Signal   `json:"signal"`
	Planned  int      `json:"planned"` // kills
	Ranks    int      `json:"ranks"`
	Places   string   `json:"places"` // how it is known where the job resumed: steps, epochs and steps, inferred
	Kills    []Kill   `json:"kills"`
	Restarts int      `json:"restarts"`

	Findings Findings  `json:"findings"`
	Again    *Findings `json:"again,omitempty"` // of a second run without a kill

	UnbrokenSeconds float64  `json:"unbroken_seconds"`
	KilledSeconds   float64  `json:"killed_seconds"`
	SecondsPerKill  float64  `json:"seconds_per_kill"`
	Stopped         string   `json:"stopped,omitempty"` // why the test ended before the job
	Notes           []string `json:"notes"`
	Failures        []string `json:"failures"` // empty when all is as it must be
	Dir             string   `json:"dir,omitempty"`
}

// Kill is one death and what the next start made of it.
type Kill struct {
	Seconds  float64 `json:"seconds"`  // after the start
	Early    bool    `json:"early"`    // planned for the first seconds, whatever the job did
	Step     *int64  `json:"step"`     // the last one that was recorded in this start
	Recorded bool    `json:"recorded"` // the next start recorded something
	Resumed  *int64  `json:"resumed"`  // the step that the next start went on after; null for the beginning
	Redone   int     `json:"redone"`   // steps that had to be done again
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) } //nolint:errcheck // output keeps the error
	if len(r.Kills) > 0 {
		p("\nkill  seconds  after step  resumed after  steps redone\n")
	}
	for i, k := range r.Kills {
		resumed, redone := "-", "-"
		if k.Recorded {
			resumed, redone = number64(k.Resumed, "the start"), strconv.Itoa(k.Redone)
		}
		p("%4d  %7.2f  %10s  %13s  %12s\n", i+1, k.Seconds, number64(k.Step, "-"), resumed, redone)
	}
	if r.Stopped == "" {
		r.printFindings(p)
	}
	for _, n := range r.Notes {
		p("note: %s\n", n)
	}
	for _, f := range r.Failures {
		p("FAILED: %s\n", f)
	}
	if len(r.Failures) == 0 {
		what := "samples"
		if r.Findings.Losses.Recorded {
			what += ", losses"
		}
		if r.Findings.Weights.Recorded {
			what += ", final weights"
		}
		p("\nEqual bit for bit after %d kills: %s (seed %d).\n", len(r.Kills), what, r.Seed)
	}
}

func (r *Report) printFindings(p func(format string, args ...any)) {
	f := &r.Findings
	row := func(name, a, b string, differs, byItself bool) {
		verdict := "equal"
		switch {
		case byItself:
			verdict = "DIFFERENT, also without a kill"
		case differs:
			verdict = "DIFFERENT"
		}
		p("%-26s %-14s %-14s %s\n", name, a, b, verdict)
	}
	itself := Findings{Losses: Series{Equal: true}, Weights: Series{Equal: true}}
	if r.Again != nil {
		itself = *r.Again
	}
	s, own := f.Samples, itself.Samples
	p("\n%-26s %-14s %-14s\n", "", "unbroken", "killed")
	row("steps", strconv.Itoa(f.UnbrokenSteps), strconv.Itoa(f.Steps),
		f.Steps != f.UnbrokenSteps, itself.Steps != itself.UnbrokenSteps)
	row("samples", strconv.Itoa(s.Unbroken), strconv.Itoa(s.Killed), s.Unbroken != s.Killed, own.Unbroken != own.Killed)
	row("samples lost", "", strconv.Itoa(s.Lost), s.Lost > 0, own.Lost > 0)
	row("samples repeated", "", strconv.Itoa(s.Repeated), s.Repeated > 0, own.Repeated > 0)
	row("samples in another order", "", strconv.Itoa(s.Moved), s.Moved > 0, own.Moved > 0)
	row("steps with other samples", "", strconv.Itoa(s.Batches), s.Batches > 0, own.Batches > 0)
	series := func(name string, s, own Series, short func(string) string) {
		if !s.Recorded {
			p("%-26s %s\n", name, "not recorded")
			return
		}
		row(name, short(s.Unbroken), short(s.Killed), !s.Equal, !own.Equal)
	}
	series("losses (the last)", f.Losses, itself.Losses, shortLoss)
	series("final weights", f.Weights, itself.Weights, func(digest string) string { return digest[:min(len(digest), 12)] })
	p("%-26s %-14.2f %-14.2f %.2f lost per kill\n", "seconds", r.UnbrokenSeconds, r.KilledSeconds, r.SecondsPerKill)
	p("%-26s %-14s %d\n", "restarts", "", r.Restarts)
}

// shortLoss returns the first loss of a step as people write it.
func shortLoss(texts string) string {
	text, _, _ := strings.Cut(texts, ",")
	loss, err := recording.DecodeLoss(text)
	if err != nil {
		return "none"
	}
	return strconv.FormatFloat(loss, 'g', 9, 64)
}

func number64(n *int64, none string) string {
	if n == nil {
		return none
	}
	return strconv.FormatInt(*n, 10)
}
