package checkpoint

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// pendingMark stands in the names of the parts of a session, between a name and
// <nanoseconds>_<32 hexadecimal digits>.
const pendingMark = ".partial_save.pending_"

// commitText is the content of commit_success.txt where no part has one.
const commitText = "Checkpoint commit was successful"

// assembly is the checkpoint that a session of partial saves is to become: small
// documents with their bytes, and data files with what they are links to.
type assembly struct {
	st      store.Store
	session string
	docs    map[string][]byte   // by name below the checkpoint
	links   map[string]string   // name below the checkpoint → committed name
	process map[string][]string // item → directories of its databases, in the order of the parts
}

// sessionPart is one partial save.
type sessionPart struct {
	dir  string // below the store
	time int64  // nanoseconds
	id   string // 32 hexadecimal digits; "" of what a finalization that failed has dissolved
}

// assemble reads the documents of a session and plans its checkpoint.
func assemble(ctx context.Context, st store.Store, session string) (*assembly, error) {
	parts, err := sessionParts(ctx, st, session)
	if err != nil {
		return nil, err
	}
	a := &assembly{st: st, session: session, docs: map[string][]byte{}, links: map[string]string{}, process: map[string][]string{}}
	for _, p := range parts {
		if err := a.add(ctx, p); err != nil {
			return nil, errs.Wrap("", p.dir, err)
		}
	}
	if a.docs[orbax.CheckpointFile] == nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: session, Want: "parts with " + orbax.CheckpointFile, Got: "none",
			Remedy: "remove the directory if nothing of it is needed"}
	}
	if a.docs[orbax.CommitFile] == nil {
		a.docs[orbax.CommitFile] = []byte(commitText)
	}
	a.docs[orbax.MarkerFile] = []byte{}
	for item := range a.process {
		if err := a.database(ctx, item); err != nil {
			return nil, errs.Wrap("", item, err)
		}
	}
	return a, nil
}

// sessionParts lists the parts in the order of their times; first comes what a
// finalization that failed has moved to the session itself.
func sessionParts(ctx context.Context, st store.Store, session string) ([]sessionPart, error) {
	var parts []sessionPart
	dissolved := false
	if _, err := st.Stat(ctx, session); err != nil {
		return nil, err
	}
	for e, err := range st.List(ctx, session) {
		if err != nil {
			return nil, err
		}
		if p, ok := parsePending(e); ok {
			p.dir = path.Join(session, e.Name)
			parts = append(parts, p)
		} else if !store.IsStaging(e.Name) {
			dissolved = true
		}
	}
	slices.SortFunc(parts, func(a, b sessionPart) int {
		if a.time != b.time {
			return int(min(max(a.time-b.time, -1), 1))
		}
		return strings.Compare(a.dir, b.dir)
	})
	if dissolved {
		parts = slices.Insert(parts, 0, sessionPart{dir: session})
	}
	return parts, nil
}

func parsePending(e store.Info) (sessionPart, bool) {
	i := strings.LastIndex(e.Name, pendingMark)
	if !e.Dir || i < 0 || store.IsStaging(e.Name) {
		return sessionPart{}, false
	}
	ns, id, ok := strings.Cut(e.Name[i+len(pendingMark):], "_")
	t, err := strconv.ParseInt(ns, 10, 64)
	ok = ok && err == nil && len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
	return sessionPart{time: t, id: id}, ok
}

// add joins a part to the assembly.
func (a *assembly) add(ctx context.Context, p sessionPart) error {
	files, err := filesBelow(ctx, a.st, p.dir, func(e store.Info) bool {
		_, pending := parsePending(e)
		return pending || store.IsStaging(e.Name)
	})
	if err != nil {
		return err
	}
	has := map[string]bool{} // items with a database a process
	for _, f := range files {
		if item, dir, _, ok := processFile(f); ok {
			has[item] = true
			if to := dir + p.id + "/"; !slices.Contains(a.process[item], to) {
				a.process[item] = append(a.process[item], to)
			}
		}
	}
	for _, f := range files {
		if err := a.file(ctx, p, f, has); err != nil {
			return errs.Wrap("", f, err)
		}
	}
	return nil
}

// processFile splits the name of a file of the database of a process:
// <item>/<directory>/<rest>.
func processFile(name string) (item, dir, rest string, ok bool) {
	item, below, _ := strings.Cut(name, "/")
	dir, rest, ok = strings.Cut(below, "/")
	return item, dir, rest, ok && ocdbt.IsProcessDir(dir)
}

