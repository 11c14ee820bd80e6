package seekable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

const (
	zstdMagic     = 0xfd2fb528
	skippable     = 0x184d2a50 // the lowest 4 bits are free
	mostZstdFrame = MaxBlock + MaxBlock/8
	maxZstdBlock  = 128 << 10
)

// isZstd reports whether a file begins with a frame of zstd. A skippable frame may come first, but
// other formats have skippable frames, too.
func isZstd(head []byte, named bool) bool {
	for len(head) >= 8 {
		switch magic := binary.LittleEndian.Uint32(head); {
		case magic == zstdMagic:
			return true
		case magic&^0xf != skippable:
			return false
		}
		n := uint64(binary.LittleEndian.Uint32(head[4:])) + 8
		if n > uint64(len(head)) {
			return named
		}
		head = head[n:]
	}
	return named && len(head) == 0
}

// frame is the outline of a frame of zstd.
type frame struct {
	start, end int64 // in the file
	skip       bool  // it is skippable
	content    int64 // the most bytes that it decompresses to
}

// outliner reads the outlines of frames without their contents.
type outliner struct {
	r    io.ReaderAt
	size int64
	buf  []byte // of the file, from at on
	at   int64
}

// bytes returns n bytes of the file from at on, at most 64.
func (o *outliner) bytes(at int64, n int) ([]byte, error) {
	if at+int64(n) > o.size {
		return nil, corrupt(at, fmt.Sprintf("%d more bytes of a frame of zstd", n),
			fmt.Sprintf("the end after %d", max(0, o.size-at)))
	}
	if at < o.at || at+int64(n) > o.at+int64(len(o.buf)) {
		if o.buf == nil {
			o.buf = make([]byte, 64<<10)
		}
		b := o.buf[:min(int64(cap(o.buf)), o.size-at)]
		if got, err := o.r.ReadAt(b, at); got < len(b) {
			return nil, err
		}
		o.buf, o.at = b, at
	}
	from := at - o.at
	return o.buf[from : from+int64(n)], nil
}

// frame returns the outline of the frame at a place.
func (o *outliner) frame(at int64) (f frame, err error) {
	f.start = at
	b, err := o.bytes(at, int(min(8, o.size-at)))
	if err != nil {
		return f, err
	}
	if len(b) >= 8 && binary.LittleEndian.Uint32(b)&^0xf == skippable {
		f.skip, f.end = true, at+8+int64(binary.LittleEndian.Uint32(b[4:]))
		if f.end > o.size {
			return f, corrupt(at, fmt.Sprintf("a skippable frame within %d bytes", o.size),
				fmt.Sprintf("one that ends at %d", f.end))
		}
		return f, nil
	}
	if b, err = o.bytes(at, int(min(zstd.HeaderMaxSize, o.size-at))); err != nil {
		return f, err
	}
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return f, corrupt(at, "a frame of zstd", err.Error())
	}
	if h.DictionaryID != 0 {
		return f, &errs.Error{Kind: errs.Unsupported, Op: "seekable", Subject: fmt.Sprintf("byte %d", at),
			Want: "a frame of zstd without dictionary",
			Got:  fmt.Sprintf("one that needs dictionary %d", h.DictionaryID)}
	}
	f.end = at + int64(h.HeaderSize)
	for last := false; !last; {
		b, err := o.bytes(f.end, 3)
		if err != nil {
			return f, err
		}
		v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		last = v&1 != 0
		n := int64(v >> 3)
		f.end += 3
		switch v >> 1 & 3 {
		case 0:
			f.content += n
			f.end += n
		case 1:
			f.content += n
			f.end++
		case 2:
			f.content += maxZstdBlock
			f.end += n
		default:
			return f, corrupt(f.end-3, "a block of zstd", "a block of an unknown type")
		}
		if f.end > o.size {
			return f, corrupt(f.start, fmt.Sprintf("a frame of zstd within %d bytes", o.size),
				fmt.Sprintf("one that ends after %d", f.end))
		}
	}
	if h.HasCheckSum {
		f.end += 4
	}
	if f.end > o.size {
		return f, corrupt(f.start, fmt.Sprintf("a frame of zstd within %d bytes", o.size),
			fmt.Sprintf("one that ends at %d", f.end))
	}
	if h.HasFCS {
		if h.FrameContentSize > uint64(f.content) {
			return f, corrupt(f.start, fmt.Sprintf("contents of at most %d bytes", f.content), fmt.Sprint(h.FrameContentSize))
		}
		f.content = int64(h.FrameContentSize)
		if f.content > MaxBlock {
			return f, tooLarge(f)
		}
	}
	if f.end-f.start > mostZstdFrame {
		return f, tooLarge(f)
	}
	return f, nil
}

