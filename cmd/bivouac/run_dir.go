package main

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// anyStep, as a step to look for, is the newest one.
const anyStep = -1

// runDir is what a run directory holds.
type runDir struct {
	steps   []training.Info // ascending
	skipped []skippedStep   // directories that look like steps and are no whole checkpoints
}

type skippedStep struct {
	Directory string `json:"directory"`
	Reason    string `json:"reason"`
	err       error
}

// openRun reads the steps of dir and changes nothing there.
func openRun(ctx context.Context, dir string) (*runDir, error) {
	if err := needDirectory(dir); err != nil {
		return nil, err
	}
	var r runDir
	c, err := training.Open(ctx, dir, &training.Options{OnEvent: func(e training.Event) {
		if e.Kind == training.Skipped {
			r.skipped = append(r.skipped, skippedStep{Directory: e.Name, Reason: e.Err.Error(), err: e.Err})
		}
	}})
	if err != nil {
		return nil, err
	}
	r.steps = c.Checkpoints()
	return &r, c.Close()
}

func needDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &errs.Error{Kind: errs.NotFound, Subject: dir, Want: "a directory"}
	case errors.Is(err, fs.ErrPermission):
		return &errs.Error{Kind: errs.Permission, Subject: dir, Err: err}
	case err != nil:
		return &errs.Error{Kind: errs.IO, Subject: dir, Err: err}
	case !info.IsDir():
		return &errs.Error{Kind: errs.NotFound, Subject: dir, Want: "a directory", Got: "a file"}
	}
	return nil
}

// resolve finds the checkpoint that path means: path itself, or a step of the
// run directory path.
func resolve(ctx context.Context, path string, step int64) (string, error) {
	if err := needDirectory(path); err != nil {
		if errs.KindOf(err) == errs.NotFound && checkpoint.IsCheckpoint(ctx, path, nil) {
			return path, nil // one safetensors file
		}
		return "", err
	}
	if checkpoint.IsCheckpoint(ctx, path, nil) {
		if own, ok := stepOf(path); step != anyStep && (!ok || own != step) {
			return "", &errs.Error{Kind: errs.Invalid, Subject: "--step", Want: "the directory of a run", Got: path + ", which is a checkpoint"}
		}
		return path, nil
	}
	r, err := openRun(ctx, path)
	if err != nil {
		return "", err
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		if step == anyStep || r.steps[i].Step == step {
			return filepath.Join(path, r.steps[i].Directory), nil
		}
	}
	missing := &errs.Error{Kind: errs.NotFound, Subject: path, Want: "a checkpoint or the directory of a run", Got: "a directory without whole steps"}
	if step != anyStep && len(r.steps) > 0 {
		missing.Want, missing.Got = "step "+strconv.FormatInt(step, 10), "steps "+strconv.FormatInt(r.steps[0].Step, 10)+
			" to "+strconv.FormatInt(r.steps[len(r.steps)-1].Step, 10)
	}
	return "", missing
}

// stepOf reads the step from the name of a step's directory.
func stepOf(path string) (int64, bool) {
	return training.StandardNames{}.Parse(filepath.Base(filepath.Clean(path)))
}

// size renders bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, names := float64(n)/unit, "KMGTPE"
	i := 0
	for f >= unit && i < len(names)-1 {
		f /= unit
		i++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + names[i:i+1] + "iB"
}

// units are what sizes may be given in.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize parses a number of bytes as people write it; "" is 0.
func parseSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := s, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = d, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "--shard-size", Want: "a size such as 5GB, 512MiB or 1000000", Got: strconv.Quote(s)}
	}
	return n * unit, nil
}
