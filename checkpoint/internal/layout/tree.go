package layout

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// OpenTree is an open tree item.
type OpenTree struct {
	UseOCDBT, UseZarr3 bool
	Rich               *orbax.Rich // nil if container types are not recorded
	Custom             json.RawMessage
	NoEmpties          bool   // the format does not record empty containers
	Leaves             []Leaf // in file order

	files   *files
	db      *ocdbt.DB       // nil if arrays lie in directories
	limit   *Limit          // limits reads; nil means no limit
	bound   bool            // the manifest has a hash of the nodes, which hold small arrays
	lenient bool            // an unreadable leaf does not make Tree fail
	salvage bool            // neither does a damaged database
	slashed map[string]bool // names of leaves that end in a slash
}

// orbaxTree opens an item with a _METADATA.
func (c *Checkpoint) orbaxTree(ctx context.Context, it Item) (*OpenTree, error) {
	item := it.Name
	raw, err := c.file(ctx, it.File)
	if err != nil {
		return nil, err
	}
	doc, err := orbax.ParseTree(raw)
	if err != nil {
		return nil, errs.Wrap("", c.path(item), err)
	}
	if marked(doc.Custom) && c.Manifest == nil && !c.opts.AllowNoManifest {
		if err := c.wrongLevel(ctx); err != nil {
			return nil, err
		}
		return nil, c.manifestMissing()
	}
	t := &OpenTree{lenient: it.lenient, salvage: it.salvage, UseZarr3: doc.UseZarr3, Rich: doc.Rich, Custom: doc.Custom,
		files: newFiles(c, item), limit: c.opts.Reads}
	if err := c.fillTree(ctx, t, doc); err != nil {
		return nil, errs.Wrap("", c.path(item), joinClose(err, t))
	}
	return t, nil
}

// marked reports whether the custom metadata of a tree says that the checkpoint has a manifest.
func marked(custom json.RawMessage) bool {
	var m struct {
		Bivouac *struct {
			Manifest int `json:"manifest"`
		} `json:"bivouac"`
	}
	return json.Unmarshal(custom, &m) == nil && m.Bivouac != nil && m.Bivouac.Manifest > 0
}

// fillTree makes the leaves.
func (c *Checkpoint) fillTree(ctx context.Context, t *OpenTree, doc orbax.Tree) error {
	t.UseOCDBT = doc.UseOCDBT != nil && *doc.UseOCDBT
	if doc.UseOCDBT == nil {
		_, err := c.st.Stat(ctx, c.path(t.files.item, "manifest.ocdbt"))
		dirs, derr := t.processes(ctx)
		t.UseOCDBT = err == nil || derr == nil && len(dirs) > 0
	}
	if err := uniqueParams(doc.Entries); err != nil {
		return err
	}
	impls, err := c.keyImpls(ctx, t.files.item)
	if err != nil {
		return err
	}
	var (
		values *stored
		gone   error // why no array can be found
		arrays *zarr.Opener
		texts  *orbax.StringsFileContent
	)
	t.Leaves = make([]Leaf, len(doc.Entries))
	types := newTyped(doc.Rich)
	var forms forms
	for _, e := range doc.Entries {
		if name := e.Path.Param(); strings.HasSuffix(name, "/") {
			if t.slashed == nil {
				t.slashed = map[string]bool{}
			}
			t.slashed[name] = true
		}
	}
	for i, e := range doc.Entries {
		l := &t.Leaves[i]
		*l = Leaf{Path: types.path(e.Path), Param: e.Path.Param(), Form: forms.next()}
		l.ValueType, l.WriteShape = e.ValueType, e.WriteShape
		l.Kind = kindOf(e, impls[l.Param] != "")
		switch l.Kind {
		case Array, Scalar, PRNGKey:
			if values == nil && gone == nil {
				values, err = c.openStored(ctx, t, doc.StoreFill)
				if gone = t.nothing(err); err != nil && gone == nil {
					return err
				}
				if gone == nil {
					arrays = zarr.NewOpener(values.values)
				}
			}
			l.KeyImpl = impls[l.Param]
			err := gone
			if gone == nil {
				err = c.openArray(ctx, t, l, values, arrays)
			}
			if err := t.tolerate(l, err); err != nil {
				return err
			}
		case String:
			if texts == nil {
				texts = &orbax.StringsFileContent{}
				parsed, err := c.strings(ctx, t.files.item)
				if err := t.tolerate(l, err); err != nil {
					return err
				}
				*texts = parsed
			}
			s, ok := texts.Get(l.Param)
			if l.Text = s; !ok && l.Err == nil {
				err := &errs.Error{Kind: errs.Corrupt, Subject: orbax.StringsFile, Want: "string " + strconv.Quote(l.Param),
					Got: "no such member"}
				if err := t.tolerate(l, err); err != nil {
					return err
				}
			}
		}
		l.Form = forms.share(l.Form)
	}
	return nil
}

