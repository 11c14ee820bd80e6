package main

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// ConvertOptions are the flags of `bivouac convert`.
type ConvertOptions struct {
	Step      int64
	To        string
	Compress  string
	Budget    int64
	Overwrite bool
}

// AddFlags declares the flags.
func (o *ConvertOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&o.Step, "step", anyStep, "step of a run; by default the newest")
	f.StringVar(&o.To, "to", checkpoint.Default.String(), "layout: ocdbt-zarr3, ocdbt-zarr2, zarr3, zarr2, safetensors or npz")
	f.StringVar(&o.Compress, "compress", checkpoint.Uncompressed.String(), "compression of the arrays: none, zstd or bytesplit")
	f.Int64Var(&o.Budget, "budget", checkpoint.ConvertBudget>>20, "memory in MiB, the largest chunk of the source aside")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace a checkpoint at the destination")
}

func newConvertCommand(g *global) *cobra.Command {
	var o ConvertOptions
	cmd := &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Write a checkpoint of any layout in another one",
		Long: `Write a checkpoint, or a step of a run, in another layout, piece by piece within
a memory budget. The destination appears at once, when it is whole and durable,
and is then compared with the source. What it has no place for is refused by name.

` + exitCodesHelp,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConvert(cmd.Context(), args[0], args[1], o, g)
		},
	}
	o.AddFlags(cmd)
	return cmd
}

// leastBudget is what a conversion needs in MiB.
const leastBudget = 16

func runConvert(ctx context.Context, src, dst string, o ConvertOptions, g *global) error {
	if o.Budget < leastBudget {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--budget", Want: "at least " + strconv.Itoa(leastBudget) + " MiB", Got: strconv.FormatInt(o.Budget, 10)}}
	}
	src, err := resolve(ctx, src, o.Step)
	if err != nil {
		return err
	}
	if o.To == "npz" {
		return convertToNpz(ctx, src, dst, o, g)
	}
	c := checkpoint.ConvertOptions{MemoryBudget: o.Budget << 20, Overwrite: o.Overwrite}
	if c.Layout, err = checkpoint.ParseLayout(o.To); err != nil {
		return usageError{err}
	}
	if c.Compression, err = checkpoint.ParseCompression(o.Compress); err != nil {
		return usageError{err}
	}
	debug.SetMemoryLimit(c.MemoryBudget / 2) // the other half is outside of the heap
	screen, begun := newProgress(g), false
	c.Progress = func(done, total int64) {
		if !begun {
			screen.Begin(filepath.Base(dst), total)
			begun = true
		}
		screen.Advance(done, size(done))
	}
	err = checkpoint.Convert(ctx, src, dst, &c)
	if begun {
		screen.End()
	}
	screen.close()
	if err == nil {
		g.printf("%s: %s, compared with %s\n", dst, o.To, src)
	}
	return err
}
