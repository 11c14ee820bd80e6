package video

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// chunk is a chunk of a RIFF file.
type chunk struct {
	name         string
	offset, size int64 // of its body
	end          int64 // of what can be in its body
}

// chunks calls each with the chunks between two offsets. It stops when each returns false, or at
// the end of the file. A body may lie beyond the end.
func (r *readerAt) chunks(from, to int64, each func(c chunk) (bool, error)) error {
	const head = 8
	for from+head <= min(to, r.size) {
		b, err := r.bytes(from, head)
		if err != nil {
			return err
		}
		c := chunk{name: string(b[:4]), offset: from + head, size: int64(binary.LittleEndian.Uint32(b[4:]))}
		c.end = min(c.offset+c.size, to) // what is in a chunk lies in it
		more, err := each(c)
		if err != nil || !more {
			return err
		}
		from = c.offset + c.size + c.size&1
	}
	return nil
}

// aviStream is what the header of an AVI file says about its first stream of pictures.
type aviStream struct {
	number        int // of the stream, or -1
	streams       int
	rate, scale   int64
	width, height int
	codec         string
}

// readAVI makes the index of an AVI file of JPEG images. It returns nil for other files.
func readAVI(r *readerAt, o Options) (*Index, error) {
	s := aviStream{number: -1}
	x := &Index{Kind: MotionJPEG, Codec: "mjpeg"}
	ticks := int64(0)
	err := r.chunks(0, r.size, func(riff chunk) (bool, error) {
		if riff.name != "RIFF" {
			return false, nil
		}
		return true, r.chunks(riff.offset+4, riff.end, func(list chunk) (bool, error) {
			if list.name != "LIST" {
				return true, nil
			}
			kind, err := r.bytes(list.offset, 4)
			if err != nil {
				return false, err
			}
			switch string(kind) {
			case "hdrl":
				return true, s.readHeader(r, list.offset+4, list.end)
			case "movi":
				if !s.isJPEG() {
					return false, nil
				}
				end := list.end
				if list.size <= 4 { // the program that wrote the file was killed
					end = r.size
				}
				return true, s.readFrames(r, x, list.offset+4, end, &ticks, o)
			}
			return true, nil
		})
	})
	if err != nil || !s.isJPEG() || len(x.parts) == 0 {
		return nil, err
	}
	x.Width, x.Height, x.num, x.den = s.width, s.height, s.scale, s.rate
	first, err := r.bytes(x.parts[0].offset, x.parts[0].size)
	if err != nil {
		return nil, err
	}
	// Frames of two fields, and others that are no plain images, are for ffmpeg.
	if h, err := codec.ReadHeader(first); err != nil || h.Width != x.Width || h.Height != x.Height || h.Channels == 4 {
		return nil, nil
	}
	return x, nil
}

func (s *aviStream) isJPEG() bool {
	switch strings.ToUpper(s.codec) {
	case "MJPG", "JPEG":
		return s.number >= 0 && s.number < 100 && s.rate > 0 && s.scale > 0 && s.width > 0 && s.height > 0
	}
	return false
}

// readHeader reads the headers of the streams.
func (s *aviStream) readHeader(r *readerAt, from, to int64) error {
	return r.chunks(from, to, func(list chunk) (bool, error) {
		if list.name != "LIST" {
			return true, nil
		}
		kind, err := r.bytes(list.offset, 4)
		if err != nil || string(kind) != "strl" {
			return true, err
		}
		number := s.streams
		s.streams++
		if s.number >= 0 {
			return true, nil
		}
		return true, r.chunks(list.offset+4, list.end, func(c chunk) (bool, error) {
			const size = 40
			b, err := r.bytes(c.offset, min(c.size, size))
			if err != nil {
				return false, err
			}
			le := binary.LittleEndian
			switch {
			case c.name == "strh" && len(b) >= 28 && string(b[:4]) == "vids":
				s.number, s.scale, s.rate = number, int64(le.Uint32(b[20:])), int64(le.Uint32(b[24:]))
			case c.name == "strf" && len(b) >= 20 && s.number == number:
				s.width, s.height = int(int32(le.Uint32(b[4:]))), int(int32(le.Uint32(b[8:])))
				if s.height < 0 {
					s.height = -s.height
				}
				s.codec = string(b[16:20])
			}
			return true, nil
		})
	})
}

// readFrames reads where the frames are.
func (s *aviStream) readFrames(r *readerAt, x *Index, from, to int64, ticks *int64, o Options) error {
	stream := string([]byte{'0' + byte(s.number/10), '0' + byte(s.number%10)})
	return r.chunks(from, to, func(c chunk) (bool, error) {
		if c.name == "LIST" { // a group of chunks, "rec "
			return true, s.readFrames(r, x, c.offset+4, c.end, ticks, o)
		}
		if c.name != stream+"dc" && c.name != stream+"db" {
			return true, nil
		}
		*ticks++
		if c.size == 0 { // the frame before it is shown for longer
			return true, nil
		}
		return true, x.add(part{c.offset, c.size}, *ticks-1, o)
	})
}

// readJPEGs makes the index of JPEG images that follow each other in a file. They are shown at 25
// frames a second, as ffmpeg does.
func readJPEGs(r *readerAt, o Options) (*Index, error) {
	const rate = 25
	x := &Index{Kind: MotionJPEG, Codec: "mjpeg", num: 1, den: rate}
	in := io.NewSectionReader(r, 0, r.size)
	if err := eachJPEG(in, func(p part) error { return x.add(p, int64(len(x.parts)), o) }); err != nil {
		return nil, err
	}
	if len(x.parts) == 0 {
		return nil, nil
	}
	first, err := r.bytes(x.parts[0].offset, x.parts[0].size)
	if err != nil {
		return nil, err
	}
	h, err := codec.ReadHeader(first)
	if err != nil {
		return nil, err
	}
	x.Width, x.Height = h.Width, h.Height
	return x, nil
}

// decodeJPEG decodes a JPEG image. An image without tables of codes has those that the standard
// gives as examples, as is usual in AVI.
func (m *images) decodeJPEG(frame int, dst []byte) error {
	data, err := m.part(frame)
	if err != nil {
		return err
	}
	if !hasTables(data) && len(data) > 2 {
		if m.tables == nil {
			if m.tables, err = standardTables(); err != nil {
				return err
			}
		}
		data = append(append(append(make([]byte, 0, len(data)+len(m.tables)), data[:2]...), m.tables...), data[2:]...)
	}
	return m.picture(dst, data, m.video.Width, m.video.Height, raster.RGB)
}

// Markers of JPEG.
const (
	markTables = 0xc4
	markStart  = 0xd8
	markEnd    = 0xd9
	markScan   = 0xda
)

// hasTables reports whether an image has a table of codes before its first scan.
func hasTables(data []byte) bool {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		switch data[at+1] {
		case markTables:
			return true
		case markScan:
			return false
		case 0xff:
			at++
			continue
		}
		at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	}
	return true // damaged, which the decoder says better
}

// standardTables returns the segments with the tables of the standard, which the encoder of Go
// uses.
func standardTables() ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 8, 8), image.YCbCrSubsampleRatio444), nil); err != nil {
		return nil, err
	}
	var out []byte
	for data := b.Bytes()[2:]; len(data) > 4 && data[1] != markScan; {
		n := 2 + int(binary.BigEndian.Uint16(data[2:]))
		if data[1] == markTables {
			out = append(out, data[:n]...)
		}
		data = data[n:]
	}
	if out == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: opName, Got: "an encoder of JPEG without tables"}
	}
	return out, nil
}
