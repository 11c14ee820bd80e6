package checkpoint

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/broadcast"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// LoadOptions modify a load; nil is the zero value.
//
// With Options.Verification the checkpoint must be signed by that key, and under Bivouac.Label if
// it is set. Otherwise the load is errs.Corrupt. Only bytes that match the signed digests are used.
type LoadOptions struct {
	// Options take precedence over the options of the context and the process. Here CheckpointLayout
	// is the layout that the checkpoint must have; left open it may have any layout.
	Options
	// Name of the checkpointable. "" is "state" if that is a tree, else the first tree in the order of
	// names.
	Name string
	// Want, when not nil, returns for each array, scalar and PRNG key what to load of it.
	Want func(LeafInfo) Want
	// Abstract, when not nil, is the tree to load: a value that tree.From takes, with
	// the containers of the checkpoint. It is given back with its leaves loaded:
	//
	//	Abstract{…}          an array of this type and shape, or boxes of it
	//	TypeOf[T]()          a T, of whatever shape
	//	a tensor, a number   one of the type and shape that it has; ints and floats of any width
	//	a string             a string
	//	nil                  the leaf or tree that was saved there
	//	Placeholder{}        Placeholder{}: nothing there is read
	//
	// An *Info or ItemInfo stands for the tree that it describes. For
	// LoadCheckpointables Abstract is a map[string]any from item names to abstract
	// values. Only these items are loaded; nil and Placeholder{} load an item as saved.
	//
	// A structure, a kind of leaf or a shape that differs from the saved one is
	// errs.Mismatch. With Options.PyTree.Loading.PartialLoad Abstract may leave out
	// saved leaves. A value in it that was not saved is then returned unchanged.
	// Abstract cannot be combined with Want.
	Abstract any
	// LossyCast allows a cast to change values that the target type cannot hold: fractions as
	// integers, values out of range, NaN. Without LossyCast these are errs.Mismatch. Rounding of
	// floats is always allowed.
	LossyCast bool
	// Report, when not nil, receives the leaves that did not come as they were saved.
	Report *LoadReport
	// Salvage loads the whole leaves of a damaged checkpoint. An array, number or PRNG key whose bytes
	// are damaged or missing is Placeholder{} in the tree. Report, which must be set, lists it with
	// the reason in LeafReport.Lost. Everything that is loaded was compared with all its checksums, as
	// ever. LoadInto refuses Salvage.
	//
	// If nodes of an OCDBT database are damaged, the leaves below them are lost. The hash of all nodes
	// does not match then, so each other node is compared with its own CRC-32C. A database without its
	// manifest.ocdbt opens by its nodes, and their hash must match. With Options.Verification neither
	// is done, and the load is errs.Corrupt, because a CRC-32C proves nothing against a forger.
	//
	// OpenReader and Metadata need no Report: LeafInfo.Err has the reason.
	Salvage bool
	// AllowNoManifest loads a checkpoint of Bivouac that lost its bivouac.manifest.
	// Without it damage to most bytes goes unnoticed.
	AllowNoManifest bool
	// Allocate, when not nil, returns the memory that the load reads arrays into: n bytes of any
	// content, aligned for every type. It is called once for each array or box, one call at a time.
	// Its error ends the load. Scalars, and arrays for which LoadInto has memory, do not need it. A
	// load that begins anew because the checkpoint was replaced asks for new memory.
	Allocate func(n int) ([]byte, error)
	// Final, when not nil, is called with parts of the memory of Allocate that the load has finished
	// and verified, and will not touch again: a caller can move them elsewhere meanwhile. The parts do
	// not overlap, and need not be all of the memory. Calls may run at the same time. An error ends
	// the load. LoadInto, LoadAndTransform and loads with Salvage do not call it.
	Final func(mem []byte) error
	// Store holds the checkpoint; nil is Options.File.Store, and where that is nil
	// the local file system. The path is then a name in it.
	Store store.Store

	loaded  *atomic.Int64      // bytes of arrays that were read, for telemetry; or nil
	reads   *layout.Limit      // shared by several checkpoints; nil: each has its own limit
	session *broadcast.Session // of a load in which one replica reads for the others; or nil
}

