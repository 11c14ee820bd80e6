package writer

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/cast"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Lazy is a leaf whose elements Write reads while it writes them, in every mode. It is for arrays
// that need not fit into memory.
type Lazy struct {
	DType tensor.DType
	Shape tensor.Shape
	// KeyImpl, when not empty, says that the elements are the data of typed PRNG keys of JAX. It names
	// their implementation.
	KeyImpl string
	// Read fills dst with the elements of box in C order, as tensors hold them; dst has their size. It
	// is called from several goroutines, once for each of the boxes that tile the array.
	Read func(ctx context.Context, box zarr.Box, dst []byte) error
}

// Parts is a leaf whose elements lie in several tensors, which tile its shape.
type Parts struct {
	DType tensor.DType
	Shape tensor.Shape
	Parts []Part
	// Grid, when not nil, is the shape of the chunks; the last chunk of an axis may be smaller. The
	// parts then consist of whole chunks and need not tile the shape: other processes, with the same
	// grid, write the rest.
	Grid tensor.Shape
	// Sharding, when not empty, makes the leaf an array of JAX. It is the JSON object with which Orbax
	// records the devices.
	Sharding string
}

// Key is a leaf of typed PRNG keys of JAX: their data, and the name of the implementation.
type Key struct {
	Impl     string
	Data     tensor.Tensor
	Sharding string // as in Parts; "" is the first device of the host
}

// check returns an error unless the data can be PRNG keys.
func (k Key) check() error {
	if k.Impl == "" || k.Data.DType != tensor.Uint32 || len(k.Data.Shape) == 0 {
		return &errs.Error{Kind: errs.Invalid,
			Want: "keys with the name of an implementation, and uint32 data of at least rank 1",
			Got:  strconv.Quote(k.Impl) + ", " + k.Data.DType.String() + k.Data.Shape.String()}
	}
	return k.Data.Check()
}

// Part is a tensor that begins at Origin in the whole array.
type Part struct {
	Origin []int
	Data   tensor.Tensor
}

func (p Part) box() zarr.Box { return zarr.Box{Origin: p.Origin, Shape: p.Data.Shape} }

// source is where the elements of an array come from: one piece of memory,
// several, or a function.
type source struct {
	tensor.Tensor              // dtype and shape as stored; Data if it is one piece of memory
	from          tensor.DType // dtype of the source, if the elements are cast
	parts         []Part
	grid          []int // shape of the chunks, if the parts are only some of them
	read          func(ctx context.Context, box zarr.Box, dst []byte) error
}

// direct reports whether one piece of memory holds the elements in their stored form.
func (s *source) direct() bool { return s.whole() && !s.casts() }

// cells returns the shape of the chunks that the parts ask for, or nil.
func (s *source) cells() []int {
	if s.grid != nil {
		return s.grid
	}
	return regular(s.Shape, s.parts)
}

// whole reports whether one piece of memory holds all elements.
func (s *source) whole() bool { return s.read == nil && s.parts == nil && s.grid == nil }

// has reports whether the source has the elements of the region.
func (s *source) has(region zarr.Box) bool {
	return s.grid == nil || slices.ContainsFunc(s.parts, func(p Part) bool {
		common, ok := p.box().Intersect(region)
		return ok && common.Equal(region)
	})
}

// view returns memory that contains the region, if one piece of memory does.
func (s *source) view(region zarr.Box) (zarr.Source, bool) {
	switch {
	case s.read != nil || s.casts():
		return zarr.Source{}, false
	case s.whole():
		return zarr.Source{Data: s.Data, Box: zarr.WholeBox(s.Shape)}, true
	}
	for _, p := range s.parts {
		if common, ok := p.box().Intersect(region); ok {
			return zarr.Source{Data: p.Data.Data, Box: p.box()}, common.Equal(region)
		}
	}
	return zarr.Source{}, false
}

