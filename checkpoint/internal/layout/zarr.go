package layout

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// zarrArray is an array in the chunks of a key-value store.
type zarrArray struct {
	param  string
	values zarr.KV
	array  *zarr.Array
	fill   bool           // a missing chunk holds the fill value
	sums   *manifest.Leaf // nil when there is no manifest
	tied   bool           // the chunks carry the checksums that the manifest lists
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
	if l.ReadShape, err = m.SubChunkShape(); err != nil {
		return err
	}
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
	z.sums, z.tied = &sums, endsInCRC(m)
	return nil
}

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

func (l *zarrArray) read(ctx context.Context, dst []byte) error {
	m := l.array.Metadata()
	box := zarr.WholeBox(m.Shape)
	o := &zarr.ReadOptions{FillMissing: l.fill}
	var buf []byte
	for p, err := range l.array.Plan(ctx, box, o) {
		if err != nil {
			return l.missing(err)
		}
		if buf, err = l.readPart(ctx, p, box, dst, buf, o); err != nil {
			return errs.Wrap("", p.Region.String(), l.missing(err))
		}
	}
	if l.sums == nil || l.tied {
		return nil
	}
	if got := crc.Sum(dst); got != l.sums.CRC {
		return manifest.ChecksumError("the array", l.sums.CRC, got)
	}
	return nil
}

// missing says of a chunk that is not there that data was lost.
func (l *zarrArray) missing(err error) error {
	if errs.KindOf(err) != errs.NotFound {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Got: "a chunk is missing", Err: err}
}

// readPart reads one range of encoded bytes and puts its region into dst; buf
// is memory that is handed on from part to part.
func (l *zarrArray) readPart(ctx context.Context, p *zarr.Part, box zarr.Box, dst, buf []byte, o *zarr.ReadOptions) ([]byte, error) {
	if p.Missing {
		if l.tied {
			return buf, &errs.Error{Kind: errs.Corrupt, Got: "a sub-chunk is missing"}
		}
		l.array.Fill(p, box, dst)
		return buf, nil
	}
	kv := l.values
	if place, ok := p.Direct(box); ok {
		target := dst[place.Offset : place.Offset+place.Length]
		suffix := make([]byte, p.Length-int64(place.Length))
		if err := kv.ReadAt(ctx, p.Key, target, p.Offset); err != nil {
			return buf, err
		}
		if len(suffix) > 0 {
			if err := kv.ReadAt(ctx, p.Key, suffix, p.Offset+int64(place.Length)); err != nil {
				return buf, err
			}
		}
		if err := l.checkSuffix(p, suffix); err != nil {
			return buf, err
		}
		return buf, p.Finish(target, suffix)
	}
	encoded := p.Data
	if encoded == nil {
		buf = slices.Grow(buf[:0], int(p.Length))[:p.Length]
		encoded = buf
		if err := kv.ReadAt(ctx, p.Key, encoded, p.Offset); err != nil {
			return buf, err
		}
	}
	if err := l.checkSuffix(p, encoded); err != nil {
		return buf, err
	}
	return buf, l.array.Decode(p, encoded, box, dst, o)
}

// checkSuffix holds the checksum behind a sub-chunk against the manifest's for
// that place. Whether the bytes have that checksum, decoding checks.
func (l *zarrArray) checkSuffix(p *zarr.Part, encoded []byte) error {
	if !l.tied {
		return nil
	}
	i, err := l.chunkIndex(p)
	if err != nil {
		return err
	}
	want, ok := l.sums.Chunk(i)
	if !ok || len(encoded) < 4 {
		return &errs.Error{Kind: errs.Corrupt, Got: "sub-chunk " + strconv.Itoa(i) + ", which the manifest does not list"}
	}
	if len(l.sums.Chunks) == 0 && l.padded() {
		return nil // the one sum is that of the array without its padding
	}
	if got := binary.LittleEndian.Uint32(encoded[len(encoded)-4:]); got != want {
		return manifest.ChecksumError("sub-chunk "+strconv.Itoa(i), want, got)
	}
	return nil
}

// padded reports whether the array does not fill its chunk.
func (l *zarrArray) padded() bool {
	m := l.array.Metadata()
	return !slices.Equal(m.ChunkShape, []int(m.Shape))
}

// chunkIndex is the place of a part in the grid of sub-chunks, in C order.
func (l *zarrArray) chunkIndex(p *zarr.Part) (int, error) {
	m := l.array.Metadata()
	sub, err := m.SubChunkShape()
	if err != nil {
		return 0, err
	}
	n := 0
	for axis, s := range sub {
		n = n*((m.ChunkShape[axis]+s-1)/s) + p.Region.Origin[axis]/s
	}
	return n, nil
}
