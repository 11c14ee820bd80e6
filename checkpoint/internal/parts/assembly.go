package parts

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// commitText is the content of commit_success.txt if no part has that file.
const commitText = "Checkpoint commit was successful"

// Assembly is the checkpoint that is made from parts: small documents with their bytes, and data
// files with the files that they link.
type Assembly struct {
	st     store.Store
	source string               // for messages: the session, or the checkpoint that grows
	docs   map[string][]byte    // by name below the checkpoint
	links  map[string]string    // name below the checkpoint → committed name
	items  map[string]*database // the items with databases

	records map[string]manifest.File // of links, from the manifests of the parts
	leaves  []manifest.Leaf
	nodes   []manifest.File // of databases
	covered bool            // every part had a manifest
	label   string          // label of the manifest of the checkpoint that loses something
	parts   []*manifest.Manifest
	bare    bool            // a part had no manifest
	own     map[string]bool // items that handlers of the user wrote
	signing ed25519.PrivateKey

	parity int           // parity blocks for 100 data blocks; 0 makes none
	bases  []parity.Base // checkpoints whose files are linked, with their parity
}

// Read reads the documents of a session and joins them.
func Read(ctx context.Context, st store.Store, session string) (*Assembly, error) {
	list, err := List(ctx, st, session)
	if err != nil {
		return nil, err
	}
	a := newAssembly(st, session)
	for _, p := range list {
		if err := a.add(ctx, p); err != nil {
			return nil, errs.Wrap("", p.Dir, err)
		}
	}
	return a, nil
}

// Assemble reads a session and plans its checkpoint.
func Assemble(ctx context.Context, st store.Store, session string) (*Assembly, error) {
	a, err := Read(ctx, st, session)
	if err != nil {
		return nil, err
	}
	if a.docs[orbax.CheckpointFile] == nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: session, Want: "parts with " + orbax.CheckpointFile,
			Got:    "no such part",
			Remedy: "remove the directory if nothing of it is needed"}
	}
	if a.docs[orbax.CommitFile] == nil {
		a.docs[orbax.CommitFile] = []byte(commitText)
	}
	a.docs[orbax.MarkerFile] = []byte{}
	for item, d := range a.items {
		if err := a.merge(ctx, item, d); err != nil {
			return nil, errs.Wrap("", item, err)
		}
	}
	return a, a.complete()
}

func newAssembly(st store.Store, source string) *Assembly {
	return &Assembly{
		st: st, source: source, docs: map[string][]byte{}, links: map[string]string{}, items: map[string]*database{},
		records: map[string]manifest.File{}, covered: true, own: map[string]bool{},
	}
}

// add joins a part to the assembly.
func (a *Assembly) add(ctx context.Context, p Part) error {
	files, err := Files(ctx, a.st, p.Dir, func(e store.Info) bool {
		_, pending := parsePending(e)
		return pending || store.IsStaging(e.Name) || isGuard(e.Name)
	})
	if err != nil {
		return err
	}
	if slices.Contains(files, RemovalFile) {
		r, err := readRemoval(ctx, a.st, p)
		if err == nil {
			err = a.remove(r)
		}
		if err != nil {
			return errs.Wrap("", RemovalFile, err)
		}
	}
	if slices.Contains(files, orbax.CheckpointFile) {
		doc, err := store.ReadAll(ctx, a.st, path.Join(p.Dir, orbax.CheckpointFile))
		if err == nil {
			err = a.knowHandlers(doc)
		}
		if err != nil {
			return errs.Wrap("", orbax.CheckpointFile, err)
		}
	}
	m, err := a.manifestOf(ctx, p, files)
	if err != nil {
		return err
	}
	has := map[string]bool{} // items with databases of processes
	for _, f := range files {
		if item, dir, _, ok := processFile(f); ok && !a.isOwn(f) {
			has[item] = true
			a.database(item).embed(dir + p.ID + "/")
		}
	}
	for _, f := range files {
		if err := a.file(ctx, p, f, has, m); err != nil {
			return errs.Wrap("", f, err)
		}
	}
	return nil
}

// manifestOf reads the manifest of a part, if it has one.
func (a *Assembly) manifestOf(ctx context.Context, p Part, files []string) (*manifest.Manifest, error) {
	for _, f := range files {
		if _, _, rest, ok := processFile(f); !ok || rest != manifest.Name || p.ID == "" {
			continue // a dissolved part has other file names now
		}
		b, err := store.ReadAll(ctx, a.st, path.Join(p.Dir, f))
		if err != nil {
			return nil, err
		}
		m, err := manifest.Parse(b)
		if err != nil {
			return nil, errs.Wrap("", f, err)
		}
		for _, r := range m.Files {
			if !slices.Contains(files, r.Name) {
				return nil, &errs.Error{Kind: errs.Corrupt, Subject: r.Name, Got: "the file is missing"}
			}
		}
		a.leaves, a.parts = append(a.leaves, m.Leaves...), append(a.parts, m)
		return m, nil
	}
	a.bare = true
	for _, f := range files {
		if _, _, _, ok := processFile(f); ok {
			a.covered = false
		}
	}
	return nil, nil
}

