package checkpoint_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// inStore are the files of an item, as the package of the format wants them.
type inStore struct {
	st   store.Store
	item string
}

func (f inStore) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return store.ReadAll(ctx, f.st, path.Join(f.item, name))
}

func (f inStore) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	b, err := f.ReadFile(ctx, name)
	if err == nil {
		copy(p, b[off:])
	}
	return err
}

func (f inStore) Size(ctx context.Context, name string) (int64, error) {
	b, err := f.ReadFile(ctx, name)
	return int64(len(b)), err
}

// manyNodes is a checkpoint whose database has many nodes, as one of millions of leaves
// has. A database of few leaves is one node, so that it is written anew.
type manyNodes struct {
	mem   *vfstest.Mem
	st    store.Store
	want  *tree.Node
	data  string // the file that the nodes lie in
	nodes []ocdbt.EncodedNode
	root  ocdbt.Node
}

// manyLeaves are numbers, small arrays in nodes, arrays in the data file, and strings.
func manyLeaves() map[string]any {
	state := map[string]any{}
	for i := range 60 {
		wide := make([]float32, 300+i)
		for k := range wide {
			wide[k] = float32(i * k)
		}
		state[fmt.Sprintf("layer%02d", i)] = map[string]any{"bias": []float32{float32(i), 2, 3}, "kernel": wide,
			"step": int64(i), "name": fmt.Sprint("of layer ", i)}
	}
	return state
}

func newManyNodes(t *testing.T) *manyNodes {
	t.Helper()
	ctx := context.Background()
	mem := vfstest.NewMem()
	c := &manyNodes{mem: mem, st: local.New(mem, "/", nil)}
	if err := checkpoint.Save(ctx, "c", manyLeaves(), &checkpoint.SaveOptions{Store: c.st}); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(c.file(t, manifest.Name))
	if err != nil || len(m.Nodes) != 1 {
		t.Fatal(m.Nodes, err)
	}
	db, err := ocdbt.Open(ctx, inStore{c.st, "c/state"}, ocdbt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []ocdbt.Entry
	for e, err := range db.List(ctx, ocdbt.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	c.data = m.Nodes[0].Name
	b := c.file(t, c.data)
	b = b[:int64(len(b))-m.Nodes[0].Size]
	config := db.Manifest().Config
	config.MaxDecodedNodeBytes, config.Compression = 2500, ocdbt.CompressionNone
	at := int64(len(b))
	c.nodes, c.root, err = ocdbt.EncodeTree(entries, config, func(size int) (ocdbt.File, int64) {
		at += int64(size)
		return ocdbt.File{Name: strings.TrimPrefix(c.data, "state/")}, at - int64(size)
	})
	if err != nil || c.root.Height < 2 {
		t.Fatal(c.root.Height, err)
	}
	var tail []byte
	for _, n := range c.nodes {
		tail = append(tail, n.Bytes...)
	}
	doc, err := ocdbt.NewManifest(config, c.root, time.Unix(1, 0)).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	of := manifest.Manifest{Files: slices.DeleteFunc(slices.Clone(m.Files), func(f manifest.File) bool {
		return f.Name == c.data || f.Name == "state/"+ocdbt.ManifestName
	}), Leaves: m.Leaves, Nodes: []manifest.File{{Name: c.data, Size: int64(len(tail)), Hash: manifest.HashOf(tail)}}}
	of.Add(c.data, append(b, tail...))
	of.Add("state/"+ocdbt.ManifestName, doc)
	c.put(t, c.data, append(b, tail...))
	c.put(t, "state/"+ocdbt.ManifestName, doc)
	c.put(t, manifest.Name, of.Append(nil))
	if c.want, err = checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: c.st}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *manyNodes) file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := store.ReadAll(context.Background(), c.st, path.Join("c", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c *manyNodes) put(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := c.st.Put(context.Background(), path.Join("c", name), b, store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// flip flips a bit of a file, and returns what sets it right.
func (c *manyNodes) flip(t *testing.T, name string, at int64) (restore func()) {
	t.Helper()
	b := c.file(t, name)
	b[at] ^= 16
	c.put(t, name, b)
	return func() { b[at] ^= 16; c.put(t, name, b) }
}

// leavesInNodes is how many leaves of manyLeaves lie in the database.
const leavesInNodes = 60 * 3

// salvaged loads what is left, compares each leaf that is not lost with what was saved, and returns
// why others are lost.
func (c *manyNodes) salvaged(t *testing.T, what string) map[string]error {
	t.Helper()
	ctx := context.Background()
	if _, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: c.st}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("%s: without Salvage: %v", what, err)
	}
	var r checkpoint.LoadReport
	got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: c.st, Salvage: true, Report: &r})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	lost := map[string]error{}
	for _, l := range r.Lost() {
		lost[l.Path.Param()] = l.Lost
	}
	have := map[string]*tree.Node{}
	for _, e := range tree.Flatten(got) {
		have[e.Path.Param()] = e.Node
	}
	for _, e := range tree.Flatten(c.want) {
		name := e.Path.Param()
		if why := lost[name]; why != nil {
			if errs.KindOf(why) != errs.Corrupt || have[name].Value != (checkpoint.Placeholder{}) {
				t.Errorf("%s: %s is lost, and is %v: %v", what, name, have[name], why)
			}
		} else if !tree.Equal(e.Node, have[name]) {
			t.Errorf("%s: %s is not what was saved, and not lost: %v", what, name, have[name])
		}
	}
	return lost
}

