package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// ConvertBudget is the default memory limit of Convert, in bytes.
const ConvertBudget = 256 << 20

// ConvertOptions modify Convert; nil is the zero value.
//
// With Options.Verification the source must be signed by that key, under Bivouac.Label if it is
// set, and only signed bytes are read. Bivouac.Signing signs the destination. With Verification it
// does so under the label of the source. Bivouac.MemoryBudget bounds the memory, by default to
// ConvertBudget; the largest chunk of the source may exceed it. Options about saving apply to the
// destination.
type ConvertOptions struct {
	// Options take precedence over the options of the context and the process.
	Options
	// Item, when not empty, is the only item that is converted.
	Item string
	// Overwrite replaces a checkpoint at the destination, atomically.
	Overwrite bool
	// Progress, when not nil, receives how many bytes of the data files were written, of how many, one
	// call at a time and from other goroutines.
	Progress func(done, total int64)
	// Salvage converts the whole leaves of a damaged checkpoint. For an array, number, string or PRNG
	// key that is damaged or missing the destination holds None. A damaged JSON or text item is left
	// out. Report, which must be set, lists each loss with the reason in LeafReport.Lost. The source
	// is read once more for it. Damaged nodes of a database are treated as by LoadOptions.Salvage.
	Salvage bool
	// Report, when not nil, gets the leaves that Salvage left out, when the destination is whole.
	Report *LoadReport
	// Store holds source and destination; nil is Options.File.Store, and where that
	// is nil the local file system.
	Store store.Store
}

// Convert writes the checkpoint src, of any layout, as dst in the layout of the
// options: trees with all their leaves, JSON and text items, the user's metadata.
// Arrays are read and written piece by piece within the memory budget. What is
// written is then compared with the source, element by element.
//
// Items and leaves of handlers are copied as they are, without their handlers. Before anything is
// written, Convert refuses what the destination cannot hold, by its name (errs.Unsupported): items
// of an unknown kind, and in safetensors files everything except one tree of arrays and numbers.
// Types of containers (tuples, named tuples) are kept if the source has recorded them, and typed
// PRNG keys stay typed PRNG keys.
func Convert(ctx context.Context, src, dst string, o *ConvertOptions) error {
	return convert(ctx, "checkpoint.Convert", []string{src}, dst, nil, o)
}

// ConvertAndTransform writes the tree that fn makes of the trees of the checkpoints srcs. The tree
// of a source is ConvertOptions.Item, or the default tree. The result is written piece by piece
// within the memory budget. It takes the place of the tree among the items and metadata of the
// first source. These are kept unless Item is set. Key and Label apply to all sources.
func ConvertAndTransform(ctx context.Context, srcs []string, dst string, fn Transform, o *ConvertOptions) error {
	return convert(ctx, "checkpoint.ConvertAndTransform", srcs, dst, fn, o)
}

// convert implements Convert, and with a non-nil fn ConvertAndTransform.
func convert(ctx context.Context, op string, srcs []string, dst string, fn Transform, o *ConvertOptions) error {
	o, err := o.resolve(ctx)
	if err != nil {
		return errs.Wrap(op, dst, err)
	}
	if o.Salvage && (o.Report == nil || fn != nil) {
		return errs.Wrap(op, dst, &errs.Error{Kind: errs.Invalid, Subject: "ConvertOptions.Salvage",
			Want: "Convert with a Report, which names the lost leaves"})
	}
	src := strings.Join(srcs, ", ")
	var from crowd
	defer func() { from.close() }()
	for _, path := range srcs {
		lo := &LoadOptions{Options: o.Options, Store: o.Store}
		lo.CheckpointLayout = options.Auto // the layout in o is for the copy
		c, err := lo.open(ctx, path)
		if err != nil {
			return errs.Wrap(op, path, err)
		}
		from = append(from, c)
	}
	if len(from) == 0 {
		return errs.Wrap(op, dst, noSources())
	}
	st, name, err := locate.Target(dst, o.Store, o.File.PathPermissionMode)
	if err == nil {
		err = admit(ctx, st, name, o.Overwrite)
	}
	if err == nil {
		err = layout.CheckOutside(ctx, dst, o.Store)
	}
	if err != nil {
		return errs.Wrap(op, dst, err)
	}
	c := &conversion{from: from[0], others: from[1:], fn: fn, st: st, name: name, opts: *o, budget: o.Budget()}
	if c.budget == 0 {
		c.budget = ConvertBudget
	}
	if c.options, err = plan.Save(o.Options); err != nil {
		return errs.Wrap(op, dst, err)
	}
	defer c.close()
	if err := c.plan(ctx); err != nil {
		return errs.Wrap(op, src, layout.Explain(ctx, err, from...))
	}
	if err := c.write(ctx); err != nil {
		if errs.KindOf(err) != errs.Busy { // a Busy error already says that another writer was faster
			err = layout.Explain(ctx, err, from...)
		}
		return errs.Wrap(op, dst, err)
	}
	defer func() {
		from.close()
		from = nil
		c.clean(ctx)
	}()
	err = c.compare(ctx)
	if err == nil && o.Report != nil {
		o.Report.Leaves = append(o.Report.Leaves, c.lost...)
	}
	return errs.Wrap(op, dst, err)
}

