package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
)

// source has the flags of commands that read one checkpoint: which one, and how.
type source struct {
	trust
	settings
	Step int64  // step of a run
	Item string // "" is the default item
}

func (s *source) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &s.Step, "step", 0, anyStep, "step of a run; by default the newest")
	f.StringVar(&s.Item, "item", "", "item to read, a tree; by default state, or the first tree")
	s.trust.addFlag(cmd)
	s.settings.addFlag(cmd)
}

// located is a checkpoint that was found, and how to load from it.
type located struct {
	path string
	load checkpoint.LoadOptions
}

// locate finds the checkpoint that path and the flags mean. It returns a context with the options
// of the command line.
func (s source) locate(ctx context.Context, path string, g *global) (context.Context, located, error) {
	ctx, err := s.scope(ctx)
	if err != nil {
		return ctx, located{}, err
	}
	found, load, err := s.find(ctx, path, s.Step, g)
	load.Name = s.Item
	return ctx, located{found, load}, err
}

// open opens the tree that the flags mean. The caller must close it.
func (l located) open(ctx context.Context) (*checkpoint.Reader, error) {
	return checkpoint.OpenReader(ctx, l.path, &l.load)
}
