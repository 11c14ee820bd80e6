package layout

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Our safetensors checkpoints say in the metadata of the file what the tensors
// are in the tree, and that a manifest belongs to them. That has the checksum of
// the header, which is parsed before the file is read as a whole, and of each
// tensor.

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

// ownMeta reads the metadata of a file that we wrote: the structure, and the user's metadata. ok is
// false for files that other programs wrote.
func (c *Checkpoint) ownMeta(all map[string]string) (ok bool, err error) {
	doc, ok := all[orbax.TreeMember]
	if !ok {
		if c.Manifest != nil {
			return false, &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.name,
				Want: "the metadata " + orbax.TreeMember, Got: "none, and a manifest"}
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

// manifestMissing is the error for a checkpoint that says that it has one.
func (c *Checkpoint) manifestMissing() error {
	return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.path(manifest.Name), Got: "the file is missing",
		Want:   "the manifest that was written with this checkpoint",
		Remedy: "restore the file; without it damage would go unnoticed"}
}

// arrange gives the tensors of our files their paths and kinds, and puts them in
// the order of the tree.
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

// recorded returns the manifest's checksums of a tensor; nil when there is no
// manifest.
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
