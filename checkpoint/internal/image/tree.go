package image

import (
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
	"github.com/bivouac-ml/bivouac/internal/crc"
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
	files  []dataFile // images of the data files; nodes are appended to the last at Commit
}

// dataFile is one file of the database.
type dataFile struct {
	name  string // below the item
	image []byte // in the arena
	size  int64
}

// planTree places every array of the item.
func planTree(it Item, random io.Reader) (*treeImage, error) {
	ls, err := leaves(it.Tree)
	if err != nil {
		return nil, err
	}
	t := &treeImage{name: it.Name, leaves: ls}
	for _, l := range ls {
		if !l.isArray {
			continue
		}
		a, err := newArray(l.param, l.array)
		if err != nil {
			return nil, errs.Wrap("", l.entry.Path.String(), err)
		}
		t.arrays = append(t.arrays, a)
	}
	name, err := fileName(random)
	if err != nil {
		return nil, err
	}
	data := dataFile{name: name}
	for _, a := range t.arrays {
		if a.inline = a.size <= inlineBytes; a.inline {
			continue
		}
		if a.size >= alignFrom {
			data.size = (data.size + alignment - 1) &^ (alignment - 1)
		}
		a.offset = data.size
		data.size += int64(a.size)
	}
	t.files = []dataFile{data}
	return t, nil
}

// fileName draws the name of a data file.
func fileName(random io.Reader) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", &errs.Error{Kind: errs.IO, Subject: "random numbers", Err: err}
	}
	return "d/" + hex.EncodeToString(id[:]), nil
}

// allocate gives every array its memory: in the image of its data file, or
// apart when it is stored inline.
func (t *treeImage) allocate(memory Memory) error {
	for i := range t.files {
		image, err := memory.Alloc(int(t.files[i].size), alignment)
		if err != nil {
			return err
		}
		t.files[i].image = image
	}
	small := 0
	for _, a := range t.arrays {
		if a.inline {
			small += a.size
		}
	}
	apart := make([]byte, small)
	for _, a := range t.arrays {
		if a.inline {
			a.dst, apart = apart[:a.size:a.size], apart[a.size:]
			continue
		}
		a.dst = t.files[a.file].image[a.offset : a.offset+int64(a.size)]
	}
	return nil
}

// clearGaps zeroes what alignment leaves between arrays: the arena is reused.
func (t *treeImage) clearGaps() {
	end := make([]int64, len(t.files))
	for _, a := range t.arrays {
		if a.inline {
			continue
		}
		clear(t.files[a.file].image[end[a.file]:a.offset])
		end[a.file] = a.offset + int64(a.size)
	}
}

// sum is the checksum of a data file's image, combined from its arrays.
func (t *treeImage) sum(file int) uint32 {
	total, end := uint32(0), int64(0)
	for _, a := range t.arrays {
		if a.inline || a.file != file {
			continue
		}
		total = crc.Combine(total, crc.Zeros(a.offset-end), a.offset-end)
		total = crc.Combine(total, a.sum, int64(a.size))
		end = a.offset + int64(a.size)
	}
	return total
}

// finish encodes the documents of the item: what small files it has, and what
// follows the image in each data file.
func (t *treeImage) finish(uuid [16]byte, now time.Time) (small []smallFile, tails [][]byte, err error) {
	var entries []ocdbt.Entry
	for _, a := range t.arrays {
		entries = append(entries, a.entries(t.files)...)
	}
	slices.SortFunc(entries, func(a, b ocdbt.Entry) int { return strings.Compare(a.Key, b.Key) })
	tails = make([][]byte, len(t.files))
	last := len(t.files) - 1
	at := t.files[last].size
	config := ocdbt.OrbaxConfig(uuid)
	nodes, root, err := ocdbt.EncodeTree(entries, config, func(size int) (ocdbt.File, int64) {
		offset := at
		at += int64(size)
		return ocdbt.File{Name: t.files[last].name}, offset
	})
	if err != nil {
		return nil, nil, err
	}
	for _, n := range nodes {
		tails[last] = append(tails[last], n.Bytes...)
	}
	db, err := ocdbt.NewManifest(config, root, now).Append(nil)
	if err != nil {
		return nil, nil, err
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
	small = []smallFile{
		{path.Join(t.name, orbax.TreeFile), doc.Append(nil)},
		{path.Join(t.name, "manifest.ocdbt"), db},
	}
	if len(texts) > 0 {
		b, err := texts.Append(nil)
		if err != nil {
			return nil, nil, err
		}
		small = append(small, smallFile{path.Join(t.name, orbax.StringsFile), b})
	}
	return small, tails, nil
}
