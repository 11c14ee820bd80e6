package tiff

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/bits"

	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Kinds of compression.
const (
	compressionNone       = 1
	compressionG3         = 3
	compressionG4         = 4
	compressionLZW        = 5
	compressionJPEG       = 7
	compressionDeflate    = 8
	compressionPackBits   = 32773
	compressionDeflateOld = 32946
)

// unpacker decompresses strips and tiles, and reuses its memory.
type unpacker struct {
	out    []byte
	stream []byte
	jpeg   jpeg.Decoder
	limits raster.Limits
	zlib   io.ReadCloser // nil until it is needed
}

// unpack returns the rows of a strip or tile of w x h pixels with n samples each. A row has pitch
// bytes. The rows stay valid until the next call.
func (u *unpacker) unpack(f *file, packed []byte, w, h, n, pitch int) ([]byte, error) {
	size := pitch * h
	const lowestFirst = 2
	if f.fillOrder == lowestFirst && f.compression != compressionJPEG {
		packed = u.reverse(packed)
	}
	switch f.compression {
	case compressionNone:
		if len(packed) < size {
			return nil, corrupt(fmt.Sprintf("%d bytes", size), fmt.Sprint(len(packed)))
		}
		return packed[:size], nil
	case compressionLZW:
		r := lzw.NewReader(bytes.NewReader(packed), lzw.MSB, 8)
		defer r.Close()
		return u.read(r, size)
	case compressionDeflate, compressionDeflateOld:
		if err := u.inflate(packed); err != nil {
			return nil, unpackError(err)
		}
		return u.read(u.zlib, size)
	case compressionPackBits:
		return u.packBits(packed, size)
	case compressionG3, compressionG4:
		return u.fax(f, packed, w, h, size)
	case compressionJPEG:
		return u.decodeJPEG(f, packed, w, h, n)
	}
	return nil, raster.Unsupported("tiff", fmt.Sprintf("compression %d", f.compression))
}

// inflate begins to read Deflate data. The reader and its memory are reused.
func (u *unpacker) inflate(packed []byte) (err error) {
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(bytes.NewReader(packed))
		return err
	}
	return u.zlib.(zlib.Resetter).Reset(bytes.NewReader(packed), nil)
}

func unpackError(err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "tiff", Got: "Failed to decode", Err: err}
}

func (u *unpacker) read(r io.Reader, size int) ([]byte, error) {
	u.out = raster.Grow(u.out, size)
	if _, err := io.ReadFull(r, u.out); err != nil {
		return nil, unpackError(err)
	}
	return u.out, nil
}

// packBits undoes Apple's run lengths.
func (u *unpacker) packBits(p []byte, size int) ([]byte, error) {
	u.out = raster.Grow(u.out, size)[:0]
	for len(u.out) < size {
		if len(p) < 2 {
			return nil, corrupt(fmt.Sprintf("%d bytes", size), fmt.Sprint(len(u.out)))
		}
		n := int(int8(p[0]))
		switch {
		case n >= 0:
			n++
			if len(p) < 1+n {
				return nil, corrupt(fmt.Sprintf("%d literal bytes", n), fmt.Sprint(len(p)-1))
			}
			u.out = append(u.out, p[1:1+n]...)
			p = p[1+n:]
		case n == -128:
			p = p[1:]
		default:
			for range 1 - n {
				u.out = append(u.out, p[1])
			}
			p = p[2:]
		}
	}
	return u.out[:size], nil
}

// fax undoes the compression of bilevel images, whose white runs are zeros.
func (u *unpacker) fax(f *file, packed []byte, w, h, size int) ([]byte, error) {
	const twoDimensional = 1
	if f.bits != 1 || f.samples != 1 || f.compression == compressionG3 && f.t4&twoDimensional != 0 {
		return nil, raster.Unsupported("tiff", "two-dimensional fax compression of group 3, or fax compression of an image that is not bilevel")
	}
	mode := ccitt.Group3
	if f.compression == compressionG4 {
		mode = ccitt.Group4
	}
	r := ccitt.NewReader(bytes.NewReader(packed), ccitt.MSB, mode, w, h, nil)
	out, err := u.read(r, size)
	for i := range out {
		out[i] = ^out[i]
	}
	return out, err
}

// decodeJPEG decodes a strip or tile that is a JPEG stream without its tables. The file, not the
// stream, says which colours its components have.
func (u *unpacker) decodeJPEG(f *file, packed []byte, w, h, n int) ([]byte, error) {
	const startOfImage, endOfImage = "\xff\xd8", "\xff\xd9"
	if !bytes.HasPrefix(packed, []byte(startOfImage)) {
		return nil, corrupt("a JPEG stream", "other bytes")
	}
	if f.photometric == separated || n > 3 || n == 2 {
		return nil, raster.Unsupported("tiff", fmt.Sprintf("JPEG of %d samples", n))
	}
	u.stream = append(u.stream[:0], startOfImage...)
	if n == 3 {
		transform := byte(1)
		if f.photometric == rgb {
			transform = 0
		}
		u.stream = append(u.stream, "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"...)
		u.stream = append(u.stream, transform)
	}
	if t, ok := bytes.CutPrefix(f.tables, []byte(startOfImage)); ok {
		u.stream = append(u.stream, bytes.TrimSuffix(t, []byte(endOfImage))...)
	}
	u.stream = append(u.stream, packed[len(startOfImage):]...)
	header, err := jpeg.ReadHeader(u.stream)
	if err != nil {
		return nil, err
	}
	if header.Width != w || header.Height < h || header.Components != n {
		return nil, corrupt(fmt.Sprintf("a JPEG of %dx%d, %d components", w, h, n),
			fmt.Sprintf("%dx%d, %d", header.Width, header.Height, header.Components))
	}
	format := jpeg.RGB
	if n == 1 {
		format = jpeg.Gray
	}
	if err := u.limits.CheckBytes("tiff", "a strip or tile", int64(header.Width)*int64(header.Height)*int64(n)); err != nil {
		return nil, err
	}
	u.out = raster.Grow(u.out, header.Width*header.Height*n)
	err = u.jpeg.Decode(u.out, u.stream, header, jpeg.Options{Format: format, Limits: u.limits})
	return u.out[:w*h*n], err
}

// reverse reverses the bits of bytes that are filled from the lowest bit on.
func (u *unpacker) reverse(packed []byte) []byte {
	u.stream = raster.Grow(u.stream, len(packed))
	for i, b := range packed {
		u.stream[i] = bits.Reverse8(b)
	}
	return u.stream
}