// Key is a leaf that holds typed PRNG keys of JAX: the key data with the name of
// the implementation, such as "threefry2x32".
type Key struct {
	Impl string
	Data tensor.Tensor // uint32; the last axis is one key
	// Sharding names the devices of the data, as in Shards. "" is the device "cpu:0". A load leaves it
	// empty.
	Sharding string
}

// TreeLeaf makes Key a leaf of a tree: it returns what is saved for it, which
// Orbax loads as typed keys.
func (k Key) TreeLeaf() any { return writer.Key{Impl: k.Impl, Data: k.Data, Sharding: k.Sharding} }

// Bytes is a leaf of bytes, in checkpoints of torch. It is saved as an array of uint8.
type Bytes []byte

// TreeLeaf makes Bytes a leaf of a tree: it returns what is saved for it.
func (b Bytes) TreeLeaf() any {
	return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}
}

// ProtoText is an item in protobuf text format.
type ProtoText = handler.ProtoText

// Load reads one tree. Arrays are tensors whose memory is the caller's,
// scalars int64, uint64, float64 and bool, typed PRNG keys Key, bytes Bytes.
//
// Load reads one checkpoint, also beside a writer. If the checkpoint is replaced meanwhile, Load
// reads the old checkpoint whole or the new one whole.
//
// Errors: NotFound when there is nothing at path, or it was removed while it was read
// (store.ErrRemoved), Invalid when it is not a checkpoint, Corrupt when bytes are damaged or
// missing, Unsupported for layouts that this version does not read.
func Load(ctx context.Context, path string, o *LoadOptions) (*tree.Node, error) {
	n, err := load(ctx, path, nil, o)
	return n, errs.Wrap("checkpoint.Load", path, err)
}

// LoadInto reads one tree into dst, as tree.Into fills it: structs, maps and preallocated slices in
// place, with the same structure, shapes and dtypes. The elements are read directly into the
// tensors and slices of dst, so a load needs little further memory. After an error their content is
// undefined.
func LoadInto(ctx context.Context, path string, dst any, o *LoadOptions) error {
	n, err := load(ctx, path, newDestination(dst), o)
	if err == nil {
		err = tree.Into(n, dst)
	}
	return errs.Wrap("checkpoint.LoadInto", path, err)
}

// LoadAsync loads in the background, as Load does, in every layout. Cancel ends the
// load. o and what its Abstract holds must not be changed before it is done.
func LoadAsync(ctx context.Context, path string, o *LoadOptions) *Response[*tree.Node] {
	return inBackground(ctx, func(ctx context.Context) (*tree.Node, error) { return Load(ctx, path, o) })
}

// load reads one tree. It reads an array into the memory of into, if into has memory for it.
func load(ctx context.Context, path string, into *destination, o *LoadOptions) (n *tree.Node, err error) {
	if o == nil {
		o = &LoadOptions{}
	}
	ctx, o, told := o.tell(ctx, path)
	defer func() { told(err) }()
	ctx, cancel, err := o.bound(ctx)
	defer cancel()
	if err != nil {
		return nil, err
	}
	err = o.readTogether(ctx, path, func(o *LoadOptions, c *layout.Checkpoint) (err error) {
		item := o.Name
		if item == "" {
			if item, err = c.Default(ctx); err != nil {
				return err
			}
		}
		n, err = loadTree(ctx, c, item, into, o)
		return o.excused(ctx, c, err)
	})
	if err != nil { // on another process, it may be
		return nil, err
	}
	return n, nil
}

