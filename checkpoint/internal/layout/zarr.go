package layout

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// zarrArray is an array in the chunks of a key-value store.
type zarrArray struct {
	*stored
	array *zarr.Array
	lost  *lost // set when a chunk that should exist was filled; nil if that is not allowed
	sums  *sums // nil if there is no manifest, or the array is bound
	bound bool  // a node holds its value: the manifest has a hash of the nodes instead of a record
}

// stored has the properties that the arrays of a tree share.
type stored struct {
	values zarr.KV
	fill   bool // a missing chunk holds the fill value
	told   bool // although it should have been stored: arrays record such chunks
	nodes  bool // values lie in a database, whose nodes have checksums
}

// openStored opens the storage of the arrays of a tree. all says that chunks equal to the fill
// value were stored too.
func (c *Checkpoint) openStored(ctx context.Context, t *OpenTree, all bool) (*stored, error) {
	values, err := t.openValues(ctx)
	if err != nil {
		return nil, err
	}
	told := all && c.opts.FillMissing && c.Manifest == nil
	return &stored{values: values, fill: !all || told, told: told, nodes: t.UseOCDBT}, nil
}

// lost records that a chunk was missing and was read as the fill value.
type lost = atomic.Bool

// Filled reports whether a lost part of the array was read as the fill value, as
// Options.FillMissing allows.
func (l *Leaf) Filled() bool {
	z, ok := l.array.(*zarrArray)
	return ok && z.lost != nil && z.lost.Load()
}

// openArray opens the array of a leaf and finds its record in the manifest.
func (c *Checkpoint) openArray(ctx context.Context, t *OpenTree, l *Leaf, values *stored, arrays *zarr.Opener) error {
	array, err := t.openNamed(ctx, arrays, l.Param)
	if errs.KindOf(err) == errs.NotFound && arrays.KeyV2 == "" {
		if arrays.KeyV2, err = t.metadataKey(ctx, l.Param, err); err == nil {
			array, err = t.openNamed(ctx, arrays, l.Param)
		}
	}
	if errs.KindOf(err) == errs.NotFound {
		return &errs.Error{Kind: errs.Corrupt, Subject: "array " + strconv.Quote(l.Param),
			Got: "no metadata of the array", Err: err}
	}
	if err != nil {
		return err
	}
	m := array.Metadata()
	z := &zarrArray{stored: values, array: array}
	if values.told {
		z.lost = new(lost)
	}
	l.DType, l.Shape, l.ChunkShape, l.array = m.DType, m.Shape, m.ChunkShape, z
	l.ReadShape, l.Format = array.SubChunkShape(), m.Format
	if c.Manifest == nil {
		return nil
	}
	sums, ok := c.Manifest.Leaf(t.files.item, l.Param)
	if !ok && t.bound && l.Bytes() <= atHandBytes {
		z.bound = true
		return nil
	}
	if !ok {
		return &errs.Error{Kind: errs.Corrupt, Subject: "array " + strconv.Quote(l.Param), Got: "not in the manifest"}
	}
	if size := int64(l.Bytes()); size != sums.Size {
		return sizeError("array "+strconv.Quote(l.Param), sums.Size, size)
	}
	z.sums = newSums(sums, m, l.ReadShape)
	return nil
}

// openNamed opens an array by its name. Old versions of Bivouac added a second slash to the keys of
// a name that ends in a slash, unlike TensorStore. Such keys are still read, unless an array has a
// name with that second slash.
func (t *OpenTree) openNamed(ctx context.Context, arrays *zarr.Opener, param string) (*zarr.Array, error) {
	if t.UseOCDBT && strings.HasSuffix(param, "/") && !t.slashed[param+"/"] {
		if a, err := arrays.OpenAt(ctx, param+"/"); errs.KindOf(err) != errs.NotFound {
			return a, err
		}
	}
	return arrays.Open(ctx, param)
}

// unit implements source.
func (l *zarrArray) unit() []int {
	if l.sums != nil && l.sums.parted() {
		return l.sums.sub
	}
	return l.array.Unit()
}

// atHandBytes is the largest size of an array that may lie in a node of a database.
const atHandBytes = 64 << 10

// readRegion implements source.
func (l *zarrArray) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	if l.bound {
		return l.readBound(ctx, box, dst, w)
	}
	if len(dst) <= atHandBytes && slices.Equal(region.Shape, l.array.Metadata().Shape) {
		ok, err := l.array.ReadAtHand(ctx, dst)
		if ok && err == nil {
			w.cover.add(len(dst), l.nodes)
			err = l.sums.all(dst)
		}
		if ok || err != nil {
			return err
		}
	}
	for p, err := range l.plan(ctx, region) {
		if err == nil {
			err = l.readPart(ctx, p, box, dst, w)
		}
		if err != nil {
			return l.missing(err)
		}
	}
	return nil
}