// file finds out what becomes of one file of a part.
func (a *assembly) file(ctx context.Context, p sessionPart, name string, has map[string]bool) error {
	from := path.Join(p.dir, name)
	if item, dir, rest, ok := processFile(name); ok {
		return a.link(ctx, path.Join(item, dir+p.id, rest), from)
	}
	item, below, inItem := strings.Cut(name, "/")
	switch {
	case name == manifest.Name:
		return &errs.Error{Kind: errs.Unsupported, Got: "a part with a manifest"}
	case name == orbax.MarkerFile:
		return nil
	case name == orbax.CheckpointFile:
		return a.join(ctx, name, from, orbax.MergeCheckpoints)
	case inItem && has[item] && (below == ocdbt.ManifestName || strings.HasPrefix(below, "d/")):
		return nil // of a merge, which is done again
	case inItem && below == orbax.TreeFile:
		return a.join(ctx, name, from, orbax.MergeTrees)
	case inItem && below == orbax.StringsFile:
		return a.join(ctx, name, from, orbax.MergeStrings)
	case inItem && below == orbax.ShardingFile:
		return a.join(ctx, name, from, orbax.MergeSharding)
	case inItem && path.Dir(below) == orbax.ArraysDir:
		return a.join(ctx, name, from, orbax.MergeArrays)
	case path.Base(name) == orbax.CommitFile:
		return a.join(ctx, name, from, func(first, _ []byte) ([]byte, error) { return first, nil })
	}
	return a.link(ctx, name, from)
}

// join reads a document and joins it to that of the parts before.
func (a *assembly) join(ctx context.Context, name, from string, merge func(a, b []byte) ([]byte, error)) error {
	b, err := store.ReadAll(ctx, a.st, from)
	if err != nil {
		return err
	}
	if before, ok := a.docs[name]; ok {
		if b, err = merge(before, b); err != nil {
			return err
		}
	}
	a.docs[name] = b
	return nil
}

// link has a data file taken over. Two parts may have one and the same.
func (a *assembly) link(ctx context.Context, name, from string) error {
	before, taken := a.links[name]
	if !taken {
		a.links[name] = from
		return nil
	}
	same, err := sameBytes(ctx, a.st, before, from)
	if err == nil && !same {
		err = &errs.Error{Kind: errs.Mismatch, Subject: name, Want: "one part with this file, or the same bytes", Got: "others in " + before}
	}
	return err
}

// database merges the databases of an item by reference.
func (a *assembly) database(ctx context.Context, item string) error {
	files := storeFiles{a.st, func(name string) string { return a.links[path.Join(item, name)] }}
	c, err := mergeDatabases(ctx, files, a.process[item])
	if err != nil {
		return err
	}
	for _, f := range append(c.Files, c.Manifest) {
		a.docs[path.Join(item, f.Name)] = f.Data
	}
	return nil
}

// isAt reports whether the assembled checkpoint is already there, as it is when
// only the session was left to remove. Anything else there is errs.Exists.
func (a *assembly) isAt(ctx context.Context, name string) (bool, error) {
	if _, err := a.st.Stat(ctx, name); err != nil {
		if errs.KindOf(err) == errs.NotFound {
			err = nil
		}
		return false, err
	}
	other := &errs.Error{Kind: errs.Exists, Subject: name, Got: "something else than the checkpoint of this session", Remedy: "move it, or the session, away"}
	files, err := filesBelow(ctx, a.st, name, nil)
	if err != nil {
		return false, err
	}
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

// holds reports whether the file at is what the assembly has under name.
func (a *assembly) holds(ctx context.Context, name, at string) (bool, error) {
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

// commit makes the checkpoint.
func (a *assembly) commit(ctx context.Context, name string) error {
	txn, err := a.st.Begin(ctx, name, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	for to, from := range a.links {
		if err := txn.Link(ctx, to, from); err != nil {
			return err
		}
	}
	for to, b := range a.docs {
		if to == orbax.CommitFile {
			continue
		}
		if err := txn.Put(ctx, to, b); err != nil {
			return err
		}
	}
	return txn.Commit(ctx, store.Blob{Name: orbax.CommitFile, Data: a.docs[orbax.CommitFile]})
}

// filesBelow lists the files below dir, names relative to it, ascending in each
// directory; what skip says is left out with all below.
func filesBelow(ctx context.Context, st store.Store, dir string, skip func(store.Info) bool) ([]string, error) {
	var out []string
	for e, err := range st.List(ctx, dir) {
		if err != nil {
			return nil, err
		}
		if skip != nil && skip(e) {
			continue
		}
		if !e.Dir {
			out = append(out, e.Name)
			continue
		}
		below, err := filesBelow(ctx, st, path.Join(dir, e.Name), skip)
		if err != nil {
			return nil, err
		}
		for _, f := range below {
			out = append(out, path.Join(e.Name, f))
		}
	}
	return out, nil
}

// sameBytes compares two files piece by piece.
func sameBytes(ctx context.Context, st store.Store, a, b string) (bool, error) {
	x, err := st.Open(ctx, a)
	if err != nil {
		return false, err
	}
	defer x.Close() //nolint:errcheck // nothing was written
	y, err := st.Open(ctx, b)
	if err != nil {
		return false, err
	}
	defer y.Close() //nolint:errcheck // nothing was written
	if x.Size() != y.Size() {
		return false, nil
	}
	const piece = 1 << 20
	size := min(piece, x.Size())
	p, q := make([]byte, size), make([]byte, size)
	for off := int64(0); off < x.Size(); off += piece {
		n := min(piece, x.Size()-off)
		if err := x.ReadAt(ctx, p[:n], off); err != nil {
			return false, err
		}
		if err := y.ReadAt(ctx, q[:n], off); err != nil {
			return false, err
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
	}
	return true, nil
}
