package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/journal"
)

// ShowRunOptions are the flags of `bivouac show`.
type ShowRunOptions struct {
	Watch bool
	Every time.Duration
}

// AddFlags declares the flags.
func (o *ShowRunOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Watch, "watch", false, "show it again and again, until interrupted")
	cmd.Flags().DurationVar(&o.Every, "every", 2*time.Second, "time between two looks of --watch")
}

func newShowCommand(g *global) *cobra.Command {
	var o ShowRunOptions
	return with(&cobra.Command{
		Use:   "show RUN",
		Short: "Say what a run is, how far it is and what happened to it",
		Long: `Say what a run is: how far it has come, its attempts with their kills and resumes,
which steps are kept and which are damaged, where it stands in its data, how fast it
is, when it saves next, and its last scalars. In a terminal the scalars have curves.

This is read from the journal of the run and from its newest step. Of a run without
a journal the steps are shown, and it is said what is not known. Of a checkpoint,
what bivouac info prints. Nothing is changed, and no lock is taken.

` + exitCodesHelp,
		Example: `  bivouac show runs/digits --watch
  bivouac show s3://bucket/runs/digits --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runShow(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// mostWatched is the shortest time between two looks: each reads the directory.
const mostWatched = 100 * time.Millisecond

func runShow(ctx context.Context, dir string, o ShowRunOptions, g *global) error {
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		return runInfo(ctx, dir, InfoOptions{Step: anyStep}, g)
	}
	s := teller{dir: dir, g: g}
	for first := true; ; first = false {
		told, err := s.look(ctx)
		if err != nil {
			return err
		}
		if first {
			for _, p := range told.problems {
				g.warn(p)
			}
		}
		if o.Watch && !g.json && g.bars(g.stdout) {
			fmt.Fprint(g.stdout, "\x1b[H\x1b[2J") //nolint:errcheck // output keeps the error
		}
		if g.json && o.Watch {
			err = g.printJSONLine(told)
		} else {
			err = g.show(told, func() { told.print(g) })
		}
		if err != nil || !o.Watch {
			return err
		}
		select {
		case <-time.After(max(o.Every, mostWatched)):
		case <-ctx.Done():
			return nil
		}
	}
}

// shownRun is what `show --json` prints.
type shownRun struct {
	Run      string         `json:"run"`
	State    string         `json:"state"` // running, killed, unknown, or how the last attempt ended; "" without a journal
	Journal  bool           `json:"journal"`
	Step     int64          `json:"step"`               // steps done
	Steps    int64          `json:"steps,omitempty"`    // in total
	LastRow  *time.Time     `json:"last_row,omitempty"` // when the last row was written
	Start    *journal.Start `json:"start,omitempty"`    // of the last attempt
	Attempts []shownAttempt `json:"attempts"`
	Kept     []int64        `json:"kept"`
	Damaged  []string       `json:"damaged"` // directories named like steps that are not whole, and steps set aside
	Data     []fact         `json:"data"`    // position in the data at the newest step
	Rates    *shownRates    `json:"rates,omitempty"`
	NextSave int64          `json:"next_save,omitempty"`
	LastSave *journal.Save  `json:"last_save,omitempty"`
	Events   []shownEvent   `json:"events"` // the newest ones of the last attempt
	Scalars  []shownScalar  `json:"scalars"`
	Problems []string       `json:"problems"` // of the journal
	problems []error
}

type shownAttempt struct {
	Attempt    int        `json:"attempt"`
	Began      *time.Time `json:"began,omitempty"`
	From       int64      `json:"from"`
	Last       int64      `json:"last"`       // the last step that it did
	Superseded int64      `json:"superseded"` // how many of its steps a later attempt did again
	State      string     `json:"state"`
	Error      string     `json:"error,omitempty"`
	Fresh      bool       `json:"fresh,omitempty"`
	// Origin is set if the run was forked.
	Origin *journal.Origin `json:"origin,omitempty"`
}

type shownRates struct {
	Steps   float64 `json:"steps_per_second"`
	Samples float64 `json:"samples_per_second,omitempty"`
	Left    float64 `json:"seconds_left,omitempty"`
}

type shownEvent struct {
	Step int64 `json:"step"`
	journal.Event
}

type shownScalar struct {
	Name  string `json:"name"`
	Step  int64  `json:"step"`
	Value any    `json:"value"` // a number, or "NaN", "Infinity", "-Infinity"
	curve *series
}

func (r *shownRun) print(g *global) {
	line := func(title, format string, args ...any) {
		g.printf("%-10s "+format+"\n", append([]any{title}, args...)...)
	}
	switch {
	case r.Steps > 0:
		g.printf("%s: step %d of %d (%.1f %%)\n", r.Run, r.Step, r.Steps, 100*float64(r.Step)/float64(r.Steps))
	default:
		g.printf("%s: step %d\n", r.Run, r.Step)
	}
	if !r.Journal {
		line("journal", "none: attempts, rates and scalars are not known")
	}
	if r.State != "" {
		last := ""
		if r.LastRow != nil {
			last = ", last row " + r.LastRow.Local().Format(time.DateTime)
		}
		line("state", "%s%s", r.State, last)
	}
	if s := r.Start; s != nil {
		if s.Identity != "" {
			line("identity", "%s", excerpt(s.Identity))
		}
		if s.Program != "" {
			line("program", "%s %s, Bivouac %s, %s", s.Program, s.Build, s.Bivouac, s.Runtime)
		}
	}
	r.printAttempts(g)
	line("kept", "%s", keptSteps(r.Kept))
	for _, d := range r.Damaged {
		line("damaged", "%s", d)
	}
	for _, f := range r.Data {
		line("data", "%s: %s", f.Name, excerpt(f.Value))
	}
	if rates := r.Rates; rates != nil {
		text := fmt.Sprintf("%.4g steps/s", rates.Steps)
		if rates.Samples > 0 {
			text += fmt.Sprintf(", %.4g samples/s", rates.Samples)
		}
		if rates.Left > 0 {
			text += ", done in about " + time.Duration(rates.Left*float64(time.Second)).Round(time.Second).String()
		}
		line("rate", "%s", text)
	}
	if s := r.LastSave; s != nil {
		line("last save", "took %v, blocked the trainer for %v", s.Took.Duration().Round(time.Microsecond),
			s.Blocked.Duration().Round(time.Microsecond))
	}
	if r.NextSave > 0 {
		line("next save", "at step %d", r.NextSave)
	}
	for _, e := range r.Events {
		line("event", "step %d: %s %s %s %s %s", e.Step, e.Name, e.Object, e.Tier, e.Reason, excerpt(e.Error))
	}
	for _, s := range r.Scalars {
		text := fmt.Sprintf("%v", s.Value)
		if v, ok := s.Value.(float64); ok {
			text = fmt.Sprintf("%.6g", v)
		}
		if g.bars(g.stdout) {
			text = fmt.Sprintf("%-12s %s", text, s.curve.String())
		}
		g.printf("  %-24s %s\n", s.Name, text)
	}
}

func (r *shownRun) printAttempts(g *global) {
	const most = 20
	list := r.Attempts
	if n := len(list) - most; n > 0 {
		g.printf("%-10s %d earlier ones are not listed; --json lists all\n", "attempts", n)
		list = list[n:]
	}
	for _, a := range list {
		began := "at an unknown time"
		if a.Began != nil {
			began = a.Began.Local().Format(time.DateTime)
		}
		did := "no step"
		if a.Last > a.From {
			did = fmt.Sprintf("steps %d to %d", a.From+1, a.Last)
		}
		if a.Superseded > 0 {
			did += fmt.Sprintf(" (%d superseded)", a.Superseded)
		}
		if a.Fresh {
			did += ", begun anew"
		}
		g.printf("%-10s %s  %s, %s", fmt.Sprint("attempt ", a.Attempt), began, did, a.State)
		if a.Origin != nil {
			g.printf(" from step %d of %s", a.Origin.Step, a.Origin.Run)
		}
		if a.Error != "" {
			g.printf(": %s", excerpt(a.Error))
		}
		g.printf("\n")
	}
}

// keptSteps lists steps for people: the first few and the last.
func keptSteps(steps []int64) string {
	switch n := len(steps); {
	case n == 0:
		return "no step"
	case n <= 8:
		text := ""
		for _, s := range steps {
			text += fmt.Sprint(s, " ")
		}
		return text[:len(text)-1]
	default:
		return fmt.Sprintf("%d steps, %d to %d", n, steps[0], steps[n-1])
	}
}