// strings reads the strings of an item.
func (c *Checkpoint) strings(ctx context.Context, item string) (orbax.StringsFileContent, error) {
	raw, err := c.file(ctx, path.Join(item, orbax.StringsFile))
	if err != nil {
		if errs.KindOf(err) == errs.NotFound {
			err = missingFile(path.Join(item, orbax.StringsFile), nil)
		}
		return orbax.StringsFileContent{}, err
	}
	return orbax.ParseStrings(raw)
}

// tolerate records what is wrong with one leaf of a lenient tree. It returns errors that are not
// about the leaf.
func (t *OpenTree) tolerate(l *Leaf, err error) error {
	if err == nil || !t.lenient {
		return err
	}
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.NotFound, errs.Unsupported, errs.Invalid, errs.Mismatch, errs.Exhausted:
		l.Err, l.array, l.DType, l.Shape = err, nil, tensor.Invalid, nil
		return nil
	}
	return err
}

// nothing returns why no array of a salvaged tree can be found, or nil if err is another error.
func (t *OpenTree) nothing(err error) error {
	if !t.salvage || !t.UseOCDBT || t.files.c.opts.Key != nil || !isDamage(err) {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Got: "no array can be found, because the database is damaged", Err: err}
}

// openValues opens the database or the directory that holds the arrays of the item.
func (t *OpenTree) openValues(ctx context.Context) (zarr.KV, error) {
	if !t.UseOCDBT {
		return zarr.NewFiles(t.files), nil
	}
	values, err := t.openDatabase(ctx)
	if err != nil && t.salvage {
		return t.salvageValues(ctx, err)
	}
	return values, err
}

// openDatabase opens the database of the item, or the databases of its processes.
func (t *OpenTree) openDatabase(ctx context.Context) (zarr.KV, error) {
	db, err := ocdbt.Open(ctx, t.files, ocdbt.Options{})
	if errs.KindOf(err) == errs.NotFound {
		if dirs, derr := t.processes(ctx); derr != nil || len(dirs) > 0 {
			u, uerr := ocdbt.OpenUnion(ctx, t.files, dirs, ocdbt.Options{})
			if err := errors.Join(derr, uerr); err != nil {
				return nil, err
			}
			x, err := u.Index(ctx)
			if err != nil {
				return nil, err
			}
			return x.Values(), nil
		}
	}
	if err != nil {
		return nil, err
	}
	x, err := db.Index(ctx)
	if err != nil {
		return nil, err
	}
	t.bound, t.db = t.files.speakFor(db), db
	return x.Values(), nil
}

// processes lists the databases of the processes that wrote an item, which remain if they were
// never merged.
func (t *OpenTree) processes(ctx context.Context) ([]string, error) {
	var dirs []string
	for e, err := range t.files.c.st.List(ctx, t.files.c.path(t.files.item)) {
		if err != nil {
			return nil, err
		}
		if e.Dir && ocdbt.IsProcessDir(e.Name) {
			dirs = append(dirs, e.Name+"/")
		}
	}
	return dirs, nil
}

