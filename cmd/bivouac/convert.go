package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ConvertOptions are the flags of `bivouac convert`.
type ConvertOptions struct {
	source
	SignKey   string
	To        string // "" leaves it to the options
	Compress  string // "" leaves it to the options
	Budget    mebibytes
	ShardSize string
	Parity    int
	Overwrite bool
	Salvage   bool
}

// AddFlags declares the flags.
func (o *ConvertOptions) AddFlags(cmd *cobra.Command) {
	o.addFlags(cmd)
	f := cmd.Flags()
	f.Lookup("item").Usage = "convert only this item, such as state"
	f.StringVar(&o.To, "to", "", "layout: ocdbt-zarr3 (the default), ocdbt-zarr2, zarr3, zarr2, safetensors or npz (the default for DST.npz)")
	f.StringVar(&o.Compress, "compress", "", "compression of the arrays: none (the default), zstd or bytesplit")
	f.Var(&o.Budget, "budget", "memory in MiB, without the largest chunk of the source; "+
		"by default "+strconv.Itoa(checkpoint.ConvertBudget>>20))
	f.StringVar(&o.ShardSize, "shard-size", "",
		"largest size of a data file, such as 5GB or 512MiB; safetensors become several files with an index")
	f.IntVar(&o.Parity, "parity", 0,
		"parity blocks for 100 blocks of data, with which repair mends damage: 1 to 50, or -1 for no parity; "+
			"by default the same as in the source")
	f.StringVar(&o.SignKey, "sign-key", "", "file of the private Ed25519 key that signs the destination: PKCS #8 in PEM")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace a checkpoint at the destination")
}

func newConvertCommand(g *global) *cobra.Command {
	var o ConvertOptions
	cmd := &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Write a checkpoint of any layout in another one, or a pipeline in YAML",
		Long: `Write a checkpoint, or a step of a run, in another layout, piece by piece within
a memory budget. The destination appears in one move when it is whole and durable,
and is then compared with the source. If the destination cannot hold some leaves,
that is an error that names them.

A file that DALI's Pipeline.serialize wrote, with a name that ends in .bin, .pb or
.dali, becomes YAML (.yaml, .yml). YAML becomes such a file again, with the same bytes.

` + exitCodesHelp,
		Example: `  bivouac convert runs/orbax/100 copy --to zarr3 --compress zstd
  bivouac convert weights.pt weights.safetensors --to safetensors`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConvert(cmd.Context(), args[0], args[1], o, g)
		},
	}
	o.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.Salvage, "salvage", false,
		"convert the whole leaves of a damaged checkpoint, write None for the others, list them, and exit with 4")
	return with(cmd, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runConvert(ctx context.Context, src, dst string, o ConvertOptions, g *global) error {
	if isPipelineFile(src) && !place(src).remote() {
		return convertPipeline(src, dst, o, g)
	}
	ctx, from, err := o.locate(ctx, src, g)
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
		return convertToNpz(ctx, from, dst, o, g)
	}
	c, layout, err := o.library(ctx, from.load)
	if err != nil {
		return err
	}
	var report checkpoint.LoadReport
	c.Salvage, c.Report = o.Salvage, &report
	if err := converting(g, dst, &c, func() error { return checkpoint.Convert(ctx, from.path, dst, &c) }); err != nil {
		return err
	}
	info, err := checkpoint.Metadata(ctx, dst, nil)
	if err != nil {
		return err
	}
	out := converted{Source: from.path, Destination: dst, Layout: layout, Compared: true}
	for _, it := range info.Items {
		out.Items = append(out.Items, it.Name)
	}
	for _, l := range report.Lost() {
		out.Lost = append(out.Lost, lostLeaf{l.Item, l.Path.Param(), oneLine(l.Lost)})
	}
	return reportConversion(g, out)
}

// leastBudget is the least budget of a conversion in MiB.
const leastBudget = 16

// mebibytes is the value of a flag for a memory budget; 0 means the budget of the options.
type mebibytes int64

// String implements pflag.Value.
func (m *mebibytes) String() string {
	if *m == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*m), 10)
}

// Type implements pflag.Value.
func (m *mebibytes) Type() string { return "MIB" }