// fill copies the elements of the region to dst, which has their size.
func (s *source) fill(ctx context.Context, region zarr.Box, dst []byte) error {
	switch {
	case s.casts():
		return s.castRegion(ctx, region, dst)
	case s.read != nil:
		return s.read(ctx, region, dst)
	case s.whole():
		zarr.CopyBox(region, dst, zarr.WholeBox(s.Shape), s.Data, s.DType.Size())
		return nil
	}
	for _, p := range s.parts {
		zarr.CopyBox(region, dst, p.box(), p.Data.Data, s.DType.Size())
	}
	return nil
}

// memory lists the pieces of memory that hold the elements.
func (s *source) memory() []*[]byte {
	if s.read != nil {
		return nil
	}
	if s.whole() {
		return []*[]byte{&s.Data}
	}
	out := make([]*[]byte, len(s.parts))
	for i := range s.parts {
		out[i] = &s.parts[i].Data.Data
	}
	return out
}

// sum returns the checksum of the elements in C order, or nil if they are read later.
func (s *source) sum() *uint32 {
	sum := uint32(0)
	switch {
	case s.read != nil:
		return nil
	case s.casts():
		return s.castSum()
	case s.whole():
		sum = crc.Sum(s.Data)
	}
	for _, p := range s.parts {
		_, share := sumRuns(p.box(), zarr.Source{Data: p.Data.Data, Box: p.box()}, s.Shape, s.DType.Size(), 0, false)
		sum ^= share
	}
	return &sum
}

// places lists the memory that holds the elements, with the box of each piece.
func (s *source) places() []zarr.Source {
	if s.whole() {
		return []zarr.Source{{Data: s.Data, Box: zarr.WholeBox(s.Shape)}}
	}
	out := make([]zarr.Source, len(s.parts))
	for i, p := range s.parts {
		out[i] = zarr.Source{Data: p.Data.Data, Box: p.box()}
	}
	return out
}

// drop releases the memory.
func (s *source) drop() { s.Data, s.parts = nil, nil }

// newSource returns the source of a leaf; ok is false if value has no array elements.
func newSource(value any) (s source, ok bool, err error) {
	switch v := value.(type) {
	case tensor.Tensor:
		return source{Tensor: v}, true, v.Check()
	case Key:
		return source{Tensor: v.Data}, true, v.check()
	case Lazy:
		s = source{Tensor: tensor.Tensor{DType: v.DType, Shape: v.Shape}, read: v.Read}
		_, err = v.Shape.Bytes(v.DType)
		return s, true, err
	case Parts:
		parts := slices.Clone(v.Parts)
		if err = checkParts(v.DType, v.Shape, parts); err == nil && v.Grid == nil {
			err = Tiles(v.Shape, parts)
		}
		if err == nil && v.Grid == nil && len(parts) == 1 { // the part is the whole
			return source{Tensor: tensor.Tensor{DType: v.DType, Shape: v.Shape, Data: parts[0].Data.Data}}, true, nil
		}
		return source{Tensor: tensor.Tensor{DType: v.DType, Shape: v.Shape}, parts: parts, grid: v.Grid}, true, err
	}
	return source{}, false, nil
}

// Check returns an error unless p can be a leaf. It does not ask whether the parts tile the
// shape.
func (p Parts) Check() error { return checkParts(p.DType, p.Shape, p.Parts) }

// checkParts returns an error unless all parts lie in an array of that dtype and shape.
func checkParts(d tensor.DType, shape tensor.Shape, parts []Part) error {
	if _, err := shape.Bytes(d); err != nil {
		return err
	}
	bad := func(i int, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: "shard at " + parts[i].box().String(), Want: want, Got: got}
	}
	for i, p := range parts {
		if err := p.Data.Check(); err != nil {
			return err
		}
		switch {
		case p.Data.DType != d:
			return bad(i, d.String(), p.Data.DType.String())
		case !p.box().Inside(shape):
			return bad(i, "a box inside of "+shape.String(), p.Data.Shape.String())
		}
	}
	return nil
}

