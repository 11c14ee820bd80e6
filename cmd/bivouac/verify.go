package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// VerifyOptions are the flags of `bivouac verify`.
type VerifyOptions struct {
	trust
	Step int64
}

// AddFlags declares the flags.
func (o *VerifyOptions) AddFlags(cmd *cobra.Command) {
	atLeast(cmd.Flags(), &o.Step, "step", 0, anyStep, "a single step of a run; by default all")
	o.addFlag(cmd)
}

// verdict is what `verify --json` prints of one checkpoint.
type verdict struct {
	Path     string   `json:"path"`
	Sound    bool     `json:"sound"`
	Manifest bool     `json:"manifest"`
	Coverage string   `json:"coverage"`
	Files    int      `json:"files"`
	Leaves   int      `json:"leaves"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

func newVerifyCommand(g *global) *cobra.Command {
	var o VerifyOptions
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Read a checkpoint, or all steps of a run, and check every byte",
		Long: `Read a checkpoint, or all steps of a run directory, and hold every byte against
the checksums that cover it. Directories that look like steps and are no whole
checkpoints count as damaged, and with --key those that it did not sign, in
a run each as the step whose name it has.

` + exitCodesHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd.Context(), args[0], o, g) },
	}
	o.AddFlags(cmd)
	g.addStepPrefix(cmd)
	g.addJSON(cmd)
	return cmd
}

func runVerify(ctx context.Context, path string, o VerifyOptions, g *global) error {
	key, err := o.key()
	if err != nil {
		return err
	}
	verdicts, paths, err := toVerify(ctx, path, o.Step, g)
	if err != nil {
		return err
	}
	work := newWork(g)
	for _, p := range paths {
		label := ""
		if own, ok := stepOf(p); ok && key != nil && p != path {
			label = training.Label(own)
		}
		v, err := verify(ctx, p, checkpoint.VerifyOptions{Key: key, Label: label, Progress: work.on(filepath.Base(p))})
		if err != nil {
			work.close()
			return err
		}
		verdicts = append(verdicts, v)
	}
	work.close()
	damaged := 0
	for _, v := range verdicts {
		if !v.Sound {
			damaged++
		}
	}
	if g.json {
		if err := g.printJSON(verdicts); err != nil {
			return err
		}
	} else {
		printVerdicts(g, verdicts)
	}
	if damaged > 0 {
		return &errs.Error{Kind: errs.Corrupt, Op: "verify", Subject: path, Got: fmt.Sprintf("%d of %d checkpoints damaged", damaged, len(verdicts))}
	}
	return nil
}

// toVerify lists the checkpoints that path and step mean, and the verdicts on
// what is no checkpoint and should be.
func toVerify(ctx context.Context, path string, step int64, g *global) (verdicts []verdict, paths []string, err error) {
	if step != anyStep || needDirectory(path) != nil || checkpoint.IsCheckpoint(ctx, path, nil) {
		one, err := resolve(ctx, path, step, g)
		return nil, []string{one.path}, err
	}
	run, err := openRun(ctx, path, g)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range run.skipped {
		verdicts = append(verdicts, verdict{Path: filepath.Join(path, s.Directory), Problems: []string{s.Reason}})
	}
	for _, s := range run.steps {
		paths = append(paths, filepath.Join(path, s.Directory))
	}
	if len(verdicts)+len(paths) == 0 {
		err = run.missing(ctx, path, anyStep)
	}
	return verdicts, paths, err
}

func verify(ctx context.Context, path string, o checkpoint.VerifyOptions) (verdict, error) {
	r, err := checkpoint.Verify(ctx, path, &o)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{Path: path, Sound: r.OK(), Manifest: r.Manifest, Coverage: r.Coverage, Files: r.Files, Leaves: r.Leaves, Bytes: r.Bytes, Problems: []string{}}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v, nil
}

func printVerdicts(g *global, verdicts []verdict) {
	for _, v := range verdicts {
		if v.Sound {
			g.printf("sound    %s  %d files, %d leaves, %s; covered: %s\n", v.Path, v.Files, v.Leaves, size(v.Bytes), v.Coverage)
			continue
		}
		g.printf("DAMAGED  %s\n", v.Path)
		for _, p := range v.Problems {
			g.printf("         %s\n", p)
		}
	}
}
