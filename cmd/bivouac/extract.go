package main

import (
	"archive/zip"
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ExtractOptions are the flags of `bivouac extract`.
type ExtractOptions struct {
	Step      int64
	Item      string
	Output    string
	Overwrite bool
}

// AddFlags declares the flags.
func (o *ExtractOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&o.Step, "step", anyStep, "step of a run; by default the newest")
	f.StringVar(&o.Item, "item", "", "tree to look in; by default state, or the first")
	f.StringVarP(&o.Output, "output", "o", "", "a file .npy, .npz or .safetensors, or a directory for a .npy each")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace files that are there")
}

func newExtractCommand(g *global) *cobra.Command {
	var o ExtractOptions
	cmd := &cobra.Command{
		Use:   "extract PATH LEAF… -o DIR|FILE.npy|FILE.npz|FILE.safetensors",
		Short: "Write some arrays of a checkpoint to files for other programs",
		Long: `Write arrays of a checkpoint, or of a step of a run, to numpy or safetensors
files, piece by piece. A leaf is named by its keys joined with ".", as bivouac
info prints it; a name that ends in ".*" stands for all below. Files appear
when they are whole.

` + exitCodesHelp,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExtract(cmd.Context(), args[0], args[1:], o, g)
		},
	}
	o.AddFlags(cmd)
	return cmd
}

func runExtract(ctx context.Context, path string, names []string, o ExtractOptions, g *global) error {
	if o.Output == "" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "extract", Subject: "-o", Want: "a directory, or a file .npy, .npz or .safetensors", Got: "nothing"}}
	}
	path, err := resolve(ctx, path, o.Step)
	if err != nil {
		return err
	}
	r, err := checkpoint.OpenReader(ctx, path, &checkpoint.LoadOptions{Name: o.Item})
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	leaves, err := chooseLeaves(r, names)
	if err != nil {
		return err
	}
	return export(ctx, r, leaves, o.Output, o.Overwrite, g)
}

// convertToNpz writes all leaves of the default tree as one archive.
func convertToNpz(ctx context.Context, src, dst string, o ConvertOptions, g *global) error {
	if o.Compress != checkpoint.Uncompressed.String() {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--compress", Want: "none, of npz", Got: o.Compress}}
	}
	r, err := checkpoint.OpenReader(ctx, src, nil)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	leaves, err := arraysOf(r.Info().Leaves)
	if err != nil {
		return err
	}
	return writeFile(dst, o.Overwrite, g, func(w io.Writer) error { return writeNpz(ctx, w, r, leaves) })
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
			return nil, &errs.Error{Kind: errs.NotFound, Op: "extract", Subject: name, Want: "leaves of these names", Remedy: "bivouac info lists them"}
		}
	}
	return arraysOf(out)
}

// arraysOf refuses leaves that are no arrays.
func arraysOf(leaves []checkpoint.LeafInfo) ([]checkpoint.LeafInfo, error) {
	for _, l := range leaves {
		if l.DType == tensor.Invalid {
			return nil, &errs.Error{Kind: errs.Unsupported, Subject: l.Param, Want: "an array or a number", Got: l.Kind.String(), Remedy: "bivouac cat prints it"}
		}
	}
	return leaves, nil
}

// export writes leaves in the format that the name of the output says.
func export(ctx context.Context, r *checkpoint.Reader, leaves []checkpoint.LeafInfo, output string, overwrite bool, g *global) error {
	switch filepath.Ext(output) {
	case ".npz":
		return writeFile(output, overwrite, g, func(w io.Writer) error { return writeNpz(ctx, w, r, leaves) })
	case ".safetensors":
		return writeFile(output, overwrite, g, func(w io.Writer) error { return writeSafetensors(ctx, w, r, leaves) })
	case ".npy":
		if len(leaves) != 1 {
			return usageError{&errs.Error{Kind: errs.Invalid, Op: "extract", Subject: output, Want: "one leaf in a .npy file", Remedy: "name a directory, or a .npz file"}}
		}
		return writeFile(output, overwrite, g, func(w io.Writer) error { return writeNpy(ctx, w, r, leaves[0]) })
	}
	if err := os.MkdirAll(output, 0o777); err != nil {
		return errs.Wrap("extract", output, err)
	}
	for _, l := range leaves {
		if strings.ContainsAny(l.Param, "/\\\x00") {
			return &errs.Error{Kind: errs.Unsupported, Op: "extract", Subject: l.Param, Got: "a name that no file can have", Remedy: "extract to a .npz or .safetensors file"}
		}
		err := writeFile(filepath.Join(output, l.Param+".npy"), overwrite, g, func(w io.Writer) error { return writeNpy(ctx, w, r, l) })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a file that appears when it is whole and durable.
func writeFile(name string, overwrite bool, g *global, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(name); err == nil && !overwrite {
		return &errs.Error{Kind: errs.Exists, Subject: name, Remedy: "choose another name, or give --overwrite"}
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return errs.Wrap("write", name, err)
	}
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // the first reason counts
			os.Remove(f.Name()) //nolint:errcheck // the first reason counts
			err = errs.Wrap("write", name, err)
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	if err := write(b); err != nil {
		return err
	}
	for _, step := range []func() error{b.Flush, f.Sync, func() error { return f.Chmod(0o644) }, f.Close} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	g.printf("%s\n", name)
	return nil
}

func writeNpy(ctx context.Context, w io.Writer, r *checkpoint.Reader, l checkpoint.LeafInfo) error {
	head, err := npy.Header{DType: l.DType, Shape: l.Shape}.Append(nil)
	if err != nil {
		return errs.Wrap("", l.Param, err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return copyElements(ctx, w, r, l)
}

func writeNpz(ctx context.Context, w io.Writer, r *checkpoint.Reader, leaves []checkpoint.LeafInfo) error {
	z := zip.NewWriter(w)
	for _, l := range leaves {
		member, err := z.CreateHeader(&zip.FileHeader{Name: l.Param + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := writeNpy(ctx, member, r, l); err != nil {
			return err
		}
	}
	return z.Close()
}

func writeSafetensors(ctx context.Context, w io.Writer, r *checkpoint.Reader, leaves []checkpoint.LeafInfo) error {
	specs, by := map[string]tensor.Spec{}, map[string]checkpoint.LeafInfo{}
	for _, l := range leaves {
		if tensor.PackedSize(l.DType, 8) != 8*l.DType.Size() {
			return &errs.Error{Kind: errs.Unsupported, Subject: l.Param, Got: l.DType.String(), Remedy: "bivouac convert --to safetensors writes packed types"}
		}
		specs[l.Param], by[l.Param] = tensor.Spec{DType: l.DType, Shape: l.Shape}, l
	}
	h, err := safetensors.NewHeader(specs, nil)
	if err != nil {
		return err
	}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	for _, t := range h.Tensors {
		if err := copyElements(ctx, w, r, by[t.Name]); err != nil {
			return err
		}
	}
	return nil
}
