package main

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ExtractOptions are the flags of `bivouac extract`.
type ExtractOptions struct {
	source
	Output    string
	Overwrite bool
	Salvage   bool
}

// AddFlags declares the flags.
func (o *ExtractOptions) AddFlags(cmd *cobra.Command) {
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "a file .npy, .npz or .safetensors, or a directory for one .npy per leaf")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace existing files")
	f.BoolVar(&o.Salvage, "salvage", false,
		"write the whole arrays of a damaged checkpoint, list the others, and exit with 4")
}

func newExtractCommand(g *global) *cobra.Command {
	var o ExtractOptions
	return with(&cobra.Command{
		Use:   "extract PATH LEAF… -o DIR|FILE.npy|FILE.npz|FILE.safetensors",
		Short: "Write some arrays of a checkpoint to files for other programs",
		Long: `Write arrays of a checkpoint, or of a step of a run, to numpy or safetensors
files, piece by piece. A leaf is named by its keys joined with ".", as bivouac
info prints it; a name that ends in ".*" stands for all below. Files appear
when they are whole.

` + exitCodesHelp,
		Example: `  bivouac extract runs/digits 'params.*' -o params.safetensors
  bivouac extract runs/digits/1000 loss -o loss.npy`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExtract(cmd.Context(), args[0], args[1:], o, g)
		},
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// extracted is what `extract --json` prints.
type extracted struct {
	Source string         `json:"source"`
	Item   string         `json:"item"`
	Files  []exportedFile `json:"files"`
	Lost   []lostLeaf     `json:"lost,omitempty"` // with --salvage
}

func runExtract(ctx context.Context, path string, names []string, o ExtractOptions, g *global) error {
	if o.Output == "" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "extract", Subject: "-o", Want: "a directory, or a file .npy, .npz or .safetensors", Got: "nothing"}}
	}
	ctx, src, err := o.locate(ctx, path, g)
	if err != nil {
		return err
	}
	src.load.Salvage = o.Salvage
	r, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	leaves, err := chooseLeaves(r, names)
	var lost []lostLeaf
	if err == nil && o.Salvage {
		leaves, lost, err = salvage(ctx, r, leaves)
	}
	if err == nil {
		leaves, err = arraysOf(leaves)
	}
	if err != nil {
		return err
	}
	e := newExporter(r, o.Overwrite, g)
	if len(leaves) > 0 || len(lost) == 0 {
		err = e.export(ctx, leaves, o.Output)
	}
	e.work.close()
	if err == nil {
		err = lostError("extract", src.path, lost)
	}
	if g.json && (err == nil || len(lost) > 0) {
		return errors.Join(g.printJSON(extracted{Source: src.path, Item: r.Info().Name, Files: e.files, Lost: lost}), err)
	}
	printLost(g, lost)
	for _, f := range e.files {
		if !g.json {
			g.printf("%s  %s\n", f.Path, size(f.Bytes))
		}
	}
	return err
}

// chooseLeaves finds leaves by their names.
func chooseLeaves(r *checkpoint.Reader, names []string) ([]checkpoint.LeafInfo, error) {
	var out []checkpoint.LeafInfo
	for _, name := range names {
		below, all := strings.CutSuffix(name, "*")
		if !all || below != "" && !strings.HasSuffix(below, ".") {
			l, err := r.Leaf(name)
			if err != nil {
				return nil, err
			}
			out = append(out, l)
			continue
		}
		found := len(out)
		for _, l := range r.Info().Leaves {
			if strings.HasPrefix(l.Param, below) {
				out = append(out, l)
			}
		}
		if len(out) == found {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "extract", Subject: name, Want: "leaves of this name",
				Remedy: cmp.Or(errs.DidYouMean(name, groupsOf(r.Info().Leaves)), "bivouac info lists them")}
		}
	}
	return out, nil
}

// groupsOf returns patterns that each stand for several leaves: a name with leaves below it, and
// ".*".
func groupsOf(leaves []checkpoint.LeafInfo) (groups []string) {
	seen := map[string]bool{}
	for _, l := range leaves {
		for i, c := range l.Param {
			if group := l.Param[:i] + ".*"; c == '.' && !seen[group] {
				seen[group] = true
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// arraysOf returns an error for a leaf that is not an array.
func arraysOf(leaves []checkpoint.LeafInfo) ([]checkpoint.LeafInfo, error) {
	for _, l := range leaves {
		if l.Err != nil {
			return nil, errs.Wrap("extract", "leaf "+strconv.Quote(l.Param), l.Err)
		}
		if l.DType == tensor.Invalid {
			return nil, &errs.Error{Kind: errs.Unsupported, Subject: l.Param, Want: "an array or a number", Got: l.Kind.String(), Remedy: "bivouac cat prints it"}
		}
	}
	return leaves, nil
}