// uniqueParams returns an error if two leaves with the same kind of storage share a parameter name:
// the file has the bytes of only one of them.
func uniqueParams(entries []orbax.Entry) error {
	arrays, texts := make([]tree.Entry, 0, len(entries)), []tree.Entry(nil)
	for _, e := range entries {
		switch kindOf(e, false) {
		case Array, Scalar:
			arrays = append(arrays, tree.Entry{Path: e.Path})
		case String:
			texts = append(texts, tree.Entry{Path: e.Path})
		}
	}
	for _, list := range [][]tree.Entry{arrays, texts} {
		if err := tree.Collisions(list); err != nil {
			return &errs.Error{Kind: errs.Corrupt, Err: err,
				Remedy: "the writer stored one leaf over the other; at most one of them is right"}
		}
	}
	return nil
}

func kindOf(e orbax.Entry, key bool) Kind {
	switch e.ValueType {
	case orbax.TypeNone:
		return None
	case orbax.TypeDict:
		return EmptyDict
	case orbax.TypeList:
		return EmptyList
	case orbax.TypeTuple:
		return EmptyTuple
	case orbax.TypeNamedTuple:
		return EmptyNamed
	case orbax.TypeString:
		return String
	case orbax.TypeScalar:
		return Scalar
	}
	switch {
	case e.Skip:
		return None
	case key:
		return PRNGKey
	case orbax.IsForeign(e.ValueType):
		return Foreign
	}
	return Array
}

// keyImpls reads which parameters hold typed PRNG keys.
func (c *Checkpoint) keyImpls(ctx context.Context, item string) (map[string]string, error) {
	impls := map[string]string{}
	for e, err := range c.st.List(ctx, c.path(item, orbax.ArraysDir)) {
		if errs.KindOf(err) == errs.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(e.Name, orbax.ArraysPrefix) || e.Dir {
			continue // Orbax reads no other files there
		}
		raw, err := c.file(ctx, path.Join(item, orbax.ArraysDir, e.Name))
		if err != nil {
			return nil, err
		}
		found, err := orbax.ParseArrays(e.Name, raw)
		if err != nil {
			return nil, err
		}
		for k, v := range found {
			impls[k] = v
		}
	}
	return impls, nil
}

// typed gives the keys of paths the kinds that the recorded types say.
type typed struct {
	root *orbax.Rich                    // nil: no types are recorded
	keys map[*orbax.Rich]map[string]int // of the structs and dictionaries seen so far
}

func newTyped(root *orbax.Rich) typed { return typed{root, map[*orbax.Rich]map[string]int{}} }

// find returns the index of a key of r, or -1.
func (t typed) find(r *orbax.Rich, key string) int {
	at := t.keys[r]
	if at == nil {
		at = make(map[string]int, len(r.Keys))
		for i, k := range r.Keys {
			if _, twice := at[k]; !twice {
				at[k] = i
			}
		}
		t.keys[r] = at
	}
	if i, ok := at[key]; ok {
		return i
	}
	return -1
}

func (t typed) path(p tree.Path) tree.Path {
	rich := t.root
	if rich == nil {
		return p
	}
	out := slices.Clone(p)
	for i, k := range p {
		if rich == nil {
			break
		}
		switch rich.Kind {
		case tree.List, tree.Tuple:
			n, err := strconv.Atoi(k.Name)
			if err != nil || n < 0 || n >= len(rich.Items) {
				return p
			}
			rich = rich.Items[n]
		case tree.Dict, tree.Named:
			if rich.Kind == tree.Named {
				out[i].Kind = tree.KeyAttr
			}
			n := t.find(rich, k.Name)
			if n < 0 {
				return p
			}
			rich = rich.Items[n]
		default:
			return out
		}
	}
	return out
}

// Close closes the files.
func (t *OpenTree) Close() error { return t.files.close() }

func joinClose(err error, t *OpenTree) error {
	t.Close() //nolint:errcheck // the first error counts, and nothing was written
	return err
}
