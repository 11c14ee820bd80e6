package tarball

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Block is the size of headers. Data is filled up to a multiple of it.
const Block = 512

// maxExtension is the largest size of the data of a header that extends another.
const maxExtension = 1 << 20

// Member describes a member of an archive.
type Member struct {
	Name   string // the path as the archive has it; a folder's has no slash at its end
	Link   string // where a link leads
	Type   byte   // the flag of tar: '0' a file, '1' a link, '2' a symbolic link, '5' a folder, …
	Sparse bool   // the data is not the contents: a sparse file of GNU tar
	Size   int64  // bytes of data
	Header int64  // offset of its first header
	Data   int64  // offset of its data
}

// Regular reports whether the member is a file whose data is its contents.
func (m *Member) Regular() bool {
	return (m.Type == '0' || m.Type == 0 || m.Type == '7') && !m.Sparse
}

// Outside reports whether name or link lead out of the folder that an archive is unpacked in: they
// are absolute, or have more ".." than folders before them.
func (m *Member) Outside() bool {
	if leadsOut(m.Name, 0) {
		return true
	}
	depth := 0
	if m.Type == '2' { // relative to the folder of the link
		depth = strings.Count(strings.Trim(m.Name, "/"), "/")
	}
	return m.Link != "" && leadsOut(m.Link, depth)
}

// leadsOut reports whether a path from a folder at the given depth leads above depth 0.
func leadsOut(path string, depth int) bool {
	if strings.HasPrefix(path, "/") {
		return true
	}
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// Options say how an archive is read. The zero value is strict.
type Options struct {
	// Lenient lets a header that is damaged or cut end the archive, as in Python's tarfile. The
	// first header must be whole, and the data of every member must be there.
	Lenient bool
}

// Scan calls visit for each member of an archive of size bytes, in their order, and returns the
// error of visit if it has one. An archive that is damaged is an error of kind errs.Corrupt that
// names member and offset, after the members before it. A compressed archive is errs.Unsupported.
func Scan(r io.ReaderAt, size int64, o Options, visit func(Member) error) error {
	s := scanner{window: window{r: r, size: size}}
	for ; ; s.number++ {
		m, err := s.next()
		switch {
		case err == io.EOF || err != nil && o.Lenient && s.quiet && s.at > 0:
			return nil
		case err != nil:
			return err
		}
		if err := visit(m); err != nil {
			return err
		}
	}
}

// scanner goes through an archive.
type scanner struct {
	window window
	at     int64 // offset of the next header
	number int   // of the next member
	quiet  bool  // the last error is one for which Lenient ends the archive
}

// extended is what headers before a header say.
type extended struct {
	name, link string
	size       int64 // -1: they do not say it
	sparse     bool
	any        bool
}

// next returns the next member, or io.EOF.
func (s *scanner) next() (Member, error) {
	if s.at == s.window.size && s.at > 0 {
		return Member{}, io.EOF
	}
	first := s.at
	more := extended{size: -1}
	for {
		at := s.at
		b, err := s.header(at, !more.any)
		if err != nil {
			return Member{}, err
		}
		size, ok := number(b[124:136])
		if s.quiet = false; !ok || size < 0 {
			s.quiet = !more.any
			return Member{}, s.fail(at, "the size of a member in octal or base 256", fmt.Sprintf("%q", b[124:136]))
		}
		data := at + Block
		switch b[156] {
		case 'L', 'K', 'x', 'X', 'g':
			more.any = true
			if err := s.extend(&more, b[156], data, size); err != nil {
				return Member{}, err
			}
			s.at = data + padded(size)
			continue
		}
		m := describe(b, &more)
		if m.Type == 'S' && b[482] != 0 {
			if data, err = s.sparseMap(data); err != nil {
				return Member{}, err
			}
		}
		m.Size, m.Header, m.Data = size, first, data
		if more.size >= 0 {
			m.Size = more.size
		}
		if !hasData(m.Type) {
			m.Size = 0
		}
		if rest := s.window.size - data; m.Size > rest || padded(m.Size) > rest {
			return Member{}, s.fail(at, fmt.Sprintf("%d bytes of data of %s", m.Size, quoted(m.Name)),
				fmt.Sprintf("an archive that ends after %d", rest))
		}
		s.at = data + padded(m.Size)
		s.window.passed(s.at - first)
		return m, nil
	}
}

// header returns the header at an offset, or io.EOF at the end of the archive. own says that it is
// the first header of a member.
func (s *scanner) header(at int64, own bool) ([]byte, error) {
	s.quiet = own
	if rest := s.window.size - at; rest < Block {
		if at == 0 && rest > 0 {
			b := make([]byte, rest)
			if err := s.window.fill(b, 0); err != nil {
				return nil, err
			}
			if err := compressed(b); err != nil {
				return nil, err
			}
		}
		if rest <= 0 && !own {
			return nil, s.fail(at, "the header that the one before it extends", "the end of the archive")
		}
		return nil, s.fail(at, "a header of 512 bytes",
			fmt.Sprintf("%d bytes up to the end of the archive", max(0, rest)))
	}
	b, err := s.window.read(at)
	if err != nil {
		s.quiet = false
		return nil, err
	}
	if b[0] == 0 && allZero(b) {
		if !own {
			s.quiet = false
			return nil, s.fail(at, "the header that the one before it extends", "the end of the archive")
		}
		return nil, io.EOF
	}
	sum, ok := number(b[148:156])
	unsigned := checksum(b)
	if !ok || sum != unsigned && sum != signedChecksum(b) {
		if at == 0 {
			if err := compressed(b); err != nil {
				return nil, err
			}
		}
		return nil, s.fail(at, fmt.Sprintf("a header with the checksum %d", unsigned),
			fmt.Sprintf("%q", bytes.TrimRight(b[148:156], "\x00 ")))
	}
	return b, nil
}

// fail returns an error about the bytes at an offset.
func (s *scanner) fail(at int64, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "tar", Subject: fmt.Sprintf("member %d, offset %d", s.number, at),
		Want: want, Got: got,
		Remedy: "the archive was cut or damaged: copy or write it again"}
}

