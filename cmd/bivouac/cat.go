package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// CatOptions are the flags of `bivouac cat`.
type CatOptions struct {
	source
	Slice   string
	Raw     bool
	Salvage bool
}

// AddFlags declares the flags.
func (o *CatOptions) AddFlags(cmd *cobra.Command) {
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Slice, "slice", "", "part of the array in the notation of numpy, such as 0:3,:,-1")
	f.BoolVar(&o.Salvage, "salvage", false, "print the whole chunks of a damaged array, and exit with 4")
	f.BoolVar(&o.Raw, "raw", false, "print the bytes of the elements, in C order, little-endian")
}

// leafContent is what `cat --json` prints of a leaf.
type leafContent struct {
	Item   string `json:"item"`
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	DType  string `json:"dtype,omitempty"`
	Shape  []int  `json:"shape,omitzero"` // shape of the whole array
	Slice  string `json:"slice,omitempty"`
	Values any    `json:"values"` // nested lists; text for numbers that JSON lacks, null for lost elements

	Lost []lostBox `json:"lost,omitempty"` // with --salvage
}

func newCatCommand(g *global) *cobra.Command {
	var o CatOptions
	return with(&cobra.Command{
		Use:   "cat PATH LEAF",
		Short: "Print one leaf of a checkpoint, or an item that is not a tree",
		Long: `Print one leaf of a checkpoint or of a step of a run: type, shape and values; of
large arrays only the values at the edges. A leaf is named by its keys joined with
".", as bivouac info prints it. The name of a JSON or text item prints the item.

` + exitCodesHelp,
		Example: `  bivouac cat runs/digits params.dense.kernel
  bivouac cat runs/digits/1000 params.dense.kernel --slice 0:3,:`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCat(cmd.Context(), args[0], args[1], o, g)
		},
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runCat(ctx context.Context, path, name string, o CatOptions, g *global) error {
	if o.Raw && o.Salvage {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "cat", Subject: "--salvage",
			Want: "text or --json, which mark lost elements", Got: "--raw"}}
	}
	if o.Raw && g.json {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "cat", Subject: "--raw", Want: "--raw or --json", Got: "both"}}
	}
	ctx, src, err := o.locate(ctx, path, g)
	if err != nil {
		return err
	}
	src.load.Salvage = o.Salvage
	r, err := src.open(ctx)
	if err != nil {
		return src.catDocument(ctx, name, err, g)
	}
	defer r.Close() //nolint:errcheck // nothing was written
	l, err := r.Leaf(name)
	if err != nil {
		return src.catDocument(ctx, name, err, g)
	}
	if l.Err != nil {
		return errs.Wrap("cat", "leaf "+strconv.Quote(l.Param), l.Err)
	}
	if l.DType == tensor.Invalid {
		return catText(l, r.Info().Name, o, g)
	}
	part, err := parseSlice(o.Slice, l.Shape)
	if err != nil {
		return usageError{err}
	}
	if o.Salvage {
		part.holes = &holes{}
	}
	switch {
	case o.Raw:
		return copyBox(ctx, g.stdout, r, l, part.origin, part.extent)
	case g.json:
		t, err := part.read(ctx, r, l, wholeAxis)
		if err != nil {
			return err
		}
		return errors.Join(g.printJSON(leafContent{Item: r.Info().Name, Path: l.Param, Kind: l.Kind.String(), DType: l.DType.String(),
			Shape: append([]int{}, l.Shape...), Slice: o.Slice, Values: part.nested(t, 0, new(int)), Lost: part.holes.boxes()}), part.holes.err(l))
	}
	return catArray(ctx, r, l, part, g)
}

// catDocument prints an item that is JSON or text. If there is no such item it returns err, the
// reason why name is not a leaf.
func (l located) catDocument(ctx context.Context, name string, err error, g *global) error {
	info, merr := checkpoint.Metadata(ctx, l.path, &checkpoint.LoadOptions{Options: l.load.Options})
	if merr != nil {
		return err
	}
	it, ok := info.Item(name)
	if !ok || it.Kind == "tree" || it.Kind == "unknown" {
		return err
	}
	b, err := checkpoint.ReadDocument(ctx, l.path, name, &l.load)
	if err != nil {
		return err
	}
	if len(b) == 0 || b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	if isTerminal(g.stdout) {
		g.print(string(b))
		return nil
	}
	_, err = g.stdout.Write(b)
	return err
}

// catText prints a leaf without an array.
func catText(l checkpoint.LeafInfo, item string, o CatOptions, g *global) error {
	switch {
	case o.Slice != "" || o.Raw && l.Kind != checkpoint.StringLeaf:
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "cat", Subject: l.Param, Want: "an array", Got: l.Kind.String()}}
	case g.json && l.Kind == checkpoint.StringLeaf:
		return g.printJSON(leafContent{Item: item, Path: l.Param, Kind: l.Kind.String(), Values: l.Text})
	case g.json:
		return g.printJSON(leafContent{Item: item, Path: l.Param, Kind: l.Kind.String()})
	case o.Raw:
		_, err := g.stdout.Write([]byte(l.Text))
		return err
	case l.Kind == checkpoint.StringLeaf:
		g.printf("%s  string\n", l.Param)
		g.print(l.Text + "\n")
	default:
		g.printf("%s  %s\n", l.Param, l.Kind)
	}
	return nil
}

// summarizeFrom is the number of elements from which only the edges of an array are printed; edge
// is the number of elements at each edge.
const (
	summarizeFrom = 1000
	edge          = 3
)

// catArray prints an array as numpy does.
func catArray(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, p part, g *global) error {
	n := 1
	for _, e := range p.extent {
		n *= e
	}
	show := wholeAxis
	if n > summarizeFrom {
		show = 2 * edge
	}
	t, err := p.read(ctx, r, l, show)
	if err != nil {
		return err
	}
	of := ""
	if p.text != "" {
		of = "  [" + p.text + "] of " + l.Shape.String()
	}
	g.printf("%s  %s%s%s\n", l.Param, l.DType, p.shape(), of)
	g.print(p.render(t) + "\n")
	for _, b := range p.holes.boxes() {
		g.printf("lost  elements %v to %v: %s\n", b.From, b.To, b.Reason)
	}
	return p.holes.err(l)
}

// element is an element as JSON: a number or bool if JSON has it, else text.
func element(t tensor.Tensor, i int) any {
	s := t.Element(i)
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return s
}

// nested returns the elements as nested lists. An axis that is not kept makes no list.
func (p part) nested(t tensor.Tensor, axis int, at *int) any {
	if axis == len(t.Shape) {
		if *at++; p.holes.at(*at - 1) {
			return nil
		}
		return element(t, *at-1)
	}
	if !p.kept[axis] {
		return p.nested(t, axis+1, at)
	}
	list := make([]any, t.Shape[axis])
	for i := range list {
		list[i] = p.nested(t, axis+1, at)
	}
	return list
}

// number parses one bound of a slice. A negative number counts from the end.
func number(s string, n, empty int) (int, bool) {
	if s == "" {
		return empty, true
	}
	i, err := strconv.Atoi(s)
	if err != nil {
		return 0, false
	}
	if i < 0 {
		i += n
	}
	return i, true
}
