package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The directory of a zip archive is read here, and not with archive/zip, because this package
// accepts what numpy accepts. numpy uses zipfile of Python: it wants the name of a member in both
// of its headers, and ignores counts of members, data descriptors, and a declared size that is too
// large. archive/zip writes archives.
//
//	+---------------------+---…---+-----------+-----------------------+
//	| local header, data  |       | directory | end of directory      |
//	+---------------------+---…---+-----------+-----------------------+
//	end:       "PK\5\6" 6 bytes, members u16, size u32, offset u32, comment
//	directory: "PK\1\2" … one entry a member
//
// All numbers are little-endian. An archive beyond 4 GiB has a second end in
// front of the first ("PK\6\6" …, and "PK\6\7" … to find it), and sizes and
// offsets of members in extra field 1.

const (
	endSize       = 22
	end64Size     = 56
	locator64Size = 20
	entrySize     = 46
	localSize     = 30
	maxComment    = 1<<16 - 1

	maxZipVersion = 63 // of what is needed to extract: 6.3

	flagEncrypted = 1 << 0
	flagPatched   = 1 << 5
	flagStrong    = 1 << 6
	flagUTF8      = 1 << 11

	methodStore   = 0
	methodDeflate = 8
)

var errZip = errors.New("not a zip archive, or a damaged one")

// zipEntry is a member as the directory has it.
type zipEntry struct {
	name         string // up to a NUL
	raw          string // as it is also in the local header
	flags        uint16
	method       uint16
	sum          uint32
	stored, size uint64
	offset       int64 // of the local header
}

// zipEntries reads the directory of the archive r of size bytes.
func zipEntries(r io.ReaderAt, size int64) ([]zipEntry, error) {
	end, err := findEnd(r, size)
	if err != nil {
		return nil, err
	}
	// Bytes before the archive shift all offsets.
	start := end.at - end.size
	if end.size < 0 || start < 0 {
		return nil, errZip
	}
	shift := start - end.offset
	dir := make([]byte, end.size)
	if err := readAll(r, dir, start); err != nil {
		return nil, err
	}
	var entries []zipEntry
	for len(dir) > 0 {
		e, n, err := parseEntry(dir)
		if err != nil {
			return nil, err
		}
		if e.offset += shift; e.offset > size {
			return nil, errZip
		}
		entries = append(entries, e)
		dir = dir[min(n, len(dir)):]
	}
	return entries, nil
}

// zipEnd is the record behind the directory; at is where it is.
type zipEnd struct{ at, size, offset int64 }

func findEnd(r io.ReaderAt, size int64) (zipEnd, error) {
	const signature = "PK\x05\x06"
	tail := make([]byte, min(size, endSize+maxComment))
	if err := readAll(r, tail, size-int64(len(tail))); err != nil {
		return zipEnd{}, err
	}
	if len(tail) < endSize {
		return zipEnd{}, errZip
	}
	at := len(tail) - endSize // as a rule there is no comment
	if string(tail[at:at+4]) != signature || tail[len(tail)-2] != 0 || tail[len(tail)-1] != 0 {
		at = bytes.LastIndex(tail, []byte(signature))
		if at < 0 || at+endSize > len(tail) {
			return zipEnd{}, errZip
		}
	}
	b := tail[at:]
	end := zipEnd{
		at:     size - int64(len(tail)) + int64(at),
		size:   int64(binary.LittleEndian.Uint32(b[12:])),
		offset: int64(binary.LittleEndian.Uint32(b[16:])),
	}
	var b64 [end64Size + locator64Size]byte
	if end.at < int64(len(b64)) {
		return end, nil
	}
	if err := readAll(r, b64[:], end.at-int64(len(b64))); err != nil {
		return zipEnd{}, err
	}
	locator := b64[end64Size:]
	switch {
	case string(locator[:4]) != "PK\x06\x07":
		return end, nil
	case binary.LittleEndian.Uint32(locator[4:]) != 0 || binary.LittleEndian.Uint32(locator[16:]) > 1:
		return zipEnd{}, errors.New("a zip archive in several files")
	case string(b64[:4]) != "PK\x06\x06":
		return end, nil
	}
	n, offset := binary.LittleEndian.Uint64(b64[40:]), binary.LittleEndian.Uint64(b64[48:])
	if n > math.MaxInt64 || offset > math.MaxInt64 {
		return zipEnd{}, errZip
	}
	return zipEnd{end.at - int64(len(b64)), int64(n), int64(offset)}, nil
}

