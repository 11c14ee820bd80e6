//go:build !bivouac_wheel

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// runStep is a step of a run, as RUN/STEP or as RUN and --step name it.
type runStep struct {
	run  string
	dir  *runDir
	info training.Info
	// named reports whether the step was named, and not only the run.
	named bool
}

// stepFlag is the flag --step of commands that take RUN/STEP too.
type stepFlag struct{ Step int64 }

func (o *stepFlag) addFlags(cmd *cobra.Command) {
	atLeast(cmd.Flags(), &o.Step, "step", 0, anyStep, "step of the run; by default the newest, or the one in RUN/STEP")
}

// find finds the step that an argument means: RUN, or RUN/STEP.
func (o stepFlag) find(ctx context.Context, arg string, g *global) (s runStep, err error) {
	s.run = arg
	base := ""
	is, err := place(arg).isDirectory(ctx)
	_, number := stepOf(arg)
	switch {
	case errs.KindOf(err) == errs.NotFound && number && holdsSteps(ctx, place(arg).parent()):
		base = place(arg).base()
	case err != nil:
		return s, err
	case !is:
		return s, noCheckpoint(ctx, arg)
	case checkpoint.IsCheckpoint(ctx, arg, nil):
		base = place(arg).base()
	}
	if base != "" {
		s.run, s.named = place(arg).parent(), true
	}
	if s.dir, err = openRun(ctx, s.run, g); err != nil {
		return s, err
	}
	if base == "" {
		s.named = o.Step != anyStep
		chosen, err := s.dir.choose(ctx, s.run, o.Step, g)
		if err != nil {
			return s, err
		}
		return s, s.take(ctx, *chosen.step)
	}
	for _, in := range s.dir.steps {
		if in.Directory != base {
			continue
		}
		if o.Step != anyStep && o.Step != in.Step {
			return s, &errs.Error{Kind: errs.Invalid, Subject: "--step", Want: "one step", Got: arg + " and another one",
				Remedy: "name the run, or leave --step out"}
		}
		s.info = in
		return s, nil
	}
	if n, ok := stepOf(arg); ok {
		_, err := s.dir.choose(ctx, s.run, n, g)
		return s, err
	}
	return s, &errs.Error{Kind: errs.Invalid, Subject: arg, Want: "a run, or a step of one",
		Got: "a checkpoint that is no step"}
}

// take finds a step by its number.
func (s *runStep) take(ctx context.Context, step int64) error {
	for _, in := range s.dir.steps {
		if in.Step == step {
			s.info = in
			return nil
		}
	}
	return s.dir.missing(ctx, s.run, step)
}
