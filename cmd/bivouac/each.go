package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// parallel is the flag of commands that take many runs.
type parallel struct {
	Jobs  int
	Lines bool // print a line of JSON for each result
}

// addFlags declares the flags.
func (p *parallel) addFlags(g *global) func(cmd *cobra.Command) {
	return func(cmd *cobra.Command) {
		atLeast(cmd.Flags(), &p.Jobs, "jobs", 1, 0, "how many runs to work on at once; by default as many as there are cores")
		cmd.Flags().BoolVar(&g.jsonl, "jsonl", false,
			"print a line of JSON for each result as it is known, and one with the summary")
	}
}

// jobs returns how many runs to work on at once.
func (p *parallel) jobs() int { return cmp.Or(p.Jobs, runtime.GOMAXPROCS(0)) }

// ahead is how many results may wait, for each job, until an earlier one is there.
const ahead = 8

// unusedBytes is memory that each allocates and never touches, so that it takes no memory of the
// machine. The garbage collector counts it, and begins its next cycle when the heap has doubled: it
// need not look through a small heap after every few runs.
const unusedBytes = 32 << 20

// each calls do for the targets, at most jobs at once, and then emit for each one with what do
// returned. emit is called in the order of the targets, by one goroutine. each ends with the first
// error of emit, or when ctx ends.
func each[T any](ctx context.Context, jobs int, list []named, do func(ctx context.Context, t named) (T, error),
	emit func(t named, result T, err error) error) error {
	type outcome struct {
		result T
		err    error
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer runtime.KeepAlive(make([]byte, unusedBytes))
	slots, window := make(chan struct{}, jobs), make(chan chan outcome, jobs*ahead)
	go func() {
		defer close(window)
		for _, t := range list {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			out := make(chan outcome, 1)
			window <- out
			go func() {
				defer func() { <-slots }()
				o := outcome{err: t.err}
				if t.err == nil {
					o.result, o.err = do(ctx, t)
				}
				out <- o
			}()
		}
	}()
	var failed error
	emitted := 0
	for out := range window { // also after a failure, so that every goroutine has ended
		o := <-out
		if failed != nil || ctx.Err() != nil {
			continue
		}
		if failed = emit(list[emitted], o.result, o.err); failed != nil {
			stop()
		}
		emitted++
	}
	if failed == nil && emitted < len(list) {
		failed = context.Cause(ctx)
	}
	return failed
}

// tally counts how the runs of a command ended.
type tally struct {
	op    string
	runs  int
	first error // of the worst kind
	kind  errs.Kind
	names []string // of the runs that ended with kind
	bad   int      // runs that ended with an error
}

// severity orders kinds of errors: damage counts more than what could not be looked at, and that
// more than what is not there.
func severity(k errs.Kind) int {
	switch k {
	case errs.Canceled:
		return 5
	case errs.Corrupt, errs.Mismatch:
		return 4
	case errs.NotFound:
		return 2
	case errs.Invalid:
		return 1
	}
	return 3
}

// add counts a run that ended with err, which may be nil.
func (t *tally) add(path string, err error) {
	t.runs++
	if err == nil {
		return
	}
	t.bad++
	kind := errs.KindOf(err)
	switch d := severity(kind) - severity(t.kind); {
	case t.first == nil || d > 0:
		t.first, t.kind, t.names = err, kind, []string{path}
	case d == 0:
		t.names = append(t.names, path)
	}
}

// err returns the error of the only run, or an error that names the worst runs.
func (t *tally) err() error {
	if t.first == nil || t.runs == 1 {
		return t.first
	}
	return &errs.Error{Kind: t.kind, Op: t.op, Subject: some(t.names), Got: fmt.Sprintf("%d of %d failed, first: %s",
		t.bad, t.runs, oneLine(t.first))}
}

// failedRun is what --json prints in the place of a run that a command could not work on.
type failedRun struct {
	Path  string      `json:"path"`
	Error failureText `json:"error"`
}

// documents prints the results of a command for programs: with --jsonl each on a line as soon as it
// is known, and then the summary, with --json all of them as one array. Without these flags it
// prints nothing.
type documents struct {
	g     *global
	array bool // an array also for a single result
	list  []any
}

// add takes a result.
func (d *documents) add(v any) error {
	switch {
	case d.g.jsonl:
		return d.g.printJSONLine(v)
	case d.g.json:
		d.list = append(d.list, v)
	}
	return nil
}

// end prints what add has kept, and the summary with --jsonl. runs is how many runs the arguments
// name.
func (d *documents) end(runs int, summary any) error {
	switch {
	case d.g.jsonl:
		return d.g.printJSONLine(map[string]any{"summary": summary})
	case !d.g.json:
		return nil
	case runs == 1 && !d.array && len(d.list) == 1:
		return d.g.printJSON(d.list[0])
	case d.list == nil:
		d.list = []any{}
	}
	return d.g.printJSON(d.list)
}

// runForms prints the results of a command for several runs, each in the form that the flags ask
// for: a document for programs, the long form of a single run, the long form under its name with
// --long, or a row of a table.
type runForms struct {
	g    *global
	many bool // the arguments name several runs
	long bool
	docs documents

	headers []string // of the table
	table   *table   // nil before the first row
}

// shown is a result that runForms prints.
type shown interface {
	run() string
	print(g *global) // the long form
	row() []any      // the cells of the row
}

// add takes a result.
func (f *runForms) add(result shown) error {
	switch {
	case f.g.machine():
		return f.docs.add(result)
	case !f.many:
		result.print(f.g)
	case f.long:
		f.g.printf("%s\n", result.run())
		result.print(f.g)
		f.g.printf("\n")
	default:
		if f.table == nil {
			f.table = newTable(f.g, f.headers...)
		}
		f.table.add(result.row()...)
	}
	return nil
}

// fail takes the error of a run without a result. Of a single run the command returns the error.
func (f *runForms) fail(run string, err error) error {
	if !f.many {
		return nil
	}
	return f.docs.add(failedRun{run, newFailureText(err)})
}

// blame prints the error of one of several runs.
func (f *runForms) blame(run string, err error) {
	if f.many {
		f.g.blame(run, err)
	}
}

// end prints what add has kept, and then the summary: a document for programs, or the text. runs is
// how many runs the arguments name.
func (f *runForms) end(runs int, summary any, text string) error {
	if err := f.docs.end(runs, summary); err != nil || f.g.machine() || !f.many {
		return err
	}
	f.table.print()
	f.g.printf("%s\n", text)
	return nil
}