// Tiles returns an error unless the parts, each inside the shape, tile it. It looks only at the
// shapes of their data.
func Tiles(shape tensor.Shape, parts []Part) error {
	if tilesGrid(shape, parts) {
		return nil
	}
	if i, j, ok := overlap(parts, shape); ok {
		return &errs.Error{Kind: errs.Invalid, Subject: "shard at " + parts[i].box().String(),
			Want: "shards that do not overlap", Got: "a shard at " + parts[j].box().String()}
	}
	total := 0
	for _, p := range parts {
		total += p.Data.Len()
	}
	if total != shape.Len() {
		gap := firstGap(shape, parts)
		return &errs.Error{Kind: errs.Invalid, Subject: "shards", Want: "all elements of " + shape.String(),
			Got:    "a gap at " + gap.String(),
			Remedy: "give every element in one shard"}
	}
	return nil
}

// tilesGrid reports whether the parts are the cells of a regular grid, each once. It takes time in
// proportion to their number. Other parts may tile the shape too.
func tilesGrid(shape tensor.Shape, parts []Part) bool {
	chunk := regular(shape, parts)
	if chunk == nil {
		return false
	}
	cells := 1
	for k, n := range shape {
		cells *= (n + chunk[k] - 1) / chunk[k]
	}
	if cells != len(parts) {
		return false
	}
	seen := make([]bool, cells)
	for _, p := range parts {
		at := 0
		for k, n := range shape {
			at = at*((n+chunk[k]-1)/chunk[k]) + p.Origin[k]/chunk[k]
		}
		if at < 0 || at >= cells || seen[at] {
			return false
		}
		seen[at] = true
	}
	return true
}

// overlap finds two parts with a common element.
func overlap(parts []Part, shape tensor.Shape) (i, j int, ok bool) {
	if len(shape) == 0 {
		return 0, 1, len(parts) > 1
	}
	axis := 0 // the one along which most parts lie apart
	for k, most := 0, 0; k < len(shape); k++ {
		at := map[int]bool{}
		for _, p := range parts {
			at[p.Origin[k]] = true
		}
		if len(at) > most {
			axis, most = k, len(at)
		}
	}
	order := make([]int, len(parts)) // by origin on this axis
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return parts[a].Origin[axis] - parts[b].Origin[axis] })
	for n, i := range order {
		end := parts[i].Origin[axis] + parts[i].Data.Shape[axis]
		for _, j := range order[n+1:] {
			if parts[j].Origin[axis] >= end {
				break
			}
			if _, common := parts[i].box().Intersect(parts[j].box()); common {
				return j, i, true
			}
		}
	}
	return 0, 0, false
}

// firstGap returns a box of elements that no part has. It cuts one part after the other out of the
// shape and looks at the rest.
func firstGap(shape tensor.Shape, parts []Part) zarr.Box {
	left := zarr.WholeBox(shape)
	for {
		i := slices.IndexFunc(parts, func(p Part) bool { _, common := p.box().Intersect(left); return common })
		if i < 0 {
			return left
		}
		rest, ok := without(left, parts, i)
		if !ok {
			return left
		}
		left = rest
	}
}

// without cuts part i out of the box left, and returns a box of the rest with elements that no part
// has; ok is false if there is no such box.
func without(left zarr.Box, parts []Part, i int) (zarr.Box, bool) {
	cut := parts[i].box()
	for k := range left.Origin {
		low, high := left.Origin[k], left.Origin[k]+left.Shape[k]
		for _, span := range [2][2]int{{low, min(high, cut.Origin[k])}, {max(low, cut.Origin[k]+cut.Shape[k]), high}} {
			if span[0] >= span[1] {
				continue
			}
			b := zarr.Box{Origin: slices.Clone(left.Origin), Shape: slices.Clone(left.Shape)}
			b.Origin[k], b.Shape[k] = span[0], span[1]-span[0]
			held := 0
			for _, p := range parts {
				if common, ok := p.box().Intersect(b); ok {
					held += common.Len()
				}
			}
			if held < b.Len() {
				return b, true
			}
		}
		// The rest beside the part on this axis is held by parts; continue with its shadow.
		lo, hi := max(low, cut.Origin[k]), min(high, cut.Origin[k]+cut.Shape[k])
		left = zarr.Box{Origin: slices.Clone(left.Origin), Shape: slices.Clone(left.Shape)}
		left.Origin[k], left.Shape[k] = lo, hi-lo
	}
	return left, false
}

