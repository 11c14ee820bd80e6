package video

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

const (
	webpHead  = 12
	webpFrame = 16 // bytes of the header of a frame
)

// uint24 reads a number of three bytes.
func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// readWebP makes the index of a WebP file. A still image is a video of one frame.
func readWebP(r *readerAt, o Options) (*Index, error) {
	x := &Index{Kind: WebP, Codec: "webp", num: 1, den: 1000}
	time := int64(0)
	err := r.chunks(webpHead, r.size, func(c chunk) (bool, error) {
		b, err := r.bytes(c.offset, min(c.size, webpFrame))
		if err != nil {
			return false, err
		}
		switch {
		case c.name == "VP8X" && len(b) >= 10:
			x.Width, x.Height = 1+uint24(b[4:]), 1+uint24(b[7:])
		case c.name == "ANMF" && len(b) >= webpFrame:
			err = x.add(part{c.offset, c.size}, time, o)
			time += int64(uint24(b[12:]))
		}
		return true, err
	})
	if err != nil || len(x.parts) > 0 {
		return x, err
	}
	all, err := r.bytes(0, r.size)
	if err != nil {
		return nil, err
	}
	h, err := codec.ReadHeader(all)
	if err != nil {
		return nil, err
	}
	x.Width, x.Height = h.Width, h.Height
	return x, x.add(part{0, r.size}, 0, o)
}

// drawWebP draws a frame. The canvas begins transparent, as in libwebp.
func (c *canvas) drawWebP(m *images, data []byte) error {
	v := m.video
	c.clear = [4]byte{}
	if string(data[:4]) == "RIFF" {
		c.begin(v, area{})
		return c.drawPicture(m, data, area{w: v.Width, h: v.Height}, false)
	}
	if len(data) < webpFrame {
		return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: fmt.Sprintf("a frame of at least %d bytes", webpFrame),
			Got: fmt.Sprint(len(data))}
	}
	const dispose, overwrite = 1, 2
	a := area{x: 2 * uint24(data), y: 2 * uint24(data[3:]), w: 1 + uint24(data[6:]), h: 1 + uint24(data[9:])}
	if err := a.check(v); err != nil {
		return err
	}
	if data[15]&dispose != 0 {
		a.action = clearArea
	}
	c.begin(v, a)
	return c.drawPicture(m, stillWebP(a, data[webpFrame:]), a, data[15]&overwrite == 0)
}

// stillWebP makes a file of the chunks of one frame.
func stillWebP(a area, chunks []byte) []byte {
	le := binary.LittleEndian
	file := append([]byte("RIFF\x00\x00\x00\x00WEBP"), make([]byte, 0, len(chunks)+18)...)
	if len(chunks) >= 4 && string(chunks[:4]) == "ALPH" {
		const alpha = 0x10
		w, h := a.w-1, a.h-1
		file = append(file, "VP8X\x0a\x00\x00\x00"...)
		file = append(file, alpha, 0, 0, 0, byte(w), byte(w>>8), byte(w>>16), byte(h), byte(h>>8), byte(h>>16))
	}
	file = append(file, chunks...)
	le.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// drawPicture draws an image on a part of the canvas: on top of what is there, or in its place.
func (c *canvas) drawPicture(m *images, file []byte, a area, blend bool) error {
	h, err := codec.ReadHeader(file)
	if err != nil {
		return err
	}
	size := a.w * a.h * h.Channels
	if cap(c.work) < size {
		c.work = make([]byte, size)
	}
	pixels := c.work[:size]
	if err := m.picture(pixels, file, a.w, a.h, raster.Any); err != nil {
		return err
	}
	for y := range a.h {
		row := c.pixels[4*((a.y+y)*m.video.Width+a.x):][:4*a.w]
		from := pixels[y*a.w*h.Channels:][:a.w*h.Channels]
		for x := range a.w {
			over(row[4*x:4*x+4], from[x*h.Channels:(x+1)*h.Channels], blend)
		}
	}
	return nil
}

// over puts a colour on a pixel of the canvas. With blend it is mixed with the pixel as its alpha
// says.
func over(dst, src []byte, blend bool) {
	const opaque = 255
	alpha := uint32(opaque)
	if len(src) == 4 {
		alpha = uint32(src[3])
	}
	if blend && alpha == 0 {
		return
	}
	if blend && alpha < opaque {
		behind := uint32(dst[3]) * (opaque - alpha)
		all := alpha*opaque + behind // of 255²
		for i := range 3 {
			dst[i] = byte((uint32(src[i])*alpha*opaque + uint32(dst[i])*behind + all/2) / all)
		}
		dst[3] = byte((all + opaque/2) / opaque)
		return
	}
	copy(dst, src[:3])
	dst[3] = byte(alpha)
}
