package video

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	gifHead     = 13 // bytes before the tables of colours
	gifTable    = 0x80
	gifImage    = 0x2c
	gifBlock    = 0x21
	gifEnd      = 0x3b
	gifControl  = 0xf9
	gifDelay    = 10 // hundredths of a second, for frames that say less than 2
	gifLeastSay = 2
)

// gifTableSize returns the bytes of the table of colours that flags announce.
func gifTableSize(flags byte) int64 {
	if flags&gifTable == 0 {
		return 0
	}
	return 3 * int64(2<<(flags&7))
}

// readGIF makes the index of a GIF file: each frame begins with its control block, if it has one.
func readGIF(r *readerAt, o Options) (*Index, error) {
	head, err := r.bytes(0, gifHead)
	if err != nil {
		return nil, err
	}
	if len(head) < gifHead {
		return nil, cutGIF(int64(len(head)))
	}
	x := &Index{Kind: GIF, Codec: "gif", num: 1, den: 100,
		Width: int(binary.LittleEndian.Uint16(head[6:])), Height: int(binary.LittleEndian.Uint16(head[8:]))}
	at := gifHead + gifTableSize(head[10])
	start, time, delay := at, int64(0), int64(gifDelay)
	for {
		const most = 10
		b, err := r.bytes(at, most)
		if err != nil && at <= r.size {
			return nil, err
		}
		if len(b) == 0 || b[0] == gifEnd || b[0] != gifImage && b[0] != gifBlock {
			return x, nil // what follows is no part of the video
		}
		control := b[0] == gifBlock && len(b) > 7 && b[1] == gifControl
		picture := b[0] == gifImage && len(b) == most
		switch {
		case control:
			start = at
			if delay = int64(binary.LittleEndian.Uint16(b[4:])); delay < gifLeastSay {
				delay = gifDelay
			}
			at += 2
		case picture:
			at += most + gifTableSize(b[9]) + 1
		default:
			at += 2
		}
		if at, err = skipGIF(r, at); err != nil {
			return nil, err
		}
		if picture {
			if err := x.add(part{start, at - start}, time, o); err != nil {
				return nil, err
			}
			start, time, delay = at, time+delay, gifDelay
		}
	}
}

// skipGIF returns the offset behind a sequence of sub-blocks. If the file is cut, it is an offset
// behind the end of the file.
func skipGIF(r *readerAt, at int64) (int64, error) {
	for {
		if at >= r.size {
			return r.size + 1, nil
		}
		b, err := r.bytes(at, 1)
		if err != nil {
			return 0, err
		}
		at += 1 + int64(b[0])
		if b[0] == 0 {
			return at, nil
		}
	}
}

func cutGIF(size int64) error {
	return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: "a whole GIF file", Got: fmt.Sprintf("%d bytes", size)}
}

// drawGIF draws a frame. The canvas begins with the background colour, as in package codec/gif.
func (c *canvas) drawGIF(m *images, data []byte) error {
	v := m.video
	head, err := m.file.bytes(0, gifHead)
	if err != nil {
		return err
	}
	table := gifTableSize(head[10])
	if head, err = m.file.bytes(0, gifHead+table); err != nil {
		return err
	}
	if int64(len(head)) < gifHead+table {
		return cutGIF(int64(len(head)))
	}
	c.clear = [4]byte{3: 255}
	if at := gifHead + 3*int(head[11]); at+3 <= len(head) {
		copy(c.clear[:3], head[at:])
	}
	action := keepArea
	if len(data) > 4 && data[0] == gifBlock && data[1] == gifControl {
		switch data[3] >> 2 & 7 {
		case 2:
			action = clearArea
		case 3:
			action = restoreArea
		}
	}
	file := append(append(append(make([]byte, 0, len(head)+len(data)+1), head...), data...), gifEnd)
	decoded, err := gif.Decode(v.options.Limits.Reader(file))
	if late := v.options.Limits.Interrupted(); late != nil {
		return late
	}
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: opName, Got: "a frame that is no GIF image", Err: err}
	}
	p, ok := decoded.(*image.Paletted)
	if !ok {
		return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: "a frame with a table of colours",
			Got: fmt.Sprintf("%T", decoded)}
	}
	a := area{p.Rect.Min.X, p.Rect.Min.Y, p.Rect.Dx(), p.Rect.Dy(), action}
	if err := a.check(v); err != nil {
		return err
	}
	c.begin(v, a)
	var colors [256][4]byte
	for i, color := range p.Palette {
		r, g, b, alpha := color.RGBA()
		if alpha != 0 {
			colors[i] = [4]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8), 255}
		}
	}
	for y := range a.h {
		row := c.pixels[4*((a.y+y)*v.Width+a.x):][:4*a.w]
		for x, i := range p.Pix[y*p.Stride:][:a.w] {
			if color := &colors[i]; color[3] != 0 {
				copy(row[4*x:4*x+4], color[:])
			}
		}
	}
	return nil
}