// TestSalvageBesideDamagedNodes: wherever a byte of the nodes of a database is damaged,
// each leaf is loaded as it was saved or is lost with the reason, and the damage of a node
// at the bottom of the tree takes few leaves.
func TestSalvageBesideDamagedNodes(t *testing.T) {
	c := newManyNodes(t)
	for i, n := range c.nodes {
		height := n.Bytes[14] // behind the header, the version and the compression
		places := []int64{int64(len(n.Bytes) * (i % 7) / 7)}
		if height > 0 {
			places = append(places, 0, int64(len(n.Bytes))-1)
		}
		for _, at := range places {
			what := fmt.Sprintf("node %d of %d, byte %d", i, len(c.nodes), at)
			restore := c.flip(t, c.data, n.Offset+at)
			lost := c.salvaged(t, what)
			switch {
			case n.Offset == c.root.Offset:
				if len(lost) != leavesInNodes || !strings.Contains(fmt.Sprint(lost["layer07.step"]),
					"nothing can be found: the root") {
					t.Errorf("%s: %d leaves are lost with the root: %v", what, len(lost), lost["layer07.step"])
				}
			case len(lost) == 0 || len(lost) == leavesInNodes:
				t.Errorf("%s: %d leaves are lost", what, len(lost))
			case height == 0 && len(lost) > leavesInNodes/10:
				t.Errorf("%s: %d leaves are lost with one node of the lowest level", what, len(lost))
			}
			restore()
		}
	}
}

// TestSalvageWithoutADocument: where the document of the database alone is damaged or
// missing, nothing is lost, as the manifest lists the nodes and their hash.
func TestSalvageWithoutADocument(t *testing.T) {
	c := newManyNodes(t)
	restore := c.flip(t, "state/"+ocdbt.ManifestName, 40)
	if lost := c.salvaged(t, "damaged"); len(lost) > 0 {
		t.Errorf("%d leaves are lost: %v", len(lost), lost["layer07.step"])
	}
	restore()
	spoil(t, c.mem, "/c/state/"+ocdbt.ManifestName, true)
	if lost := c.salvaged(t, "missing"); len(lost) > 0 {
		t.Errorf("%d leaves are lost: %v", len(lost), lost["layer07.step"])
	}
}

// TestSalvageWithoutADatabase: where the document of the database and a node are damaged,
// or its nodes are others that hold by themselves, all arrays are lost, each with the
// reason, and the strings are not.
func TestSalvageWithoutADatabase(t *testing.T) {
	for what, damage := range map[string]func(c *manyNodes){
		"document and a node": func(c *manyNodes) {
			c.flip(t, "state/"+ocdbt.ManifestName, 40)
			c.flip(t, c.data, c.nodes[0].Offset)
		},
		"no data": func(c *manyNodes) { spoil(t, c.mem, "/c/"+c.data, true) },
		"other nodes": func(c *manyNodes) {
			m, err := manifest.Parse(c.file(t, manifest.Name))
			if err != nil {
				t.Fatal(err)
			}
			m.Nodes[0].Hash[3]++
			c.put(t, manifest.Name, m.Append(nil))
		},
	} {
		c := newManyNodes(t)
		damage(c)
		if lost := c.salvaged(t, what); len(lost) != leavesInNodes {
			t.Errorf("%s: %d leaves are lost: %v", what, len(lost), slices.Sorted(maps.Keys(lost)))
		}
	}
}