// database returns the database of an item.
func (a *Assembly) database(item string) *database {
	if a.items[item] == nil {
		a.items[item] = &database{}
	}
	return a.items[item]
}

// processFile splits the name of a file of the database of a process:
// <item>/<directory>/<rest>.
func processFile(name string) (item, dir, rest string, ok bool) {
	item, below, _ := strings.Cut(name, "/")
	dir, rest, ok = strings.Cut(below, "/")
	return item, dir, rest, ok && ocdbt.IsProcessDir(dir)
}

// file handles one file of a part.
func (a *Assembly) file(ctx context.Context, p Part, name string, has map[string]bool, m *manifest.Manifest) error {
	from := path.Join(p.Dir, name)
	if item, dir, rest, ok := processFile(name); ok && !a.isOwn(name) {
		if rest == manifest.Name {
			return nil // its records were read
		}
		if rest == orbax.AnnotationsFile {
			return a.document(ctx, rest, from, name, m)
		}
		return a.link(ctx, path.Join(item, dir+p.ID, rest), from, m, name)
	}
	item, below, inItem := strings.Cut(name, "/")
	switch {
	case name == manifest.Name:
		return &errs.Error{Kind: errs.Unsupported, Got: "a part with a manifest of a whole checkpoint"}
	case name == orbax.MarkerFile || name == RemovalFile:
		return nil
	case inItem && has[item] && isDatabase(below):
		return nil // from a merge, which is repeated
	}
	if a.joins(name) != nil {
		return a.document(ctx, name, from, name, m)
	}
	return a.link(ctx, name, from, m, name)
}

// document joins a document. m, if there is one, lists it as listed.
func (a *Assembly) document(ctx context.Context, name, from, listed string, m *manifest.Manifest) error {
	b, err := store.ReadAll(ctx, a.st, from)
	if err == nil && m != nil {
		err = m.CheckFile(listed, b)
	}
	if err != nil {
		return err
	}
	return a.join(name, b, a.joins(name))
}

// joins returns the function that joins documents of that name, or nil for any other file.
func joins(name string) func(a, b []byte) ([]byte, error) {
	_, below, inItem := strings.Cut(name, "/")
	switch {
	case name == orbax.CheckpointFile:
		return orbax.MergeCheckpoints
	case name == orbax.AnnotationsFile:
		return orbax.MergeAnnotations
	case inItem && below == orbax.TreeFile:
		return orbax.MergeTrees
	case inItem && below == orbax.StringsFile:
		return orbax.MergeStrings
	case inItem && below == orbax.ShardingFile:
		return orbax.MergeSharding
	case inItem && path.Dir(below) == orbax.ArraysDir:
		return orbax.MergeArrays
	case path.Base(name) == orbax.CommitFile:
		return func(first, _ []byte) ([]byte, error) { return first, nil }
	}
	return nil
}

// join joins a document to the document of the earlier parts.
func (a *Assembly) join(name string, b []byte, merge func(a, b []byte) ([]byte, error)) (err error) {
	if before, ok := a.docs[name]; ok {
		if b, err = merge(before, b); err != nil {
			return err
		}
	}
	a.docs[name] = b
	return nil
}

// link plans a link to a data file. m, if there is one, lists it as listed. Two parts may have the
// same file.
func (a *Assembly) link(ctx context.Context, name, from string, m *manifest.Manifest, listed string) error {
	if m != nil {
		f, ok := m.File(listed)
		if !ok {
			return &errs.Error{Kind: errs.Corrupt, Subject: from, Got: "a file that the manifest of its part does not list"}
		}
		f.Name = name
		a.records[name] = f
	}
	before, taken := a.links[name]
	if !taken {
		a.links[name] = from
		return nil
	}
	same, err := sameBytes(ctx, a.st, before, from)
	if err == nil && !same {
		err = &errs.Error{Kind: errs.Mismatch, Subject: name, Want: "one part with this file, or the same bytes",
			Got: "different bytes in " + before}
	}
	return err
}

// complete checks that the result is a tree in each item, and records in the documents whether
// there will be a manifest.
func (a *Assembly) complete() error {
	for name := range a.links {
		if _, ok := a.records[name]; !ok {
			a.covered = false
		}
	}
	for name, doc := range a.docs {
		item, below, _ := strings.Cut(name, "/")
		if below != orbax.TreeFile || a.own[item] {
			continue
		}
		t, err := orbax.ParseTree(doc)
		if err != nil {
			return errs.Wrap("", item, err)
		}
		if err := whole(t); err != nil {
			return errs.Wrap("", "item "+item, err)
		}
		if a.docs[name], err = orbax.Marked(doc, a.covered); err != nil {
			return err
		}
	}
	return nil
}

