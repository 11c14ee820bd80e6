package ocdbt

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Lost is a range of keys of which nothing is known, as the node that leads to them is
// not whole.
type Lost struct {
	Range Range
	Err   error // what is wrong with the node
}

// Salvage is Index of a database that is damaged: each node is held against its own
// CRC-32C and against what its parent says of it, and the keys below a node that does not
// hold are lost. The Index finds all others. Of a lost key, and of one that was not there
// but would lie among them, it returns errs.Corrupt, never that the key is not there.
//
// admit, when not nil, is asked before a node is read; one that it refuses is lost with
// its error. An error that is not about damage (errs.Corrupt, errs.NotFound) ends the
// pass.
//
// A CRC-32C tells damage. It does not tell a node of another database from the right one.
func (db *DB) Salvage(ctx context.Context, admit func(Node) error) (*Index, error) {
	entries, lost := db.whole(ctx, admit)
	x, err := newIndex(db.files, entries)
	if err != nil {
		return nil, err
	}
	x.lose(*lost)
	return x, nil
}

// OpenNodes opens a database whose manifest is lost: the nodes of exactly one version are the bytes
// from start to end of a file, the root last, as EncodeTree writes them. Other bytes are
// errs.Corrupt. OpenNodes cannot tell whether they are the right nodes: the caller compares them
// with what it knows. Options about versions are ignored.
func OpenNodes(ctx context.Context, f Files, file File, start, end int64, o Options) (*DB, error) {
	db := &DB{files: files{f}, options: o.withDefaults(), manifest: &Manifest{}, name: ManifestName}
	db.cache.limit = db.options.CacheBytes
	root := Node{File: file, Offset: start}
	for at := start; at < end; at += root.Length {
		header, err := db.files.readObject(ctx, file.Path(), at, min(headerSize, end-at))
		if err != nil {
			return nil, err
		}
		here := location{file.Path(), at}
		if len(header) < headerSize || binary.BigEndian.Uint32(header) != magicNode {
			return nil, here.corrupt("want a node, got other bytes")
		}
		length := binary.LittleEndian.Uint64(header[4:])
		if length < minEnvelope || length > uint64(end-at) {
			return nil, here.corrupt("a node of %d bytes, with %d left", length, end-at)
		}
		root.Offset, root.Length = at, int64(length)
	}
	b, err := db.files.readObject(ctx, file.Path(), root.Offset, root.Length)
	if err != nil {
		return nil, err
	}
	at := location{file.Path(), root.Offset}
	if body, err := openEnvelope(b, magicNode, db.options.MaxNodeBytes, at); err == nil && len(body) > 0 {
		root.Height = int(body[0])
	}
	n, err := parseNode(b, root, at, db.options.MaxNodeBytes)
	if err != nil {
		return nil, err
	}
	if root.Stats = n.stats(root.Length); root.Stats.TreeBytes != uint64(end-start) {
		return nil, at.corrupt("the last node is the root of %d bytes of nodes, want %d", root.Stats.TreeBytes, end-start)
	}
	db.version = Version{Generation: 1, Root: root}
	return db, nil
}

// SalvageUnion is Salvage of the databases in sub-directories, as OpenUnion opens them.
// Where the manifest of one is damaged or missing, all keys of that one are lost. A key
// that is found in any of them is not lost: processes write different chunks, and the
// same metadata. Options about versions are ignored, and nil options are the zero value.
func SalvageUnion(ctx context.Context, f Files, dirs []string, o *Options) (*Index, error) {
	var options Options
	if o != nil {
		options = *o
	}
	var heads []head
	var lost []*[]Lost
	for _, dir := range dirs {
		u, err := OpenUnion(ctx, f, []string{dir}, options)
		switch {
		case isLoss(err):
			lost = append(lost, &[]Lost{{Err: err}})
		case err != nil:
			return nil, err
		default:
			entries, missing := u.parts[0].db.whole(ctx, nil)
			heads = append(heads, head{entries: entries, dir: dir})
			lost = append(lost, missing)
		}
	}
	x, err := newIndex(files{f}, merged(heads))
	if err != nil {
		return nil, err
	}
	for _, l := range lost {
		x.lose(*l)
	}
	return x, nil
}

// isLoss reports whether an error is about what was read, and not about reading.
func isLoss(err error) bool {
	kind := errs.KindOf(err)
	return kind == errs.Corrupt || kind == errs.NotFound
}

// whole yields the entries of all nodes that hold, in the order of their keys. Once it
// has, the list has what is lost, in the same order.
func (db *DB) whole(ctx context.Context, admit func(Node) error) (iter.Seq2[Entry, error], *[]Lost) {
	lost := &[]Lost{}
	return func(yield func(Entry, error) bool) {
		if *lost = nil; db.version.Empty() {
			return
		}
		s := salvager{db: db, admit: admit, lost: lost}
		w := walker{db: db, yield: yield, seen: map[location]bool{}, salvage: &s}
		w.walk(ctx, step{ref: db.version.Root}, "")
	}, lost
}

// salvager has a walker go on beside nodes that do not hold.
type salvager struct {
	db    *DB
	admit func(Node) error
	lost  *[]Lost
}

// load returns the node at s, all of which was decoded.
func (g *salvager) load(ctx context.Context, s step) (*node, error) {
	if g.admit != nil {
		if err := g.admit(s.ref); err != nil {
			return nil, err
		}
	}
	n, err := g.db.decode(ctx, s.ref)
	if err == nil {
		err = s.bounds().check(n, s.ref)
	}
	return n, err
}

// lose notes that the keys below s are lost. It reports false where the error is not about
// damage.
func (g *salvager) lose(s step, prefix string, err error) bool {
	if !isLoss(err) {
		return false
	}
	r := Prefix(prefix) // all keys of the node begin with it
	r.Start = prefix + s.low
	if s.hasHigh {
		r.End = prefix + s.high
	}
	*g.lost = append(*g.lost, Lost{r, err})
	return true
}

// Lost returns the ranges of keys that Salvage did not find, in the order of their first keys;
// ranges of different databases may overlap.
func (x *Index) Lost() []Lost {
	all := slices.Concat(x.lost...)
	slices.SortStableFunc(all, func(a, b Lost) int { return strings.Compare(a.Range.Start, b.Range.Start) })
	return all
}

// lose adds what is lost of one database: ranges that are apart, in their order.
func (x *Index) lose(lost []Lost) {
	if len(lost) > 0 {
		x.lost = append(x.lost, lost)
	}
}

// absent returns why a key that was not found may have been there, or nil.
func (x *Index) absent(key string) error {
	for _, lost := range x.lost {
		i, found := slices.BinarySearchFunc(lost, key, func(l Lost, key string) int { return cmp.Compare(l.Range.Start, key) })
		if !found {
			i--
		}
		if i >= 0 && lost[i].Range.contains(key) {
			got := "the node below which it would lie is not whole"
			if lost[i].Range == (Range{}) {
				got = "nothing can be found: the root of the database is not whole"
			}
			return &errs.Error{Kind: errs.Corrupt, Op: "ocdbt", Subject: "key " + strconv.Quote(key), Got: got, Err: lost[i].Err}
		}
	}
	return nil
}
