package main

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

func TestMain(m *testing.M) {
	switch os.Getenv("BIVOUAC_TEST_COMMAND") {
	case "state":
		os.Exit(saveState(os.Args[1]))
	case "convert":
		os.Exit(measured(convertState(os.Args[1], os.Args[2], os.Args[3])))
	case "measured":
		os.Exit(measured(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)))
	case "bivouac":
		main() // exits
	}
	testscript.Main(m, map[string]func(){"bivouac": main, "crashjob": crashJob})
}

func TestScripts(t *testing.T) { scripts(t, "testdata/script", nil) }

// scripts runs the scripts of a folder. more has further variables of the environment.
func scripts(t *testing.T, dir string, more map[string]string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for name, value := range more {
				env.Setenv(name, value)
			}
			cases, err := filepath.Abs("../../testdata/orbax")
			if err != nil {
				return err
			}
			env.Setenv("ORBAX", cases)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("FORMATS", filepath.Join(filepath.Dir(cases), "formats"))
			env.Setenv("TORCH", filepath.Join(filepath.Dir(cases), "dcp"))
			vectors, err := filepath.Abs("../../testdata/dali")
			env.Setenv("DALI", vectors)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status,
			"flip":    flip,
			"removed": removed,
			"tree":    copyTree,
			"loader":  loaderState,
			"ordered": orderedState,
			"grown":   grownState,
			"same":    sameTree,
			"png":     checkPNG,
			"trained": trainedRun,
			"looked":  trainOnPictures,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "full": // there is a file that takes nothing
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// status runs a command and checks its exit status: status CODE COMMAND ARG…
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// checkPNG checks that a file is a PNG of a size: png FILE WIDTH HEIGHT
func checkPNG(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: png FILE WIDTH HEIGHT")
	}
	img, err := png.Decode(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if size := img.Bounds().Size(); fmt.Sprint(size.X, size.Y) != args[1]+" "+args[2] {
		ts.Fatalf("%s is %v, want %s by %s", args[0], size, args[1], args[2])
	}
}

// flip changes a bit in the middle of the largest file that matches a pattern.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip PATTERN")
	}
	name := largest(ts, args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.WriteFile(name, b, 0o666))
}

// removed removes the largest file that matches a pattern.
func removed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: removed PATTERN")
	}
	ts.Check(os.Remove(largest(ts, args[0])))
}

// copyTree copies a directory with all below: tree FROM TO
func copyTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree FROM TO")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

func largest(ts *testscript.TestScript, pattern string) string {
	names, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	best, size := "", int64(-1)
	for _, name := range names {
		info, err := os.Stat(name)
		ts.Check(err)
		if info.Mode().IsRegular() && info.Size() > size {
			best, size = name, info.Size()
		}
	}
	if best == "" {
		ts.Fatalf("no file matches %s", pattern)
	}
	return best
}

// stateBehind takes n batches of a loader, over the ends of epochs, and returns its state.
func stateBehind[S, B any](ts *testscript.TestScript, l *loader.Loader[S, B], n int) []byte {
	for n > 0 {
		if _, err := l.Next(context.Background()); err == nil {
			n--
		} else if err != io.EOF {
			ts.Fatalf("%v", err)
		}
	}
	state, err := l.AppendState(nil)
	ts.Check(err)
	return state
}

// loaderState writes the state of a loader of samples by their ids, shuffled, after
// some batches: loader FILE SAMPLES SEED, and for each leg GLOBAL/RANKS*BATCHES.
func loaderState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: loader FILE SAMPLES SEED GLOBAL/RANKS*BATCHES…")
	}
	samples, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	seed, err := strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	data := loader.Func(samples, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	var state []byte
	for _, leg := range args[3:] {
		var global, world, batches int
		_, err := fmt.Sscanf(leg, "%d/%d*%d", &global, &world, &batches)
		ts.Check(err)
		l, err := loader.New(data, loader.Options[int64, int]{Shuffle: true, Seed: seed, GlobalBatch: global, World: world,
			Collate: func(s []int64) (int, error) { return len(s), nil }})
		ts.Check(err)
		if state != nil {
			ts.Check(l.SetState(state))
		}
		state = stateBehind(ts, l, batches)
		ts.Check(l.Close())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), state, 0o666))
}

