package checkpoint

import (
	"context"
	"encoding/json"
	pathpkg "path"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Info describes a checkpoint without its arrays' contents.
type Info struct {
	Path string
	// Layout is "orbax v1" (as v1.save writes), "orbax step" (as a Checkpointer), "orbax v0 flat",
	// "safetensors", "numpy", "flax", "dcp" (of torch.distributed.checkpoint), "pt" (of torch.save),
	// "pt ranks" (files of torch.save of several ranks).
	Layout string
	Began  time.Time
	Commit time.Time       // zero when it is not recorded
	Custom json.RawMessage // the user's metadata; may be nil
	// Annotations are the Options.Annotations with which the checkpoint was saved.
	Annotations map[string]string
	Manifest    bool       // a bivouac.manifest covers every byte
	Items       []ItemInfo // in the order of their names
}

// Item looks an item up by name.
func (in *Info) Item(name string) (ItemInfo, bool) {
	i := slices.IndexFunc(in.Items, func(it ItemInfo) bool { return it.Name == name })
	if i < 0 {
		return ItemInfo{}, false
	}
	return in.Items[i], true
}

// ItemInfo describes one item.
type ItemInfo struct {
	Name      string // "" in a flat checkpoint
	Kind      string // "tree", "json", "proto", "unknown"
	Handler   string // type string that the writer recorded, may be empty
	UseOCDBT  bool   // tree: arrays lie in an OCDBT database
	UseZarr3  bool   // tree: arrays are zarr v3, else v2
	RichTypes bool   // tree: types of containers are recorded
	Leaves    []LeafInfo
	// Metadata is the description of the item by its handler. Only CheckpointablesMetadata sets
	// it.
	Metadata any
}

// Bytes is the size of the item's arrays.
func (it ItemInfo) Bytes() int64 {
	n := int64(0)
	for _, l := range it.Leaves {
		n += l.Bytes()
	}
	return n
}

// LeafKind says what a leaf is.
type LeafKind uint8

// The kinds of leaves.
const (
	ArrayLeaf  = LeafKind(layout.Array)
	ScalarLeaf = LeafKind(layout.Scalar)
	StringLeaf = LeafKind(layout.String)
	NoneLeaf   = LeafKind(layout.None)
	EmptyDict  = LeafKind(layout.EmptyDict)
	EmptyList  = LeafKind(layout.EmptyList)
	EmptyTuple = LeafKind(layout.EmptyTuple)
	EmptyNamed = LeafKind(layout.EmptyNamed)
	KeyLeaf    = LeafKind(layout.PRNGKey)
	// HandledLeaf is a leaf that a leaf handler saved. Its ValueType names the handler.
	HandledLeaf = LeafKind(layout.Foreign)
)

// String returns "array", "scalar", "string", "none", "empty_dict",
// "empty_list", "empty_tuple", "empty_namedtuple", "prng_key" or "handled".
func (k LeafKind) String() string { return layout.Kind(k).String() }

// LeafInfo describes one leaf or empty container of a tree. Leaves that are alike share
// their shapes: clone a shape before you change it.
type LeafInfo struct {
	Path       tree.Path
	Param      string // the keys joined with "."
	Kind       LeafKind
	ValueType  string // as recorded: "np.ndarray", "jax.Array", "scalar", …
	DType      tensor.DType
	Shape      tensor.Shape // nil without an array
	ChunkShape []int        // of a chunk of the grid
	ReadShape  []int        // of the smallest part that can be read by itself
	WriteShape []int        // of one written fragment, jax.Array only
	Sharding   string       // as Orbax wrote it, jax.Array only, from Metadata; see mesh.FromSharding
	File       string       // that holds the array, of a safetensors checkpoint
	KeyImpl    string       // of a typed PRNG key
	Text       string       // of a string
	// Err says why the leaf cannot be read: its array is missing, or has a type or codec that this
	// build does not know. The leaf then has no DType and no Shape, and a load that asks for it fails.
	Err      error
	Abstract any // description of a handled leaf by its handler; nil if the options do not have the handler
}

// Bytes is the size of the array, 0 without one.
func (l LeafInfo) Bytes() int64 {
	if l.DType == tensor.Invalid {
		return 0
	}
	return int64(l.Shape.Len()) * int64(l.DType.Size())
}

// Metadata describes a checkpoint: the item LoadOptions.Name, or all items if the name is empty. It
// reads the documents and no arrays. Leaf handlers of the options describe their leaves. A missing
// item is errs.NotFound. A leaf that cannot be read is described with LeafInfo.Err, beside the
// others.
func Metadata(ctx context.Context, path string, o *LoadOptions) (*Info, error) {
	return metadata(ctx, "checkpoint.Metadata", path, o,
		func(*layout.Checkpoint, layout.Item, *ItemInfo) error { return nil })
}

// CheckpointablesMetadata is Metadata with ItemInfo.Metadata. The handler of an item that is not a
// tree describes it. An object that saves itself describes itself, if LoadOptions.Abstract, a
// map[string]any, has it. Other items have no ItemInfo.Metadata.
func CheckpointablesMetadata(ctx context.Context, path string, o *LoadOptions) (*Info, error) {
	const op = "checkpoint.CheckpointablesMetadata"
	o, err := o.resolve(ctx)
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	objects, _ := o.Abstract.(map[string]any)
	return metadata(ctx, op, path, o, func(c *layout.Checkpoint, it layout.Item, info *ItemInfo) error {
		by, err := handlerOf(o.Checkpointables.Registry, it, nil)
		if errs.KindOf(err) == errs.NotFound || it.Kind == layout.Tree {
			return nil
		}
		if err == nil {
			info.Metadata, err = handler.MetadataOf(ctx, by, c.Directory(it.Name), objects[it.Name])
		}
		if errs.KindOf(err) == errs.Unsupported {
			return nil
		}
		return errs.Wrap("", "item "+it.Name, err)
	})
}

func metadata(ctx context.Context, op, path string, o *LoadOptions,
	more func(*layout.Checkpoint, layout.Item, *ItemInfo) error) (*Info, error) {
	o, err := o.resolve(ctx)
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	var in *Info
	err = o.read(ctx, path, func(c *layout.Checkpoint) (err error) {
		in, err = o.describe(ctx, path, c, more)
		return err
	})
	return in, errs.Wrap(op, path, err)
}

// describe returns the metadata of an open checkpoint.
func (o *LoadOptions) describe(ctx context.Context, path string, c *layout.Checkpoint,
	more func(*layout.Checkpoint, layout.Item, *ItemInfo) error) (in *Info, err error) {
	in = &Info{Path: path, Layout: c.Layout, Custom: c.Meta.Custom, Manifest: c.Manifest != nil}
	if in.Annotations, err = c.Annotations(ctx); err != nil {
		return nil, err
	}
	if c.Meta.Init != 0 {
		in.Began = time.Unix(0, c.Meta.Init)
	}
	if c.Meta.Commit != 0 {
		in.Commit = time.Unix(0, c.Meta.Commit)
	}
	items, err := o.items(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		info := ItemInfo{Name: it.Name, Kind: it.Kind.String(), Handler: it.Handler}
		if it.Kind == layout.Tree {
			if err := describeTree(ctx, o.describer(c), it.Name, o.PyTree.LeafHandlers, &info); err != nil {
				return nil, err
			}
			if err := addShardings(ctx, c, it.Name, info.Leaves); err != nil {
				return nil, err
			}
		}
		if err := more(c, it, &info); err != nil {
			return nil, err
		}
		in.Items = append(in.Items, info)
	}
	return in, nil
}

// items returns the item called Name, or all items if Name is empty.
func (o *LoadOptions) items(ctx context.Context, c *layout.Checkpoint) ([]layout.Item, error) {
	if o.Name == "" {
		return c.Items(ctx)
	}
	it, err := c.Item(ctx, o.Name)
	return []layout.Item{it}, err
}

// describer opens a tree although some of its leaves are damaged. With Salvage, nodes of its
// database may be damaged too.
type describer = func(ctx context.Context, item string) (*layout.OpenTree, error)

func (o *LoadOptions) describer(c *layout.Checkpoint) describer {
	if o.Salvage {
		return c.Salvage
	}
	return c.Describe
}

func describeTree(ctx context.Context, open describer, item string, handlers *handler.LeafRegistry,
	info *ItemInfo) error {
	t, err := open(ctx, item)
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing was written
	info.UseOCDBT, info.UseZarr3, info.RichTypes = t.UseOCDBT, t.UseZarr3, t.Rich != nil
	info.Leaves = make([]LeafInfo, len(t.Leaves))
	for i := range t.Leaves {
		l := &t.Leaves[i]
		info.Leaves[i] = leafInfo(l)
		l.Forget()
	}
	return describeForeign(ctx, t, handlers, info.Leaves)
}

// addShardings adds the shardings of arrays of JAX. A file that is missing, damaged or no _sharding
// of Orbax is left to Verify.
func addShardings(ctx context.Context, c *layout.Checkpoint, item string, leaves []LeafInfo) error {
	if !slices.ContainsFunc(leaves, func(l LeafInfo) bool { return l.ValueType == orbax.TypeJAX }) {
		return nil
	}
	b, err := c.Document(ctx, pathpkg.Join(item, orbax.ShardingFile))
	if kind := errs.KindOf(err); kind == errs.NotFound || kind == errs.Corrupt {
		return nil
	}
	if err != nil {
		return err
	}
	of, err := orbax.ParseSharding(b)
	if err != nil {
		return nil //nolint:nilerr // Verify tells it
	}
	for i := range leaves {
		leaves[i].Sharding = of[leaves[i].Param]
	}
	return nil
}

// IsCheckpoint reports whether path holds a checkpoint, whole or damaged.
func IsCheckpoint(ctx context.Context, path string, o *LoadOptions) bool {
	if o == nil {
		o = &LoadOptions{}
	}
	err := o.read(ctx, path, func(*layout.Checkpoint) error { return nil })
	return err == nil || errs.KindOf(err) == errs.Corrupt
}