// conversion is one call of Convert.
type conversion struct {
	from    *layout.Checkpoint
	others  []*layout.Checkpoint // further sources of trees
	fn      Transform            // nil converts without a transformation
	st      store.Store
	name    string
	opts    ConvertOptions
	options writer.Options // as the options say
	budget  int64          // bytes of memory
	items   []writer.Item
	trees   []convertedTree
	cells   *layout.Cells
	files   []copiedFiles

	opened  []*sources
	lost    []LeafReport // with Salvage
	staging string       // where the source is after a conversion in place has replaced it
}

// convertedTree is the tree that an item of the destination must hold.
type convertedTree struct {
	item string
	want *tree.Node // arrays may be Lazy
}

func (c *conversion) close() {
	for _, in := range c.opened {
		in.close()
	}
}

// plan opens the items of the source and makes the items of the destination. Their arrays are read
// later.
func (c *conversion) plan(ctx context.Context) error {
	// Half of the budget is for writing: buffers and chunks being encoded.
	c.cells = layout.NewCells(c.budget / 4)
	items, err := c.chosen(ctx)
	if err != nil {
		return err
	}
	target, transforms, err := c.transformed(ctx)
	if err != nil {
		return err
	}
	single := c.options.Layout == options.SafetensorsLayout
	for _, it := range items {
		out := writer.Item{Name: it.Name, Handler: it.Handler}
		if it.Name == "" || single {
			out.Name = orbax.StateItem
		}
		switch {
		case single && len(items) > 1:
			return &errs.Error{Kind: errs.Unsupported, Subject: "items " + itemNames(items),
				Want: "one tree, because the layout " + options.SafetensorsLayout.String() + " holds one",
				Got:  strconv.Itoa(len(items)) + " items", Remedy: "choose one item (ConvertOptions.Item), or another layout"}
		case it.Kind == layout.Unknown && !single && it.Handler != "":
			err = c.copiedItem(ctx, &out, it.Name)
		case it.Kind == layout.Unknown, single && it.Kind != layout.Tree:
			return &errs.Error{Kind: errs.Unsupported, Subject: "item " + strconv.Quote(it.Name), Got: it.Kind.String(),
				Want:   "an item that the layout " + options.SafetensorsLayout.String() + " can hold",
				Remedy: "choose other items (ConvertOptions.Item), or another layout"}
		case it.Kind == layout.Tree:
			out.Tree, out.Rich, err = c.tree(ctx, it.Name, out.Name, transforms && it.Name == target)
			out.Handler = orbax.HandlerTree
			if err == nil {
				err = c.copied(ctx, &out, c.opened[len(c.opened)-1].open[0])
			}
		case it.Kind == layout.JSON:
			out.File = path.Base(it.File)
			out.JSON, err = c.from.JSON(ctx, it.Name)
		case it.Kind == layout.Proto:
			out.File = path.Base(it.File)
			var b []byte
			b, err = c.from.Proto(ctx, it.Name)
			out.JSON = json.RawMessage(b)
		}
		if c.opts.Salvage && it.Kind != layout.Tree && layout.IsDamage(err) && c.from.Explain(ctx, err) == err {
			c.lost = append(c.lost, LeafReport{Item: it.Name, Lost: err})
			continue
		}
		if err != nil {
			return err
		}
		c.items = append(c.items, out)
	}
	return nil
}

// chosen returns the items to convert.
func (c *conversion) chosen(ctx context.Context) ([]layout.Item, error) {
	if c.opts.Item == "" {
		return c.from.Items(ctx)
	}
	it, err := c.from.Item(ctx, c.opts.Item)
	return []layout.Item{it}, err
}

