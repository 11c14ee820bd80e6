package seekable

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

const (
	gzipMagic  = "\x1f\x8b\x08" // with the number of deflate
	mostHeader = 1 << 20        // of the bytes of a header
	inputChunk = 256 << 10
	maxRatio   = 1032 // the most bytes that deflate makes of one
)

// The flags of the header of a member.
const (
	flagSum     = 1 << 1
	flagExtra   = 1 << 2
	flagName    = 1 << 3
	flagComment = 1 << 4
	flagsOther  = 0xe0
)

func corrupt(at int64, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "seekable", Subject: fmt.Sprintf("byte %d", at), Want: want, Got: got}
}

// explain returns the error of the inflater as an error about a file.
func (z *inflater) explain(err error) error {
	switch {
	case errors.Is(err, errDeflate):
		return corrupt(z.at()/8, "a block of deflate", "something else")
	case errors.Is(err, errEnd):
		return corrupt(z.at()/8, "the rest of a member of gzip", "the end")
	case errors.Is(err, errLarge):
		return &errs.Error{Kind: errs.Unsupported, Op: "seekable", Subject: fmt.Sprintf("byte %d", z.at()/8),
			Want: fmt.Sprintf("blocks of deflate of at most %d bytes",
				MaxBlock), Got: "a larger one", Remedy: "compress the file again"}
	}
	return err
}

// header skips the header of a member.
func (z *inflater) header() error {
	sum, n := uint32(0), 0
	next := func() (byte, error) {
		v, err := z.take(8)
		if n++; n > mostHeader && err == nil {
			err = errDeflate
		}
		sum = crc32.Update(sum, crc32.IEEETable, []byte{byte(v)})
		return byte(v), err
	}
	skip := func(n int) error {
		for range n {
			if _, err := next(); err != nil {
				return err
			}
		}
		return nil
	}
	var head [10]byte
	for i := range head {
		b, err := next()
		if err != nil {
			return err
		}
		head[i] = b
	}
	flags := head[3]
	if string(head[:3]) != gzipMagic || flags&flagsOther != 0 {
		return corrupt(z.at()/8-int64(len(head)), "the header of a member of gzip", fmt.Sprintf("% x", head[:4]))
	}
	if flags&flagExtra != 0 {
		low, err := next()
		if err != nil {
			return err
		}
		high, err := next()
		if err == nil {
			err = skip(int(high)<<8 | int(low))
		}
		if err != nil {
			return err
		}
	}
	for _, text := range []byte{flagName, flagComment} {
		for b := byte(1); flags&text != 0 && b != 0; {
			var err error
			if b, err = next(); err != nil {
				return err
			}
		}
	}
	if flags&flagSum != 0 {
		want := sum & 0xffff
		got, err := z.take(16)
		if err != nil {
			return err
		}
		if got != want {
			return corrupt(z.at()/8, fmt.Sprintf("a header with checksum %04x", got), fmt.Sprintf("%04x", want))
		}
	}
	return nil
}

// scanGzip cuts the contents of a file of gzip into blocks of at least spacing bytes.
func scanGzip(r io.ReaderAt, size, spacing int64, add func(Block) error) (int64, error) {
	z := &inflater{r: io.NewSectionReader(r, 0, size), in: make([]byte, 0, inputChunk)}
	start := Block{Header: true} // of the block at hand
	from := 0                    // where its contents begin in buf
	sum, member, summed := uint32(0), int64(0), 0
	content := int64(0)
	// cut ends a block at the current place.
	cut := func(header bool) error {
		body := z.buf[from:]
		if len(body) > 0 {
			start.Out, start.Size, start.Sum = content, int64(len(body)), crc.Sum(body)
			start.Length = (z.at()+7)/8 - start.In/8
			content += start.Size
			if err := add(start); err != nil {
				return err
			}
		}
		start = Block{In: z.at(), Header: header}
		window := z.buf[max(z.first, len(z.buf)-windowSize):]
		if header {
			window = nil
		}
		start.Window = append([]byte(nil), window...)
		z.buf = append(z.buf[:0], window...)
		z.first, from, summed = 0, len(window), len(window)
		return nil
	}
	for {
		if err := z.header(); err != nil {
			return 0, z.explain(err)
		}
		z.first, sum, member, summed = len(z.buf), 0, 0, len(z.buf)
		for final := false; !final; {
			var err error
			if final, err = z.block(from + MaxBlock); err != nil {
				return 0, z.explain(err)
			}
			sum = crc32.Update(sum, crc32.IEEETable, z.buf[summed:])
			member += int64(len(z.buf) - summed)
			summed = len(z.buf)
			if !final && int64(len(z.buf)-from) >= spacing {
				if err := cut(false); err != nil {
					return 0, err
				}
			}
		}
		z.align()
		wantSum, err := z.take(32)
		if err != nil {
			return 0, z.explain(err)
		}
		wantSize, err := z.take(32)
		if err != nil {
			return 0, z.explain(err)
		}
		if wantSum != sum || wantSize != uint32(member) {
			return 0, corrupt(z.at()/8-8, fmt.Sprintf("a member of CRC-32 %08x and %d bytes (modulo 2^32)", wantSum, wantSize),
				fmt.Sprintf("%08x and %d bytes", sum, member))
		}
		end, err := z.padding()
		if err != nil {
			return 0, z.explain(err)
		}
		if end || int64(len(z.buf)-from) >= spacing {
			if err := cut(true); err != nil {
				return 0, err
			}
		}
		if end {
			return content, nil
		}
	}
}