// whole returns an error for a tree that no loader could build.
func whole(t orbax.Tree) error {
	entries := make([]tree.Entry, len(t.Entries))
	for i, e := range t.Entries {
		entries[i] = tree.Entry{Path: e.Path, Node: tree.NewLeaf(nil)}
	}
	_, err := tree.Unflatten(entries)
	return err
}

// IsAt reports whether the assembled checkpoint already exists, which happens if only the session
// was left to remove. Anything else of that name is errs.Exists.
func (a *Assembly) IsAt(ctx context.Context, name string) (bool, error) {
	if _, err := a.st.Stat(ctx, name); err != nil {
		if errs.KindOf(err) == errs.NotFound {
			err = nil
		}
		return false, err
	}
	other := &errs.Error{Kind: errs.Exists, Subject: name, Got: "something other than the checkpoint of this session",
		Remedy: "move it, or the session, away"}
	files, err := Files(ctx, a.st, name, nil)
	if err != nil {
		return false, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == manifest.Name || parity.Is(f) })
	if len(files) != len(a.docs)+len(a.links) {
		return false, other
	}
	for _, f := range files {
		same, err := a.holds(ctx, f, path.Join(name, f))
		if err != nil {
			return false, err
		}
		if !same {
			return false, other
		}
	}
	return true, nil
}

// holds reports whether the file at equals the file that the assembly has under name.
func (a *Assembly) holds(ctx context.Context, name, at string) (bool, error) {
	if from, linked := a.links[name]; linked {
		return sameBytes(ctx, a.st, from, at)
	}
	doc, ok := a.docs[name]
	if !ok {
		return false, nil
	}
	b, err := store.ReadAll(ctx, a.st, at)
	return bytes.Equal(b, doc), err
}

// Protect sets how many parity blocks are made for 100 blocks of data. A checkpoint
// without a manifest gets no parity.
func (a *Assembly) Protect(percent int) { a.parity = max(0, percent) }

// Parity returns the parity of the checkpoint that grows, and the bases with which its files are
// linked.
func (a *Assembly) Parity() (percent int, bases []parity.Base) {
	if !a.covered {
		return 0, nil
	}
	return a.parity, a.bases
}

// Sign makes Commit sign the checkpoint with the key, which must have signed all parts. A nil key
// is for parts without signatures.
func (a *Assembly) Sign(key ed25519.PrivateKey) error {
	a.signing = key
	if key != nil && (a.bare || !a.covered) {
		return &errs.Error{Kind: errs.Invalid, Subject: a.source, Want: "parts signed with the key",
			Got: "a part without a manifest"}
	}
	for _, m := range a.parts {
		if err := sameSigner(m, key); err != nil {
			return errs.Wrap("", a.source, err)
		}
	}
	return nil
}

// record adds a document to the manifest.
func (a *Assembly) record(m *manifest.Manifest, name string, b []byte) {
	m.Add(name, b)
	if a.signing != nil {
		m.Files[len(m.Files)-1].Runs = manifest.Runs(b, 0)
	}
}

// Commit makes the checkpoint, with a manifest if all parts had one.
func (a *Assembly) Commit(ctx context.Context, name string) error {
	return a.commit(ctx, name, store.TxnOptions{})
}

func (a *Assembly) commit(ctx context.Context, name string, o store.TxnOptions) error {
	txn, err := a.st.Begin(ctx, name, o)
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	var guard *parity.Txn
	if a.parity > 0 && a.covered {
		guard = parity.Wrap(txn, parity.Options{Percent: a.parity, Signed: a.signing != nil, Store: a.st, Bases: a.bases})
		txn = guard
	}
	m := &manifest.Manifest{Label: a.label}
	if err := a.take(ctx, txn, m); err != nil {
		return err
	}
	for _, to := range slices.Sorted(maps.Keys(a.docs)) {
		a.record(m, to, a.docs[to])
		if to == orbax.CommitFile {
			continue
		}
		if err := txn.Put(ctx, to, a.docs[to]); err != nil {
			return err
		}
	}
	mark := store.Blob{Name: orbax.CommitFile, Data: a.docs[orbax.CommitFile]}
	if !a.covered {
		return txn.Commit(ctx, mark)
	}
	if guard != nil {
		files, err := guard.Finish(ctx, mark)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, files...)
		if err := guard.Copy(ctx, m); err != nil {
			return err
		}
	}
	return txn.Commit(ctx, store.Blob{Name: manifest.Name, Data: manifest.Sign(m.Append(nil), a.signing)}, mark)
}

// take links the data files into the transaction and adds their records.
func (a *Assembly) take(ctx context.Context, txn store.Txn, m *manifest.Manifest) error {
	for _, to := range slices.Sorted(maps.Keys(a.links)) {
		if err := txn.Link(ctx, to, a.links[to]); err != nil {
			return err
		}
		if f, ok := a.records[to]; ok {
			m.Files = append(m.Files, f)
		}
	}
	m.Leaves = append(m.Leaves, a.leaves...)
	m.Nodes = append(m.Nodes, a.nodes...)
	return nil
}
