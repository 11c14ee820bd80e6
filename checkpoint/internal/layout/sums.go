package layout

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// sums has the checksums of one array in the manifest; it is nil if the checkpoint has no manifest.
//
// If the encoded sub-chunks end in their own checksum (tied), that checksum is compared with the
// manifest, and decoding compares the bytes with it, so each byte is summed once. Otherwise the
// decoded bytes are summed here.
type sums struct {
	leaf  manifest.Leaf
	tied  bool
	shape tensor.Shape
	grid  []int // sub-chunks along each axis, including those beyond the edge
	sub   []int // shape of a sub-chunk
	size  int   // of an element
}

// newSums binds the record of an array to its grid.
func newSums(leaf manifest.Leaf, m *zarr.Metadata, sub []int) *sums {
	s := &sums{leaf: leaf, tied: endsInCRC(m), shape: m.Shape, grid: make([]int, len(sub)), sub: sub, size: m.DType.Size()}
	for i, n := range sub {
		s.grid[i] = ceilDiv(m.Shape[i], m.ChunkShape[i]) * ceilDiv(m.ChunkShape[i], n)
	}
	return s
}

// newRunSums binds the record of an array that lies in one piece to the sub-chunks by which it was
// checksummed.
func newRunSums(leaf manifest.Leaf, shape tensor.Shape, d tensor.DType) *sums {
	s := &sums{leaf: leaf, shape: shape, sub: manifest.RunShape(shape, d), size: d.Size(), grid: make([]int, len(shape))}
	for i, n := range s.sub {
		s.grid[i] = ceilDiv(shape[i], max(1, n))
	}
	return s
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// endsInCRC reports whether the encoded sub-chunks end in the checksum of
// their bytes.
func endsInCRC(m *zarr.Metadata) bool {
	if len(m.Codecs) != 1 || m.Codecs[0].Name != "sharding_indexed" {
		return false
	}
	inner, _ := m.Codecs[0].Config["codecs"].([]any)
	if len(inner) != 2 {
		return false
	}
	last, _ := inner[1].(map[string]any)
	return last["name"] == "crc32c"
}

// check is how a part of an array is compared with the manifest.
type check uint8

const (
	unchecked check = iota
	bySuffix        // by the checksum behind the encoded bytes
	byBytes         // by the checksum of the decoded bytes of the whole sub-chunk
)

// parted reports whether the manifest has a checksum for each sub-chunk.
func (s *sums) parted() bool { return len(s.leaf.Chunks) > 0 || tensor.Shape(s.grid).Len() == 1 }

// check returns how the sub-chunk of region is compared with the manifest. The one checksum of an
// array with a single sub-chunk covers its bytes without padding, so a padded sub-chunk is summed.
func (s *sums) check(region zarr.Box) check {
	switch {
	case s == nil || !s.parted():
		return unchecked
	case s.tied && (len(s.leaf.Chunks) > 0 || slices.Equal(s.around(region).Shape, s.sub)):
		return bySuffix
	}
	return byBytes
}

// around returns the part of the array that the sub-chunk of region holds.
func (s *sums) around(region zarr.Box) zarr.Box {
	b := zarr.Box{Origin: make([]int, len(s.sub)), Shape: make([]int, len(s.sub))}
	for axis, n := range s.sub {
		b.Origin[axis] = region.Origin[axis] / n * n
		b.Shape[axis] = min(n, s.shape[axis]-b.Origin[axis])
	}
	return b
}

// suffix compares the checksum behind an encoded sub-chunk with the manifest, if that is how to
// check it. Decoding checks whether the bytes match that checksum.
func (s *sums) suffix(how check, region zarr.Box, encoded []byte) error {
	if how != bySuffix {
		return nil
	}
	if len(encoded) < 4 {
		return &errs.Error{Kind: errs.Corrupt, Got: "a sub-chunk of " + strconv.Itoa(len(encoded)) + " bytes"}
	}
	return s.decoded(region, binary.LittleEndian.Uint32(encoded[len(encoded)-4:]))
}

// decoded compares the checksum of the sub-chunk of region with the manifest's.
func (s *sums) decoded(region zarr.Box, sum uint32) error {
	i := manifest.Place(s.grid, s.sub, region.Origin)
	want, ok := s.leaf.Chunk(i)
	switch {
	case !ok:
		return &errs.Error{Kind: errs.Corrupt, Got: "sub-chunk " + strconv.Itoa(i) + ", which the manifest does not list"}
	case sum != want:
		return manifest.ChecksumError("sub-chunk "+strconv.Itoa(i), want, sum)
	}
	return nil
}

// whole compares the bytes of a box with the manifest, if the box is the whole array and its parts
// could not be compared.
func (s *sums) whole(box zarr.Box, b []byte) error {
	if s == nil || s.parted() || !box.Equal(zarr.WholeBox(s.shape)) {
		return nil
	}
	return s.all(b)
}

// all compares the bytes of the whole array with the manifest.
func (s *sums) all(b []byte) error {
	if s == nil {
		return nil
	}
	return s.same(crc.Sum(b))
}

// same compares the checksum of the whole array with the manifest's.
func (s *sums) same(sum uint32) error {
	if sum != s.leaf.CRC {
		return manifest.ChecksumError("the array", s.leaf.CRC, sum)
	}
	return nil
}
