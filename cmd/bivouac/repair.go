package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
)

// RepairOptions are the flags of `bivouac repair`.
type RepairOptions struct {
	parallel
	Apply bool
	Quick bool
}

// AddFlags declares the flags.
func (o *RepairOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Apply, "apply", false, "make the repairs; by default only the plan is printed")
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "compare only names and sizes, instead of reading every byte")
}

// repairJSON is what `repair --json` prints.
type repairJSON struct {
	Path     string             `json:"path"`
	Applied  bool               `json:"applied"`
	Checked  int                `json:"checked"`
	Actions  []repairActionJSON `json:"actions"`
	Problems []string           `json:"problems"`
}

type repairActionJSON struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	Why  string `json:"why,omitempty"`
	Done bool   `json:"done"`

	Files  []string `json:"files,omitempty"`  // the mended files
	Shared []string `json:"shared,omitempty"` // checkpoints beside it with the same damaged files
}

func newRepairCommand(g *global) *cobra.Command {
	var o RepairOptions
	return with(&cobra.Command{
		Use:   "repair PATH…",
		Short: "Repair damage and leftovers of interrupted programs; by default only print the plan",
		Long: `Look at a checkpoint, a session of partial saves or a run directory, and with
--apply repair it: merge databases of several processes that were never merged,
finalize sessions of partial saves, mend damaged and lost files of checkpoints that
were saved with parity, if the parity suffices, rename other damaged steps of a run
to <name>.damaged, and remove leftovers of interrupted saves. Nothing else is
removed, and no data file is changed in place: a mended checkpoint is checked
against the manifest and then replaces the damaged one. No other process may write
there meanwhile.

` + manyHelp + ` A failure of one does not stop the others.

` + exitCodesHelp + `
Damage that cannot be repaired is exit status 4.`,
		Example: `  bivouac repair runs/digits
  bivouac repair runs --apply`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRepair(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

func runRepair(ctx context.Context, args []string, o RepairOptions, g *global) error {
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	many := len(list) > 1
	single := *g
	single.quiet = g.quiet || many // several bars at once would disturb each other
	work := newWork(g)
	work.runs = len(list)
	docs, sums := documents{g: g}, tally{op: "repair"}
	var reports []*integrity.RepairReport
	err = each(ctx, o.jobs(), list, func(ctx context.Context, t named) (*integrity.RepairReport, error) {
		return repairOne(ctx, t.path, o, &single)
	}, func(t named, r *integrity.RepairReport, err error) error {
		if err == nil {
			err = o.judge(ctx, t.path, r, g)
		}
		if sums.add(t.path, err); many {
			work.count(sums.runs, 0)
			if err != nil {
				g.blame(t.path, err)
			}
		}
		switch {
		case r != nil:
			reports = append(reports, r)
			return docs.add(newRepairJSON(r, o.Apply))
		case many:
			return docs.add(failedRun{t.path, newFailureText(err)})
		}
		return nil
	})
	work.close()
	if err != nil {
		return err
	}
	if !g.machine() {
		for _, r := range reports {
			if many {
				g.printf("%s\n", r.Path)
			}
			printRepair(g, r, o.Apply)
		}
	}
	if many || len(reports) > 0 {
		err = docs.end(len(list), map[string]int{"runs": sums.runs, "failed": sums.bad})
	}
	return cmp.Or(err, sums.err())
}

// repairOne repairs one run or checkpoint, or plans it.
func repairOne(ctx context.Context, path string, o RepairOptions, g *global) (*integrity.RepairReport, error) {
	isStep, err := stepsToRepair(ctx, path, g)
	if err != nil {
		return nil, err
	}
	work, reading := newWork(g), ""
	var tell func(done, total int64)
	r, err := integrity.Repair(ctx, path, &integrity.RepairOptions{Apply: o.Apply, Quick: o.Quick, IsStep: isStep,
		Progress: func(name string, done, total int64) {
			if tell == nil || name != reading {
				reading, tell = name, work.on(place(place(path).join(name)).base())
			}
			tell(done, total)
		}})
	work.close()
	return r, err
}

// judge returns the error of a report: damage that stays, or nothing to look at.
func (o *RepairOptions) judge(ctx context.Context, path string, r *integrity.RepairReport, g *global) error {
	switch {
	case r.Checked+len(r.Actions)+len(r.Problems) == 0:
		return nothingToRepair(ctx, path, g)
	case len(r.Problems) > 0:
		return &errs.Error{Kind: errs.Corrupt, Op: "repair", Subject: path,
			Got: fmt.Sprintf("%d problems that cannot be repaired", len(r.Problems))}
	}
	return nil
}

// nothingToRepair returns the error for a path without a checkpoint, as ls and verify report it. It
// returns nil if all steps were set aside.
func nothingToRepair(ctx context.Context, path string, g *global) error {
	run, err := openRun(ctx, path, g)
	if err == nil && run.empty() {
		err = run.missing(ctx, path, anyStep)
	}
	return err
}

// stepsToRepair returns a function that recognizes the names of steps of a run. It returns nil if
// the names are plain numbers, or if path is not a run.
func stepsToRepair(ctx context.Context, path string, g *global) (func(name string) bool, error) {
	if needDirectory(ctx, path) != nil || checkpoint.IsCheckpoint(ctx, path, nil) {
		return nil, nil
	}
	list, err := place(path).list(ctx)
	if err != nil {
		return nil, nil // Repair reports it
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.name
	}
	f, err := stepNames(ctx, path, names, g)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		_, ok := f.Format.Parse(name)
		return ok
	}, nil
}

func newRepairJSON(r *integrity.RepairReport, applied bool) repairJSON {
	out := repairJSON{Path: r.Path, Applied: applied, Checked: r.Checked, Actions: []repairActionJSON{},
		Problems: []string{}}
	for _, a := range r.Actions {
		j := repairActionJSON{Kind: a.Kind.String(), Path: a.Path, To: a.To, Done: a.Done, Files: a.Files, Shared: a.Shared}
		if a.Why != nil {
			j.Why = a.Why.Error()
		}
		out.Actions = append(out.Actions, j)
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, p.Error())
	}
	return out
}

func printRepair(g *global, r *integrity.RepairReport, applied bool) {
	kept := 0
	for _, a := range r.Actions {
		name := a.Path
		if name == "" {
			name = r.Path
		}
		switch a.Kind {
		case integrity.RepairMerge:
			g.printf("merge      %s: the databases of its processes become one\n", name)
		case integrity.RepairFinalize:
			g.printf("finalize   %s -> %s\n", name, a.To)
		case integrity.RepairSetAside:
			g.printf("set aside  %s -> %s\n           %v\n", name, a.To, a.Why)
		case integrity.RepairMend:
			to := ""
			if a.To != "" {
				to = " -> " + a.To
			}
			g.printf("mend       %s%s: %s\n           %v\n", name, to, some(a.Files), a.Why)
			if len(a.Shared) > 0 {
				g.printf("           the same files are in %s beside it: repair the directory to mend them all\n", some(a.Shared))
			}
		case integrity.RepairClean:
			if applied && !a.Done {
				g.printf("kept       %s: another process may be at work on it; try again in 10 minutes\n", name)
				kept++
				continue
			}
			g.printf("remove     %s: an interrupted save left it\n", name)
		}
	}
	for _, p := range r.Problems {
		g.printf("PROBLEM    %v\n", p)
	}
	switch {
	case len(r.Actions) == 0:
		g.printf("%d checkpoints looked at, nothing to repair\n", r.Checked)
	case applied:
		g.printf("%d checkpoints looked at, %d repairs done\n", r.Checked, len(r.Actions)-kept)
	default:
		g.printf("%d checkpoints looked at, %d repairs to do: --apply does them\n", r.Checked, len(r.Actions))
	}
}
