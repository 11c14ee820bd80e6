package layout

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// zarrArray is an array in the chunks of a key-value store.
type zarrArray struct {
	param  string
	values zarr.KV
	array  *zarr.Array
	fill   bool  // a missing chunk holds the fill value
	sums   *sums // nil when there is no manifest
}

// openArray opens the array of a leaf and finds the manifest's record of it.
func (c *Checkpoint) openArray(ctx context.Context, item string, l *Leaf, values zarr.KV, arrays *zarr.Opener, fill bool) error {
	array, err := arrays.Open(ctx, l.Param)
	if errs.KindOf(err) == errs.NotFound {
		return &errs.Error{Kind: errs.Corrupt, Subject: "array " + strconv.Quote(l.Param), Got: "no metadata where the arrays are", Err: err}
	}
	if err != nil {
		return err
	}
	m := array.Metadata()
	z := &zarrArray{param: l.Param, values: values, array: array, fill: fill}
	l.DType, l.Shape, l.ChunkShape, l.array = m.DType, m.Shape, m.ChunkShape, z
	l.ReadShape = array.SubChunkShape()
	if c.Manifest == nil {
		return nil
	}
	sums, ok := c.Manifest.Leaf(item, l.Param)
	if !ok {
		return &errs.Error{Kind: errs.Corrupt, Subject: "array " + strconv.Quote(l.Param), Got: "not in the manifest"}
	}
	if size := int64(l.Bytes()); size != sums.Size {
		return sizeError("array "+strconv.Quote(l.Param), sums.Size, size)
	}
	z.sums = newSums(sums, m, l.ReadShape)
	return nil
}

// readBox implements source.
func (l *zarrArray) readBox(ctx context.Context, box zarr.Box, dst []byte) error {
	var b buffers
	for p, err := range l.plan(ctx, box) {
		if err == nil {
			err = l.readPart(ctx, p, box, dst, &b)
		}
		if err != nil {
			return l.missing(err)
		}
	}
	return l.sums.whole(box, dst)
}

func (l *zarrArray) options() *zarr.ReadOptions { return &zarr.ReadOptions{FillMissing: l.fill} }

// plan yields the parts of a box.
func (l *zarrArray) plan(ctx context.Context, box zarr.Box) iter.Seq2[*zarr.Part, error] {
	return l.array.Plan(ctx, box, l.options())
}

// missing says of a chunk that is not there that data was lost.
func (l *zarrArray) missing(err error) error {
	if errs.KindOf(err) != errs.NotFound {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Got: "a chunk is missing", Err: err}
}

// buffers is memory that is handed on from part to part.
type buffers struct {
	encoded []byte
	whole   []byte // sub-chunks of which a part is wanted
}

func grow(p *[]byte, n int) []byte {
	*p = slices.Grow((*p)[:0], n)[:n]
	return *p
}

// readPart reads one part of box into dst, the memory of box, and holds it
// against the manifest.
func (l *zarrArray) readPart(ctx context.Context, p *zarr.Part, box zarr.Box, dst []byte, b *buffers) error {
	check := l.sums.check(p.Region)
	if check != byBytes {
		return errs.Wrap("", p.Region.String(), l.decodePart(ctx, p, check, box, dst, b))
	}
	around := l.sums.around(p.Region)
	return errs.Wrap("", around.String(), l.readWhole(ctx, p, around, box, dst, b))
}

// readWhole reads the whole sub-chunk of a part, sums it, and puts the part
// into dst.
func (l *zarrArray) readWhole(ctx context.Context, p *zarr.Part, around, box zarr.Box, dst []byte, b *buffers) error {
	whole := grow(&b.whole, around.Len()*l.sums.size)
	for p, err := range l.again(ctx, p, around) {
		if err == nil {
			err = l.decodePart(ctx, p, unchecked, around, whole, b)
		}
		if err != nil {
			return err
		}
	}
	if err := l.sums.decoded(around, crc.Sum(whole)); err != nil {
		return err
	}
	zarr.CopyBox(box, dst, around, whole, l.sums.size)
	return nil
}

// again yields the parts of the box around a part: the part itself where it is
// the whole of it.
func (l *zarrArray) again(ctx context.Context, p *zarr.Part, around zarr.Box) iter.Seq2[*zarr.Part, error] {
	if !p.Region.Equal(around) {
		return l.plan(ctx, around)
	}
	return func(yield func(*zarr.Part, error) bool) { yield(p, nil) }
}

// decodePart reads one range of encoded bytes and puts its region into dst, the
// memory of box.
func (l *zarrArray) decodePart(ctx context.Context, p *zarr.Part, check check, box zarr.Box, dst []byte, b *buffers) error {
	if p.Missing {
		return l.fillPart(p, box, dst)
	}
	encoded := p.Data
	if place, ok := p.Direct(box); ok {
		target := dst[place.Offset : place.Offset+place.Length]
		suffix := grow(&b.encoded, int(p.Length)-place.Length)
		if err := l.values.ReadAt(ctx, p.Key, target, p.Offset); err != nil {
			return err
		}
		if len(suffix) > 0 {
			if err := l.values.ReadAt(ctx, p.Key, suffix, p.Offset+int64(place.Length)); err != nil {
				return err
			}
		}
		if err := l.sums.suffix(check, p.Region, suffix); err != nil {
			return err
		}
		return p.Finish(target, suffix)
	}
	if encoded == nil {
		encoded = grow(&b.encoded, int(p.Length))
		if err := l.values.ReadAt(ctx, p.Key, encoded, p.Offset); err != nil {
			return err
		}
	}
	if err := l.sums.suffix(check, p.Region, encoded); err != nil {
		return err
	}
	return l.array.Decode(p, encoded, box, dst, l.options())
}

// fillPart puts the fill value where there are no bytes, if that is allowed.
func (l *zarrArray) fillPart(p *zarr.Part, box zarr.Box, dst []byte) error {
	switch {
	case l.sums != nil && l.sums.tied:
		return &errs.Error{Kind: errs.Corrupt, Got: "a sub-chunk is missing"}
	case !l.fill:
		return &errs.Error{Kind: errs.NotFound, Subject: p.Key}
	}
	l.array.Fill(p, box, dst)
	return nil
}
