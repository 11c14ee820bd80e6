package video

import (
	"encoding/binary"
	"io"
	"strconv"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/internal/heif"
	"github.com/bivouac-ml/bivouac/codec/internal/jp2"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Still images of JPEG 2000, AVIF and HEIC are decoded by ffmpeg too. Their headers are read in Go.
func init() {
	codec.Register(codec.JP2, decodeJP2)
	codec.Register(codec.AVIF, decodeHEIF)
	codec.Register(codec.HEIC, decodeHEIF)
}

// decodeJP2 decodes a JPEG 2000 image.
func decodeJP2(data []byte, h codec.Header, img *raster.Image) error {
	x, err := jp2.Parse(data)
	if err != nil {
		return err
	}
	if err := x.CheckStream(); err != nil {
		return err
	}
	if err := img.Reset(x.Header); err != nil {
		return err
	}
	k := stillKind{codec: "MJ2C", op: h.Format.String(), pixels: pixelFormat(x.Channels, x.Depth)}
	if x.YCC {
		k.filter = "scale=in_color_matrix=bt601:in_range=full"
	}
	return k.decode(data, x.Width, x.Height, img.Limits, func(in io.Reader) error {
		return place{w: x.Width, h: x.Height}.rows(in, img, x.Channels, nil)
	})
}

// pixelFormat returns the name that ffmpeg has for samples of 8 or 16 bits.
func pixelFormat(channels, depth int) string {
	return pixelFormats[depth/8-1][channels-1]
}

// pixelFormats are the names, by the bytes of a sample and the channels.
var pixelFormats = [2][4]string{{"gray", "ya8", "rgb24", "rgba"}, {"gray16le", "ya16le", "rgb48le", "rgba64le"}}

// decodeHEIF decodes an image of AVIF or HEIC, and its alpha.
func decodeHEIF(data []byte, h codec.Header, img *raster.Image) error {
	x, err := heif.Parse(data)
	if err != nil {
		return err
	}
	if err := img.Reset(x.Header); err != nil {
		return err
	}
	colours := x.Channels
	var alpha *raster.Image
	if x.Alpha != nil {
		colours--
		alpha = &raster.Image{Limits: img.Limits}
		a := x.Header
		a.Channels = 1
		if err := alpha.Reset(a); err != nil {
			return err
		}
		if err := decodePlane(x.Alpha, x, 1, alpha, nil); err != nil {
			return err
		}
	}
	return decodePlane(&x.Plane, x, colours, img, alpha)
}

// matrices are the names that ffmpeg has for matrices of colours, by their numbers.
var matrices = map[int]string{1: "bt709", 2: "bt601", 4: "fcc", 5: "bt601", 6: "bt601", 7: "smpte240m", 9: "bt2020"}

// decodePlane decodes the tiles of a plane.
func decodePlane(p *heif.Plane, whole *heif.Image, channels int, img, alpha *raster.Image) error {
	k := stillKind{codec: "AV01", op: "avif", pixels: pixelFormat(channels, img.Depth)}
	if p.Codec == heif.HEVC {
		k.codec, k.op = "HEVC", "heic"
	}
	const identity = 0
	if p.Named && p.Matrix != identity {
		matrix, ok := matrices[p.Matrix]
		if !ok {
			return &errs.Error{Kind: errs.Unsupported, Op: k.op, Subject: "colours", Want: "BT.601, BT.709 or BT.2020",
				Got: "a matrix of number " + strconv.Itoa(p.Matrix), Remedy: "convert the file"}
		}
		k.filter = "scale=in_color_matrix=" + matrix + ":in_range=limited"
		if p.Full {
			k.filter = "scale=in_color_matrix=" + matrix + ":in_range=full"
		}
	}
	for i, tile := range p.Tiles {
		at := place{x: i%p.Columns*p.TileW - whole.X, y: i/p.Columns*p.TileH - whole.Y, w: p.TileW, h: p.TileH}
		err := k.decode(tile, p.TileW, p.TileH, img.Limits, func(in io.Reader) error {
			return at.rows(in, img, channels, alpha)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// place is where a tile lies in an image. Parts of it may lie outside.
type place struct{ x, y, w, h int }

// rows reads the pixels of a tile. alpha becomes the last channel, unless it is nil.
func (p place) rows(in io.Reader, img *raster.Image, channels int, alpha *raster.Image) error {
	size := img.Depth / 8
	line := make([]byte, p.w*channels*size)
	first, last := max(0, p.x), min(p.x+p.w, img.Width)
	for y := p.y; y < p.y+p.h; y++ {
		if _, err := io.ReadFull(in, line); err != nil {
			return err
		}
		if y < 0 || y >= img.Height || first >= last {
			continue
		}
		part := line[(first-p.x)*channels*size : (last-p.x)*channels*size]
		at, err := y*img.Width+first, error(nil)
		switch {
		case size == 2:
			err = img.Put16(y, first, 1, wide(img, part, channels, alpha, at))
		case alpha == nil:
			err = img.Put(y, first, 1, part)
		default:
			to := img.Row(last - first)
			beside(to, part, alpha.Pix[at:], channels)
			err = img.Put(y, first, 1, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wide returns samples of 16 bits, with their alpha from a pixel on.
func wide(img *raster.Image, b []byte, channels int, alpha *raster.Image, at int) []uint16 {
	to := img.Row16(len(b) / 2 / channels)
	rest := to
	for len(b) > 0 {
		for c := range channels {
			rest[c] = binary.LittleEndian.Uint16(b[2*c:])
		}
		b, rest = b[2*channels:], rest[channels:]
		if alpha != nil {
			rest[0] = alpha.Wide[at]
			rest, at = rest[1:], at+1
		}
	}
	return to
}

// beside writes pixels, each with its alpha.
func beside(to, colours, alpha []byte, channels int) {
	for i := 0; len(to) > 0; i++ {
		copy(to, colours[i*channels:(i+1)*channels])
		to[channels] = alpha[i]
		to = to[channels+1:]
	}
}