// orderedState writes the state of a loader of 12 samples in packs of what a filter leaves
// of windows, after some batches of 2, and order.txt: ordered FILE BATCHES.
func orderedState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ordered FILE BATCHES [packs]")
	}
	batches, err := strconv.Atoi(args[1])
	ts.Check(err)
	windows, err := order.NewWindows([]int64{5, 3, 4}, 2, 7, "loader")
	ts.Check(err)
	selection, err := order.SelectIDs(12, []int64{0, 2, 3, 4, 7, 8, 10, 11})
	ts.Check(err)
	filtered, err := order.NewFiltered(windows, selection)
	ts.Check(err)
	lengths, err := order.NewLengths([]int32{5, 1, 2, 7, 3, 3, 6, 1, 4, 4, 2, 5})
	ts.Check(err)
	packs, err := order.NewPacks(filtered, lengths, order.PackOptions{Capacity: 8})
	ts.Check(err)
	mixture, err := order.NewMixture([]order.Source{{Order: packs, Weight: 3, Samples: 12}, {Order: order.NewShuffled(5,
		7, "other"), Weight: 1}}, order.CycleOn)
	ts.Check(err)
	data := loader.Func(17, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	o := loader.Options[int64, int]{Order: mixture, BatchSize: 2, Collate: func(s []int64) (int, error) {
		return len(s),
			nil
	}}
	if len(args) > 2 { // batches of two packs
		o = loader.Options[int64, int]{Order: packs, BatchSize: 2, CollatePacks: func(p [][]int64) (int,
			error) {
			return len(p), nil
		}}
	}
	l, err := loader.New(data, o)
	ts.Check(err)
	for batches > 0 {
		if _, err := l.Next(context.Background()); err == nil {
			batches--
		} else if err != io.EOF {
			ts.Fatalf("%v", err)
		}
	}
	state, err := l.AppendState(nil)
	ts.Check(err)
	ts.Check(l.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), state, 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("order.txt"), []byte(l.Description()), 0o666))
}

// grownState writes the state of a run of which a source of the mixture got samples: a file,
// the batches of two samples before that, and those behind it. The description goes into
// order.txt, as in orderedState.
func grownState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: grown FILE BATCHES MORE")
	}
	windows := func(sizes ...int64) *order.Windows {
		w, err := order.NewWindows(sizes, 2, 7, "web")
		ts.Check(err)
		return w
	}
	m, err := order.NewMixture([]order.Source{{Order: windows(5, 3, 4), Weight: 3}, {Order: order.NewShuffled(5, 7,
		"other"), Weight: 1}}, order.CycleOn)
	ts.Check(err)
	var state []byte
	for i, n := range []int64{17, 23} {
		batches, err := strconv.Atoi(args[1+i])
		ts.Check(err)
		if i > 0 {
			before, err := strconv.ParseInt(args[1], 10, 64)
			ts.Check(err)
			m, err = m.Extend(2*before, order.Extension{Grown: []order.Growth{{Source: 0, Order: windows(5, 3, 4, 6)}}})
			ts.Check(err)
		}
		data := loader.Func(n, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
		l, err := loader.New(data, loader.Options[int64, int]{Order: m, BatchSize: 2, Collate: func(s []int64) (int,
			error) {
			return len(s), nil
		}})
		ts.Check(err)
		if state != nil {
			ts.Check(l.Extend(state))
		}
		state = stateBehind(ts, l, batches)
		ts.Check(os.WriteFile(ts.MkAbs("order.txt"), []byte(l.Description()), 0o666))
		ts.Check(l.Close())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), state, 0o666))
}
