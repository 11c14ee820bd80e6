package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// LsOptions are the flags of `bivouac ls`.
type LsOptions struct {
	parallel
	Long    bool
	Metrics string
}

// AddFlags declares the flags.
func (o *LsOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.Long, "long", "l", false, "of several runs, list each step, and not only a line for each run")
	cmd.Flags().StringVar(&o.Metrics, "openmetrics", "",
		"write the numbers of each run to this file, for the textfile collector of node exporters")
}

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
	Tags    []string           `json:"tags,omitempty"`
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

// lsSummary is the summary of `ls --jsonl`.
type lsSummary struct {
	Runs    int   `json:"runs"`
	Steps   int   `json:"steps"`
	Bytes   int64 `json:"bytes"`
	Skipped int   `json:"skipped"` // directories that look like steps but are not whole checkpoints
	Failed  int   `json:"failed"`  // runs that could not be listed
}

func newLsCommand(g *global) *cobra.Command {
	var o LsOptions
	return with(&cobra.Command{
		Use:   "ls PATH…",
		Short: "List the steps of runs, or the leaves of a checkpoint",
		Long: `List the committed steps of a run directory, oldest first. Directories that look
like steps and are no whole checkpoints are named with the reason; they are never
resumed from. So are those that a repair or a start has set aside. Where the run
is scrubbed it is said when each step was read last, and what was found. Of a
checkpoint, what bivouac info prints.

` + manyHelp + ` Of several runs each has one line; --long lists their steps.
No array is read.

` + exitCodesHelp,
		Example: `  bivouac ls runs/digits
  bivouac ls runs                  # all runs below a directory
  bivouac ls 's3://bucket/runs/*'  # also in a bucket`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runLs(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

// manyHelp says in the help of a command that it takes several runs.
const manyHelp = `PATH is a run or a checkpoint, a directory with runs up to 5 levels below it, or
a pattern such as 'runs/*' or 'runs/**/seed-[0-9]'. All may be URLs of a bucket.`

func runLs(ctx context.Context, args []string, o LsOptions, g *global) error {
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	if len(list) == 1 && list[0].err == nil && checkpoint.IsCheckpoint(ctx, list[0].path, nil) {
		return runInfo(ctx, list[0].path, InfoOptions{Step: anyStep}, g)
	}
	l := &lister{tally: tally{op: "ls"}, forms: runForms{g: g, many: len(list) > 1, long: o.Long, docs: documents{g: g},
		headers: []string{"RUN", ">STEPS", ">FIRST", ">LATEST", "COMMITTED", ">SIZE", ""}}}
	err = each(ctx, o.jobs(), list, func(ctx context.Context, t named) (*listing, error) {
		return listRun(ctx, t.path, g)
	}, l.add)
	if err != nil {
		return err
	}
	return cmp.Or(l.end(len(list)), l.gauges.write(ctx, o.Metrics, "ls"), l.tally.err())
}

// listRun lists one run, or a checkpoint among runs as a run with one step.
func listRun(ctx context.Context, dir string, g *global) (*listing, error) {
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		return listOne(ctx, dir)
	}
	run, err := openRun(ctx, dir, g)
	if err != nil {
		return nil, err
	}
	if run.empty() {
		return nil, run.missing(ctx, dir, anyStep)
	}
	scrubbed, err := scrubs(ctx, dir)
	if err != nil {
		return nil, err
	}
	l := &listing{Directory: dir, Steps: []listedStep{}, Skipped: append([]skippedStep{}, run.skipped...),
		Aside: append([]string{}, run.aside...)}
	for _, s := range run.steps {
		files, err := place(place(dir).join(s.Directory)).files(ctx)
		if err != nil {
			return nil, err
		}
		l.Steps = append(l.Steps, listedStep{Step: s.Step, Directory: s.Directory, Committed: s.Time.UTC(),
			storage: sum(files), Tags: run.tags[s.Step],
			Scrub: scrubbed[s.Directory], Metrics: s.Metrics, Custom: s.Custom})
	}
	for _, m := range run.gone {
		l.Missing = append(l.Missing, m.Name+": "+oneLine(m.Err))
	}
	return l, nil
}

// listOne lists a checkpoint that is not of a run.
func listOne(ctx context.Context, path string) (*listing, error) {
	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	files, err := place(path).files(ctx)
	if err != nil {
		return nil, err
	}
	step, _ := stepOf(path)
	return &listing{Directory: path, Skipped: []skippedStep{}, Aside: []string{}, Steps: []listedStep{{Step: step,
		Directory: ".",
		Committed: info.Commit.UTC(), storage: sum(files), Metrics: nil, Custom: info.Custom}}}, nil
}

// lister prints listings.
type lister struct {
	forms  runForms
	sum    lsSummary
	tally  tally
	gauges gauges
}

// add prints one listing.
func (l *lister) add(t named, listed *listing, err error) error {
	l.tally.add(t.path, err)
	l.sum.Runs++
	if err != nil {
		l.sum.Failed++
		l.forms.blame(t.path, err)
		return l.forms.fail(t.path, err)
	}
	l.sum.Steps += len(listed.Steps)
	l.sum.Skipped += len(listed.Skipped)
	l.sum.Bytes += listed.bytes()
	l.gauges.addRun(listed.Directory, listed.numbers())
	return l.forms.add(listed)
}

// runNumbers are the numbers of a run for a monitoring system.
type runNumbers struct {
	steps, notWhole, aside, damaged int
	bytes                           int64
	latest                          *listedStep // the newest step, or nil
}

// numbers returns the numbers of a listing.
func (l *listing) numbers() runNumbers {
	n := runNumbers{steps: len(l.Steps), notWhole: len(l.Skipped), aside: len(l.Aside), damaged: l.unsound(),
		bytes: l.bytes()}
	if k := len(l.Steps); k > 0 {
		n.latest = &l.Steps[k-1]
	}
	return n
}

// addRun adds the numbers of a run.
func (m *gauges) addRun(run string, n runNumbers) {
	m.set("bivouac_run_steps", "Committed steps of the run.", run, float64(n.steps))
	m.set("bivouac_run_bytes", "Bytes of its steps.", run, float64(n.bytes))
	m.set("bivouac_run_not_whole", "Directories that look like steps and are not whole.", run, float64(n.notWhole))
	m.set("bivouac_run_set_aside", "Steps that were set aside.", run, float64(n.aside))
	m.set("bivouac_run_damaged", "Steps in which the last scrub found damage.", run, float64(n.damaged))
	if n.latest != nil {
		m.set("bivouac_run_latest_step", "The newest step.", run, float64(n.latest.Step))
		m.set("bivouac_run_latest_commit_seconds", "When the newest step was committed, in seconds since 1970.", run,
			float64(n.latest.Committed.Unix()))
	}
}

// run implements shown.
func (l *listing) run() string { return l.Directory }

// bytes returns the size of the steps.
func (l *listing) bytes() (n int64) {
	for _, s := range l.Steps {
		n += s.Bytes
	}
	return n
}

// row implements shown.
func (l *listing) row() []any {
	first, last, committed, notes := "", "", "", ""
	if n := len(l.Steps); n > 0 {
		if l.Steps[0].Directory != "." {
			first, last = strconv.FormatInt(l.Steps[0].Step, 10), strconv.FormatInt(l.Steps[n-1].Step, 10)
		}
		committed = l.Steps[n-1].Committed.Local().Format(time.DateTime)
	}
	for _, note := range []struct {
		n    int
		what string
	}{{len(l.Skipped), "not whole"}, {len(l.Missing), "MISSING"}, {len(l.Aside), "set aside"},
		{l.unsound(), "DAMAGED"}} {
		if note.n > 0 {
			if notes != "" {
				notes += ", "
			}
			notes += strconv.Itoa(note.n) + " " + note.what
		}
	}
	return []any{l.Directory, strconv.Itoa(len(l.Steps)), first, last, committed, size(l.bytes()), painted{warned, notes}}
}

// unsound returns the number of steps in which the last scrub found damage.
func (l *listing) unsound() (n int) {
	for _, s := range l.Steps {
		if s.Scrub != nil && !s.Scrub.Sound {
			n++
		}
	}
	return n
}

// end prints the summary.
func (l *lister) end(runs int) error {
	return l.forms.end(runs, l.sum, fmt.Sprintf("%d runs, %d steps, %s", l.sum.Runs, l.sum.Steps, size(l.sum.Bytes)))
}

// print implements shown.
func (l *listing) print(g *global) {
	table := newTable(g, ">      STEP", "COMMITTED", ">      SIZE", "DIRECTORY", "", "", "")
	for _, s := range l.Steps {
		linked, scrubbed, tags := "", painted{}, ""
		if s.LinkedBytes > 0 {
			linked = size(s.LinkedBytes) + " of it linked"
		}
		if s.Scrub != nil {
			scrubbed.text = "scrubbed " + s.Scrub.Time.Local().Format(time.DateTime)
			if !s.Scrub.Sound {
				scrubbed = painted{bad, scrubbed.text + ": DAMAGED: " + strings.Join(s.Scrub.Damaged, "; ")}
			}
		}
		if len(s.Tags) > 0 {
			tags = "tagged " + strings.Join(s.Tags, ", ")
		}
		table.add(strconv.FormatInt(s.Step, 10), s.Committed.Local().Format(time.DateTime), size(s.Bytes), s.Directory,
			linked, tags, scrubbed)
	}
	if len(l.Steps) > 0 {
		table.print()
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
		g.printf("no committed steps in %s\n", l.Directory)
	}
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
