package video

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// readerAt reads a file or memory of a known size.
type readerAt struct {
	io.ReaderAt
	size int64
	file *os.File // nil for memory
}

// open opens the bytes of the video.
func (s *source) open() (readerAt, error) {
	if s.path == "" {
		return readerAt{bytes.NewReader(s.data), int64(len(s.data)), nil}, nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return readerAt{}, openError(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &errs.Error{Kind: errs.Invalid, Op: opName, Want: "a file", Got: info.Mode().Type().String()}
	}
	if err != nil {
		f.Close() //nolint:errcheck // the other error is returned
		return readerAt{}, err
	}
	return readerAt{f, info.Size(), f}, nil
}

// openError returns an error of the system with its kind. The caller adds the path.
func openError(err error) error {
	kind := errs.IO
	switch {
	case errors.Is(err, os.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, os.ErrPermission):
		kind = errs.Permission
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: kind, Op: opName, Err: err}
}

func (r *readerAt) close() {
	if r.file != nil {
		r.file.Close() //nolint:errcheck // nothing was written
	}
}

// bytes returns n bytes from an offset on. They end early at the end of the file.
func (r *readerAt) bytes(offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset > r.size {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, min(n, r.size-offset))
	got, err := r.ReadAt(b, offset)
	if got == len(b) {
		err = nil
	}
	return b[:got], err
}

// readImages makes the index of a video that is decoded in Go. It returns nil for other videos.
func readImages(s *source, o Options) (*Index, error) {
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	const magic = 12
	head, err := r.bytes(0, magic)
	if err != nil {
		return nil, openError(err)
	}
	if r.size == 0 {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: opName, Want: "a video", Got: "an empty file"}
	}
	var x *Index
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) == magic && string(head[8:]) == "AVI ":
		x, err = readAVI(&r, o)
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) == magic && string(head[8:]) == "WEBP":
		x, err = readWebP(&r, o)
	case bytes.HasPrefix(head, []byte("GIF8")):
		x, err = readGIF(&r, o)
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		x, err = readJPEGs(&r, o)
	}
	if x == nil || err != nil {
		return nil, err
	}
	if len(x.times) == 0 {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: opName, Want: "at least one frame", Got: "none"}
	}
	return x, o.Limits.CheckPixels(opName, x.Width, x.Height)
}

// add adds a frame. It fails when there are too many.
func (x *Index) add(p part, ticks int64, o Options) error {
	if len(x.times) >= o.MaxFrames {
		return tooManyFrames(o)
	}
	x.times, x.parts = append(x.times, ticks), append(x.parts, p)
	return nil
}

func tooManyFrames(o Options) error {
	return &errs.Error{Kind: errs.Exhausted, Op: opName, Want: fmt.Sprintf("at most %d frames", o.MaxFrames),
		Got: "more", Remedy: "raise MaxFrames if the file is sound"}
}

// images decodes frames in Go.
type images struct {
	video  *Video
	file   *readerAt // open, or nil
	codec  codec.Decoder
	tables []byte // the tables of JPEG frames that have none
	canvas canvas // of animations
}

func (m *images) decode(ctx context.Context, frame int, dst []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.file == nil {
		r, err := m.video.source.open()
		if err != nil {
			return err
		}
		m.file = &r
	}
	if m.video.Kind == MotionJPEG {
		return m.decodeJPEG(frame, dst)
	}
	return m.canvas.show(ctx, m, frame, dst)
}

func (m *images) close() {
	if m.file != nil {
		m.file.close()
	}
}

// part returns the bytes of a frame.
func (m *images) part(frame int) ([]byte, error) {
	p := m.video.parts[frame]
	b, err := m.file.bytes(p.offset, p.size)
	if err == nil && int64(len(b)) < p.size {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: opName, Want: fmt.Sprintf("%d bytes of the frame", p.size),
			Got: fmt.Sprintf("%d, and then the end of the file", len(b))}
	}
	return b, err
}

// picture decodes an image of a known size to RGB, or to RGB with alpha.
func (m *images) picture(dst, data []byte, width, height int, color raster.Color) error {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return err
	}
	if h.Width != width || h.Height != height {
		return &errs.Error{Kind: errs.Mismatch, Op: opName, Want: fmt.Sprintf("%d x %d pixels", width, height),
			Got: fmt.Sprintf("%d x %d", h.Width, h.Height), Remedy: "the size must not change within a video"}
	}
	return m.codec.Decode(dst, data, h, codec.Output{Color: color, Limits: m.video.options.Limits})
}

// canvas is what the frames of an animation are drawn on, one after the other.
type canvas struct {
	next   int    // the frame that is drawn next
	pixels []byte // RGB with alpha
	// undo is the part of the canvas that is cleared or restored before the next frame.
	undo  area
	saved []byte // the pixels before the last frame, if they are restored
	clear [4]byte
	work  []byte
}

// area is a part of the canvas, and what is done with it when the next frame comes.
type area struct {
	x, y, w, h int
	action     disposal
}

type disposal uint8

const (
	keepArea disposal = iota
	clearArea
	restoreArea
)

// show draws up to a frame and copies the canvas. Going back means to begin anew.
func (c *canvas) show(ctx context.Context, m *images, frame int, dst []byte) error {
	v := m.video
	size := v.Width * v.Height * 4
	if c.pixels == nil || c.next > frame+1 {
		if err := v.options.Limits.CheckBytes(opName, "the canvas", 3*int64(size)); err != nil {
			return err
		}
		if c.pixels == nil {
			c.pixels = make([]byte, size)
		}
		c.next, c.undo = 0, area{}
	}
	for c.next <= frame {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := m.part(c.next)
		if err == nil && v.Kind == GIF {
			err = c.drawGIF(m, data)
		} else if err == nil {
			err = c.drawWebP(m, data)
		}
		if err != nil {
			c.pixels = nil // what was drawn of the frame is not shown
			return err
		}
		c.next++
	}
	for i, o := 0, 0; i < size; i, o = i+4, o+3 {
		copy(dst[o:o+3], c.pixels[i:i+3])
	}
	return nil
}

// begin clears the canvas before the first frame, and undoes the last frame before others.
func (c *canvas) begin(v *Video, next area) {
	if c.next == 0 {
		c.fill(v, area{w: v.Width, h: v.Height})
	} else {
		switch c.undo.action {
		case clearArea:
			c.fill(v, c.undo)
		case restoreArea:
			copy(c.pixels, c.saved)
		}
	}
	if next.action == restoreArea {
		c.saved = append(c.saved[:0], c.pixels...)
	}
	c.undo = next
}

func (c *canvas) fill(v *Video, a area) {
	for y := a.y; y < a.y+a.h; y++ {
		row := c.pixels[4*(y*v.Width+a.x):][:4*a.w]
		for i := 0; i < len(row); i += 4 {
			copy(row[i:i+4], c.clear[:])
		}
	}
}

// check returns an error unless an area lies on the canvas.
func (a area) check(v *Video) error {
	if a.w < 1 || a.h < 1 || a.x < 0 || a.y < 0 || a.x > v.Width-a.w || a.y > v.Height-a.h {
		return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: fmt.Sprintf("a part of %d x %d pixels", v.Width, v.Height),
			Got: fmt.Sprintf("%d x %d pixels from %d, %d on", a.w, a.h, a.x, a.y)}
	}
	return nil
}