// padding skips zeros to the end of the input, and reports whether it is there.
func (z *inflater) padding() (end bool, err error) {
	zeros := false
	for {
		if z.nbits < 8 {
			if z.refill(); z.nbits < 8 {
				if err := z.ended(); !errors.Is(err, errEnd) {
					return false, err
				}
				return true, nil
			}
		}
		if z.bits&0xff != 0 {
			if zeros {
				return false, corrupt(z.at()/8, "zeros up to the end after the last member", fmt.Sprintf("%02x", z.bits&0xff))
			}
			return false, nil
		}
		zeros = true
		z.bits >>= 8
		z.nbits -= 8
	}
}

// decodeGzip decompresses a block from its bytes in the file.
func decodeGzip(raw []byte, b *Block) ([]byte, error) {
	if most := (b.Length + 1) * maxRatio; b.Size > most {
		return nil, corrupt(b.In/8, fmt.Sprintf("at most %d bytes of contents in %d bytes", most, b.Length),
			fmt.Sprint(b.Size))
	}
	size := len(b.Window) + int(b.Size)
	z := &inflater{in: raw, base: b.In / 8, buf: append(make([]byte, 0, size+2*slack), b.Window...)}
	if _, err := z.take(uint(b.In % 8)); err != nil {
		return nil, z.explain(err)
	}
	if b.Header {
		if err := z.header(); err != nil {
			return nil, z.explain(err)
		}
	}
	for len(z.buf) < size {
		final, err := z.block(size)
		if err != nil {
			return nil, z.explain(err)
		}
		if !final || len(z.buf) == size {
			continue
		}
		z.align()
		for range 2 { // the checksum of the member, of which this may be only a part
			if _, err := z.take(32); err != nil {
				return nil, z.explain(err)
			}
		}
		if err := z.header(); err != nil {
			return nil, z.explain(err)
		}
		z.first = len(z.buf)
	}
	return z.buf[len(b.Window):size:size], nil
}

// isGzip reports whether a file may begin with a member of gzip: the header is sound, and so is as
// much of the member as head has.
func isGzip(head []byte) bool {
	if len(head) < 18 || string(head[:3]) != gzipMagic || head[3]&flagsOther != 0 {
		return false
	}
	z := &inflater{in: head}
	err := z.header()
	for final := false; err == nil && !final; {
		final, err = z.block(MaxBlock)
	}
	return err == nil || errors.Is(err, errEnd)
}

// headOfGzip returns the first n bytes of the contents.
func headOfGzip(r io.ReaderAt, size, n int64) ([]byte, bool, error) {
	z := &inflater{r: io.NewSectionReader(r, 0, size), in: make([]byte, 0, inputChunk)}
	for {
		if err := z.header(); err != nil {
			return nil, false, z.explain(err)
		}
		z.first = len(z.buf)
		for final := false; !final; {
			var err error
			if final, err = z.block(int(n) + MaxBlock); err != nil {
				return nil, false, z.explain(err)
			}
			if int64(len(z.buf)) > n {
				return z.buf[:n], false, nil
			}
		}
		z.align()
		for range 2 {
			if _, err := z.take(32); err != nil {
				return nil, false, z.explain(err)
			}
		}
		if end, err := z.padding(); end || err != nil {
			return z.buf, true, z.explain(err)
		}
	}
}
