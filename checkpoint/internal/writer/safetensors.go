package writer

import (
	"encoding/json"
	"math"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// safetensorsItem is the one item of a safetensors checkpoint.
const safetensorsItem = orbax.StateItem

// planSafetensors makes the header, and places the tensors behind it in its order. If the size
// of files is bounded, it does so for several files, and makes an index. The metadata of the
// first header holds what the format has no place for: paths and
// kinds of leaves as _METADATA has them, strings by the names of their leaves, and
// the user's metadata.
func (t *treePlan) planSafetensors(o Options) error {
	t.dir, t.data = "", ""
	specs := make(map[string]tensor.Spec, len(t.leaves))
	arrays := make(map[string]*array, len(t.leaves))
	doc := orbax.Tree{UseOCDBT: new(bool), Custom: orbax.ManifestMark, Rich: t.rich, Numbered: true}
	texts := map[string]string{}
	for i := range t.leaves {
		l := &t.leaves[i]
		if l.entry.ValueType == orbax.TypeString {
			texts[l.param] = l.text
		}
		if l.entry.Skip || l.entry.ValueType == orbax.TypeString { // it has no tensor
			doc.Entries = append(doc.Entries, *l.entry)
			continue
		}
		if !l.isArray {
			return errs.Wrap("", l.entry.Path.String(), unsupported(l.entry.ValueType, "a tensor, a number or a string"))
		}
		if _, err := l.stored(&o); err != nil {
			return errs.Wrap("", l.entry.Path.String(), err)
		}
		if _, ok := l.source.DType.Safetensors(); !ok {
			return errs.Wrap("", l.entry.Path.String(), unsupported("dtype "+l.source.DType.String(), "a dtype of the format"))
		}
		a := newRaw(l.param, *l.source)
		a.path, a.first = l.entry.Path, o.copies(l.entry.Path)
		specs[l.param], arrays[l.param] = l.source.Spec(), a
		doc.Entries = append(doc.Entries, *l.entry)
	}
	meta := map[string]string{orbax.TreeMember: string(doc.Append(nil))}
	if len(texts) > 0 {
		b, err := json.Marshal(texts)
		if err != nil {
			return err
		}
		meta[orbax.StringsMember] = string(b)
	}
	if keys := t.keys(); len(keys) > 0 {
		meta[orbax.KeysMember] = string(orbax.AppendArrays(nil, keys))
	}
	if o.Custom != nil {
		meta[orbax.CustomMember] = string(o.Custom)
	}
	parts, err := divide(specs, o.maxFileBytes())
	if err != nil {
		return err
	}
	index := safetensors.Index{Files: make(map[string]string, len(specs))}
	for i, names := range parts {
		f := &file{name: safetensors.PartName(i, len(parts))}
		t.files = append(t.files, f)
		own := make(map[string]tensor.Spec, len(names))
		for _, n := range names {
			own[n], index.Files[n] = specs[n], f.name
			index.TotalSize += int64(arrays[n].size)
		}
		h, err := safetensors.NewHeader(own, meta)
		if err != nil {
			return err
		}
		meta = nil // is in the first
		f.head = h.Append(nil)
		f.placeBytes(f.head)
		for _, e := range h.Tensors {
			t.placeRaw(f, arrays[e.Name])
		}
	}
	if len(parts) > 1 {
		t.index = index.JSON()
	}
	return nil
}

// divide deals tensors out to files of at most most bytes. A larger tensor has a file of its
// own. 0 puts all tensors into one file.
func divide(specs map[string]tensor.Spec, most int64) ([][]string, error) {
	if most == 0 {
		most = math.MaxInt64
	}
	return safetensors.Split(specs, most)
}

// placeRaw adds an array to a file.
func (t *treePlan) placeRaw(f *file, a *array) {
	t.arrays = append(t.arrays, a)
	for i := range a.chunks {
		f.placeRaw(&a.chunks[i])
	}
}
