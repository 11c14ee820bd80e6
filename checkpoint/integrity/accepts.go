package integrity

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// refuse records why Orbax would refuse a checkpoint that Bivouac can load.
func (v *verifier) refuse(kind errs.Kind, subject, got, remedy string) {
	v.r.Orbax = append(v.r.Orbax, &errs.Error{Kind: kind, Op: "orbax", Subject: subject, Got: got, Remedy: remedy})
}

// forOrbax finds reasons for Orbax to refuse a checkpoint that do not depend on its trees; see
// treeForOrbax for those that do.
func (v *verifier) forOrbax(ctx context.Context, items []layout.Item) error {
	switch v.c.Layout {
	case "numpy", "flax", "dcp", "pt", "pt ranks":
		v.refuse(errs.Unsupported, v.r.Path, "a layout that Orbax does not load: "+v.c.Layout,
			"bivouac convert writes one that it does")
		return nil
	case "safetensors":
		return nil
	}
	if err := v.levelForOrbax(ctx); err != nil {
		return err
	}
	for _, it := range items {
		if err := v.itemForOrbax(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// itemForOrbax finds reasons for Orbax to refuse an item that do not depend on its content.
func (v *verifier) itemForOrbax(ctx context.Context, it layout.Item) error {
	handler := orbax.LoadsWith(it.Name, it.Handler)
	switch {
	case it.Name == orbax.MetricsItem || it.Name == autoItem: // no load of Orbax looks at them
	case it.Kind == layout.Unknown && (it.Name == "" ||
		len(v.r.Problems) > 0): // a tree that lost its document is told as damage
	case it.Kind == layout.Unknown && orbax.OwnHandler(it.Handler):
		v.refuse(errs.Mismatch, it.Name, "an item of the handler "+it.Handler+", which Orbax does not have",
			"register a handler for it there, or load the other items by their names")
	case it.Kind == layout.Unknown:
		v.refuse(errs.Mismatch, it.Name, "a directory that is not an item: v1.load_checkpointables tries to load it",
			"move it out of the checkpoint, or load the items by their names")
	case handler != it.Kind.Handler():
		v.refuse(errs.Mismatch, it.Name, "an item of the kind "+it.Kind.String()+", which Orbax gives to "+handler,
			"register the right handler there")
	}
	if it.Kind != layout.Tree {
		return nil
	}
	dirs, err := v.c.Unmerged(ctx, it.Name)
	if len(dirs) > 0 {
		v.refuse(errs.Mismatch, path.Join(it.Name, ocdbt.ManifestName),
			"the databases of "+strconv.Itoa(len(dirs))+" processes were never merged", "bivouac repair --apply merges them")
	}
	return err
}

// autoItem is a name that Orbax reserves.
const autoItem = "AUTO"

// levelForOrbax refuses a directory that Orbax takes for a part of a checkpoint, or for an
// unfinished one.
func (v *verifier) levelForOrbax(ctx context.Context) error {
	for _, why := range v.c.Meta.Refused {
		v.refuse(errs.Mismatch, orbax.CheckpointFile, why, "")
	}
	root, err := v.c.Names(ctx, "")
	if err != nil {
		return err
	}
	marker := slices.Contains(root, orbax.MarkerFile)
	if marker && !slices.Contains(root, orbax.CheckpointFile) {
		v.refuse(errs.Mismatch, orbax.CheckpointFile, "the file is missing",
			"bivouac convert writes a checkpoint that Orbax loads")
	}
	if marker {
		return nil // a checkpoint of v1: Orbax does not look above it
	}
	if err := v.flatForOrbax(ctx); err != nil {
		return err
	}
	above, inside, err := locate.AboveHolds(ctx, v.r.Path, v.o.Store, orbax.CheckpointFile)
	if inside {
		v.refuse(errs.Mismatch, v.r.Path, "a part of the checkpoint "+above, "name that checkpoint, and the item in the call")
	}
	return err
}

// flatForOrbax refuses a flat checkpoint that Orbax takes for several items, and the reverse.
func (v *verifier) flatForOrbax(ctx context.Context) error {
	if !v.c.Has("") {
		if v.c.Meta.Flat != "" && len(v.r.Problems) == 0 {
			v.refuse(errs.Mismatch, orbax.CheckpointFile, "it says that the checkpoint is one tree, and there are several items",
				"")
		}
		return nil
	}
	if v.c.Meta.Handlers != nil {
		v.refuse(errs.Mismatch, orbax.CheckpointFile, "it says that there are several items, and the checkpoint is one tree",
			"")
	}
	dirs, err := v.c.Dirs(ctx, "")
	if err != nil {
		return err
	}
	for _, d := range dirs {
		below, err := v.c.Names(ctx, d)
		if err == nil && !slices.Contains(below, orbax.TreeFile) {
			below, err = v.c.Dirs(ctx, d)
		}
		if err != nil {
			return err
		}
		if slices.Contains(below, orbax.TreeFile) {
			v.refuse(errs.Mismatch, path.Join(d, orbax.TreeFile),
				"a file where Orbax looks for an item: it loads that and not the checkpoint", "move it away")
		}
	}
	return nil
}

// orbaxDTypes are the element types that Orbax reads from safetensors files.
var orbaxDTypes = []tensor.DType{
	tensor.Bool, tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64,
	tensor.Float16, tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Float8E5M2, tensor.Float8E4M3FN,
}

// treeForOrbax finds reasons for Orbax to refuse a tree.
func (v *verifier) treeForOrbax(ctx context.Context, item string, t *layout.OpenTree) error {
	at := func(l *layout.Leaf) string { return path.Join(item, "array "+strconv.Quote(l.Param)) }
	if v.c.Layout == "safetensors" {
		for i := range t.Leaves {
			if l := &t.Leaves[i]; l.HasArray() && !slices.Contains(orbaxDTypes, l.DType) {
				v.refuse(errs.Mismatch, at(l), l.DType.String()+" in a safetensors file",
					"bivouac convert writes a checkpoint of Orbax")
			}
		}
		return nil
	}
	if !strings.HasPrefix(v.c.Layout, "orbax") {
		return nil
	}
	if len(t.Leaves) == 0 {
		v.refuse(errs.Mismatch, path.Join(item, orbax.TreeFile), "a tree without leaves", "")
	}
	if gap := gapIn(t.Leaves); gap != "" {
		v.refuse(errs.Mismatch, path.Join(item, orbax.TreeFile), gap, "")
	}
	var placed []orbax.Placed
	for i := range t.Leaves {
		l := &t.Leaves[i]
		switch {
		case l.Kind == layout.Foreign:
			v.refuse(errs.Mismatch, at(l), "a leaf of the handler "+l.ValueType+", which Orbax does not have",
				"load it there as a placeholder")
		case l.Kind == layout.Array && l.ValueType != orbax.TypeJAX && l.ValueType != orbax.TypeNumpy && l.ValueType != "":
			v.refuse(errs.Mismatch, at(l), "the type "+strconv.Quote(l.ValueType)+", for which Orbax has no handler",
				"load it there as a placeholder")
		case l.HasArray() && (l.Format == zarr.V3) != t.UseZarr3:
			v.refuse(errs.Mismatch, path.Join(item, orbax.TreeFile),
				"use_zarr3 is "+strconv.FormatBool(t.UseZarr3)+", and array "+strconv.Quote(l.Param)+" is stored otherwise", "")
			return nil
		case l.HasArray() && l.ValueType == orbax.TypeJAX:
			placed = append(placed, orbax.Placed{Param: l.Param, Shape: l.Shape, Key: l.Kind == layout.PRNGKey})
		}
	}
	if len(placed) == 0 {
		return nil
	}
	return v.placesForOrbax(ctx, item, placed)
}

// gapIn returns the list of a tree that lacks an element before its last, or "" if no list does.
func gapIn(leaves []layout.Leaf) string {
	seen := map[string]bool{}   // elements, by path
	last := map[string][2]int{} // of a list: the largest index, and the number of elements
	for i := range leaves {
		for n, k := range leaves[i].Path {
			if k.Kind != tree.KeyIndex {
				continue
			}
			list, element := leaves[i].Path[:n].String(), leaves[i].Path[:n+1].String()
			at, err := strconv.Atoi(k.Name)
			if err != nil || seen[element] {
				continue
			}
			seen[element] = true
			last[list] = [2]int{max(last[list][0], at), last[list][1] + 1}
		}
	}
	for _, list := range slices.Sorted(maps.Keys(last)) {
		if n := last[list]; n[0]+1 != n[1] {
			return fmt.Sprintf("list %q has %d elements, and one with the number %d", list, n[1], n[0])
		}
	}
	return ""
}

// placesForOrbax checks whether Orbax can use the documents about arrays of JAX.
func (v *verifier) placesForOrbax(ctx context.Context, item string, placed []orbax.Placed) error {
	said := func(file string, list []orbax.Refusal, remedy string) {
		if len(list) == 0 {
			return
		}
		got := list[0].Why
		if list[0].Param != "" {
			got = "array " + strconv.Quote(list[0].Param) + ": " + got
		}
		if more := len(list) - 1; more > 0 {
			got += "; so it is with " + strconv.Itoa(more) + " more"
		}
		v.refuse(errs.Mismatch, path.Join(item, file), got, remedy)
	}
	const remedy = "load it there with an abstract tree that says where each array goes"
	b, err := v.c.Document(ctx, path.Join(item, orbax.ShardingFile))
	switch {
	case errs.KindOf(err) == errs.NotFound:
		v.refuse(errs.Mismatch, path.Join(item, orbax.ShardingFile), "the file is missing, and there are arrays of JAX",
			remedy)
	case err != nil:
		return err
	default:
		said(orbax.ShardingFile, orbax.CheckSharding(b, placed), remedy)
	}
	names, err := v.c.Names(ctx, path.Join(item, orbax.ArraysDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		file := path.Join(orbax.ArraysDir, name)
		b, err := v.c.Document(ctx, path.Join(item, file))
		if err != nil {
			return err
		}
		said(file, orbax.CheckArrays(name, b, placed), "")
	}
	return nil
}