// tell tells telemetry that a load begins. It returns the context of the load, options that count
// its bytes if somebody watches, and a function that tells the end.
func (o *LoadOptions) tell(ctx context.Context, path string) (context.Context, *LoadOptions, func(error)) {
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Load, Path: path, Step: telemetry.NoStep})
	if told == nil {
		return ctx, o, func(error) {}
	}
	own := *o
	own.loaded = &atomic.Int64{}
	return ctx, &own, func(err error) { told.End(telemetry.Outcome{Err: err, Bytes: own.loaded.Load()}) }
}

// salvages reports whether damaged leaves are left out. It fails if the options do not allow that.
func (o *LoadOptions) salvages(into *destination) (bool, error) {
	bad := &errs.Error{Kind: errs.Invalid, Subject: "LoadOptions.Salvage"}
	switch {
	case !o.Salvage:
		return false, nil
	case o.Report == nil:
		bad.Want, bad.Got = "a Report, which names the lost leaves", "nil"
	case into != nil:
		bad.Want, bad.Got = "Load", "LoadInto, which cannot leave out leaves"
	default:
		return true, nil
	}
	return false, bad
}

// excused returns err. If the load left out leaves because the checkpoint was removed or replaced
// meanwhile, it returns that as the error.
func (o *LoadOptions) excused(ctx context.Context, c *layout.Checkpoint, err error) error {
	if err != nil || !o.Salvage || o.Report == nil || len(o.Report.Lost()) == 0 {
		return err
	}
	why := c.Gone(ctx)
	if why != nil {
		o.Report.Leaves = nil
	}
	return why
}

// opening returns how to open the checkpoint that is to be loaded.
func (o *LoadOptions) opening(ctx context.Context,
	path string) (lo layout.Options, st store.Store, name string, err error) {
	lo, st, name, err = plan.Open(ctx, path, o.Options, o.Store)
	lo.AllowNoManifest = o.AllowNoManifest
	if o.reads != nil {
		lo.Reads = o.reads
	}
	return lo, st, name, err
}

// open opens the checkpoint for a long time: it takes a lease if the store has leases. The caller
// must close the checkpoint.
func (o *LoadOptions) open(ctx context.Context, path string) (*layout.Checkpoint, error) {
	lo, st, name, err := o.opening(ctx, path)
	if err != nil {
		return nil, err
	}
	lo.Lease = true
	c, err := lo.Open(ctx, st, name)
	if err != nil {
		return nil, err
	}
	if err := o.admits(c.Layout); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// read opens the checkpoint and calls do with it. If the checkpoint was replaced meanwhile, it does
// so again.
func (o *LoadOptions) read(ctx context.Context, path string, do func(*layout.Checkpoint) error) error {
	lo, st, name, err := o.opening(ctx, path)
	if err != nil {
		return err
	}
	return lo.Read(ctx, st, name, func(c *layout.Checkpoint) error {
		if err := o.admits(c.Layout); err != nil {
			return err
		}
		if o.Report != nil {
			o.Report.Layout = c.Layout
		}
		return do(c)
	})
}

// admits returns an error if the layout is not of the family that the call asks for.
func (o *LoadOptions) admits(layout string) error {
	found := options.Auto
	switch {
	case layout == "safetensors":
		found = options.SafetensorsFile
	case strings.HasPrefix(layout, "orbax"):
		found = options.Orbax
	}
	if asked := o.CheckpointLayout; asked != 0 && asked != options.Auto && asked != found {
		return &errs.Error{Kind: errs.Invalid, Subject: "CheckpointLayout", Want: asked.String(),
			Got:    "a checkpoint of layout " + layout,
			Remedy: "leave it unset: a load recognises the layout"}
	}
	return nil
}

// checkCheckpoint returns an error unless name holds a checkpoint.
func checkCheckpoint(ctx context.Context, st store.Store, name string) error {
	err := layout.Options{}.Read(ctx, st, name, func(*layout.Checkpoint) error { return nil })
	if errors.Is(err, errs.Corrupt) {
		return nil // a damaged checkpoint is still a checkpoint
	}
	return err
}

// loadTree reads the leaves of an item and builds the tree. It reads them into new memory unless
// there is a destination.
func loadTree(ctx context.Context, c *layout.Checkpoint, item string, into *destination,
	o *LoadOptions) (*tree.Node, error) {
	open := c.Tree
	if o.Salvage {
		open = c.Salvage
	}
	t, err := open(ctx, item)
	if err != nil {
		return nil, err
	}
	defer t.Close() //nolint:errcheck // nothing was written
	return loadOpen(ctx, t, nil, item, into, o)
}

// loadOpen works like loadTree for an open item. origins has the leaves that leaf handlers read
// elsewhere.
func loadOpen(ctx context.Context, t *layout.OpenTree, origins map[*layout.Leaf]origin, item string, into *destination,
	o *LoadOptions) (*tree.Node, error) {
	ld, err := o.newLoading(ctx, item, into)
	if err != nil {
		return nil, err
	}
	if ld.salvage, err = o.salvages(into); err != nil {
		return nil, err
	}
	ld.origins, ld.noEmpties = origins, t.NoEmpties
	entries, arrays := leafEntries(t)
	n, err := treeOf(t, item, entries)
	if err != nil {
		return nil, err
	}
	if err := ld.prepare(n, entries, t.Leaves); err != nil {
		return nil, err
	}
	if err := ld.readLeaves(ctx, t, entries, arrays); err != nil {
		return nil, err
	}
	if err := ld.readForeign(ctx, t, entries); err != nil {
		return nil, err
	}
	return ld.done(n), nil
}

// treeOf builds the tree of all entries.
func treeOf(t *layout.OpenTree, item string, entries []tree.Entry) (*tree.Node, error) {
	n, err := tree.Unflatten(entries)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: item, Err: err}
	}
	applyTypes(n, t.Rich)
	return n, nil
}