func readAll(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errZip
	}
	return err
}

// parseEntry parses the entry at the start of dir and returns its length.
func parseEntry(dir []byte) (zipEntry, int, error) {
	if len(dir) < entrySize || string(dir[:4]) != "PK\x01\x02" {
		return zipEntry{}, 0, errZip
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(dir[at:])) }
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(dir[at:])) }
	if version := dir[6]; version > maxZipVersion {
		return zipEntry{}, 0, fmt.Errorf("version %d.%d of the zip format", version/10, version%10)
	}
	nameLength, extraLength := u16(28), u16(30)
	rest := dir[entrySize:]
	e := zipEntry{
		raw:   string(rest[:min(nameLength, len(rest))]),
		flags: uint16(u16(8)), method: uint16(u16(10)), sum: uint32(u32(16)),
		stored: u32(20), size: u32(24),
	}
	var err error
	if e.raw, err = zipName(e.raw, e.flags); err != nil {
		return zipEntry{}, 0, err
	}
	e.name, _, _ = strings.Cut(e.raw, "\x00")
	rest = rest[min(nameLength, len(rest)):]
	offset := u32(42)
	if err := parseExtra(rest[:min(extraLength, len(rest))], &e.size, &e.stored, &offset); err != nil {
		return zipEntry{}, 0, err
	}
	if offset > math.MaxInt64/2 {
		return zipEntry{}, 0, errZip
	}
	e.offset = int64(offset)
	return e, entrySize + nameLength + extraLength + u16(32), nil
}

// parseExtra takes from extra field 1 those values that did not fit into the
// entry.
func parseExtra(extra []byte, values ...*uint64) error {
	for len(extra) >= 4 {
		tag, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return errZip
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if tag != 1 {
			continue
		}
		for i, v := range values {
			if *v != math.MaxUint32 && (*v != math.MaxUint64 || i > 0) {
				continue
			}
			if len(field) < 8 {
				return errZip
			}
			*v = binary.LittleEndian.Uint64(field)
			field = field[8:]
		}
	}
	return nil
}

// data finds the bytes of a member behind its local header.
func (e *zipEntry) data(r io.ReaderAt) (io.Reader, error) {
	start, err := e.start(r)
	return io.NewSectionReader(r, start, int64(min(e.stored, math.MaxInt64))), err
}

// start is where the bytes of a member begin.
func (e *zipEntry) start(r io.ReaderAt) (int64, error) {
	var b [localSize]byte
	if e.offset < 0 {
		return 0, errZip
	}
	if err := readAll(r, b[:], e.offset); err != nil {
		return 0, err
	}
	if string(b[:4]) != "PK\x03\x04" {
		return 0, errZip
	}
	flags := binary.LittleEndian.Uint16(b[6:])
	if e.flags&(flagPatched|flagStrong|flagEncrypted) != 0 {
		return 0, unsupportedMember("an encrypted or patched member")
	}
	nameLength, extraLength := int64(binary.LittleEndian.Uint16(b[26:])), int64(binary.LittleEndian.Uint16(b[28:]))
	name := make([]byte, nameLength)
	if err := readAll(r, name, e.offset+localSize); err != nil {
		return 0, err
	}
	if text, err := zipName(string(name), flags); err != nil || text != e.raw {
		return 0, fmt.Errorf("its local header has the name %s", brief(text))
	}
	return e.offset + localSize + nameLength + extraLength, nil
}

// zipName decodes a name: UTF-8 where the flag says so, else code page 437.
func zipName(s string, flags uint16) (string, error) {
	if flags&flagUTF8 != 0 {
		if !utf8.ValidString(s) {
			return "", errors.New("a name that is not UTF-8")
		}
		return s, nil
	}
	if !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= utf8.RuneSelf }) {
		return s, nil
	}
	var out strings.Builder
	high := []rune(codePage437)
	for _, c := range []byte(s) {
		if c < utf8.RuneSelf {
			out.WriteByte(c)
		} else {
			out.WriteRune(high[c-utf8.RuneSelf])
		}
	}
	return out.String(), nil
}

// codePage437 are the characters 128 to 255 of the IBM PC.
const codePage437 = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
	"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0"
