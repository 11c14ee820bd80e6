//go:build !bivouac_wheel

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

func newExplainCommand(g *global) *cobra.Command {
	var o stepFlag
	return with(&cobra.Command{
		Use:   "explain RUN[/STEP]",
		Short: "Say what a step of a run was made from: program, options, seed, order, data",
		Long: `Say what a step of a run was made from: the program and its build, the versions, the
options of the job, the seed, the order and the fingerprint of the data, the file that
defined the data, and the run from which this one was forked. With all of it the same
step can be made again.

The attempt that did the step tells the program and the options. The step need not be a
saved one. This is read from the journal and from the states of saved steps;
what they do not tell is not known, and is said to be so. Nothing is changed.

` + exitCodesHelp,
		Example: `  bivouac explain runs/a
  bivouac explain runs/a/1200
  bivouac explain runs/a --step 1234 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd.Context(), args[0], o, g) },
	}, o.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// explained is what `explain --json` prints.
type explained struct {
	Run       string     `json:"run"`
	Step      int64      `json:"step"`
	Saved     bool       `json:"saved"`
	Committed *time.Time `json:"committed,omitempty"`
	Tags      []string   `json:"tags"`
	// Attempt is 0 if no row of the journal tells which attempt did the step.
	Attempt int             `json:"attempt"`
	Start   *journal.Start  `json:"start,omitempty"`
	Origin  *journal.Origin `json:"origin,omitempty"` // of the run
	Data    *explainedData  `json:"data,omitempty"`
	// Unknown says what is not known, and why.
	Unknown []string `json:"unknown"`
}

// explainedData says what the data of the run are.
type explainedData struct {
	Kind        string            `json:"kind"`
	Seed        string            `json:"seed,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Config      string            `json:"config,omitempty"` // hash of Fields
	Fields      map[string]string `json:"fields"`
	Definition  string            `json:"definition,omitempty"` // a file of the run
	Base        string            `json:"base,omitempty"`
	State       int64             `json:"state"` // the saved step whose state tells it
	// Position, Epoch and Digest are of the saved step.
	Position int64  `json:"position"`
	Epoch    int64  `json:"epoch"`
	Digest   string `json:"digest,omitempty"`
}

func runExplain(ctx context.Context, arg string, o stepFlag, g *global) error {
	e, err := explain(ctx, arg, o, g)
	if err != nil {
		return err
	}
	return g.show(e, func() { printFacts(g, e.facts()) })
}

// explain finds out what a step was made from.
func explain(ctx context.Context, arg string, o stepFlag, g *global) (*explained, error) {
	s, missing := o.find(ctx, arg, g)
	if missing != nil && (errs.KindOf(missing) != errs.NotFound || s.dir == nil) {
		return nil, missing
	}
	st, name, err := place(s.run).open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := journal.Open(ctx, st, name)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Problems() {
		g.warn(p)
	}
	e := &explained{Run: s.run, Step: s.info.Step, Saved: missing == nil, Tags: []string{}, Unknown: []string{}}
	spans := journal.Spans(r.Attempts())
	if missing != nil {
		if e.Step = o.asked(arg, &s, spans); e.Step < 0 {
			return nil, missing
		}
	} else {
		e.Committed = &s.info.Time
		e.Tags = append(e.Tags, s.dir.tags[s.info.Step]...)
	}
	e.addAttempt(spans)
	e.addData(ctx, &s)
	return e, nil
}

// asked returns the step that was named and is not saved, if an attempt did it, or else -1. Without
// a saved step it is the last step of the run.
func (o stepFlag) asked(arg string, s *runStep, spans []journal.Span) int64 {
	step := o.Step
	if n, ok := stepOf(arg); ok && s.named && step == anyStep {
		step = n
	}
	for _, span := range slices.Backward(spans) {
		switch last := max(span.Attempt.Last.Step, span.From); {
		case step == anyStep:
			return last
		case span.Has(step) && step <= last:
			return step
		}
	}
	return -1
}

// addAttempt finds the attempt that did the step.
func (e *explained) addAttempt(spans []journal.Span) {
	var did *journal.Attempt
	for _, s := range spans {
		a := s.Attempt
		if a.Start.Origin != nil {
			e.Origin = a.Start.Origin
		}
		if s.Has(e.Step) && a.Last.Step >= e.Step || s.From == e.Step && did == nil && a.Known {
			did = a
		}
	}
	switch {
	case len(spans) == 0:
		e.unknown("attempt", "the run has no journal")
		return
	case did == nil:
		e.unknown("attempt", "no row of the journal tells who did the step")
		return
	case !did.Known:
		e.unknown("start of attempt "+strconv.Itoa(did.Number), "its first row cannot be read")
	default:
		start := did.Start
		e.Start = &start
	}
	e.Attempt = did.Number
}

func (e *explained) unknown(what, why string) { e.Unknown = append(e.Unknown, what+": "+why) }

// addData reads the state of the step, or of the saved step that is nearest to it: data, seed and
// order are the same for the whole run.
func (e *explained) addData(ctx context.Context, s *runStep) {
	at := -1
	for i, in := range s.dir.steps {
		if at < 0 || in.Step <= e.Step {
			at = i
		}
	}
	if at < 0 {
		e.unknown("data", "no step is saved")
		return
	}
	in := s.dir.steps[at]
	read, err := itemState(ctx, place(s.run).join(in.Directory), "")
	if err != nil {
		e.unknown("data", oneLine(err))
		return
	}
	e.Data = &explainedData{Kind: read.form, Fields: map[string]string{}, State: in.Step}
	d := e.Data
	if e.Start != nil {
		d.Seed = e.Start.Seed
		if made := e.Start.Data; made != nil {
			d.Definition, d.Base = place(s.run).join("metadata", made.Definition), made.Base
		}
	}
	if read.doc == nil {
		for _, f := range read.facts() {
			d.Fields[f.Name] = f.Value
		}
		return
	}
	d.Kind, d.Fingerprint, d.Config = read.doc.Kind, read.doc.Fingerprint, read.doc.Config
	maps.Copy(d.Fields, read.doc.Fields)
	if seed := read.doc.Fields["seed"]; seed != "" {
		d.Seed = seed
	}
	d.Position, d.Epoch, d.Digest = read.doc.Position, read.doc.Epoch, read.doc.Digest
	if d.Definition == "" {
		e.unknown("definition of the data", "the run keeps no data.yaml")
	}
}

// facts returns the lines for people.
func (e *explained) facts() []fact {
	saved := "not saved"
	if e.Committed != nil {
		saved = "saved " + e.Committed.Local().Format(time.DateTime)
	}
	list := []fact{{"run", e.Run}, {"step", fmt.Sprintf("%d, %s", e.Step, saved)}}
	add := func(name, value string) {
		if value != "" && value != "0" {
			list = append(list, fact{name, value})
		}
	}
	add("tags", strings.Join(e.Tags, ", "))
	if o := e.Origin; o != nil {
		add("forked from", fmt.Sprintf("step %d of %s", o.Step, o.Run))
	}
	if s := e.Start; s != nil {
		add("attempt", fmt.Sprintf("%d, from step %d on, begun %s", s.Attempt, s.From, s.Time.Local().Format(time.DateTime)))
		add("program", s.Program)
		add("build", s.Build)
		add("Bivouac", s.Bivouac)
		add("runtime", s.Runtime)
		add("identity", s.Identity)
		add("steps", fmt.Sprint(s.Steps))
		add("save every", fmt.Sprint(s.SaveEvery))
		add("batch", fmt.Sprint(s.Batch))
		add("world", fmt.Sprint(s.World))
	}
	if d := e.Data; d != nil {
		add("data", d.Kind)
		add("seed", d.Seed)
		for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
			if name != "seed" {
				add(name, d.Fields[name])
			}
		}
		add("fingerprint", d.Fingerprint)
		add("config", d.Config)
		if d.Digest != "" && d.State == e.Step {
			add("digest", d.Digest)
		}
		add("definition", d.Definition)
		add("its paths", d.Base)
	}
	for _, text := range e.Unknown {
		what, why, _ := strings.Cut(text, ": ")
		list = append(list, fact{"not known", what + ", because " + why})
	}
	return list
}
