package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
)

// PeekOptions are the flags of `bivouac data peek`.
type PeekOptions struct {
	stepsOptions
	behindOptions
	pipelineSheet
	Step, Count, JobStep int64
	Names                bool
	Sheet                string
	Cell                 int
}

func (o *PeekOptions) addFlags(cmd *cobra.Command) {
	o.stepsOptions.addFlags(cmd)
	o.behindOptions.addFlags(cmd)
	o.pipelineSheet.addFlags(cmd)
	f := cmd.Flags()
	atLeast(f, &o.Step, "step", 0, -1, "the step, from 0; by default the next one")
	atLeast(f, &o.JobStep, "job-step", 1, -1,
		"the step as the journal, show and plot count it, from 1: the samples that were trained in it")
	atLeast(f, &o.Count, "count", 1, 1, "how many steps")
	f.BoolVar(&o.Names, "names", true, "name the samples, if the run keeps what its data were or --data says it")
	f.StringVar(&o.Sheet, "sheet", "", "draw the samples to a new `FILE`, a .png or .html")
	atLeast(f, &o.Cell, "cell", 8, 128, "height and width of a picture on the sheet")
}

func newDataPeekCommand(g *global) *cobra.Command {
	var o PeekOptions
	return with(&cobra.Command{
		Use:   "peek STATE|RUN [--step N | --job-step N]",
		Short: "List the samples of a step, before or after the state, and draw them",
		Long: `List the ids of the samples of a step, on each rank or one: by default of the step
that comes next. Steps count from the beginning of the run, from 0. --job-step counts
as the journal does, so that it takes the step in which the loss jumped. Where batches
are of packs, | is between the samples of two packs.

Any step can be asked for. Its place is computed from one saved state. With a run, the
samples have names, if the program opened the data with package loader/dataset: then the
run keeps what they were. --base and --data say where the data are now.

--sheet draws the samples, read again from the data: pictures, and in HTML also texts
and numbers. --pipeline FILE runs a pipeline from its file, moved to the step, and draws
what it delivers.

` + exitCodesHelp,
		Example: `  bivouac data peek runs/a --job-step 1234
  bivouac data peek runs/a --job-step 1234 --sheet step.html
  bivouac data peek state.json --step 99 --count 3 --data data.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Step >= 0 && o.JobStep >= 0 {
				return misused(cmd, "--step and --job-step", "one of them", "both", "")
			}
			if o.File != "" && o.Sheet == "" {
				return misused(cmd, "--pipeline", "--sheet beside it", "none", "")
			}
			return o.peek(cmd.Context(), args[0], g)
		},
	}, o.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// peeked is what `peek --json` prints with a sheet.
type peeked struct {
	Steps []stepInfo `json:"steps"`
	Sheet string     `json:"sheet"`
}

func (o *PeekOptions) peek(ctx context.Context, arg string, g *global) error {
	if err := checkSheet(o.Sheet); err != nil {
		return err
	}
	f, err := o.find(ctx, arg, g)
	if err != nil {
		return err
	}
	defer f.close()
	if f.data != nil {
		for i := range f.steps {
			f.steps[i].name(f.data)
		}
	}
	if o.Sheet == "" {
		return g.show(f.steps, func() {
			for _, s := range f.steps {
				s.print(g)
			}
		})
	}
	if o.File != "" {
		err = o.draw(ctx, f.timeline, f.step, o.Count, o.Sheet, o.Cell, g)
	} else if err = f.needData(arg); err == nil {
		err = drawSamples(ctx, f.data, f.steps, o.Sheet, o.Cell, g)
	}
	if err != nil {
		return err
	}
	return g.show(peeked{f.steps, o.Sheet}, func() {
		for _, s := range f.steps {
			s.print(g)
		}
		g.printf("sheet: %s\n", o.Sheet)
	})
}

// peekedSteps are the steps that were asked for, and the data behind them.
type peekedSteps struct {
	timeline *timeline.Timeline
	step     int64 // the first one
	steps    []stepInfo
	data     *behind // nil if nobody knows what they were
}

// close closes the data.
func (f *peekedSteps) close() {
	if f.data != nil {
		f.data.Close() //nolint:errcheck // only read
	}
}

// needData returns an error if nobody knows what the data were.
func (f *peekedSteps) needData(arg string) error {
	if f.data != nil {
		return nil
	}
	return &errs.Error{Kind: errs.NotFound, Op: "data peek", Subject: arg, Want: "what the data of the run were",
		Got: "nothing: the run keeps no data.yaml", Remedy: "name them with --data, or a pipeline with --pipeline"}
}

// find computes which samples the steps have, and opens the data behind them. The caller must close
// what it returns.
func (o *PeekOptions) find(ctx context.Context, arg string, g *global) (*peekedSteps, error) {
	s, t, world, err := o.openState(ctx, arg, g)
	if err != nil {
		return nil, err
	}
	step := o.Step
	switch {
	case o.JobStep >= 0 && s.jobStep < 0:
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "data peek", Subject: "--job-step",
			Want: "the state of a job", Got: arg, Remedy: "use --step"}}
	case o.JobStep >= 0:
		step = t.Here().Step + o.JobStep - 1 - s.jobStep
	case step < 0:
		step = t.Here().Step
	}
	if s, t, err = o.earlier(ctx, arg, g, s, t, step); err != nil {
		return nil, err
	}
	o.warnOpenTail(s, t, step+o.Count-1, g)
	names, readers, err := o.reader.of(t)
	if err != nil {
		return nil, errs.Wrap("data", arg, err)
	}
	f := &peekedSteps{timeline: t, step: step, steps: []stepInfo{}}
	for i := range o.Count {
		list, _, err := o.ranks.steps(names, readers, step+i, world)
		if err != nil {
			return nil, errs.Wrap("data", arg, err)
		}
		for k := range list {
			if s.jobStep >= 0 {
				of := step + i + 1 + s.jobStep - t.Here().Step
				list[k].JobStep = &of
			}
		}
		f.steps = append(f.steps, list...)
	}
	f.data, err = o.behind(ctx, s, g)
	return f, err
}

// behind opens the data for names and for the sheet. If only names need them, an error is a
// warning.
func (o *PeekOptions) behind(ctx context.Context, s *saved, g *global) (*behind, error) {
	needed := o.Sheet != "" && o.File == "" || o.Data != "" || o.Base != ""
	if !needed && !o.Names || s.doc != nil && s.doc.Kind == "pipeline" { // its ids are of its readers
		return nil, nil
	}
	data, err := o.behindOptions.open(ctx, s)
	if err != nil && !needed && ctx.Err() == nil {
		g.warn(errs.Wrap("", "names of the samples", err))
		return nil, nil
	}
	return data, err
}

// name finds the names of the samples of a step.
func (s *stepInfo) name(data *behind) {
	s.Names = make([][]string, len(s.Ranks))
	for i, ids := range s.Ranks {
		s.Names[i] = make([]string, len(ids))
		for k, id := range ids {
			s.Names[i][k] = data.describe(id)
		}
	}
}

// earlier returns an earlier state of the run if the document of the newest does not describe a
// step. The size of batches may have changed more often than one document remembers.
func (o *stepsOptions) earlier(ctx context.Context, arg string, g *global, s *saved, t *timeline.Timeline,
	step int64) (*saved, *timeline.Timeline, error) {
	if step >= t.FirstStep() || o.data.At != anyStep || s.jobStep < 0 {
		return s, t, nil
	}
	run, err := openRun(ctx, arg, g)
	if err != nil {
		return s, t, nil //nolint:nilerr // it is a single step
	}
	for i := len(run.steps) - 1; i >= 0; i-- {
		other := *o
		other.data.At = run.steps[i].Step
		before, of, _, err := other.openState(ctx, arg, g)
		if err == nil && step >= of.FirstStep() {
			return before, of, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	return s, t, nil
}

// warnOpenTail warns if the state leaves open whether epochs end with a short batch, and a step
// depends on it.
func (o *stepsOptions) warnOpenTail(s *saved, t *timeline.Timeline, step int64, g *global) {
	if s.doc == nil || s.doc.Kind != "loader" || o.data.tailGiven {
		return
	}
	other := *o
	other.data.Tail = other.data.otherTail()
	as, err := other.data.timeline(s)
	if err != nil {
		return // it was opened before
	}
	p, err1 := t.PlaceOf(step)
	q, err2 := as.PlaceOf(step)
	if errors.Join(err1, err2) == nil && p != q {
		g.warn(&errs.Error{Kind: errs.Invalid, Subject: "the end of epochs",
			Got:    "no saved state tells whether short batches are left out; they are taken to be delivered",
			Remedy: "say it with --drop-last true or --drop-last false"})
	}
}
