package main

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/chart"
	"github.com/bivouac-ml/bivouac/journal"
)

// mostRead is how many bytes of a journal are read for curves and rates: older rows are left out.
const mostRead = 64 << 20

// fresh is how old the last row may be of an attempt that counts as running without further proof.
// The journal is written every few seconds.
const fresh = 15 * time.Second

// series is a scalar: its newest value, and the curve of all.
type series struct {
	step int64
	last float64
	chart.Spark
}

// teller looks at a run, again and again with --watch. It reads each row once.
type teller struct {
	dir  string
	g    *global
	most int64 // bytes of the journal that are read; 0 means mostRead

	journal  *journal.Reader
	attempts int              // when the rows were read
	at       journal.Position // in the last attempt
	curves   map[string]*series
	names    []string
	steps    []float64 // seconds of the newest steps
	save     *journal.Save
	events   []shownEvent
	damage   []error
}

// look reads what is new and describes the run.
func (t *teller) look(ctx context.Context) (*shownRun, error) {
	run, err := openRun(ctx, t.dir, t.g)
	if err != nil {
		return nil, err
	}
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	list := t.journal.Attempts()
	if run.empty() && len(list) == 0 {
		return nil, run.missing(ctx, t.dir, anyStep)
	}
	if err := t.rows(ctx); err != nil {
		return nil, err
	}
	r := &shownRun{Run: t.dir, Journal: len(list) > 0, Attempts: []shownAttempt{}, Kept: []int64{}, Damaged: []string{},
		Data: []fact{}, Events: slices.Clone(t.events), Scalars: []shownScalar{}, Problems: []string{}}
	r.problems = append(slices.Clone(t.journal.Problems()), t.damage...)
	for _, p := range r.problems {
		r.Problems = append(r.Problems, oneLine(p))
	}
	t.addSteps(ctx, r, run)
	if r.Journal {
		t.addJournal(ctx, r)
	}
	return r, nil
}

func (t *teller) refresh(ctx context.Context) (err error) {
	if t.journal != nil {
		return t.journal.Refresh(ctx)
	}
	st, name, err := place(t.dir).open(ctx)
	if err != nil {
		return err
	}
	t.journal, err = journal.Open(ctx, st, name)
	return err
}

// addSteps describes what is kept.
func (t *teller) addSteps(ctx context.Context, r *shownRun, run *runDir) {
	for _, s := range run.steps {
		r.Kept = append(r.Kept, s.Step)
		r.Step = max(r.Step, s.Step)
	}
	for _, s := range run.skipped {
		r.Damaged = append(r.Damaged, s.Directory+": "+s.Reason)
	}
	for _, m := range run.gone {
		r.Damaged = append(r.Damaged, m.Name+": missing: "+oneLine(m.Err))
	}
	for _, name := range run.aside {
		r.Damaged = append(r.Damaged, name+": set aside")
	}
	if len(run.steps) == 0 {
		return
	}
	newest := place(t.dir).join(run.steps[len(run.steps)-1].Directory)
	s, err := itemState(ctx, newest, "")
	if err != nil {
		r.Data = append(r.Data, fact{"position", "not known: " + oneLine(err)})
		return
	}
	for _, f := range s.facts() {
		switch f.Name {
		case "position", "epoch", "in the epoch", "next batch":
			r.Data = append(r.Data, f)
		}
	}
	if len(r.Data) == 0 {
		r.Data = append(r.Data, fact{"position", "bivouac state " + newest + " prints it"})
	}
}

// addJournal describes what the journal tells.
func (t *teller) addJournal(ctx context.Context, r *shownRun) {
	list := t.journal.Attempts()
	for i, s := range journal.Spans(list) {
		a := s.Attempt
		out := shownAttempt{Attempt: a.Number, From: a.Start.From, Last: max(a.Last.Step, a.Start.From),
			Fresh: a.Start.Fresh, State: "killed", Origin: a.Start.Origin}
		if a.Known {
			began := a.Start.Time
			out.Began = &began
		}
		if s.To >= 0 && out.Last > s.To {
			out.Superseded = out.Last - max(s.To, s.From)
		}
		switch e := a.End(); {
		case e != nil:
			out.State, out.Error = string(e.Outcome), e.Error
		case i == len(list)-1:
			out.State = t.running(ctx, a)
		}
		r.Attempts = append(r.Attempts, out)
	}
	a := list[len(list)-1]
	r.State = r.Attempts[len(list)-1].State
	if a.Known {
		start := a.Start
		r.Start, r.Steps = &start, start.Steps
		if a.Last.Kind != "" {
			last := start.Time.Add(a.Last.At.Duration())
			r.LastRow = &last
		}
	}
	r.Step = max(a.Last.Step, a.Start.From)
	r.LastSave = t.save
	if every := a.Start.SaveEvery; every > 0 && a.End() == nil {
		r.NextSave = (r.Step/every + 1) * every
		if r.Steps > 0 {
			r.NextSave = min(r.NextSave, r.Steps)
		}
	}
	t.addRates(r)
	for _, name := range t.names {
		c := t.curves[name]
		r.Scalars = append(r.Scalars, shownScalar{Name: name, Step: c.step, Value: jsonNumber(c.last), curve: c})
	}
}

