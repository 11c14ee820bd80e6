package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// PruneOptions are the flags of `bivouac prune`.
type PruneOptions struct {
	parallel
	KeepLast   int
	KeepEvery  int64
	KeepWithin age
	KeepBest   int
	Metric     string
	Lowest     bool
	DryRun     bool
	SkipBusy   bool
	Long       bool
}

// AddFlags declares the flags.
func (o *PruneOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.KeepLast, "keep-last", 1, 0, "keep the newest N steps")
	atLeast(f, &o.KeepEvery, "keep-every", 1, 0, "keep the steps that are multiples of N")
	f.Var(&o.KeepWithin, "keep-within", "keep the steps that were committed within this time, such as 36h, 7d or 2w")
	atLeast(f, &o.KeepBest, "keep-best", 1, 0, "keep the N steps with the best value of --metric")
	f.StringVar(&o.Metric, "metric", "", "name of the metric of --keep-best")
	f.BoolVar(&o.Lowest, "lowest", false, "the lowest value of --metric is the best one, as for a loss")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "remove nothing, and print what would be removed")
	f.BoolVar(&o.SkipBusy, "skip-busy", false, "pass over runs that a training writes, without an error")
	f.BoolVarP(&o.Long, "long", "l", false, "of several runs, print each step with the reason that keeps it")
}

// policy returns the preservation policy of the flags.
func (o *PruneOptions) policy() (training.PreservationPolicy, error) {
	var any training.AnyPreservation
	if o.KeepLast > 0 {
		any = append(any, training.LatestN{N: o.KeepLast})
	}
	if o.KeepEvery > 0 {
		any = append(any, training.EveryNSteps{Interval: o.KeepEvery})
	}
	if o.KeepWithin > 0 {
		any = append(any, training.LatestDuration{Duration: o.KeepWithin.span()})
	}
	if o.KeepBest > 0 {
		any = append(any, training.BestN{Metric: o.Metric, N: o.KeepBest, Lowest: o.Lowest, DropWithoutMetrics: true})
	}
	wrong := &errs.Error{Kind: errs.Invalid, Op: "prune"}
	switch {
	case len(any) == 0:
		wrong.Want, wrong.Got = "what to keep", "none of --keep-last, --keep-every, --keep-within and --keep-best"
	case o.KeepBest > 0 && o.Metric == "":
		wrong.Subject, wrong.Want, wrong.Got = "--keep-best", "the name of a metric", "no --metric"
	case o.KeepBest == 0 && (o.Metric != "" || o.Lowest):
		wrong.Subject, wrong.Want, wrong.Got = "--metric, --lowest", "--keep-best", "a metric for nothing"
	default:
		return any, nil
	}
	return nil, usageError{wrong}
}

// pruned is what `prune --json` prints of a run.
type pruned struct {
	Directory string       `json:"directory"`
	DryRun    bool         `json:"dry_run"`
	Busy      string       `json:"busy,omitempty"` // who writes the run, so that nothing was removed
	Steps     []prunedStep `json:"steps"`
	Kept      int          `json:"kept"`
	Removed   int          `json:"removed"`
	Bytes     int64        `json:"bytes"`   // of the removed steps; what other steps link stays on the disk
	Skipped   int          `json:"skipped"` // directories that are no whole steps, which stay
}

type prunedStep struct {
	Step      int64  `json:"step"`
	Directory string `json:"directory"`
	Keep      bool   `json:"keep"`
	Reason    string `json:"reason,omitempty"` // what keeps it
	Bytes     int64  `json:"bytes"`
}

// pruneSummary is the summary of `prune --jsonl`.
type pruneSummary struct {
	DryRun  bool  `json:"dry_run"`
	Runs    int   `json:"runs"`
	Kept    int   `json:"kept"`
	Removed int   `json:"removed"`
	Bytes   int64 `json:"bytes"`
	Busy    int   `json:"busy"`
	Failed  int   `json:"failed"`
}