// readBound reads a box from the node that holds the array.
func (l *zarrArray) readBound(ctx context.Context, box zarr.Box, dst []byte, w *worker) error {
	m := l.array.Metadata()
	whole, size := zarr.WholeBox(m.Shape), m.DType.Size()
	b := dst
	if !box.Equal(whole) {
		b = w.take(&w.whole, whole.Len()*size)
	}
	ok, err := l.array.ReadAtHand(ctx, b)
	if err != nil {
		return err
	}
	if !ok {
		for _, err := range l.plan(ctx, whole) {
			if err != nil {
				return l.missing(err)
			}
		}
		return &errs.Error{Kind: errs.Corrupt, Got: "neither in the manifest nor in the nodes of the database"}
	}
	if !box.Equal(whole) {
		zarr.CopyBox(box, dst, whole, b, size)
	}
	return nil
}

// checkBox implements source.
func (l *zarrArray) checkBox(box zarr.Box, dst []byte) error { return l.sums.whole(box, dst) }

// entire implements source.
func (l *zarrArray) entire() bool { return l.sums != nil && !l.sums.parted() }

func (l *zarrArray) options() *zarr.ReadOptions { return &zarr.ReadOptions{FillMissing: l.fill} }

// plan yields the parts of a box.
func (l *zarrArray) plan(ctx context.Context, box zarr.Box) iter.Seq2[*zarr.Part, error] {
	return l.array.Plan(ctx, box, l.options())
}

// missing returns the error for a lost chunk.
func (l *zarrArray) missing(err error) error {
	if errs.KindOf(err) != errs.NotFound {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Got: "a chunk is missing", Err: err}
}

// readPart reads one part into dst, the memory of box, and compares it with the manifest.
func (l *zarrArray) readPart(ctx context.Context, p *zarr.Part, box zarr.Box, dst []byte, w *worker) error {
	check := l.sums.check(p.Region)
	if check != byBytes {
		return errs.Wrap("", p.Region.String(), l.decodePart(ctx, p, check, box, dst, w))
	}
	around := l.sums.around(p.Region)
	return errs.Wrap("", around.String(), l.readWhole(ctx, p, around, box, dst, w))
}

// readWhole reads the whole sub-chunk of a part, checksums it, and copies the part in box into dst.
func (l *zarrArray) readWhole(ctx context.Context, p *zarr.Part, around, box zarr.Box, dst []byte, w *worker) error {
	var whole []byte
	place, there := box.Run(around, l.sums.size)
	if common, ok := box.Intersect(around); !ok || !common.Equal(around) {
		there = false // only a part of it is wanted
	}
	if there {
		whole = dst[place.Offset : place.Offset+place.Length]
	} else {
		whole = w.take(&w.whole, around.Len()*l.sums.size)
	}
	w.handed.expect(whole)
	verbatim := true
	for p, err := range l.again(ctx, p, around) {
		if err == nil {
			err = l.decodePart(ctx, p, unchecked, around, whole, w)
			verbatim = verbatim && p.Verbatim()
		}
		if err != nil {
			return err
		}
	}
	if !verbatim {
		w.handed.expect(nil) // the bytes have changed since they were read
	}
	if err := l.sums.decoded(around, w.handed.update(0, whole)); err != nil {
		return err
	}
	if !there {
		zarr.CopyBox(box, dst, around, whole, l.sums.size)
	}
	return nil
}

// again yields the parts of the box around a part, or only the part itself if that is the whole
// box.
func (l *zarrArray) again(ctx context.Context, p *zarr.Part, around zarr.Box) iter.Seq2[*zarr.Part, error] {
	if !p.Region.Equal(around) {
		return l.plan(ctx, around)
	}
	return func(yield func(*zarr.Part, error) bool) { yield(p, nil) }
}

// decodePart reads one range of encoded bytes and copies its region into dst, the memory of box.
func (l *zarrArray) decodePart(ctx context.Context, p *zarr.Part, check check, box zarr.Box, dst []byte,
	w *worker) error {
	if p.Missing {
		w.cover.add(p.Region.Len()*l.array.Metadata().DType.Size(), l.nodes)
		return l.fillPart(p, box, dst)
	}
	if place, ok := p.Direct(box); ok {
		w.cover.part(ctx, l, p, nil)
		target := dst[place.Offset : place.Offset+place.Length]
		return l.readDirect(ctx, p, check, target, w)
	}
	if count, size, ok := p.Rows(); ok {
		w.cover.part(ctx, l, p, nil)
		return l.readRows(ctx, p, check, count, size, box, dst, w)
	}
	encoded := p.Data
	if encoded == nil {
		encoded = w.take(&w.encoded, int(p.Length))
		ok, err := l.scatter(ctx, p, encoded)
		if err == nil && !ok {
			err = l.values.ReadAt(ctx, p.Key, encoded, p.Offset)
		}
		if err != nil {
			return err
		}
	}
	w.cover.part(ctx, l, p, encoded)
	if err := l.sums.suffix(check, p.Region, encoded); err != nil {
		return err
	}
	return l.array.Decode(p, encoded, box, dst, l.options())
}