// addRates computes the speed from the newest steps.
func (t *teller) addRates(r *shownRun) {
	sum := 0.0
	for _, s := range t.steps {
		sum += s
	}
	if sum <= 0 {
		return
	}
	r.Rates = &shownRates{Steps: float64(len(t.steps)) / sum}
	if r.Start != nil {
		r.Rates.Samples = r.Rates.Steps * float64(r.Start.Batch)
	}
	if r.Steps > r.Step && r.State == stateRunning {
		r.Rates.Left = float64(r.Steps-r.Step) / r.Rates.Steps
	}
}

// jsonNumber returns v, or its name if JSON has no such number.
func jsonNumber(v float64) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return v
}

// The states of an attempt without an end.
const (
	stateRunning = "running"
	stateUnknown = "running or killed"
)

// running tells the state of the last attempt, which has no end.
func (t *teller) running(ctx context.Context, a *journal.Attempt) string {
	if time.Since(a.Start.Time.Add(a.Last.At.Duration())).Abs() < fresh && a.Known {
		return stateRunning
	}
	if place(t.dir).remote() || ctx.Err() != nil {
		return stateUnknown
	}
	held, known := lockHeld(filepath.Clean(t.dir))
	switch {
	case held:
		return stateRunning
	case known:
		return "killed, or running on another machine"
	}
	return stateUnknown
}

// rows reads the rows that are new.
func (t *teller) rows(ctx context.Context) error {
	list := t.journal.Attempts()
	if len(list) == 0 {
		return nil
	}
	if len(list) != t.attempts {
		*t = teller{dir: t.dir, g: t.g, most: t.most, journal: t.journal, attempts: len(list), curves: map[string]*series{}}
		from, first := newestRows(list, cmp.Or(t.most, mostRead))
		spans := journal.Spans(list)
		for i := first; i < len(list); i++ {
			t.events, t.save = nil, nil // of the last attempt only
			if err := t.read(ctx, spans[i], from[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return t.read(ctx, journal.Span{Attempt: list[len(list)-1], From: -1, To: -1}, t.at)
}

// newestRows returns where to begin to read attempts, from the attempt first on, so that at most
// budget bytes are read, or the newest file of the last attempt if that is larger.
func newestRows(list []*journal.Attempt, budget int64) (from []journal.Position, first int) {
	from, first = make([]journal.Position, len(list)), len(list)
	for i := len(list) - 1; i >= 0; i-- {
		for _, f := range slices.Backward(list[i].Files) {
			newest := first == len(list)
			if budget -= f.Size; budget < 0 && !newest {
				return from, first
			}
			first, from[i].Segment = i, f.Number
		}
	}
	return from, min(first, len(list)-1)
}

// read reads the rows of an attempt. Damage is kept; other errors are returned.
func (t *teller) read(ctx context.Context, s journal.Span, from journal.Position) error {
	t.at = from
	for row, err := range t.journal.Rows(ctx, s.Attempt, from) {
		if row.Next != (journal.Position{}) {
			t.at = row.Next
		}
		switch {
		case errs.KindOf(err) == errs.Corrupt && ctx.Err() == nil:
			if len(t.damage) < 100 {
				t.damage = append(t.damage, err)
			}
		case err != nil:
			return err
		case row.Save != nil && row.Save.Error == "":
			t.save = row.Save
		case row.Event != nil:
			t.events = append(t.events, shownEvent{row.Step, *row.Event})
			t.events = t.events[max(0, len(t.events)-5):]
		case row.Kind == journal.StepRow && s.Has(row.Step):
			t.step(row)
		}
	}
	return nil
}

// step adds the scalars of a step.
func (t *teller) step(row journal.Row) {
	for _, s := range row.Scalars {
		if s.Name == "job/seconds" {
			t.steps = append(t.steps, s.Value)
			if len(t.steps) > 200 {
				t.steps = slices.Clone(t.steps[100:])
			}
		}
		if strings.HasPrefix(s.Name, "job/") {
			continue
		}
		c := t.curves[s.Name]
		if c == nil {
			c = &series{}
			t.curves[s.Name], t.names = c, append(t.names, s.Name)
		}
		c.step, c.last = row.Step, s.Value
		c.Add(s.Value)
	}
}
