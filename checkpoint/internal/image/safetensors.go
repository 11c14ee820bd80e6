package image

import (
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// safetensorsItem is the one item of a safetensors checkpoint.
const safetensorsItem = orbax.StateItem

// planSafetensors makes the header, and places the tensors behind it in its
// order. Its metadata holds what the format has no place for: paths and kinds of
// leaves as _METADATA has them, and the user's metadata.
func (t *treeImage) planSafetensors(o Options) error {
	t.dir, t.data = "", ""
	specs := make(map[string]tensor.Spec, len(t.leaves))
	arrays := make(map[string]*array, len(t.leaves))
	doc := orbax.Tree{UseOCDBT: new(bool), Custom: orbax.ManifestMark}
	for _, l := range t.leaves {
		if !l.isArray {
			return errs.Wrap("", l.entry.Path.String(), unsupported(l.entry.ValueType, "a tensor or a number"))
		}
		if _, ok := l.array.DType.Safetensors(); !ok {
			return errs.Wrap("", l.entry.Path.String(), unsupported("dtype "+l.array.DType.String(), "a dtype of the format"))
		}
		if _, err := o.storageOf(l.entry.Path, l.array.Spec()); err != nil {
			return errs.Wrap("", l.entry.Path.String(), err)
		}
		specs[l.param], arrays[l.param] = l.array.Spec(), newRaw(l.param, l.array)
		doc.Entries = append(doc.Entries, l.entry)
	}
	meta := map[string]string{orbax.TreeMember: string(doc.Append(nil))}
	if o.Custom != nil {
		meta[orbax.CustomMember] = string(o.Custom)
	}
	h, err := safetensors.NewHeader(specs, meta)
	if err != nil {
		return err
	}
	f := &dataFile{name: safetensors.SingleName}
	t.head, t.files = h.Append(nil), []*dataFile{f}
	f.placeBytes(t.head)
	for _, e := range h.Tensors {
		a := arrays[e.Name]
		t.arrays = append(t.arrays, a)
		for i := range a.values {
			f.placeRaw(&a.values[i])
		}
	}
	return nil
}
