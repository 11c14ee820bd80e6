package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// convertToNpz writes one tree as one archive, and reports what an archive cannot hold.
func convertToNpz(ctx context.Context, from located, dst string, o ConvertOptions, g *global) error {
	if o.Compress != "" && o.Compress != options.Uncompressed.String() {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "convert", Subject: "--compress", Want: "none, of npz", Got: o.Compress}}
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

// npzItem finds the tree that goes into an archive: the one that is named, or the
// only item.
func npzItem(info *checkpoint.Info, name string) (checkpoint.ItemInfo, error) {
	names := make([]string, len(info.Items))
	for i, it := range info.Items {
		names[i] = strconv.Quote(it.Name)
	}
	if name == "" && len(names) != 1 {
		return checkpoint.ItemInfo{}, &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: "items " + some(names), Want: "one tree, as an .npz file has it",
			Got: strconv.Itoa(len(names)) + " items", Remedy: "choose one with --item"}
	}
	it := info.Items[0]
	if name != "" {
		var ok bool
		if it, ok = info.Item(name); !ok {
			return it, &errs.Error{Kind: errs.NotFound, Op: "convert", Subject: "item " + strconv.Quote(name), Got: "items " + some(names)}
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
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: "convert", Subject: some(bad), Want: "arrays and numbers, as an .npz file has them",
			Remedy: "name those that are wanted: bivouac extract"}
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
