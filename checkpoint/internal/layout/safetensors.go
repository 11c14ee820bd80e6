package layout

import (
	"context"
	"encoding/json"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A safetensors checkpoint is one file, or a directory of them with or without an index. It has one
// item, a flat dictionary of arrays. Its metadata comes from the files' headers. In files that
// other programs wrote, no byte is covered by a checksum.

func isSafetensors(name string) bool { return strings.HasSuffix(name, ".safetensors") }

// safetensors returns the names of the files, ascending.
func (e entries) safetensors() []string {
	var out []string
	for n, dir := range e {
		if !dir && isSafetensors(n) && !store.IsStaging(n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func (c *Checkpoint) safetensorsItem(_ context.Context, name string) (Item, error) {
	return Item{Name: name, Kind: Tree}, nil
}

// safetensorsTree opens all files.
func (c *Checkpoint) safetensorsTree(ctx context.Context, it Item) (*OpenTree, error) {
	t := &OpenTree{lenient: it.lenient, files: newFiles(c, ""), limit: c.opts.Reads}
	if err := c.fillSafetensors(ctx, t); err != nil {
		return nil, errs.Wrap("", c.name, joinClose(err, t))
	}
	return t, nil
}

func (c *Checkpoint) fillSafetensors(ctx context.Context, t *OpenTree) error {
	if len(c.parts) > 1 {
		if err := c.checkIndex(ctx, t); err != nil {
			return err
		}
	}
	if c.sharded {
		return c.fillShards(ctx, t)
	}
	in := map[string]string{} // tensor → file, if there are several files
	for _, file := range c.parts {
		m, err := safetensors.Open(ctx, t.files, file, safetensors.Options{OverRead: c.opts.OverRead,
			MaxRead: c.opts.ReadBytes})
		if err != nil {
			return err
		}
		if err := noneTwice(m, file); err != nil {
			return err
		}
		entries := m.Entries()
		t.Leaves = slices.Grow(t.Leaves, len(entries))
		for _, e := range entries {
			if other, dup := in[e.Name]; dup {
				return &errs.Error{Kind: errs.Corrupt, Subject: "tensor " + strconv.Quote(e.Name),
					Got: "in " + other + " and in " + file}
			}
			if len(c.parts) > 1 {
				in[e.Name] = file
			}
			spec, err := e.Spec()
			if err != nil {
				l := Leaf{Path: tree.Path{{Name: e.Name, Kind: tree.KeyDict}}, Param: e.Name, Kind: Array, Form: &Form{File: file}}
				if c.structure != nil {
					return err // it names the leaf
				}
				if err := t.tolerate(&l, err); err != nil {
					return err
				}
				t.Leaves = append(t.Leaves, l)
				continue
			}
			sums, err := c.recorded(e.Name, spec)
			if err != nil {
				return err
			}
			t.Leaves = append(t.Leaves, Leaf{
				Path: tree.Path{{Name: e.Name, Kind: tree.KeyDict}}, Param: e.Name, Kind: Array,
				Form: &Form{DType: spec.DType, Shape: spec.Shape, ChunkShape: spec.Shape, ReadShape: spec.Shape, File: file,
					slab: int(min(c.opts.ReadBytes, math.MaxInt32))},
				array: safetensorsArray{m, e.Name, spec, sums},
			})
		}
	}
	if c.structure != nil {
		return c.arrange(t)
	}
	return nil
}

// noneTwice returns an error for a header that has a tensor more than once. The reference library
// takes the last one. A caller who meant the other one would silently get wrong numbers.
func noneTwice(m *safetensors.Model, file string) error {
	for _, p := range m.Parts() {
		if twice := p.Header.Duplicates; len(twice) > 0 {
			return &errs.Error{Kind: errs.Corrupt, Subject: file, Want: "each tensor once",
				Got:    strconv.Quote(twice[0]) + " more than once in the header",
				Remedy: "write the file again: it is unknown which of the tensors was meant"}
		}
	}
	return nil
}

// checkIndex compares the index, when there is one, with the manifest and the files.
func (c *Checkpoint) checkIndex(ctx context.Context, t *OpenTree) error {
	const index = safetensors.IndexName
	if c.Manifest != nil {
		if _, err := c.file(ctx, index); err != nil && errs.KindOf(err) != errs.NotFound {
			return err
		}
	}
	_, err := safetensors.OpenIndex(ctx, t.files, index, safetensors.Options{})
	if errs.KindOf(err) == errs.NotFound {
		if _, err := c.st.Stat(ctx, c.path(index)); errs.KindOf(err) == errs.NotFound {
			return nil
		}
	}
	return err
}

// safetensorsMeta reads the custom metadata: the members of all headers. If two files have
// different values for a name, the first file counts.
func (c *Checkpoint) safetensorsMeta(ctx context.Context) error {
	f := newFiles(c, "")
	defer f.close() //nolint:errcheck // nothing was written
	if err := c.checkHeads(ctx, f); err != nil {
		return err
	}
	all := map[string]string{}
	for _, file := range c.parts {
		m, err := safetensors.Open(ctx, f, file, safetensors.Options{})
		if err != nil {
			return err
		}
		for _, p := range m.Parts() {
			for k, v := range p.Header.Metadata {
				if k == shardingKey || k == shardingVersion {
					c.sharded = true
					continue
				}
				if _, ok := all[k]; !ok {
					all[k] = v
				}
			}
		}
		if info, err := c.st.Stat(ctx, path.Join(c.name, file)); err == nil {
			c.Meta.Commit = max(c.Meta.Commit, info.ModTime.UnixNano())
		}
	}
	if own, err := c.ownMeta(all); own || err != nil || len(all) == 0 {
		return err
	}
	var err error
	c.Meta.Custom, err = json.Marshal(all)
	return err
}

// safetensorsArray is one tensor of a file.
type safetensorsArray struct {
	model *safetensors.Model
	name  string
	spec  tensor.Spec
	sums  *sums // nil when there is no manifest
}

// unit implements source: the part that one checksum covers, or else a row of the first axis with
// an extent above 1.
func (a safetensorsArray) unit() []int {
	if a.sums != nil {
		return a.sums.sub
	}
	u := slices.Clone([]int(a.spec.Shape))
	if i := slices.IndexFunc(u, func(n int) bool { return n > 1 }); i >= 0 {
		u[i] = 1
	}
	return u
}

// readRegion implements source. With a manifest it reads the whole part that a checksum covers, and
// compares it.
func (a safetensorsArray) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	if a.sums == nil {
		_, err := a.readInto(ctx, region, region, box, dst, w)
		return err
	}
	for part := range zarr.Cells(region, a.sums.sub) {
		b, err := a.readInto(ctx, a.sums.around(part), part, box, dst, w)
		if err == nil {
			err = a.sums.decoded(part, w.handed.update(0, b))
		}
		if err != nil {
			return errs.Wrap("", part.String(), err)
		}
	}
	return nil
}

// readInto reads a region, of which a part is wanted, and copies the part in the box into dst, the
// memory of box. It returns the bytes of the region.
func (a safetensorsArray) readInto(ctx context.Context, region, part, box zarr.Box, dst []byte,
	w *worker) ([]byte, error) {
	size := a.spec.DType.Size()
	if place, ok := box.Run(region, size); ok && region.Equal(part) {
		b := dst[place.Offset : place.Offset+place.Length]
		w.handed.expect(b)
		return b, a.model.ReadBox(ctx, a.name, region.Origin, region.Shape, b)
	}
	b := w.take(&w.whole, region.Len()*size)
	w.handed.expect(b)
	if err := a.model.ReadBox(ctx, a.name, region.Origin, region.Shape, b); err != nil {
		return nil, err
	}
	zarr.CopyBox(box, dst, region, b, size)
	return b, nil
}

// checkBox implements source: everything was checked when it was read.
func (a safetensorsArray) checkBox(zarr.Box, []byte) error { return nil }

// entire implements source.
func (a safetensorsArray) entire() bool { return false }

// In a safetensors checkpoint of Bivouac, the metadata of the file says where the tensors belong in
// the tree, and that there is a manifest. The manifest has a checksum of the header, which is
// parsed before the whole file is read, and of each tensor.

// checkHeads compares the headers of the files with the manifest, if there is one.
func (c *Checkpoint) checkHeads(ctx context.Context, f *files) error {
	if c.Manifest == nil {
		return nil
	}
	for _, file := range c.parts {
		head, ok := c.Manifest.Head(file)
		if !ok {
			return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: file,
				Got: "a header that the manifest does not list"}
		}
		b := make([]byte, head.Size)
		if err := f.ReadAt(ctx, file, b, 0); err != nil {
			return err
		}
		if err := head.CheckBytes(b); err != nil {
			return err
		}
	}
	return nil
}

// ownMeta reads the metadata of a file that Bivouac wrote: the structure and the metadata of the
// user. ok is false for files that other programs wrote.
func (c *Checkpoint) ownMeta(all map[string]string) (ok bool, err error) {
	doc, ok := all[orbax.TreeMember]
	if !ok {
		if c.Manifest != nil {
			return false, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.name,
				Want: "the metadata " + orbax.TreeMember, Got: "a manifest without this metadata"}
		}
		return false, nil
	}
	t, err := orbax.ParseTree([]byte(doc))
	if err != nil {
		return true, err
	}
	if marked(t.Custom) && c.Manifest == nil && !c.opts.AllowNoManifest {
		return true, c.manifestMissing()
	}
	if custom, has := all[orbax.CustomMember]; has {
		if !json.Valid([]byte(custom)) {
			return true, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: "the metadata " + orbax.CustomMember,
				Want: "JSON"}
		}
		c.Meta.Custom = json.RawMessage(custom)
	}
	if keys, has := all[orbax.KeysMember]; has {
		if c.keys, err = orbax.ParseArrays(orbax.KeysMember, []byte(keys)); err != nil {
			return true, err
		}
	}
	c.texts = nil
	if texts, has := all[orbax.StringsMember]; has {
		if err := json.Unmarshal([]byte(texts), &c.texts); err != nil {
			return true, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: "the metadata " + orbax.StringsMember,
				Want: "strings by name", Err: err}
		}
	}
	c.structure = &t
	return true, nil
}

