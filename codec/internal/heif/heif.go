// Package heif finds the still image in AVIF and HEIC files, and reads its header. It does not
// decode pixels; package codec/video does, by ffmpeg.
//
//	ftyp ┬ meta: pitm, iinf, iref, iprp (properties), iloc (where data is) ┬ mdat
//
// The primary item is a coded image, or a grid of coded images of one size. Another item may be its
// alpha.
package heif

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// Codec is the codec of an image.
type Codec string

// The codecs, with the names that files have for them.
const (
	AV1  Codec = "av01"
	HEVC Codec = "hvc1"
)

// IsAVIF reports whether data begins like an AVIF file.
func IsAVIF(data []byte) bool { return branded(data, "avif", "avis") }

// IsHEIC reports whether data begins like a HEIC file, or another HEIF file that is not AVIF.
func IsHEIC(data []byte) bool {
	return !IsAVIF(data) && branded(data, "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1")
}

// branded reports whether the first box lists one of the brands.
func branded(data []byte, brands ...string) bool {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return false
	}
	const most = 256
	size := min(int64(binary.BigEndian.Uint32(data)), int64(len(data)), most)
	for at := int64(8); at+4 <= size; at += 4 {
		for _, b := range brands {
			if string(data[at:at+4]) == b && at != 12 { // the version is there
				return true
			}
		}
	}
	return false
}

// Image is an image whose header was read.
type Image struct {
	raster.Header
	Plane        // of colours, or gray
	Alpha *Plane // nil if the image has no alpha
	// X and Y are where the image begins in its planes.
	X, Y int
}

// Plane is an image, or its alpha, in one piece or as tiles.
type Plane struct {
	Codec         Codec
	Tiles         []Tile // row by row
	Columns, Rows int    // of tiles
	TileW, TileH  int
	Depth         int // bits per sample of the codec
	Gray          bool
	// Matrix and Full are the colours as the file names them: the number of the matrix of H.273, and
	// whether the range is full. Named says whether it does.
	Named  bool
	Matrix int
	Full   bool
}

// Tile is a coded image: what a decoder of its codec takes as one frame.
type Tile []byte

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	x, err := Parse(data)
	if err != nil {
		return raster.Header{}, err
	}
	return x.Header, nil
}

func (f *file) corrupt(want, format string, args ...any) error {
	return raster.Corrupt(f.op, want, fmt.Sprintf(format, args...))
}

// Parse reads the header of the image in data, and finds its parts.
func Parse(data []byte) (*Image, error) {
	f := &file{op: "heic", data: data, items: map[uint32]*item{}}
	if IsAVIF(data) {
		f.op = "avif"
	}
	if err := f.read(); err != nil {
		return nil, err
	}
	primary, err := f.item(f.primary)
	if err != nil {
		return nil, err
	}
	x := &Image{}
	if err := f.plane(&x.Plane, primary); err != nil {
		return nil, err
	}
	x.Header = raster.Header{Width: primary.width, Height: primary.height, Channels: 3, Depth: 8,
		Luma: raster.LumaWebP, Orientation: primary.orientation()}
	if x.Gray {
		x.Channels = 1
	}
	if x.Plane.Depth > 8 {
		x.Header.Depth = 16
	}
	if err := x.Check(f.op, len(data)); err != nil {
		return nil, err
	}
	if a := f.alpha(); a != nil {
		x.Alpha = &Plane{}
		if err := f.plane(x.Alpha, a); err != nil {
			return nil, err
		}
		if a.width != x.Width || a.height != x.Height {
			return nil, f.corrupt(fmt.Sprintf("alpha of %dx%d", x.Width, x.Height), "%dx%d", a.width, a.height)
		}
		x.Channels++
	}
	if c := primary.clip; c[2] > 0 {
		x.X, x.Y, x.Width, x.Height = c[0], c[1], c[2], c[3]
	}
	x.Mixed = x.Channels == 2
	return x, nil
}

