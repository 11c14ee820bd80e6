package seekable

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

const (
	// MaxBlock is the largest block: the memory that one random access takes.
	MaxBlock = 64 << 20
	// Spacing is how many bytes of contents a block has at least, if more follow.
	Spacing = 1 << 20
)

// Kind is a kind of compression.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	Gzip
	Zstd
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return "unknown"
}

// Block is a part of a file that can be decompressed alone.
type Block struct {
	Out, Size int64 // the place and the number of its bytes in the contents
	In        int64 // where it begins in the file, in bits
	Length    int64 // bytes of the file that it takes, from In/8 on
	Header    bool  // of gzip: it begins with the header of a member
	Sum       uint32
	Window    []byte // of gzip: the contents before that it may refer to, or nil
}

// suffixes are the ends of names of compressed files.
var suffixes = map[string]Kind{".gz": Gzip, ".gzip": Gzip, ".tgz": Gzip, ".zst": Zstd, ".zstd": Zstd, ".tzst": Zstd}

// HeadSize is how much of a file Detect wants.
const HeadSize = 4096

// Detect returns how a file is compressed. head is its first HeadSize bytes, or all of it. A file
// of another format that begins like one of gzip by chance is told apart by what follows, unless
// its name ends with .gz.
func Detect(name string, head []byte) Kind {
	named := None
	for end, kind := range suffixes {
		if strings.HasSuffix(strings.ToLower(name), end) {
			named = kind
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)) && (named == Gzip || isGzip(head)):
		return Gzip
	case isZstd(head, named == Zstd):
		return Zstd
	}
	return None
}

// Plain returns a name without the end that says how the file is compressed: "a.jsonl" for
// "a.jsonl.gz", and "a.tar" for "a.tgz".
func Plain(name string) string {
	for _, end := range []string{".tgz", ".tzst"} {
		if n := len(name) - len(end); n >= 0 && strings.EqualFold(name[n:], end) {
			return name[:n] + ".tar"
		}
	}
	for end := range suffixes {
		if n := len(name) - len(end); n >= 0 && strings.EqualFold(name[n:], end) {
			return name[:n]
		}
	}
	return name
}

// Scan cuts a file of size bytes into blocks and returns the size of its contents. It decompresses
// the whole file and verifies it. An error of add ends it.
func Scan(k Kind, r io.ReaderAt, size int64, add func(Block) error) (content int64, err error) {
	return scan(k, r, size, Spacing, add)
}

func scan(k Kind, r io.ReaderAt, size, spacing int64, add func(Block) error) (content int64, err error) {
	switch k {
	case Gzip:
		return scanGzip(r, size, spacing, add)
	case Zstd:
		return scanZstd(r, size, spacing, add)
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "seekable.Scan", Want: "gzip or zstd", Got: k.String()}
}

// Head returns the first n bytes of the contents of a file. whole reports that there are no more.
func Head(k Kind, r io.ReaderAt, size, n int64) (head []byte, whole bool, err error) {
	switch k {
	case Gzip:
		return headOfGzip(r, size, n)
	case Zstd:
		return headOfZstd(r, size, n)
	}
	return nil, false, &errs.Error{Kind: errs.Invalid, Op: "seekable.Head", Want: "gzip or zstd", Got: k.String()}
}

// Decode returns the contents of a block. raw is its bytes in the file.
func Decode(k Kind, raw []byte, b *Block) (content []byte, err error) {
	if b.Size < 0 || b.Size > MaxBlock || len(b.Window) > windowSize || int64(len(raw)) != b.Length {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "seekable.Decode",
			Want: fmt.Sprintf("a block of at most %d bytes and its %d bytes in the file", MaxBlock, b.Length),
			Got:  fmt.Sprintf("%d, %d in the file", b.Size, len(raw))}
	}
	switch k {
	case Gzip:
		content, err = decodeGzip(raw, b)
	case Zstd:
		content, err = decodeZstd(raw, b)
	default:
		err = &errs.Error{Kind: errs.Invalid, Op: "seekable.Decode", Want: "gzip or zstd", Got: k.String()}
	}
	if err != nil {
		return nil, err
	}
	if got := crc.Sum(content); got != b.Sum {
		return nil, corrupt(b.In/8, fmt.Sprintf("a block of %d bytes with checksum %08x", b.Size, b.Sum),
			fmt.Sprintf("%08x", got))
	}
	return content, nil
}

// PackWindow returns a window in little space. UnpackWindow returns what was packed.
func PackWindow(window []byte) []byte {
	if len(window) == 0 {
		return nil
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression) // the level is valid
	w.Write(window)                                       //nolint:errcheck // a Buffer takes everything
	w.Close()                                             //nolint:errcheck // a Buffer takes everything
	return b.Bytes()
}

// UnpackWindow returns the window that PackWindow packed.
func UnpackWindow(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	window, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), windowSize+1))
	if err == nil && len(window) > windowSize {
		err = errors.New("a window of more than 32 KiB")
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "seekable", Subject: "window", Err: err}
	}
	return window, nil
}