// Set implements pflag.Value.
func (m *mebibytes) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < leastBudget || n > math.MaxInt64>>20 {
		return &errs.Error{Kind: errs.Invalid, Want: "at least " + strconv.Itoa(leastBudget) + " MiB", Got: s}
	}
	*m = mebibytes(n)
	return nil
}

// library returns the options of the library for the flags, with a bound for the memory, and the
// name of the layout.
func (o ConvertOptions) library(ctx context.Context, load checkpoint.LoadOptions) (c checkpoint.ConvertOptions, layout string, err error) {
	c = checkpoint.ConvertOptions{Overwrite: o.Overwrite, Item: o.Item, Options: load.Options}
	c.MemoryBudget, c.Parity = options.Limit(o.Budget<<20), o.Parity
	if o.SignKey != "" {
		if c.Signing, err = readSigningKey(o.SignKey); err != nil {
			return c, "", err
		}
	}
	if o.To != "" {
		if c.Layout, err = options.ParseLayout(o.To); err != nil {
			return c, "", usageError{err}
		}
	}
	if o.Compress != "" {
		if c.Compression, err = options.ParseCompression(o.Compress); err != nil {
			return c, "", usageError{err}
		}
	}
	shard, err := parseSize(o.ShardSize)
	if err != nil {
		return c, "", usageError{err}
	}
	c.Array.Saving.OCDBTTargetDataFileSize = options.FileSize(shard)
	all, err := options.Resolve(ctx, c.Options, options.Options{})
	if err != nil {
		return c, "", usageError{err}
	}
	stored, err := all.StoredLayout()
	if err != nil {
		return c, "", usageError{err}
	}
	if c.MemoryBudget = options.Limit(all.Budget()); c.MemoryBudget == 0 {
		c.MemoryBudget = checkpoint.ConvertBudget
	}
	if c.MemoryBudget < leastBudget<<20 {
		return c, "", usageError{&errs.Error{Kind: errs.Invalid, Op: "options", Subject: "memory_budget", Want: "at least " + strconv.Itoa(leastBudget) + " MiB",
			Got: size(int64(c.MemoryBudget))}}
	}
	return c, stored.String(), nil
}

// converting shows the progress of a conversion, and bounds the memory of this process.
func converting(g *global, dst string, c *checkpoint.ConvertOptions, run func() error) error {
	debug.SetMemoryLimit(c.MemoryBudget.Bytes() / 2) // the other half is outside the heap
	work := newWork(g)
	c.Progress = work.on(place(dst).base())
	err := run()
	work.close()
	return convertAdvice(err)
}

// npzLayout is the layout of a single .npz file.
const npzLayout = "npz"

// fileEndings are endings of files that are not a layout, and that are an unlikely name for a
// directory.
var fileEndings = []string{".bin", ".csv", ".gz", ".h5", ".hdf5", ".json", ".msgpack", ".onnx", ".pb", ".pkl", ".pt", ".pth", ".tar", ".txt", ".yaml", ".yml", ".zip"}

// target returns the layout that the flag, or else the name of the destination, names, or "".
func target(to, dst string) (string, error) {
	ext := filepath.Ext(dst)
	switch {
	case (ext == ".safetensors" || ext == ".npy") && to != npzLayout:
		return "", usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: dst, Want: "the name of a directory, or of a file .npz", Got: "a name that ends in " + ext,
			Remedy: "bivouac extract SRC '*' -o " + dst + " writes one file"}}
	case to == "" && ext == "."+npzLayout:
		return npzLayout, nil
	case to != npzLayout && slices.Contains(fileEndings, strings.ToLower(ext)):
		return "", usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: dst, Want: "the name of a directory, or of a file .npz", Got: "a name that ends in " + ext,
			Remedy: "name it " + dst + "/ if it is to be a directory"}}
	}
	return to, nil
}

// convertAdvice puts the remedies of the library into the words of the command.
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
	Compared    bool     `json:"compared"` // the written elements were compared with the source
	NotKept     []string `json:"not_kept"` // parts of the source that were not kept, in words

	Lost []lostLeaf `json:"lost,omitempty"` // with --salvage
}