// tooLarge returns the error for a frame that cannot be decompressed at once.
func tooLarge(f frame) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "seekable", Subject: fmt.Sprintf("byte %d", f.start),
		Want: fmt.Sprintf("frames of zstd with at most %d bytes of contents", MaxBlock), Got: "a larger one: reading a record would decompress all of it",
		Remedy: "compress the file again in frames, for example with pzstd or the seekable format"}
}

// scanZstd cuts the contents of a file of zstd into blocks of at least spacing bytes.
func scanZstd(r io.ReaderAt, size, spacing int64, add func(Block) error) (content int64, err error) {
	o := &outliner{r: r, size: size}
	var b Block
	flush := func(end int64) error {
		if b.Size == 0 {
			b = Block{}
			return nil
		}
		b.Length = end - b.In/8
		content += b.Size
		done := b
		b = Block{}
		return add(done)
	}
	var raw, out []byte
	for at := int64(0); at < size; {
		f, err := o.frame(at)
		if err != nil {
			return 0, err
		}
		if f.skip {
			if err := flush(at); err != nil {
				return 0, err
			}
			at = f.end
			continue
		}
		if n := f.end - f.start; int64(cap(raw)) < n {
			raw = make([]byte, n)
		}
		raw = raw[:f.end-f.start]
		if n, err := r.ReadAt(raw, f.start); n < len(raw) {
			return 0, err
		}
		if out, err = zframe.Decode(out[:0], raw, int(min(f.content, MaxBlock))); err != nil {
			return 0, zstdError(f, err)
		}
		if b.Size > 0 && b.Size+int64(len(out)) > MaxBlock {
			if err := flush(at); err != nil {
				return 0, err
			}
		}
		if b.Size == 0 {
			b = Block{Out: content, In: 8 * f.start}
		}
		b.Size += int64(len(out))
		b.Sum = crc.Update(b.Sum, out)
		if at = f.end; b.Size >= spacing {
			if err := flush(at); err != nil {
				return 0, err
			}
		}
	}
	err = flush(size)
	return content, err
}

// zstdError returns the error for a frame that does not decompress.
func zstdError(f frame, err error) error {
	if errors.Is(err, zframe.ErrSize) {
		return tooLarge(f)
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "seekable", Subject: fmt.Sprintf("byte %d", f.start),
		Want: "a sound frame of zstd", Err: err}
}

// decodeZstd decompresses a block from its bytes in the file.
func decodeZstd(raw []byte, b *Block) ([]byte, error) {
	content, err := zframe.DecodeFrames(nil, raw, int(b.Size)) // takes what the outlines promise
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "seekable", Subject: fmt.Sprintf("byte %d", b.In/8),
			Want: fmt.Sprintf("frames of zstd with %d bytes of contents", b.Size), Err: err}
	}
	if int64(len(content)) != b.Size {
		return nil, corrupt(b.In/8, fmt.Sprintf("%d bytes of contents", b.Size), fmt.Sprint(len(content)))
	}
	return content, nil
}

// headOfZstd returns the first n bytes of the contents.
func headOfZstd(r io.ReaderAt, size, n int64) ([]byte, bool, error) {
	z, err := zstd.NewReader(io.NewSectionReader(r, 0, size), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*MaxBlock))
	if err != nil {
		return nil, false, errs.Wrap("seekable", "zstd", err)
	}
	defer z.Close()
	head, err := io.ReadAll(io.LimitReader(z, min(n, math.MaxInt64-1)+1))
	if err != nil && int64(len(head)) <= n {
		return nil, false, &errs.Error{Kind: errs.Corrupt, Op: "seekable", Want: "sound frames of zstd", Err: err}
	}
	if int64(len(head)) > n {
		return head[:n], false, nil
	}
	return head, true, nil
}

// AppendZstd appends b to dst as frames of zstd with at most size bytes of contents each, so that
// parts of b can be read alone.
func AppendZstd(dst, b []byte, size int) []byte {
	e := zframe.NewEncoder(0, true)
	for len(b) > 0 {
		n := min(size, len(b))
		dst, b = e.Append(dst, b[:n]), b[n:]
	}
	return dst
}
