package serve

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// clientLeaf is a leaf of a leaf handler of the client. The server moves the files of the handler,
// and does not look into them.
type clientLeaf struct {
	typeString string
	of         *handedTree // of a save
	at         int         // of a load: number of the directory
	path       tree.Path   // of a load: in the checkpoint
}

// LeafTypeString names the handler, for handler.LeafRegistry.
func (l clientLeaf) LeafTypeString() string { return l.typeString }

// TreeLeaf makes clientLeaf a leaf of a tree.
func (l clientLeaf) TreeLeaf() any { return l }

// clientWish describes such a leaf. Only the client knows what it wants of the leaf.
type clientWish struct{}

// handedTree is a tree to save whose leaf handlers, in the client, write files into a directory.
type handedTree struct {
	*call
	dir     string
	types   map[string]bool
	written bool
}

// handedTree reads the directory of the leaf handlers of a tree.
func (k *call) handedTree(text []byte) (*handedTree, error) {
	v := &cursor{b: text}
	t := &handedTree{call: k, dir: v.text(), types: map[string]bool{}}
	if v.err != nil {
		return nil, v.err
	}
	return t, files{dir: t.dir}.checkDirectory()
}

// commit asks the client until all files are there, and copies them. The commits of all type
// strings of a tree run one after the other; the first one does the work.
func (t *handedTree) commit(ctx context.Context, to handler.Writer) error {
	if t.written {
		return nil
	}
	t.written = true
	if _, err := t.askUntil(ctx, map[string]any{"op": "leaves", "directory": t.dir}); err != nil {
		return err
	}
	return putAll(ctx, to, t.dir)
}

// leafSaver saves the leaves of one type string.
type leafSaver struct{ typeString string }

// TypeString implements handler.LeafHandler.
func (h leafSaver) TypeString() string { return h.typeString }

// Serialize implements handler.LeafHandler. The client has copied what it needs.
func (h leafSaver) Serialize(_ context.Context, leaves []handler.Saved[clientLeaf]) (handler.Commit, error) {
	return leaves[0].Value.of.commit, nil
}

// Deserialize implements handler.LeafHandler.
func (h leafSaver) Deserialize(context.Context, handler.Reader, []handler.Wanted[clientWish]) ([]clientLeaf, error) {
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "serve.Deserialize", Got: "a load with the handlers of a save"}
}

// Metadata implements handler.LeafHandler.
func (h leafSaver) Metadata(_ context.Context, _ handler.Reader,
	leaves []handler.Wanted[clientWish]) ([]clientWish, error) {
	return make([]clientWish, len(leaves)), nil
}

// Finalize implements handler.LeafHandler.
func (h leafSaver) Finalize(context.Context, handler.Writer) error { return nil }

// leafSavers returns the handlers of the leaves of items, or nil if no item has such leaves.
func leafSavers(trees []*handedTree) (*handler.LeafRegistry, error) {
	types := map[string]bool{}
	for _, t := range trees {
		maps.Copy(types, t.types)
	}
	return leafRegistry(slices.Sorted(maps.Keys(types)),
		func(typeString string) handler.LeafHandler[clientLeaf, clientWish] { return leafSaver{typeString} })
}

// leafRegistry returns a registry with a handler for each type string, or nil without type strings.
func leafRegistry(types []string,
	with func(string) handler.LeafHandler[clientLeaf, clientWish]) (*handler.LeafRegistry, error) {
	if len(types) == 0 {
		return nil, nil
	}
	r := &handler.LeafRegistry{}
	for _, typeString := range types {
		if err := r.Add(handler.Leaf(with(typeString)), false); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// leafDirectories are the private directories with the files of leaf handlers that a load gives to
// the client: one for each tree that has such leaves.
type leafDirectories struct {
	mu    sync.Mutex
	trees []leafDirectory
	known map[handler.Reader]int
}

// leafDirectory is a directory, and how the arrays of its tree are stored.
type leafDirectory struct {
	Files    string `json:"files"`
	UseOCDBT bool   `json:"use_ocdbt"`
	UseZarr3 bool   `json:"use_zarr3"`
}

// extract copies the files of the leaf handlers of a tree, once, and returns the number of their
// directory.
func (d *leafDirectories) extract(ctx context.Context, from handler.Reader) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.known[from]; ok {
		return at, nil
	}
	names, err := handler.LeafFiles(ctx, from)
	if err != nil {
		return 0, err
	}
	storage, err := storageOf(ctx, from)
	if err != nil {
		return 0, err
	}
	if storage.Files, err = getAll(ctx, from, names); err != nil {
		return 0, err
	}
	if d.known == nil {
		d.known = map[handler.Reader]int{}
	}
	d.known[from] = len(d.trees)
	d.trees = append(d.trees, storage)
	return d.known[from], nil
}

// storageOf reads from the metadata of a tree how its arrays are stored.
func storageOf(ctx context.Context, from handler.Reader) (d leafDirectory, err error) {
	text, err := from.ReadFile(ctx, "_METADATA")
	if err != nil {
		return d, err
	}
	var known struct {
		UseOCDBT *bool `json:"use_ocdbt"`
		UseZarr3 bool  `json:"use_zarr3"`
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return d, &errs.Error{Kind: errs.Corrupt, Subject: "_METADATA", Err: err}
	}
	d.UseZarr3 = known.UseZarr3
	if known.UseOCDBT != nil {
		d.UseOCDBT = *known.UseOCDBT
		return d, nil
	}
	names, err := from.List(ctx)
	d.UseOCDBT = slices.Contains(names, "manifest.ocdbt")
	return d, err
}

// remove removes the directories, which nobody will get.
func (d *leafDirectories) remove() {
	for _, t := range d.trees {
		os.RemoveAll(t.Files) //nolint:errcheck // nobody is left to tell
	}
}

// leafLoader loads the leaves of one type string.
type leafLoader struct {
	leafSaver
	to *leafDirectories
}

// Deserialize implements handler.LeafHandler: it extracts the files for the handler of the client.
func (h leafLoader) Deserialize(ctx context.Context, dir handler.Reader,
	leaves []handler.Wanted[clientWish]) ([]clientLeaf, error) {
	at, err := h.to.extract(ctx, dir)
	out := make([]clientLeaf, len(leaves))
	for i, l := range leaves {
		out[i] = clientLeaf{typeString: h.typeString, at: at, path: l.Path}
	}
	return out, err
}

// leafLoaders reads which leaf handlers the client has, and returns handlers that extract their
// files.
func (k *call) leafLoaders() *handler.LeafRegistry {
	var types []string
	k.args.into("leaf_types", &types)
	slices.Sort(types)
	r, err := leafRegistry(slices.Compact(types), func(typeString string) handler.LeafHandler[clientLeaf, clientWish] {
		return leafLoader{leafSaver{typeString}, &k.leaves}
	})
	if k.args.err == nil {
		k.args.err = errs.Wrap("", "argument leaf_types", err)
	}
	return r
}

// client writes a leaf whose handler is in the client.
func (w *nodeWriter) client(l clientLeaf) {
	w.raw(`["h",`)
	w.text(l.typeString)
	w.raw(",")
	w.b = strconv.AppendInt(w.b, int64(l.at), 10)
	w.raw(",")
	keys := make([]string, len(l.path))
	for i, k := range l.path {
		keys[i] = k.Name
	}
	w.keys(keys)
	w.raw("]")
}