func reportConversion(g *global, c converted) error {
	if c.NotKept == nil {
		c.NotKept = []string{}
	}
	lost := lostError("convert", c.Source, c.Lost)
	if g.json {
		return errors.Join(g.printJSON(c), lost)
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
	printLost(g, c.Lost)
	return lost
}

// convertToNpz writes one tree as one archive, and reports what an archive cannot hold.
func convertToNpz(ctx context.Context, from located, dst string, o ConvertOptions, g *global) error {
	if o.Compress != "" && o.Compress != options.Uncompressed.String() {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--compress", Want: "none for npz",
			Got: o.Compress}}
	}
	if place(dst).remote() {
		return &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: dst, Want: "a path of the local file system for npz",
			Got: "a URL", Remedy: "write the archive to a disk"}
	}
	if o.SignKey != "" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--sign-key", Want: "a layout with a manifest", Got: npzLayout}}
	}
	info, err := checkpoint.Metadata(ctx, from.path, &checkpoint.LoadOptions{Options: from.load.Options, Salvage: o.Salvage})
	if err != nil {
		return err
	}
	item, err := npzItem(info, o.Item)
	if err != nil {
		return err
	}
	from.load.Name, from.load.Salvage = item.Name, o.Salvage
	r, err := from.open(ctx)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	var lost []lostLeaf
	if o.Salvage {
		if item.Leaves, lost, err = salvage(ctx, r, item.Leaves); err != nil {
			return err
		}
	}
	leaves, dropped, err := npzLeaves(item)
	if err != nil {
		return err
	}
	if info.Custom != nil {
		dropped = append(dropped, "the custom metadata")
	}
	e := newExporter(r, o.Overwrite, g)
	err = e.npz(ctx, leaves, dst)
	e.work.close()
	if err != nil {
		return err
	}
	return reportConversion(g, converted{Source: from.path, Destination: dst, Layout: npzLayout, Items: []string{item.Name}, NotKept: dropped, Lost: lost})
}

// npzItem returns the tree that goes into an archive: the named tree, or the only item.
func npzItem(info *checkpoint.Info, name string) (checkpoint.ItemInfo, error) {
	names, quoted := make([]string, len(info.Items)), make([]string, len(info.Items))
	for i, it := range info.Items {
		names[i], quoted[i] = it.Name, strconv.Quote(it.Name)
	}
	if name == "" && len(names) != 1 {
		return checkpoint.ItemInfo{}, &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: "items " + some(quoted),
			Want: "one tree, because an .npz file holds one",
			Got:  strconv.Itoa(len(names)) + " items", Remedy: "choose one with --item"}
	}
	it := info.Items[0]
	if name != "" {
		var ok bool
		if it, ok = info.Item(name); !ok {
			return it, &errs.Error{Kind: errs.NotFound, Op: "convert", Subject: "item " + strconv.Quote(name),
				Got: "items " + some(quoted), Remedy: errs.DidYouMean(name, names)}
		}
	}
	if it.Kind != "tree" {
		return it, &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: "item " + strconv.Quote(it.Name), Want: "a tree of arrays", Got: it.Kind, Remedy: "bivouac cat prints it"}
	}
	return it, nil
}

// npzLeaves returns the arrays of a tree, which must hold nothing else. dropped names the empty
// leaves that are left out.
func npzLeaves(it checkpoint.ItemInfo) (leaves []checkpoint.LeafInfo, dropped []string, err error) {
	var bad, empty []string
	flat := true
	for _, l := range it.Leaves {
		flat = flat && len(l.Path) == 1
		if l.Err != nil {
			return nil, nil, errs.Wrap("convert", "leaf "+strconv.Quote(l.Param), l.Err)
		}
		switch {
		case l.Kind == checkpoint.StringLeaf || l.Kind == checkpoint.KeyLeaf:
			bad = append(bad, l.Param+" ("+l.Kind.String()+")")
		case l.DType == tensor.Invalid:
			empty = append(empty, l.Param+" ("+l.Kind.String()+")")
		default:
			leaves = append(leaves, l)
		}
	}
	if len(bad) > 0 {
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: some(bad),
			Want:   "arrays and numbers, because an .npz file holds nothing else",
			Remedy: "extract the leaves that you want: bivouac extract"}
	}
	if err := numpyHolds(leaves); err != nil {
		return nil, nil, err
	}
	if len(empty) > 0 {
		dropped = append(dropped, "leaves without content: "+strings.Join(empty, ", "))
	}
	if !flat {
		dropped = append(dropped, "the nesting: names are the keys joined with \".\"")
	}
	return leaves, dropped, nil
}
