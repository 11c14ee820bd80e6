package tfrecord

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Compression is how a whole file is compressed.
type Compression uint8

// The methods of compression.
const (
	Uncompressed Compression = iota
	Gzip
	Zlib
)

// String returns the name of the method, such as "gzip".
func (c Compression) String() string {
	return enum.Name(c, []string{"no method", "gzip", "zlib"}, "unknown")
}

// DetectCompression returns how the file that begins with head is compressed. A header of a record
// with a right checksum is not compressed, even if it looks like another.
func DetectCompression(head []byte) Compression {
	if len(head) >= HeaderSize {
		if _, err := lengthOf(head); err == nil {
			return Uncompressed
		}
	}
	switch {
	case len(head) < 2:
	case head[0] == 0x1f && head[1] == 0x8b:
		return Gzip
	case head[0]&0xf == 8 && head[0]>>4 < 8 && head[1]&0x20 == 0 && binary.BigEndian.Uint16(head)%31 == 0:
		return Zlib
	}
	return Uncompressed
}

// Detect reports whether a file that begins with head, its first few KiB, is a TFRecord file. It
// looks into a compressed file. An empty file could be of any format.
func Detect(head []byte) bool {
	r, _, err := decompressed(bytes.NewReader(head))
	if err != nil {
		return false
	}
	var header [HeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return false
	}
	_, err = lengthOf(header[:])
	return err == nil
}

// decompressed returns the records of a file.
func decompressed(r io.Reader) (io.Reader, Compression, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(HeaderSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	c := DetectCompression(head)
	var out io.Reader = b
	switch err = nil; c {
	case Gzip:
		out, err = gzip.NewReader(b)
	case Zlib:
		out, err = zlib.NewReader(b)
	}
	return out, c, err
}

// Reader reads the records of a file one after the other. It is not safe for concurrent use.
type Reader struct {
	r           io.Reader
	compression Compression
	header      [HeaderSize]byte
	payload     bytes.Buffer
	n, offset   int64
	err         error
}

// NewReader returns a reader of a file, which may be compressed. Fails with errs.Corrupt for a
// damaged head of a compressed file.
func NewReader(r io.Reader) (*Reader, error) {
	in, c, err := decompressed(r)
	if err != nil {
		return nil, (&Reader{compression: c}).damaged(err)
	}
	return &Reader{r: in, compression: c}, nil
}

// Compression returns how the file is compressed.
func (r *Reader) Compression() Compression { return r.compression }

// Next returns the payload of the next record, which is valid until the next call. It returns
// io.EOF after the last record. A wrong checksum, a file that ends within a record, and damaged
// compression are errors of kind errs.Corrupt that name the record and its offset, among the
// decompressed bytes. After an error every call returns it.
func (r *Reader) Next() ([]byte, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.payload.Bytes(), nil
}

func (r *Reader) next() error {
	n, err := io.ReadFull(r.r, r.header[:])
	if errors.Is(err, io.EOF) && n == 0 {
		return io.EOF
	}
	fail := func(err error) error { return errs.Wrap("", place(r.n, r.offset), err) }
	if errors.Is(err, io.ErrUnexpectedEOF) && r.compression == Uncompressed {
		_, err = recordLength(r.header[:n], 0)
	}
	if err != nil {
		return fail(r.damaged(err))
	}
	length, err := lengthOf(r.header[:])
	if err != nil {
		return fail(err)
	}
	r.payload.Reset() // it grows with what is there, not with what the header says
	var footer [FooterSize]byte
	got, err := r.payload.ReadFrom(io.LimitReader(r.r, int64(min(length, 1<<62))))
	if err == nil && uint64(got) == length {
		_, err = io.ReadFull(r.r, footer[:])
	} else if err == nil {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = corrupt(fmt.Sprintf("a payload of %d bytes and its checksum", length),
			fmt.Sprintf("%d bytes: the file was cut", got))
	}
	if err != nil {
		return fail(r.damaged(err))
	}
	if err := checkPayload(r.payload.Bytes(), binary.LittleEndian.Uint32(footer[:])); err != nil {
		return fail(err)
	}
	r.n, r.offset = r.n+1, r.offset+int64(length)+framing
	return nil
}

// damaged returns an error of the decompression with its kind.
func (r *Reader) damaged(err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return err
	}
	if r.compression == Uncompressed {
		return &errs.Error{Kind: errs.IO, Err: err}
	}
	return &errs.Error{Kind: errs.Corrupt, Want: "data compressed with " + r.compression.String(), Got: err.Error()}
}