// TestSalvageAmongTheNodes: a node that does not lie where the manifest lists the nodes is
// lost, though it holds by its own CRC-32C.
func TestSalvageAmongTheNodes(t *testing.T) {
	c := newManyNodes(t)
	m, err := manifest.Parse(c.file(t, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.nodes[:3] {
		m.Nodes[0].Size -= int64(len(n.Bytes))
	}
	c.put(t, manifest.Name, m.Append(nil))
	lost := c.salvaged(t, "three nodes before the others")
	if len(lost) == 0 || len(lost) > leavesInNodes/3 {
		t.Errorf("%d leaves are lost", len(lost))
	}
	for name, why := range lost {
		if !strings.Contains(why.Error(), "a node among those that the manifest lists") {
			t.Errorf("%s: %v", name, why)
		}
	}
}

// TestSalvageSigned: with a key, nodes that are not those that were signed are refused,
// though each may hold by its own CRC-32C, and the error says so. Without the key they are
// salvaged as others are.
func TestSalvageSigned(t *testing.T) {
	ctx := context.Background()
	public, private := signingKey(1)
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	o := options.Options{Bivouac: options.Bivouac{Signing: private}}
	if err := checkpoint.Save(ctx, "c", manyLeaves(), &checkpoint.SaveOptions{Options: o, Store: st}); err != nil {
		t.Fatal(err)
	}
	c := &manyNodes{mem: mem, st: st}
	m, err := manifest.Parse(c.file(t, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	c.data = m.Nodes[0].Name
	c.flip(t, c.data, int64(len(c.file(t, c.data)))-3)
	for key, salvaged := range map[string]bool{string(public): false, "": true} {
		var r checkpoint.LoadReport
		lo := &checkpoint.LoadOptions{Store: st, Salvage: true, Report: &r}
		if key != "" {
			lo.Options.Bivouac.Verification = []byte(key)
		}
		_, err := checkpoint.Load(ctx, "c", lo)
		switch {
		case salvaged && (err != nil || len(r.Lost()) != leavesInNodes):
			t.Errorf("without the key: %d are lost: %v", len(r.Lost()), err)
		case !salvaged && (errs.KindOf(err) != errs.Corrupt ||
			!strings.Contains(fmt.Sprint(err), "proves nothing against a forger")):
			t.Errorf("with the key: %v", err)
		}
	}
}

// TestConvertBesideDamagedNodes: a copy of a checkpoint with a damaged node has all leaves
// that are not below it, and a Reader reads them.
func TestConvertBesideDamagedNodes(t *testing.T) {
	ctx := context.Background()
	c := newManyNodes(t)
	c.flip(t, c.data, c.nodes[1].Offset+9)
	lost := c.salvaged(t, "node 1")
	if err := checkpoint.Convert(ctx, "c", "copy",
		&checkpoint.ConvertOptions{Store: c.st}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("without Salvage: %v", err)
	}
	var r checkpoint.LoadReport
	if err := checkpoint.Convert(ctx, "c", "copy", &checkpoint.ConvertOptions{Store: c.st, Salvage: true,
		Report: &r}); err != nil {
		t.Fatal(err)
	}
	if len(r.Lost()) != len(lost) {
		t.Errorf("Convert lost %d leaves, Load %d", len(r.Lost()), len(lost))
	}
	got, err := checkpoint.Load(ctx, "copy", &checkpoint.LoadOptions{Store: c.st})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]*tree.Node{}
	for _, e := range tree.Flatten(got) {
		have[e.Path.Param()] = e.Node
	}
	for _, e := range tree.Flatten(c.want) {
		name := e.Path.Param()
		if is := have[name]; lost[name] == nil && !tree.Equal(e.Node, is) || lost[name] != nil && is.Value != nil {
			t.Errorf("%s of the copy is %v", name, is)
		}
	}
	if _, err := checkpoint.OpenReader(ctx, "c", &checkpoint.LoadOptions{Store: c.st}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a Reader without Salvage: %v", err)
	}
	reader, err := checkpoint.OpenReader(ctx, "c", &checkpoint.LoadOptions{Store: c.st, Salvage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // nothing was written
	for _, l := range reader.Info().Leaves {
		if l.Kind == checkpoint.StringLeaf {
			continue
		}
		err := l.Err
		if err == nil {
			err = reader.Check(ctx, l)
		}
		if (err != nil) != (lost[l.Param] != nil) || err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: the Reader says %v, Load %v", l.Param, err, lost[l.Param])
		}
	}
}
