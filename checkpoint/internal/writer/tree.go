package writer

import (
	"context"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/store"
)

// inlineBytes is the largest size of a chunk in a B+tree node: the limit of Orbax.
const inlineBytes = 1024

// treePlan is the plan of a tree item: how its arrays are stored, and in which files.
type treePlan struct {
	item   string
	dir    string // directory of its files, relative to the checkpoint
	data   string // directory of its data files and database
	mark   bool   // there will be a manifest
	joins  bool   // Options.Join makes the database
	layout options.Layout
	rich   *orbax.Rich // types of containers
	told   bool        // leaves are reported to Options.Status

	noSharding, noArrays bool // as in Options

	leaves []leaf
	listed []orbax.Entry // of the leaves
	arrays []*array
	small  []smallArray // small arrays, which are not in arrays
	files  []*file
	index  []byte // index of a safetensors checkpoint with several files
	nodes  *file  // its tail holds the nodes of the database
}

// planTree plans the arrays of the item, and places the chunks whose sizes are known.
func planTree(it Item, o Options) (*treePlan, error) {
	ls, listed, err := leaves(it.Tree, it.Foreign)
	if err != nil {
		return nil, err
	}
	t := &treePlan{item: it.Name, dir: it.Name, data: path.Join(it.Name, o.Process), mark: o.Style != Pending,
		joins: o.Join != nil, layout: o.Layout, rich: it.Rich, told: o.Status != nil, leaves: ls, listed: listed,
		noSharding: o.NoSharding, noArrays: o.NoArrays}
	if o.Rich && t.rich == nil {
		t.rich = orbax.RichOf(it.Tree)
	}
	if o.Layout == options.SafetensorsLayout {
		err := t.planSafetensors(o)
		t.markHashed(o)
		return t, err
	}
	if err := t.planArrays(&o); err != nil {
		return nil, err
	}
	if err := t.checkPrefixes(); err != nil {
		return nil, err
	}
	if !InDatabase(o.Layout) {
		err := t.planPlain()
		t.markHashed(o)
		return t, err
	}
	t.files = place(t.arrays, &o)
	t.markHashed(o)
	if t.joins { // the nodes, for which a file without arrays exists, are not in it
		t.files = slices.DeleteFunc(t.files, func(f *file) bool { return f.size == 0 })
	}
	for _, f := range t.files {
		if f.name, err = fileName(o.Random); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// planArrays plans how each array is stored.
func (t *treePlan) planArrays(o *Options) error {
	known, axes := newForms(o), namedAxes{}
	var spare *array
	for i := range t.leaves {
		l := &t.leaves[i]
		if !l.isArray {
			continue
		}
		how, err := l.stored(o)
		var a *array
		if err == nil {
			a, err = newArray(spare, l.param, *l.source, how, known)
		}
		if err != nil {
			return errs.Wrap("", l.entry.Path.String(), err)
		}
		axes.add(l.param, l.source.Spec(), how.ShardAxes)
		if l.source = nil; l.ofJAX() {
			l.sub = a.sub
		}
		if spare = nil; !t.told && InDatabase(t.layout) && a.src.read == nil && a.inNode() {
			if t.small == nil {
				t.small = make([]smallArray, 0, len(t.leaves)-i)
			}
			t.small, spare = append(t.small, smallArray{a.form, a.param, a.chunks[0].inline}), a
			continue
		}
		a.path, a.first = l.entry.Path, o.copies(l.entry.Path)
		t.arrays = append(t.arrays, a)
	}
	return axes.check()
}

// fileName draws the name of a data file.
func fileName(random io.Reader) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", &errs.Error{Kind: errs.IO, Subject: "random numbers", Err: err}
	}
	return dataDir + "/" + hex.EncodeToString(id[:]), nil
}

// readAndEncode reads the small arrays that come from a Lazy, and encodes the small files of the
// item.
func (t *treePlan) readAndEncode(ctx context.Context, uuid [16]byte, now time.Time) ([]store.Blob, error) {
	for _, a := range t.arrays {
		if a.src.read == nil {
			continue
		}
		if err := a.fillInline(ctx); err != nil {
			return nil, errs.Wrap("", "array "+strconv.Quote(a.param), err)
		}
	}
	return t.documents(uuid, now)
}

// documents encodes the small files of the item. The nodes of a database are appended to its data
// files.
func (t *treePlan) documents(uuid [16]byte, now time.Time) ([]store.Blob, error) {
	if t.layout == options.SafetensorsLayout {
		if t.index == nil {
			return nil, nil
		}
		return []store.Blob{{Name: path.Join(t.dir, safetensors.IndexName), Data: t.index}}, nil
	}
	use := InDatabase(t.layout)
	doc := orbax.Tree{UseOCDBT: &use, UseZarr3: !inZarr2(t.layout), StoreFill: true, Rich: t.rich, Entries: t.listed}
	if t.mark {
		doc.Custom = orbax.ManifestMark
	}
	texts := orbax.Strings{}
	for _, l := range t.leaves {
		if l.entry.ValueType == orbax.TypeString {
			texts[l.param] = l.text
		}
	}
	small := []store.Blob{{Name: path.Join(t.dir, orbax.TreeFile), Data: doc.Append(nil)}}
	jax := t.arraysOfJAX()
	if !t.told { // the nodes take as much memory again
		t.leaves, t.listed, doc.Entries = nil, nil, nil
	}
	switch {
	case use && t.joins:
	case use:
		db, err := t.database(uuid, now)
		if err != nil {
			return nil, err
		}
		small = append(small, db)
	default:
		small = append(small, t.plainFiles()...)
	}
	if len(jax) > 0 && !t.noSharding {
		small = append(small, store.Blob{Name: path.Join(t.dir, orbax.ShardingFile), Data: orbax.AppendSharding(nil, jax)})
	}
	if t.noArrays {
		jax = orbax.OfKeys(jax)
	}
	if len(jax) > 0 {
		small = append(small, store.Blob{Name: path.Join(t.dir, orbax.ArraysDir, "process_0"),
			Data: orbax.AppendArrays(nil, jax)})
	}
	if len(texts) == 0 {
		return small, nil
	}
	b, err := texts.Append(nil)
	return append(small, store.Blob{Name: path.Join(t.dir, orbax.StringsFile), Data: b}), err
}

// arraysOfJAX lists the arrays that Orbax loads as arrays of JAX.
func (t *treePlan) arraysOfJAX() []orbax.JAXArray {
	var list []orbax.JAXArray
	for _, l := range t.leaves {
		if !l.ofJAX() {
			continue
		}
		a := orbax.JAXArray{Param: l.param, Impl: l.keyImpl, Sharding: l.sharding, WriteShape: l.entry.WriteShape,
			ChunkShape: l.sub}
		if a.ChunkShape == nil {
			a.ChunkShape = a.WriteShape
		}
		list = append(list, a)
	}
	return list
}
