// Package demo runs one training twice, once in peace and once killed again and
// again, and compares the two bit for bit.
//
// The second one runs as a child process that gets SIGKILL at planned instants:
// some between two steps, some while a commit is under way, known from events
// that the child announces. A new child carries on after the newest committed
// step. Everything that a step was (its samples, their pixels after
// augmentation, its loss) is compared, also where a step that was lost is
// executed again, and so is every bit of the final state.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/examples/digits"
)

// Options of the demonstration. The zero value of each field works, except Dir and Command.
type Options struct {
	Dir       string  // everything is written below it
	Command   Command // makes children
	Seed      uint64  // of the training
	KillSeed  uint64  // of the instants of the kills; 0 is Seed
	Steps     int64   // 0 is 700
	SaveEvery int64   // 0 is 40
	Kills     int     // 0 means 5; NoKills means 0
	Threads   int     // of the pipeline; 0 is 2
	Prefetch  int     // batches; 0 is 2
}

// NoKills, as Options.Kills, lets the child live.
const NoKills = -1

// WithDefaults returns o with its zeros replaced.
func (o Options) WithDefaults() Options {
	set := func(v *int64, to int64) {
		if *v == 0 {
			*v = to
		}
	}
	set(&o.Steps, 700)    // 97 percent of the test digits, in seconds
	set(&o.SaveEvery, 40) // several commits between two kills
	if o.KillSeed == 0 {
		o.KillSeed = o.Seed
	}
	if o.Kills == 0 {
		o.Kills = 5
	}
	if o.Threads == 0 {
		o.Threads = 2
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2
	}
	return o
}

// Validate reports the first field that makes no sense.
func (o Options) Validate() error {
	bad := func(field, want string, got int64) error {
		return &errs.Error{Kind: errs.Invalid, Op: "demo", Subject: field, Want: want, Got: strconv.FormatInt(got, 10)}
	}
	switch {
	case o.SaveEvery < 1:
		return bad("save-every", "at least 1", o.SaveEvery)
	case o.Kills < NoKills || o.Kills > 1000:
		return bad("kills", "0 to 1000", int64(o.Kills))
	case o.Steps < shortest(o.Kills, o.SaveEvery):
		return bad("steps", fmt.Sprintf("at least %d, for %d kills and that save interval", shortest(o.Kills, o.SaveEvery), max(o.Kills, 0)), o.Steps)
	case o.Threads < 1 || o.Threads > 256:
		return bad("threads", "1 to 256", int64(o.Threads))
	case o.Prefetch < 1 || o.Prefetch > 256:
		return bad("prefetch", "1 to 256", int64(o.Prefetch))
	}
	return nil
}

// Screen shows how far the demonstration is. Calls come one at a time.
type Screen interface {
	Begin(task string, total int64)
	Advance(done int64, note string)
	End()
	Printf(format string, args ...any)
}

// Directories and files below Options.Dir.
const (
	dataDir        = "data"
	calmDir        = "uninterrupted"
	killedDir      = "interrupted"
	plotFile       = "loss.svg"
	pageFile       = "demo.html"
	resultFile     = "result.json"
	ownershipLabel = ".bivouac-demo"
)

// Run does the demonstration. The report tells what was found, also where the
// two trainings differ; an error means that the demonstration itself failed.
//
// Errors: errs.Invalid for options, errs.Exists when Options.Dir holds
// something else, what the data set, the trainings and the system say.
func Run(ctx context.Context, o Options, screen Screen) (*Report, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := claim(o.Dir); err != nil {
		return nil, err
	}
	start := time.Now()
	set, err := writeData(ctx, o, screen)
	if err != nil {
		return nil, err
	}
	d := demonstration{options: o, screen: screen, report: Report{
		Seed: o.Seed, Steps: o.Steps, SaveEvery: o.SaveEvery, Train: set.Train, Test: set.Test,
		Plot:   filepath.Join(o.Dir, plotFile),
		Page:   filepath.Join(o.Dir, pageFile),
		Result: filepath.Join(o.Dir, resultFile),
	}}
	if err := d.runCalm(ctx); err != nil {
		return nil, err
	}
	if err := d.runKilled(ctx); err != nil {
		return nil, err
	}
	d.report.Seconds = time.Since(start).Seconds()
	if err := d.write(ctx); err != nil {
		return nil, err
	}
	return &d.report, nil
}

// claim makes dir, or takes it over from a demonstration before: the trainings
// of that are removed, its data set stays. A directory that holds anything else
// is left as it is.
func claim(dir string) error {
	label := filepath.Join(dir, ownershipLabel)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return system(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return system(dir, err)
	}
	if len(entries) == 0 {
		text := "Made by `bivouac demo`, which removes the trainings here when it runs again.\n"
		if err := os.WriteFile(label, []byte(text), 0o666); err != nil {
			return system(dir, err)
		}
		return nil
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == ownershipLabel }) {
		return &errs.Error{Kind: errs.Exists, Op: "demo", Subject: dir, Got: "a directory with other contents",
			Remedy: "choose an empty one with --dir"}
	}
	for _, name := range []string{calmDir, killedDir, plotFile, pageFile, resultFile} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return system(dir, err)
		}
	}
	return nil
}

// system gives an error of the operating system its kind.
func system(subject string, err error) error {
	kind := errs.IO
	if errors.Is(err, fs.ErrPermission) {
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Op: "demo", Subject: subject, Err: err}
}

func writeData(ctx context.Context, o Options, screen Screen) (digits.Dataset, error) {
	begun := false
	set, err := digits.WriteDataset(ctx, filepath.Join(o.Dir, dataDir), func(done, total int) {
		if !begun {
			screen.Begin("data set", int64(total))
			begun = true
		}
		screen.Advance(int64(done), "")
	})
	if begun {
		screen.End()
	}
	if err != nil {
		return set, err
	}
	verb := "verified"
	if set.Written {
		verb = "written"
	}
	screen.Printf("%d digits %s: %d to train on, %d to test with\n", set.Train+set.Test, verb, set.Train, set.Test)
	return set, nil
}
