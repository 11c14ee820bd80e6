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

// Read reads the whole array into dst, which has its size, in C order,
// little-endian. The bytes are held against the manifest when there is one:
// each chunk against the checksum of that chunk of that array, so that a whole
// chunk in the wrong place is noticed too. After an error the content of dst is
// undefined.
func (l *Leaf) Read(ctx context.Context, dst []byte) error {
	m := l.array.Metadata()
	box := zarr.WholeBox(m.Shape)
	o := &zarr.ReadOptions{FillMissing: l.fill}
	var buf []byte
	for p, err := range l.array.Plan(ctx, box, o) {
		if err != nil {
			return l.missing(err)
		}
		if buf, err = l.readPart(ctx, p, box, dst, buf, o); err != nil {
			return errs.Wrap("", "array "+strconv.Quote(l.Param)+" "+p.Region.String(), l.missing(err))
		}
	}
	if l.sums == nil || l.tied {
		return nil
	}
	if got := crc.Sum(dst); got != l.sums.CRC {
		return manifest.ChecksumError("array "+strconv.Quote(l.Param), l.sums.CRC, got)
	}
	return nil
}

// missing says of a chunk that is not there that data was lost.
func (l *Leaf) missing(err error) error {
	if errs.KindOf(err) != errs.NotFound {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Subject: "array " + strconv.Quote(l.Param), Got: "a chunk is missing", Err: err}
}

// readPart reads one range of encoded bytes and puts its region into dst; buf
// is memory that is handed on from part to part.
func (l *Leaf) readPart(ctx context.Context, p *zarr.Part, box zarr.Box, dst, buf []byte, o *zarr.ReadOptions) ([]byte, error) {
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
func (l *Leaf) checkSuffix(p *zarr.Part, encoded []byte) error {
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
		return manifest.ChecksumError("array "+strconv.Quote(l.Param)+", sub-chunk "+strconv.Itoa(i), want, got)
	}
	return nil
}

// padded reports whether the array does not fill its chunk.
func (l *Leaf) padded() bool {
	m := l.array.Metadata()
	return !slices.Equal(m.ChunkShape, []int(m.Shape))
}

// chunkIndex is the place of a part in the grid of sub-chunks, in C order.
func (l *Leaf) chunkIndex(p *zarr.Part) (int, error) {
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