func newPruneCommand(g *global) *cobra.Command {
	var o PruneOptions
	return with(&cobra.Command{
		Use:   "prune PATH…",
		Short: "Remove the steps of runs that no --keep flag keeps",
		Long: `Remove steps of runs. A step stays if one of the flags keeps it; the flags are
named as in restic forget, and a training has the same policies. At least one is needed.
The command acts at once; --dry-run shows first what it would do.

These always stay: the newest step, the last whole step, steps with tags (bivouac
protect, bivouac tag), steps that a reader holds, and directories that are no whole
steps. A run that a training writes is busy: nothing of it is removed, and the exit
status is 1, unless --skip-busy passes it over. Give such a training a policy of its
own.

` + manyHelp + `

` + exitCodesHelp,
		Example: `  bivouac prune runs --keep-last 3 --keep-every 1000 --dry-run
  bivouac prune runs/digits --keep-best 2 --metric loss --lowest
  bivouac prune 's3://bucket/runs/*' --keep-within 14d --skip-busy`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPrune(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

func runPrune(ctx context.Context, args []string, o PruneOptions, g *global) error {
	policy, err := o.policy()
	if err != nil {
		return err
	}
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	p := &pruner{g: g, o: o, policy: policy, tally: tally{op: "prune"}, sum: pruneSummary{DryRun: o.DryRun},
		forms: runForms{g: g, many: len(list) > 1, long: o.Long, docs: documents{g: g},
			headers: []string{"RUN", ">KEPT", ">REMOVED", ">SIZE", ""}}}
	if err := each(ctx, o.jobs(), list, p.run, p.add); err != nil {
		return err
	}
	return p.end(len(list))
}

// pruner prunes runs.
type pruner struct {
	g      *global
	o      PruneOptions
	policy training.PreservationPolicy
	forms  runForms
	tally  tally
	sum    pruneSummary
}

// run prunes one run.
func (p *pruner) run(ctx context.Context, t named) (out *pruned, err error) {
	if checkpoint.IsCheckpoint(ctx, t.path, nil) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "prune", Subject: t.path, Want: "the directory of a run",
			Got:    "a checkpoint",
			Remedy: "bivouac rm removes a checkpoint"}
	}
	run, c, err := openSteps(ctx, t.path, nil, training.Options{Preserve: p.policy}, p.g)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if run.empty() {
		return nil, run.missing(ctx, t.path, anyStep)
	}
	if err := p.knowsMetric(t.path, run); err != nil {
		return nil, err
	}
	out = &pruned{Directory: t.path, DryRun: p.o.DryRun, Steps: []prunedStep{}, Skipped: len(run.skipped)}
	bytes := map[string]int64{}
	for _, s := range run.steps {
		files, err := place(place(t.path).join(s.Directory)).files(ctx)
		if err != nil {
			return nil, err
		}
		bytes[s.Directory] = sum(files).Bytes
	}
	list, err := c.Prune(ctx, &training.PruneOptions{DryRun: p.o.DryRun})
	if errs.KindOf(err) == errs.Busy && p.o.SkipBusy {
		out.Busy = oneLine(err)
		return out, nil
	}
	for _, r := range list {
		s := prunedStep{r.Step, r.Directory, r.Keep, r.Reason, bytes[r.Directory]}
		if out.Steps = append(out.Steps, s); r.Keep {
			out.Kept++
			continue
		}
		out.Removed++
		out.Bytes += s.Bytes
	}
	return out, err
}

// knowsMetric returns an error if no step of a run has the metric: all its steps would go.
func (p *pruner) knowsMetric(path string, run *runDir) error {
	if p.o.KeepBest == 0 || len(run.steps) == 0 {
		return nil
	}
	there := map[string]bool{}
	for _, s := range run.steps {
		for name := range s.Metrics {
			there[name] = true
		}
	}
	if there[p.o.Metric] {
		return nil
	}
	names := slices.Sorted(maps.Keys(there))
	e := &errs.Error{Kind: errs.NotFound, Op: "prune", Subject: path, Want: "steps with the metric " +
		strconv.Quote(p.o.Metric),
		Got: "no metrics", Remedy: errs.DidYouMean(p.o.Metric, names)}
	if len(names) > 0 {
		e.Got = "the metrics " + some(names)
	}
	return e
}

// add prints what was done with a run.
func (p *pruner) add(t named, done *pruned, err error) error {
	p.tally.add(t.path, err)
	p.sum.Runs++
	if done != nil {
		p.sum.Kept += done.Kept
		p.sum.Removed += done.Removed
		p.sum.Bytes += done.Bytes
		if done.Busy != "" {
			p.sum.Busy++
		}
	}
	if err != nil {
		p.sum.Failed++
		p.forms.blame(t.path, err)
	}
	if done == nil {
		return p.forms.fail(t.path, err)
	}
	return p.forms.add(done)
}

// verb returns the words for a removal.
func (d *pruned) verb() string {
	if d.DryRun {
		return "remove"
	}
	return "removed"
}

// run implements shown.
func (d *pruned) run() string { return d.Directory }

// row implements shown.
func (d *pruned) row() []any {
	note := painted{}
	switch {
	case d.Busy != "":
		note = painted{warned, "busy: nothing was removed"}
	case d.Skipped > 0:
		note = painted{warned, strconv.Itoa(d.Skipped) + " not whole"}
	}
	return []any{d.Directory, strconv.Itoa(d.Kept), strconv.Itoa(d.Removed), size(d.Bytes), note}
}

// print implements shown: it prints the steps of the run.
func (d *pruned) print(g *global) {
	if d.Busy != "" {
		g.printf("busy: nothing was removed: %s\n", d.Busy)
		return
	}
	table := newTable(g, ">      STEP", ">      SIZE", "", "REASON")
	for _, s := range d.Steps {
		what := painted{good, "keep"}
		if !s.Keep {
			what = painted{warned, d.verb()}
		}
		table.add(strconv.FormatInt(s.Step, 10), size(s.Bytes), what, s.Reason)
	}
	table.print()
	g.printf("%d steps kept, %d %s, %s\n", d.Kept, d.Removed, map[bool]string{false: "removed",
		true: "to remove"}[d.DryRun], size(d.Bytes))
	if d.Skipped > 0 {
		g.printf("%d directories are no whole steps and stay; bivouac repair looks at them\n", d.Skipped)
	}
}

// end prints the summary.
func (p *pruner) end(runs int) error {
	what, busy := "removed", ""
	if p.o.DryRun {
		what = "to remove; --dry-run removed nothing"
	}
	if p.sum.Busy > 0 {
		busy = fmt.Sprintf(", %d busy", p.sum.Busy)
	}
	err := p.forms.end(runs, p.sum, fmt.Sprintf("%d runs%s: %d steps kept, %d steps of %s %s", p.sum.Runs, busy,
		p.sum.Kept, p.sum.Removed, size(p.sum.Bytes), what))
	return cmp.Or(err, p.tally.err())
}
