package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// ConvertOptions are the flags of `bivouac convert`.
type ConvertOptions struct {
	trust
	SignKey   string
	Step      int64
	Item      string
	To        string
	Compress  string
	Budget    int64
	ShardSize string
	Overwrite bool
}

// AddFlags declares the flags.
func (o *ConvertOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&o.Step, "step", anyStep, "step of a run; by default the newest")
	f.StringVar(&o.Item, "item", "", "convert this item only, such as state")
	f.StringVar(&o.To, "to", "", "layout: ocdbt-zarr3 (the default), ocdbt-zarr2, zarr3, zarr2, safetensors or npz (the default for DST.npz)")
	f.StringVar(&o.Compress, "compress", checkpoint.Uncompressed.String(), "compression of the arrays: none, zstd or bytesplit")
	f.Int64Var(&o.Budget, "budget", checkpoint.ConvertBudget>>20, "memory in MiB, the largest chunk of the source aside")
	f.StringVar(&o.ShardSize, "shard-size", "", "most bytes of a data file, such as 5GB or 512MiB: safetensors in several files with an index")
	o.addFlag(cmd)
	f.StringVar(&o.SignKey, "sign-key", "", "file of the private Ed25519 key that signs the destination: PKCS #8 in PEM")
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
	g.addJSON(cmd)
	return cmd
}

// leastBudget is what a conversion needs in MiB.
const leastBudget = 16

func runConvert(ctx context.Context, src, dst string, o ConvertOptions, g *global) error {
	if err := o.checkBudget("convert"); err != nil {
		return err
	}
	src, load, err := o.source(ctx, src, o.Step)
	if err != nil {
		return err
	}
	if o.To, err = target(o.To, dst); err != nil {
		return err
	}
	if o.To == npzLayout {
		if o.ShardSize != "" {
			return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--shard-size", Want: "a layout of several files", Got: npzLayout}}
		}
		return convertToNpz(ctx, src, dst, o, load, g)
	}
	c, err := o.library(load)
	if err != nil {
		return err
	}
	if err := converting(g, dst, &c, func() error { return checkpoint.Convert(ctx, src, dst, &c) }); err != nil {
		return err
	}
	info, err := checkpoint.Metadata(ctx, dst, nil)
	if err != nil {
		return err
	}
	out := converted{Source: src, Destination: dst, Layout: o.To, Compared: true}
	for _, it := range info.Items {
		out.Items = append(out.Items, it.Name)
	}
	return reportConversion(g, out)
}

func (o ConvertOptions) checkBudget(op string) error {
	if o.Budget >= leastBudget {
		return nil
	}
	return usageError{&errs.Error{Kind: errs.Invalid, Op: op, Subject: "--budget", Want: "at least " + strconv.Itoa(leastBudget) + " MiB", Got: strconv.FormatInt(o.Budget, 10)}}
}

// library returns the options of the library that the flags mean.
func (o ConvertOptions) library(load checkpoint.LoadOptions) (checkpoint.ConvertOptions, error) {
	c := checkpoint.ConvertOptions{Overwrite: o.Overwrite, Item: o.Item, Options: options.Options{Bivouac: options.Bivouac{
		MemoryBudget: options.Limit(o.Budget << 20), Verification: load.Verification, Label: load.Label,
	}}}
	var err error
	if o.SignKey != "" {
		if c.Signing, err = readSigningKey(o.SignKey); err != nil {
			return c, err
		}
	}
	if c.Layout, err = checkpoint.ParseLayout(o.To); err != nil {
		return c, usageError{err}
	}
	if c.Compression, err = checkpoint.ParseCompression(o.Compress); err != nil {
		return c, usageError{err}
	}
	shard, err := parseSize(o.ShardSize)
	if err != nil {
		return c, usageError{err}
	}
	c.Array.Saving.OCDBTTargetDataFileSize = options.FileSize(shard)
	return c, nil
}

// converting shows how a conversion gets on, and bounds the memory of this process.
func converting(g *global, dst string, c *checkpoint.ConvertOptions, run func() error) error {
	debug.SetMemoryLimit(c.MemoryBudget.Bytes() / 2) // the other half is outside of the heap
	screen, begun := newProgress(g), false
	c.Progress = func(done, total int64) {
		if !begun {
			screen.BeginBytes(filepath.Base(dst), total)
			begun = true
		}
		screen.Advance(done, "")
	}
	err := run()
	if begun {
		screen.End()
	}
	screen.close()
	return convertAdvice(err)
}

// npzLayout is the layout that is one .npz file.
const npzLayout = "npz"

// target is the layout that the flag, or else the name of the destination, means.
func target(to, dst string) (string, error) {
	ext := filepath.Ext(dst)
	switch {
	case (ext == ".safetensors" || ext == ".npy") && to != npzLayout:
		return "", usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: dst, Want: "the name of a directory, or of a file .npz", Got: "a name that ends in " + ext,
			Remedy: "bivouac extract SRC '*' -o " + dst + " writes one file"}}
	case to == "" && ext == "."+npzLayout:
		return npzLayout, nil
	case to == "":
		return checkpoint.Default.String(), nil
	}
	return to, nil
}

// convertAdvice puts what the library advises into the words of the command.
func convertAdvice(err error) error {
	var e *errs.Error
	for cause := err; errors.As(cause, &e); cause = e.Err {
		switch {
		case strings.Contains(e.Remedy, "ConvertOptions.Item"):
			e.Remedy = strings.ReplaceAll(e.Remedy, "ConvertOptions.Item", "--item")
		case e.Kind == errs.Exists:
			e.Remedy = "choose another path, or give --overwrite"
		}
	}
	return err
}

// converted is what `convert --json` prints.
type converted struct {
	Source      string   `json:"source"`
	Destination string   `json:"destination"`
	Layout      string   `json:"layout"`
	Items       []string `json:"items"`
	Compared    bool     `json:"compared"` // what was written with the source, element by element
	NotKept     []string `json:"not_kept"` // of the source, in words
}

func reportConversion(g *global, c converted) error {
	if c.NotKept == nil {
		c.NotKept = []string{}
	}
	if g.json {
		return g.printJSON(c)
	}
	g.printf("%s: %s, ", c.Destination, c.Layout)
	if c.Compared {
		g.printf("compared with %s\n", c.Source)
	} else {
		g.printf("from %s\n", c.Source)
	}
	for _, n := range c.NotKept {
		g.printf("not kept: %s\n", n)
	}
	return nil
}
