package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// listing is what `ls --json` prints.
type listing struct {
	Directory string        `json:"directory"`
	Steps     []listedStep  `json:"steps"`
	Skipped   []skippedStep `json:"skipped"`           // directories that look like steps but are not whole checkpoints
	Missing   []string      `json:"missing,omitempty"` // signed steps that another program removed, and how that is known
	Aside     []string      `json:"set_aside"`         // directories that are no longer steps
}

type listedStep struct {
	Step      int64     `json:"step"`
	Directory string    `json:"directory"`
	Committed time.Time `json:"committed"`
	storage
	Scrub   *listedScrub       `json:"scrub,omitempty"` // the findings of its last scrub
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Custom  json.RawMessage    `json:"custom,omitempty"`
}

// listedScrub holds the findings of the last scrub of a step.
type listedScrub struct {
	Time    time.Time `json:"time"`
	Bytes   int64     `json:"bytes"`
	Sound   bool      `json:"sound"`
	Damaged []string  `json:"damaged"` // each a file and its fault
}

func newLsCommand(g *global) *cobra.Command {
	return with(&cobra.Command{
		Use:   "ls PATH",
		Short: "List the steps of a run directory, or the leaves of a checkpoint",
		Long: `List the committed steps of a run directory, oldest first. Directories that look
like steps and are no whole checkpoints are named with the reason; they are never
resumed from. So are those that a repair or a start has set aside. Where the run
is scrubbed it is said when each step was read last, and what was found. Of a
checkpoint, what bivouac info prints.

` + exitCodesHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runLs(cmd.Context(), args[0], g) },
	}, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runLs(ctx context.Context, dir string, g *global) error {
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		return runInfo(ctx, dir, InfoOptions{Step: anyStep}, g)
	}
	run, err := openRun(ctx, dir, g)
	if err != nil {
		return err
	}
	if run.empty() {
		return run.missing(ctx, dir, anyStep)
	}
	scrubbed, err := scrubs(ctx, dir)
	if err != nil {
		return err
	}
	l := listing{Directory: dir, Steps: []listedStep{}, Skipped: append([]skippedStep{}, run.skipped...), Aside: append([]string{}, run.aside...)}
	for _, s := range run.steps {
		files, err := place(place(dir).join(s.Directory)).files(ctx)
		if err != nil {
			return err
		}
		l.Steps = append(l.Steps, listedStep{Step: s.Step, Directory: s.Directory, Committed: s.Time.UTC(), storage: sum(files), Scrub: scrubbed[s.Directory], Metrics: s.Metrics, Custom: s.Custom})
	}
	for _, m := range run.gone {
		l.Missing = append(l.Missing, m.Name+": "+oneLine(m.Err))
	}
	if g.json {
		return g.printJSON(l)
	}
	for _, s := range l.Steps {
		linked := ""
		if s.LinkedBytes > 0 {
			linked = "  " + size(s.LinkedBytes) + " of it linked"
		}
		scrubbed := ""
		if s.Scrub != nil {
			scrubbed = "  scrubbed " + s.Scrub.Time.Local().Format(time.DateTime)
			if !s.Scrub.Sound {
				scrubbed += ": DAMAGED"
			}
		}
		g.printf("%10d  %s  %10s  %s%s%s\n", s.Step, s.Committed.Local().Format(time.DateTime), size(s.Bytes), s.Directory, linked, scrubbed)
		if s.Scrub != nil {
			for _, d := range s.Scrub.Damaged {
				g.printf("            %s\n", d)
			}
		}
	}
	for _, s := range l.Skipped {
		g.printf("   skipped  %s: %s\n", s.Directory, s.Reason)
	}
	for _, m := range l.Missing {
		g.printf("   MISSING  %s\n", m)
	}
	for _, name := range l.Aside {
		g.printf(" set aside  %s: not a step any more; bivouac verify says what is wrong with it\n", name)
	}
	if len(l.Steps) == 0 {
		g.printf("no committed steps in %s\n", dir)
	}
	return nil
}

// scrubs returns the findings of the last scrub of each step, by directory.
func scrubs(ctx context.Context, dir string) (map[string]*listedScrub, error) {
	found, err := training.ScrubResults(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]*listedScrub{}
	for _, r := range found {
		s := &listedScrub{Time: r.At.UTC(), Bytes: r.Bytes, Sound: len(r.Damages) == 0, Damaged: []string{}}
		for _, d := range r.Damages {
			s.Damaged = append(s.Damaged, d.File+": "+d.What)
		}
		out[r.Directory] = s
	}
	return out, nil
}
