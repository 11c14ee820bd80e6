// Package encode writes PNG files, byte for byte as package image/png of the standard library. It
// takes rows as they lie in memory, and reuses its memory.
package encode

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/bivouac-ml/bivouac/errs"
)

// Level says how much time is spent for a small file.
type Level int

// The levels, by the names of package zlib.
const (
	Default Level = zlib.DefaultCompression
	None    Level = zlib.NoCompression
	Fast    Level = zlib.BestSpeed
	Best    Level = zlib.BestCompression
)

// Encoder writes files. It reuses its memory; only one goroutine may use it. The zero value is
// ready.
type Encoder struct {
	chunks  chunks
	buffer  *bufio.Writer
	zlib    *zlib.Writer
	level   Level   // of zlib
	rows    filters // of one row
	current []byte
	before  []byte // the row before, or zeros
}

// chunks collects a file. What is written becomes chunks of pixels.
type chunks struct{ file []byte }

// Write implements io.Writer.
func (c *chunks) Write(b []byte) (int, error) {
	c.add("IDAT", b)
	return len(b), nil
}

func (c *chunks) add(name string, b []byte) {
	c.file = binary.BigEndian.AppendUint32(c.file, uint32(len(b)))
	from := len(c.file)
	c.file = append(append(c.file, name...), b...)
	c.file = binary.BigEndian.AppendUint32(c.file, crc32.ChecksumIEEE(c.file[from:]))
}

// pieceSize is the size of a chunk of pixels.
const pieceSize = 1 << 15

// mostPixels is the most pixels along an axis that the format can say.
const mostPixels = 1<<31 - 1

// Append appends the file of an image to dst. pixels holds rows from top to bottom. Pixels have 1
// (gray), 3 or 4 channels, of which the last of 4 is alpha, and samples have 8 or 16 bits, the low
// byte first. An alpha that is full is not written. Append fails with errs.Invalid for other
// channels and depths, for pixels of another size, and for images without pixels.
func (e *Encoder) Append(dst, pixels []byte, width, height, channels, depth int, l Level) ([]byte, error) {
	switch {
	case width < 1 || height < 1 || width > mostPixels || height > mostPixels:
		return dst, invalid(fmt.Sprintf("1 to %d rows and columns", mostPixels), fmt.Sprintf("%d and %d", height, width))
	case channels != 1 && channels != 3 && channels != 4:
		return dst, invalid("1, 3 or 4 channels", fmt.Sprint(channels))
	case depth != 8 && depth != 16:
		return dst, invalid("samples of 8 or 16 bits", fmt.Sprint(depth))
	case l < Default || l > Best:
		return dst, invalid(fmt.Sprintf("a level from %d to %d", Default, Best), fmt.Sprint(int(l)))
	}
	size := depth / 8
	stride := width * channels * size
	if len(pixels) != stride*height {
		return dst, invalid(fmt.Sprintf("%d bytes of pixels", stride*height), fmt.Sprint(len(pixels)))
	}
	kept := channels // of a file
	if channels == 4 && opaque(pixels, size) {
		kept = 3
	}
	e.chunks.file = append(dst, "\x89PNG\r\n\x1a\n"...)
	head := append(make([]byte, 0, 16), 0, 0, 0, 0, 0, 0, 0, 0, byte(depth), [5]byte{1: 0, 3: 2, 4: 6}[kept], 0, 0, 0)
	binary.BigEndian.PutUint32(head, uint32(width))
	binary.BigEndian.PutUint32(head[4:], uint32(height))
	e.chunks.add("IHDR", head)
	if err := e.reset(width*kept*size, l); err != nil {
		return dst, err
	}
	for y := range height {
		e.current, e.before = e.before, e.current
		take(e.current, pixels[y*stride:(y+1)*stride], channels, kept, size)
		row := e.rows.best(e.current, e.before, kept*size, l == None)
		if _, err := e.zlib.Write(row); err != nil {
			return dst, err
		}
	}
	if err := e.zlib.Close(); err != nil {
		return dst, err
	}
	if err := e.buffer.Flush(); err != nil {
		return dst, err
	}
	e.chunks.add("IEND", nil)
	file := e.chunks.file
	e.chunks.file = nil
	return file, nil
}

// reset makes room for rows of n bytes, and a compressor ready.
func (e *Encoder) reset(n int, l Level) (err error) {
	if e.buffer == nil {
		e.buffer = bufio.NewWriterSize(&e.chunks, pieceSize)
	}
	e.buffer.Reset(&e.chunks)
	if e.zlib == nil || e.level != l {
		if e.zlib, err = zlib.NewWriterLevel(e.buffer, int(l)); err != nil {
			return err
		}
		e.level = l
	}
	e.zlib.Reset(e.buffer)
	if cap(e.current) < n || cap(e.before) < n {
		e.current, e.before = make([]byte, n), make([]byte, n)
	}
	e.current, e.before = e.current[:n], e.before[:n]
	clear(e.current) // it is the row before the first
	e.rows.reset(n)
	return nil
}

// opaque reports whether the alpha of all pixels is full.
func opaque(pixels []byte, size int) bool {
	for i := 3 * size; i < len(pixels); i += 4 * size {
		if pixels[i] != 255 || pixels[i+size-1] != 255 {
			return false
		}
	}
	return true
}

// take writes a row as it lies in a file: without the channels that are not kept, and with the high
// byte of each sample first.
func take(to, row []byte, channels, kept, size int) {
	if size == 1 {
		if kept == channels {
			copy(to, row)
			return
		}
		for i := 0; i < len(to); i += 3 {
			copy(to[i:i+3], row[i/3*4:])
		}
		return
	}
	for from := 0; len(to) > 0; from += 2 * channels {
		for c := 0; c < 2*kept; c += 2 {
			to[c], to[c+1] = row[from+c+1], row[from+c]
		}
		to = to[2*kept:]
	}
}

func invalid(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "png.encode", Subject: "image", Want: want, Got: got}
}