// quoted quotes the beginning of a name.
func quoted(name string) string { return strconv.Quote(name[:min(len(name), 200)]) }

// padded returns the size of data with what fills its last block. It does not overflow.
func padded(n int64) int64 {
	if n > math.MaxInt64-Block {
		return math.MaxInt64
	}
	return (n + Block - 1) &^ (Block - 1)
}

// hasData reports whether members of a type have data, as Python's tarfile takes it: all have, also
// members of unknown types, but links, devices, folders and pipes.
func hasData(kind byte) bool { return kind < '1' || kind > '6' }

// describe returns name, link and type of the header b.
func describe(b []byte, more *extended) Member {
	m := Member{Name: text(b[:100]), Link: text(b[157:257]), Type: b[156], Sparse: more.sparse || b[156] == 'S'}
	if prefix := text(b[345:500]); prefix != "" && string(b[257:263]) == "ustar\x00" {
		m.Name = prefix + "/" + m.Name
	}
	if more.name != "" {
		m.Name = more.name
	}
	if more.link != "" {
		m.Link = more.link
	}
	if m.Type != '1' && m.Type != '2' {
		m.Link = ""
	}
	if m.Type == 0 && strings.HasSuffix(m.Name, "/") { // before POSIX folders had no type
		m.Type = '5'
	}
	if m.Type == '5' {
		m.Name = strings.TrimRight(m.Name, "/")
	}
	return m
}

// text returns a field that a zero byte ends.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// number reads a field in octal, or in base 256 if its first byte is 0x80 or 0xff. An empty field
// is 0.
func number(b []byte) (int64, bool) {
	if b[0] == 0x80 || b[0] == 0xff {
		var v int64
		if b[0] == 0xff {
			v = -1
		}
		for _, c := range b[1:] {
			if v > math.MaxInt64>>8 || v < math.MinInt64>>8 {
				return 0, false
			}
			v = v<<8 | int64(c)
		}
		return v, true
	}
	digits := bytes.Trim(b, " \x00")
	if i := bytes.IndexByte(digits, 0); i >= 0 {
		digits = bytes.TrimRight(digits[:i], " ")
	}
	var v int64
	for _, c := range digits {
		if c < '0' || c > '7' || v > math.MaxInt64>>3 {
			return 0, false
		}
		v = v<<3 | int64(c-'0')
	}
	return v, true
}

// checksum returns the checksum of a header. Its own field counts as blanks.
func checksum(b []byte) int64 {
	sum := 8 * int(' ')
	for _, c := range b[:148] {
		sum += int(c)
	}
	for _, c := range b[156:Block] {
		sum += int(c)
	}
	return int64(sum)
}

// signedChecksum returns the checksum of old programs, for which bytes have a sign.
func signedChecksum(b []byte) int64 {
	sum := checksum(b)
	for i, c := range b[:Block] {
		if c > 127 && (i < 148 || i >= 156) {
			sum -= 256
		}
	}
	return sum
}

func allZero(b []byte) bool {
	for _, c := range b[:Block] {
		if c != 0 {
			return false
		}
	}
	return true
}

// compressed returns an error if b is the beginning of a file that a program compressed.
func compressed(b []byte) error {
	for _, c := range []struct{ magic, name string }{
		{"\x1f\x8b", "gzip"}, {"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"}, {"\x28\xb5\x2f\xfd",
			"zstd"}, {"\x04\x22\x4d\x18", "lz4"},
	} {
		if bytes.HasPrefix(b, []byte(c.magic)) {
			return &errs.Error{Kind: errs.Unsupported, Op: "tar", Want: "an archive that is not compressed",
				Got:    "one that " + c.name + " compressed",
				Remedy: "decompress it: members are read where they lie"}
		}
	}
	return nil
}