// An array may be stored in another dtype than the given one (Storage.DType). Its elements are cast
// when they are encoded, sub-chunk by sub-chunk, so there is never a second copy of the array.

// castTo returns the source with its elements cast to another dtype.
func (s source) castTo(d tensor.DType) source {
	s.from, s.DType = s.DType, d
	return s
}

// casts reports whether the elements are cast.
func (s *source) casts() bool { return s.from != tensor.Invalid && s.from != s.DType }

// castBytes is about how many bytes are read at once for a cast.
const castBytes = 4 << 20

// castRoom has memory for bytes that are read for a cast.
var castRoom = sync.Pool{New: func() any { return new([]byte) }}

// castRegion works like fill with a cast.
func (s *source) castRegion(ctx context.Context, region zarr.Box, dst []byte) error {
	if s.read == nil {
		for _, m := range s.places() {
			if err := s.castFrom(m, region, dst); err != nil {
				return err
			}
		}
		return nil
	}
	room := castRoom.Get().(*[]byte)
	defer castRoom.Put(room)
	for part := range zarr.Cells(region, rows(region.Shape, castBytes/s.from.Size())) {
		n := part.Len() * s.from.Size()
		*room = slices.Grow((*room)[:0], n)[:n]
		if err := s.read(ctx, part, *room); err != nil {
			return err
		}
		if err := s.castFrom(zarr.Source{Data: *room, Box: part}, region, dst); err != nil {
			return err
		}
	}
	return nil
}

// castFrom casts the elements of a region that m has into dst, the memory of the region.
func (s *source) castFrom(m zarr.Source, region zarr.Box, dst []byte) (err error) {
	common, ok := m.Box.Intersect(region)
	if !ok {
		return nil
	}
	narrow, wide := s.from.Size(), s.DType.Size()
	zarr.Runs(seenFrom(region, common), seenFrom(region, m.Box), region.Shape, 1, func(at, to, n int) {
		if err == nil {
			err = cast.Into(s.DType, dst[to*wide:(to+n)*wide], s.from, m.Data[at*narrow:(at+n)*narrow], false)
		}
	})
	return explainLoss(err)
}

// explainLoss adds a remedy for values that the stored dtype cannot hold.
func explainLoss(err error) error {
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Mismatch {
		e.Remedy = "store the array in another dtype (leaf_storage), or accept the loss: cast it first with tensor.Cast"
	}
	return err
}

// seenFrom returns the box relative to the origin of another box.
func seenFrom(from, b zarr.Box) zarr.Box {
	origin := make([]int, len(b.Origin))
	for i, o := range b.Origin {
		origin[i] = o - from.Origin[i]
	}
	return zarr.Box{Origin: origin, Shape: b.Shape}
}

// rows returns the shape of the largest contiguous parts of at most most elements, but at least
// one.
func rows(shape []int, most int) []int {
	out := slices.Clone(shape)
	n := tensor.Shape(shape).Len()
	for axis := 0; axis < len(out) && n > most; axis++ {
		row := n / out[axis]
		out[axis] = max(1, most/row)
		n = row * out[axis]
	}
	return out
}

// castSum returns the checksum of the cast elements, or nil if they cannot be cast.
func (s *source) castSum() *uint32 {
	sum := uint32(0)
	for _, m := range s.places() {
		if m.Box.Len() == 0 {
			continue
		}
		for part := range zarr.Cells(m.Box, rows(m.Box.Shape, castBytes/s.DType.Size())) {
			b := make([]byte, part.Len()*s.DType.Size())
			if s.castRegion(context.Background(), part, b) != nil {
				return nil
			}
			_, share := sumRuns(part, zarr.Source{Data: b, Box: part}, s.Shape, s.DType.Size(), 0, false)
			sum ^= share
		}
	}
	return &sum
}
