package image

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// inlineBytes is up to where values lie in B+tree nodes: Orbax's limit.
const inlineBytes = 1024

// mark in custom_metadata of _METADATA says that a manifest belongs to the
// checkpoint, so that its loss is noticed.
var mark = json.RawMessage(`{"bivouac": {"manifest": 1}}`)

// treeImage is a tree item on its way to disk.
type treeImage struct {
	name   string
	leaves []leaf
	arrays []*array
	files  []*dataFile
}

// planTree places every array of the item.
func planTree(it Item, o Options) (*treeImage, error) {
	ls, err := leaves(it.Tree)
	if err != nil {
		return nil, err
	}
	t := &treeImage{name: it.Name, leaves: ls}
	known := forms{}
	for _, l := range ls {
		if !l.isArray {
			continue
		}
		a, err := newArray(l.param, l.array, known)
		if err != nil {
			return nil, errs.Wrap("", l.entry.Path.String(), err)
		}
		t.arrays = append(t.arrays, a)
	}
	t.files = spread(t.arrays, o.FileBytes)
	for _, f := range t.files {
		if f.name, err = fileName(o.Random); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// smallest is the data file that the nodes of the database follow.
func (t *treeImage) smallest() *dataFile {
	return slices.MinFunc(t.files, func(a, b *dataFile) int { return cmp.Compare(a.size, b.size) })
}

// fileName draws the name of a data file.
func fileName(random io.Reader) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", &errs.Error{Kind: errs.IO, Subject: "random numbers", Err: err}
	}
	return "d/" + hex.EncodeToString(id[:]), nil
}

// shortTree is up to how many keys the nodes of a database are small.
const shortTree = 512

// finish appends the nodes of the database to a data file and encodes the small
// files of the item.
func (t *treeImage) finish(uuid [16]byte, now time.Time) ([]smallFile, error) {
	var entries []ocdbt.Entry
	for _, a := range t.arrays {
		entries = append(entries, a.entries()...)
	}
	slices.SortFunc(entries, func(a, b ocdbt.Entry) int { return strings.Compare(a.Key, b.Key) })
	last := t.smallest()
	at := last.beginTail(len(entries) <= shortTree)
	config := ocdbt.OrbaxConfig(uuid)
	nodes, root, err := ocdbt.EncodeTree(entries, config, func(size int) (ocdbt.File, int64) {
		offset := at
		at += int64(size)
		return ocdbt.File{Name: last.name}, offset
	})
	if err != nil {
		return nil, err
	}
	var tail []byte
	for _, n := range nodes {
		tail = append(tail, n.Bytes...)
	}
	last.append(tail)
	db, err := ocdbt.NewManifest(config, root, now).Append(nil)
	if err != nil {
		return nil, err
	}
	use := true
	doc := orbax.Tree{UseOCDBT: &use, UseZarr3: true, StoreFill: true, Custom: mark}
	texts := orbax.Strings{}
	for _, l := range t.leaves {
		doc.Entries = append(doc.Entries, l.entry)
		if l.entry.ValueType == orbax.TypeString {
			texts[l.param] = l.text
		}
	}
	small := []smallFile{
		{path.Join(t.name, orbax.TreeFile), doc.Append(nil)},
		{path.Join(t.name, "manifest.ocdbt"), db},
	}
	if len(texts) > 0 {
		b, err := texts.Append(nil)
		if err != nil {
			return nil, err
		}
		small = append(small, smallFile{path.Join(t.name, orbax.StringsFile), b})
	}
	return small, nil
}