// leafEntries returns an entry for each leaf and empty container. The entries at the indices in
// arrays are arrays and have no value yet.
func leafEntries(t *layout.OpenTree) (entries []tree.Entry, arrays []int) {
	entries, arrays = make([]tree.Entry, len(t.Leaves)), make([]int, 0, len(t.Leaves))
	nodes := make([]tree.Node, len(t.Leaves))
	for i := range t.Leaves {
		l := &t.Leaves[i]
		entries[i] = tree.Entry{Path: l.Path, Node: &nodes[i]}
		switch l.Kind {
		case layout.Array, layout.Scalar, layout.PRNGKey:
			arrays = append(arrays, i)
		case layout.String:
			entries[i].Node = tree.NewLeaf(l.Text)
		case layout.EmptyDict, layout.EmptyList, layout.EmptyTuple, layout.EmptyNamed:
			entries[i].Node = emptyNode(LeafKind(l.Kind))
		}
	}
	return entries, arrays
}

// applyTypes gives containers the types that the checkpoint recorded.
func applyTypes(n *tree.Node, rich *orbax.Rich) {
	if rich == nil || n.Kind == tree.Leaf || len(rich.Items) != len(n.Items) {
		return
	}
	switch {
	case rich.Kind == tree.Tuple && n.Kind == tree.List:
		n.Kind = tree.Tuple
	case rich.Kind == tree.Named && n.Kind == tree.Named:
		n.Type = rich.Type
	}
	var places map[string]int // of the recorded keys, if their order differs
	for i, c := range n.Items {
		k := i
		if (n.Kind == tree.Dict || n.Kind == tree.Named) && (len(rich.Keys) != len(n.Keys) || rich.Keys[i] != n.Keys[i]) {
			if places == nil {
				places = make(map[string]int, len(rich.Keys))
				for k, key := range slices.Backward(rich.Keys) {
					places[key] = k
				}
			}
			var ok bool
			if k, ok = places[n.Keys[i]]; !ok {
				return
			}
		}
		applyTypes(c, rich.Items[k])
	}
}