// tile is how many bytes are read into place before they are summed, so that they stay in the
// cache.
const tile = 2 * crc.Tile

// scatterBytes is the size from which a part has a request of its own. Smaller ones are read with
// their neighbours, and copied.
const scatterBytes = 1 << 20

// scatter reads a part by one request directly into pieces of memory, if the store can do that and
// the part is large. It reports whether it did.
func (l *zarrArray) scatter(ctx context.Context, p *zarr.Part, into ...[]byte) (ok bool, err error) {
	kv, ok := l.values.(zarr.ScatterKV)
	if !ok || p.Length < scatterBytes {
		return false, nil
	}
	return kv.Scatter(ctx, p.Key, p.Offset, into...)
}

// sumsSuffice reports whether the checksum behind a part says all about its elements: any bytes are
// elements of the type, and the elements are not summed again.
func (l *zarrArray) sumsSuffice(check check) bool {
	d := l.array.Metadata().DType
	return d.Bits() >= 8 && d != tensor.Bool && (check == bySuffix || l.sums == nil)
}

// readDirect reads a part directly into place. If a checksum follows, it sums the bytes while they
// are in the cache. With sumsOnly all bytes go through the start of the place, which stays there.
func (l *zarrArray) readDirect(ctx context.Context, p *zarr.Part, check check, target []byte, w *worker) error {
	sumsOnly := w.sumsOnly && l.sumsSuffice(check)
	n := p.Length - int64(len(target))
	suffix := make([]byte, n)
	if n > 0 {
		w.handed.expect(target)
	}
	if ok, err := l.scatter(ctx, p, target, suffix); err != nil {
		return err
	} else if ok && n == 0 {
		return p.Finish(target, nil)
	} else if ok {
		return l.compare(p, check, target, suffix, w.handed.update(0, target))
	}
	if n == 0 {
		if err := l.values.ReadAt(ctx, p.Key, target, p.Offset); err != nil {
			return err
		}
		return p.Finish(target, nil)
	}
	sum, off := uint32(0), p.Offset
	for at := 0; at < len(target); {
		t := target[at:min(at+tile, len(target))]
		if sumsOnly {
			t = target[:len(t)]
		}
		w.handed.expect(t)
		if err := l.values.ReadAt(ctx, p.Key, t, off); err != nil {
			return err
		}
		sum = w.handed.update(sum, t)
		at, off = at+len(t), off+int64(len(t))
	}
	if err := l.values.ReadAt(ctx, p.Key, suffix, off); err != nil {
		return err
	}
	return l.compare(p, check, target, suffix, sum)
}

// readRows reads a part in tiles of rows. It sums each tile and copies it into place while it is in
// the cache.
func (l *zarrArray) readRows(ctx context.Context, p *zarr.Part, check check, count, size int, box zarr.Box, dst []byte,
	w *worker) error {
	step := min(count, max(1, crc.Tile/size))
	behind := int(p.Length) - count*size
	b := w.take(&w.encoded, step*size+behind)
	var suffix []byte
	sum := uint32(0)
	for first := 0; first < count; first += step {
		n := min(step, count-first) * size
		read := b[:n]
		if count-first <= step {
			read = b[:n+behind]
		}
		w.handed.expect(read[:n])
		if err := l.values.ReadAt(ctx, p.Key, read, p.Offset+int64(first*size)); err != nil {
			return err
		}
		sum, suffix = w.handed.update(sum, read[:n]), read[n:]
		if err := p.PlaceRows(first, read[:n], box, dst); err != nil {
			return err
		}
	}
	return l.compare(p, check, nil, suffix, sum)
}

// compare compares the checksum of a part with the suffix behind it, and completes the elements
// that were read into target.
func (l *zarrArray) compare(p *zarr.Part, check check, target, suffix []byte, sum uint32) error {
	if err := l.sums.suffix(check, p.Region, suffix); err != nil {
		return err
	}
	return p.FinishSummed(target, suffix, sum)
}

// fillPart fills a part without bytes with the fill value, if that is allowed.
func (l *zarrArray) fillPart(p *zarr.Part, box zarr.Box, dst []byte) error {
	switch {
	case l.sums != nil && l.sums.tied:
		return &errs.Error{Kind: errs.Corrupt, Got: "a sub-chunk is missing"}
	case !l.fill:
		return &errs.Error{Kind: errs.NotFound, Subject: p.Key}
	}
	if l.lost != nil {
		l.lost.Store(true)
	}
	l.array.Fill(p, box, dst)
	return nil
}
