package writer

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// safetensorsItem is the one item of a safetensors checkpoint.
const safetensorsItem = orbax.StateItem

// planSafetensors makes the header, and places the tensors behind it in its order. If the size of
// files is bounded, it does so for several files, and makes an index. The metadata of the first
// header holds what the format cannot express: paths and kinds of leaves as in _METADATA, strings
// by leaf name, and the metadata of the user.
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
	if keys := orbax.OfKeys(t.arraysOfJAX()); len(keys) > 0 {
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
		meta = nil // only the first file has it
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

// divide assigns tensors to files of at most most bytes. A larger tensor has its own file. 0 puts
// all tensors into one file.
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

// A raw chunk is an array as in a safetensors file: its elements in C order. Elements of less than
// a byte are packed. Its pieces are ranges of bytes of the file.

// newRaw returns an array of one raw chunk, or without chunks if it has no elements.
func newRaw(param string, src source) *array {
	a := &array{form: &form{sub: manifest.RunShape(src.Shape, src.DType)}, raw: true, param: param, src: src}
	for axis, n := range a.sub {
		a.grid = append(a.grid, (src.Shape[axis]+n-1)/max(1, n))
	}
	if n := tensor.PackedSize(src.DType, src.Shape.Len()); n > 0 {
		a.size = n
		a.one[0] = chunk{array: a, size: n}
		a.chunks = a.one[:]
	}
	return a
}

// elementsOf returns the elements, low to high, that have bytes in the range from…to of a raw
// chunk, and own, the first element that begins in the range.
func elementsOf(d tensor.DType, count, from, to int) (low, own, high int) {
	unit, group := d.Size(), 1
	if bits := d.Bits(); bits%8 != 0 {
		unit, group = bits, 8 // 8 elements fill whole bytes
	}
	return from / unit * group, min(count, (from+unit-1)/unit*group), min(count, (to+unit-1)/unit*group)
}

// encodeRaw works like encode for a piece of a raw chunk.
func (c *chunk) encodeRaw(ctx context.Context, p *piece, dst []byte) (uint32, error) {
	s := &c.array.src
	from := int(p.off - c.offset)
	low, own, high := elementsOf(s.DType, s.Shape.Len(), from, from+p.size)
	size := s.DType.Size()
	packed := s.DType.Bits()%8 != 0
	var data []byte
	switch {
	case s.direct():
		data = s.Data[low*size : high*size]
	case packed:
		data = make([]byte, (high-low)*size)
	default:
		data = dst
	}
	if !s.direct() {
		at := 0
		for _, b := range runBoxes(s.Shape, low, high) {
			n := b.Len() * size
			if err := s.fill(ctx, b, data[at:at+n]); err != nil {
				return 0, err
			}
			at += n
		}
	}
	switch {
	case packed:
		first := low / 8 * s.DType.Bits()
		copy(dst, tensor.Pack(nil, s.DType, data)[from-first:])
	case &data[0] != &dst[0]:
		copy(dst, data)
	}
	if !packed {
		return c.sealRaw(p, dst), nil
	}
	c.share[p.sub] = crc.Combine(crc.Sum(data[(own-low)*size:]), 0, int64((s.Shape.Len()-high)*size))
	return crc.Sum(dst), nil
}

// runShare is the contribution of a piece to the checksum of a sub-chunk.
type runShare struct {
	at  int // index of the sub-chunk
	sum uint32
}

// sealRaw computes the checksums of a piece of unpacked elements, whose bytes are in dst. It
// returns the checksum of the piece, and records the contribution to each sub-chunk.
func (c *chunk) sealRaw(p *piece, dst []byte) (sum uint32) {
	runs := c.runs()
	from := int(p.off - c.offset)
	shares := c.shares[p.sub][:0] // a piece may be encoded again
	for at := 0; at < len(dst); {
		k, end := runs.at(from + at)
		b := dst[at:min(len(dst), end-from)]
		at += len(b)
		one := crc.Sum(b)
		sum = crc.Combine(sum, one, int64(len(b)))
		shares = append(shares, runShare{k, crc.Combine(one, 0, int64(end-from-at))})
	}
	c.share[p.sub], c.shares[p.sub] = crc.Combine(sum, 0, int64(c.size-from-len(dst))), shares
	return sum
}

// rawRuns gives the positions of the sub-chunks of a raw chunk. They are runs of bytes; the last
// run of each block is shorter if runs do not divide the block.
type rawRuns struct{ block, run int }

func (c *chunk) runs() rawRuns {
	a := c.array
	r := rawRuns{c.size, c.size}
	for axis := len(a.sub) - 1; axis >= 0; axis-- {
		if n := a.src.Shape[axis]; a.sub[axis] < n {
			row := tensor.Shape(a.src.Shape[axis+1:]).Len() * a.src.DType.Size()
			return rawRuns{n * row, a.sub[axis] * row}
		}
	}
	return r
}

// at returns the sub-chunk that contains the byte at a position, and the end of the sub-chunk.
func (r rawRuns) at(pos int) (k, end int) {
	block, i := pos/r.block, pos%r.block/r.run
	return block*((r.block+r.run-1)/r.run) + i, block*r.block + min((i+1)*r.run, r.block)
}

// runBoxes returns the boxes that the elements low…high of an array consist of, in C order.
func runBoxes(shape []int, low, high int) []zarr.Box {
	if low >= high {
		return nil
	}
	if len(shape) == 0 {
		return []zarr.Box{{Origin: []int{}, Shape: []int{}}}
	}
	var out []zarr.Box
	row := tensor.Shape(shape[1:]).Len()
	partial := func(at, low, high int) {
		for _, b := range runBoxes(shape[1:], low, high) {
			out = append(out, zarr.Box{Origin: slices.Insert(b.Origin, 0, at), Shape: slices.Insert(b.Shape, 0, 1)})
		}
	}
	first, last := low/row, high/row
	if low%row != 0 {
		partial(first, low%row, min(row, high-first*row))
		first++
	}
	if first < last {
		b := zarr.WholeBox(shape)
		b.Origin[0], b.Shape[0] = first, last-first
		out = append(out, b)
	}
	if last >= first && high%row != 0 {
		partial(last, 0, high%row)
	}
	return out
}