// plane describes an item. Its tiles get their data.
func (f *file) plane(p *Plane, it *item) error {
	p.Columns, p.Rows, p.TileW, p.TileH = 1, 1, it.width, it.height
	coded := []uint32{it.id}
	if it.kind == "grid" {
		var err error
		if coded, err = f.grid(p, it); err != nil {
			return err
		}
	}
	for i, id := range coded {
		tile, err := f.item(id)
		if err != nil {
			return err
		}
		if i > 0 && (Codec(tile.kind) != p.Codec || tile.width != p.TileW || tile.height != p.TileH ||
			!bytes.Equal(tile.config, f.items[coded[0]].config)) {
			return raster.Unsupported(f.op, "tiles that differ in codec or size")
		}
		if i == 0 {
			p.Codec, p.TileW, p.TileH = Codec(tile.kind), tile.width, tile.height
			if err := f.describe(p, tile, it); err != nil {
				return err
			}
		}
		if p.TileW < 1 || p.TileH < 1 {
			return f.corrupt("an image with pixels", "%dx%d", p.TileW, p.TileH)
		}
		data, err := f.coded(tile)
		if err != nil {
			return err
		}
		p.Tiles = append(p.Tiles, data)
	}
	if p.Columns*p.TileW < it.width || p.Rows*p.TileH < it.height {
		return f.corrupt(fmt.Sprintf("tiles for %dx%d pixels", it.width, it.height), "%dx%d of %dx%d",
			p.Columns, p.Rows, p.TileW, p.TileH)
	}
	return nil
}

// grid reads the item of a grid, and returns its tiles.
func (f *file) grid(p *Plane, it *item) ([]uint32, error) {
	b, err := f.bytes(it)
	if err != nil {
		return nil, err
	}
	r := fields{b: b}
	r.number(1)
	size := 2 + 2*(r.number(1)&1)
	p.Rows, p.Columns = int(r.number(1))+1, int(r.number(1))+1
	width, height := int(r.number(size)), int(r.number(size))
	tiles := f.references("dimg", it.id)
	switch {
	case r.bad:
		return nil, f.corrupt("a grid", "%d bytes", len(b))
	case width != it.width || height != it.height:
		return nil, f.corrupt(fmt.Sprintf("a grid of %dx%d", it.width, it.height), "%dx%d", width, height)
	case len(tiles) != p.Rows*p.Columns:
		return nil, f.corrupt(fmt.Sprintf("%d tiles", p.Rows*p.Columns), "%d", len(tiles))
	}
	return tiles, nil
}

// describe reads the depth and the colours of a coded image. The colours that the whole image names
// come first.
func (f *file) describe(p *Plane, tile, whole *item) error {
	c := tile.config
	switch {
	case p.Codec == AV1 && len(c) >= 4:
		const highDepth, twelve, gray = 0x40, 0x20, 0x10
		p.Depth, p.Gray = 8, c[2]&gray != 0
		if c[2]&highDepth != 0 {
			p.Depth = 10
		}
		if c[2]&(highDepth|twelve) == highDepth|twelve {
			p.Depth = 12
		}
	case p.Codec == HEVC && len(c) >= 23:
		p.Gray, p.Depth = c[16]&3 == 0, int(c[17]&7)+8
	case p.Codec == AV1 || p.Codec == HEVC:
		return f.corrupt("the configuration of the codec", "%d bytes", len(c))
	default:
		return raster.Unsupported(f.op, fmt.Sprintf("an image of type %q", string(p.Codec)))
	}
	for _, it := range []*item{whole, tile} {
		if b := it.colours; len(b) >= 11 && !p.Named {
			be := binary.BigEndian
			p.Named, p.Matrix, p.Full = true, int(be.Uint16(b[8:])), b[10]&0x80 != 0
		}
	}
	return nil
}

// coded returns what a decoder takes for an item.
func (f *file) coded(it *item) (Tile, error) {
	b, err := f.bytes(it)
	if err != nil || Codec(it.kind) != HEVC {
		return b, err
	}
	// The parameters come first. A start code stands in place of the length of each unit.
	const start = "\x00\x00\x00\x01"
	out := []byte{}
	c := fields{b: it.config[min(21, len(it.config)):]}
	prefix := c.number(1)&3 + 1
	for range c.number(1) {
		c.number(1)
		for range c.number(2) {
			unit := c.take(c.number(2))
			if c.bad {
				return nil, f.corrupt("the parameters of the codec", "%d bytes", len(it.config))
			}
			out = append(append(out, start...), unit...)
		}
		if c.bad {
			return nil, f.corrupt("the parameters of the codec", "%d bytes", len(it.config))
		}
	}
	for r := (fields{b: b}); len(r.b) > 0; {
		unit := r.take(r.number(prefix))
		if r.bad {
			return nil, f.corrupt("complete units of HEVC", "%d bytes of item %d", len(b), it.id)
		}
		out = append(append(out, start...), unit...)
	}
	return out, nil
}