// manifestMissing returns the error for a checkpoint that lost its manifest.
func (c *Checkpoint) manifestMissing() error {
	return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.path(manifest.Name), Got: "the file is missing",
		Want:   "the manifest that was written with this checkpoint",
		Remedy: "restore the file; without it damage would go unnoticed"}
}

// arrange gives the tensors of a file of Bivouac their paths and kinds, and sorts them in tree
// order.
func (c *Checkpoint) arrange(t *OpenTree) error {
	byName := make(map[string]int, len(t.Leaves))
	for i, l := range t.Leaves {
		byName[l.Param] = i
	}
	out := make([]Leaf, 0, len(t.Leaves))
	t.Rich = c.structure.Rich
	types := newTyped(t.Rich)
	for _, e := range c.structure.Entries {
		if e.Skip {
			out = append(out, Leaf{Path: types.path(e.Path), Param: e.Path.Param(), Kind: kindOf(e, false),
				Form: &Form{ValueType: e.ValueType}})
			continue
		}
		if e.ValueType == orbax.TypeString {
			text, ok := c.texts[e.Path.Param()]
			if !ok {
				return &errs.Error{Kind: errs.Corrupt, Subject: "string " + strconv.Quote(e.Path.Param()), Got: "no such string"}
			}
			out = append(out, Leaf{Path: types.path(e.Path), Param: e.Path.Param(), Kind: String,
				Form: &Form{ValueType: e.ValueType, Text: text}})
			continue
		}
		i, ok := byName[e.Path.Param()]
		if !ok {
			return &errs.Error{Kind: errs.Corrupt, Subject: "tensor " + strconv.Quote(e.Path.Param()), Got: "no such tensor"}
		}
		delete(byName, e.Path.Param())
		l := t.Leaves[i]
		l.KeyImpl = c.keys[l.Param]
		l.Path, l.ValueType, l.Kind = types.path(e.Path), e.ValueType, kindOf(e, l.KeyImpl != "")
		out = append(out, l)
	}
	for name := range byName {
		return &errs.Error{Kind: errs.Corrupt, Subject: "tensor " + strconv.Quote(name), Got: "no place in the tree"}
	}
	t.Leaves = out
	return nil
}

// recorded returns the checksums of a tensor in the manifest, or nil if there is no manifest.
func (c *Checkpoint) recorded(name string, spec tensor.Spec) (*sums, error) {
	if c.Manifest == nil {
		return nil, nil
	}
	l, ok := c.Manifest.Leaf(orbax.StateItem, name)
	if !ok {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: "tensor " + strconv.Quote(name), Got: "not in the manifest"}
	}
	if size := int64(spec.Shape.Len() * spec.DType.Size()); l.Size != size {
		return nil, sizeError("tensor "+strconv.Quote(name), l.Size, size)
	}
	return newRunSums(l, spec.Shape, spec.DType), nil
}