// itemNames lists items for messages.
func itemNames(items []layout.Item) string {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = strconv.Quote(it.Name)
	}
	return strings.Join(names, ", ")
}

// tree makes the tree of an item; its arrays are read later. Containers have the types that the
// source recorded.
func (c *conversion) tree(ctx context.Context, from, item string, transformed bool) (*tree.Node, *orbax.Rich, error) {
	var in sources
	c.opened = append(c.opened, &in)
	if c.opts.Salvage {
		lost, err := in.salvage(ctx, c.from, from, c.cells)
		if err != nil {
			return nil, nil, err
		}
		c.lost = append(c.lost, lost...)
	} else if err := in.add(ctx, c.from, from, c.cells); err != nil {
		return nil, nil, err
	}
	if !transformed {
		return c.writable(item, in.nodes[0]), in.open[0].Rich, nil
	}
	for _, other := range c.others {
		if err := in.add(ctx, other, c.opts.Item, c.cells); err != nil {
			return nil, nil, err
		}
	}
	n, err := in.transform(ctx, c.fn)
	if err != nil {
		return nil, nil, err
	}
	var rich *orbax.Rich
	if in.rich() {
		rich = orbax.RichOf(n)
	}
	return c.writable(item, n), rich, nil
}

// transformed returns the name of the item that the transformation makes; ok is false if there is
// no transformation.
func (c *conversion) transformed(ctx context.Context) (name string, ok bool, err error) {
	if c.fn == nil {
		return "", false, nil
	}
	if name = c.opts.Item; name == "" {
		name, err = c.from.Default(ctx)
	}
	return name, true, err
}

// writable records the tree of an item, to compare it with the written one later, and returns it in
// the form in which it is written.
func (c *conversion) writable(item string, n *tree.Node) *tree.Node {
	c.trees = append(c.trees, convertedTree{item, n})
	return replaced(n, func(leaf *tree.Node) any {
		if l, ok := arrayOf(leaf); ok {
			return l.leaf()
		}
		return leaf.Value
	})
}

// write saves the items.
func (c *conversion) write(ctx context.Context) (err error) {
	memory, err := arena.Open(0, arena.Options{Limit: int(c.budget / 2)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	custom := c.from.Meta.Custom
	if string(custom) == "{}" {
		custom = nil
	}
	io := c.options
	io.Style, io.Custom, io.Memory, io.Budget = writer.V1, custom, memory, c.budget/2
	io.Progress, io.Label = c.opts.Progress, c.label()
	if io.Parity == 0 {
		if io.Parity, err = c.from.Parity(ctx); err != nil {
			return err
		}
	}
	if io.Annotations, err = c.annotations(ctx); err != nil {
		return err
	}
	w, err := writer.Plan(c.items, writer.InPlace, io)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Snapshot(); err != nil {
		return err
	}
	replaces := c.replaces()
	txn, err := c.st.Begin(ctx, c.name, store.TxnOptions{Overwrite: c.opts.Overwrite, Replaces: replaces})
	if err != nil {
		return err
	}
	if replaces != nil {
		c.staging = txn.Staging()
	}
	_, err = w.Write(ctx, txn)
	return err
}

// clean removes the source of a conversion in place, which had a lease until it was compared. The
// next conversion removes what cannot be removed now.
func (c *conversion) clean(ctx context.Context) {
	if c.staging != "" {
		c.st.CleanStaging(ctx, parts.ParentOf(c.name), func(in store.Info) bool { return in.Name != path.Base(c.staging) }) //nolint:errcheck // see above
	}
}

// replaces returns the directory that is read if the destination replaces it: it must still exist
// at that moment. Otherwise it returns nil.
func (c *conversion) replaces() store.Pinned {
	for _, from := range append([]*layout.Checkpoint{c.from}, c.others...) {
		if p := from.At(c.st, c.name); p != nil && c.opts.Overwrite {
			return p
		}
	}
	return nil
}

// annotations returns the annotations of the source, overlaid with the annotations of the options.
func (c *conversion) annotations(ctx context.Context) (map[string]string, error) {
	out, err := c.from.Annotations(ctx)
	if err != nil || len(c.options.Annotations) == 0 {
		return out, err
	}
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, c.options.Annotations)
	return out, nil
}

// label returns the label that the source was signed with, or "" without Options.Verification.
func (c *conversion) label() string {
	if c.opts.Verification == nil {
		return ""
	}
	return c.from.Manifest.Label
}
