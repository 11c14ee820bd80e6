// Package manifest is the document that binds the bytes of a checkpoint to
// their places: bivouac.manifest at its root.
//
// Orbax ignores the file. It is written last, so a checkpoint with a manifest is complete. With the
// manifest a reader detects a flipped bit in any file, a file that is missing, truncated or
// foreign, and a valid chunk in the wrong place.
//
// It is text, one record a line, fields separated by one space; names are Go
// quoted strings; checksums are CRC-32C in eight hexadecimal digits:
//
//	bivouac.manifest <version>
//	file <crc> <size> "<name>" [<hash> <age>] [<run> …]  one for each file but this, sorted by name
//	leaf <crc> <size> "<item>" "<param>" [<crc> …]       one for each array that no nodes cover, sorted by item and name
//	label "<label>"                                      if there is one, see Manifest.Label
//	head <crc> <size> "<name>"                           of the first size bytes of a file, which are a document
//	nodes <crc> <size> "<name>" <hash>                   of the last size bytes of a data file, which are the nodes of a database
//	end <crc>                                            of every byte before this line
//	signed <crc> <signature>                             if it is signed, see Sign
//
// The checksum of a leaf covers its bytes in C order, little-endian. The trailing checksums cover
// its sub-chunks in C order of their grid, which spans all chunks of the array together. If
// sub-chunks end in a crc32c codec behind "bytes", each trailing checksum is the codec's checksum,
// over the decoded bytes with their padding; else it covers the decoded bytes inside of the array.
// A leaf stored as a single sub-chunk has no trailing checksum, as the leaf's own says the same. A
// leaf of several sub-chunks without trailing checksums can be checked only as a whole.
//
// Version 1 has no hashes; in version 2 a file may have one. A document without hashes is written
// as version 1, so that earlier readers can read it. The hash is 128 bits in 32 hexadecimal digits,
// and never all zero. The writer decides how it is computed. Files of equal size with equal hashes
// hold the same bytes, so a later save may link the file instead of writing it. The checksum does
// not show that: over bytes that end with their own CRC-32C, as the zarr codec writes them, it is
// always the same. The age is how many saves have linked the file since its bytes were last written
// or read back, in decimal digits.
//
// In version 3, the version of signed documents, each file has its runs, see Run:
// "<size>:<digest>", the digest in unpadded standard base64. Lower versions have no label.
//
// Version 4 has the nodes of databases, with their XXH3 of 128 bits, because each node ends with
// its own CRC-32C. An array whose elements lie unencoded as one value in such nodes, like a number,
// needs no record: the hash of the nodes binds each value to its key. So a tree of very many small
// arrays has a document of a few lines. A reader takes the value of an array without a record only
// from such nodes.
package manifest

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"sort"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/bivouac-ml/bivouac/errs"
)

// Name of the file, at the root of a checkpoint.
const Name = "bivouac.manifest"

// headers of the versions: without hashes, with, with runs, with nodes.
const (
	headerPlain  = "bivouac.manifest 1\n"
	headerHashed = "bivouac.manifest 2\n"
	headerRuns   = "bivouac.manifest 3\n"
	headerNodes  = "bivouac.manifest 4\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Manifest lists files and arrays with their checksums.
type Manifest struct {
	Files  []File
	Leaves []Leaf
	Heads  []File // beginnings of files
	// Label says as what a signed checkpoint was saved, such as "step 12", so that another checkpoint
	// of the same signer cannot replace it; "" is no label.
	Label string
	Nodes []File // ends of files, with their HashOf

	files, leaves, heads, nodes index // of a document that was parsed

	signature []byte // nil without a signature
	signed    []byte // the bytes that were signed
}

// File is one file, by its name below the checkpoint.
type File struct {
	Name string
	Size int64
	CRC  uint32
	Hash Hash  // zero if it was not computed
	Age  int   // saves that linked the file since its bytes were written or read back; only with a Hash
	Runs []Run // all runs of the file, in order; nil without a signature
}

// Hash distinguishes contents of the same size. The zero Hash means no hash.
type Hash [16]byte

// HashOf returns the Hash of bytes in one piece: XXH3 of 128 bits.
func HashOf(b []byte) Hash { return xxh3.Hash128(b).Bytes() }

// Leaf is one array of one item.
type Leaf struct {
	Item, Param string
	Size        int64 // bytes of the array, decoded
	CRC         uint32
	Chunks      []uint32 // at least two, or nil for at most one sub-chunk
}

// Chunk returns the checksum of sub-chunk i; ok is false if there is no such sub-chunk.
func (l Leaf) Chunk(i int) (uint32, bool) {
	if len(l.Chunks) == 0 {
		return l.CRC, i == 0
	}
	if i < 0 || i >= len(l.Chunks) {
		return 0, false
	}
	return l.Chunks[i], true
}

// Add records a file by its content.
func (m *Manifest) Add(name string, content []byte) {
	m.Files = append(m.Files, File{Name: name, Size: int64(len(content)), CRC: crc32.Checksum(content, castagnoli)})
}

// Append sorts the records and appends the document.
func (m *Manifest) Append(dst []byte) []byte {
	sort.Slice(m.Files, func(i, j int) bool { return m.Files[i].Name < m.Files[j].Name })
	sort.Slice(m.Leaves, func(i, j int) bool {
		a, b := m.Leaves[i], m.Leaves[j]
		if a.Item != b.Item {
			return a.Item < b.Item
		}
		return a.Param < b.Param
	})
	start := len(dst)
	dst = append(dst, m.header()...)
	for _, f := range m.Files {
		dst = append(dst, "file "...)
		dst = appendCRC(dst, f.CRC)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, f.Size, 10)
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, f.Name)
		if f.Hash != (Hash{}) {
			dst = hex.AppendEncode(append(dst, ' '), f.Hash[:])
			dst = strconv.AppendInt(append(dst, ' '), int64(f.Age), 10)
		}
		dst = append(appendRuns(dst, f.Runs), '\n')
	}
	for _, l := range m.Leaves {
		dst = append(dst, "leaf "...)
		dst = appendCRC(dst, l.CRC)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, l.Size, 10)
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, l.Item)
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, l.Param)
		for _, c := range l.Chunks {
			dst = append(dst, ' ')
			dst = appendCRC(dst, c)
		}
		dst = append(dst, '\n')
	}
	for _, h := range m.Heads {
		dst = append(appendPart(dst, "head ", h), '\n')
	}
	for _, n := range m.Nodes {
		dst = append(hex.AppendEncode(append(appendPart(dst, "nodes ", n), ' '), n.Hash[:]), '\n')
	}
	if m.Label != "" {
		dst = append(strconv.AppendQuote(append(dst, labelWord...), m.Label), '\n')
	}
	sum := crc32.Checksum(dst[start:], castagnoli)
	dst = append(dst, "end "...)
	dst = appendCRC(dst, sum)
	return append(dst, '\n')
}

func appendPart(dst []byte, record string, p File) []byte {
	dst = append(appendCRC(append(dst, record...), p.CRC), ' ')
	dst = append(strconv.AppendInt(dst, p.Size, 10), ' ')
	return strconv.AppendQuote(dst, p.Name)
}

// header returns the header of the lowest version that holds the document.
func (m *Manifest) header() string {
	if len(m.Nodes) > 0 {
		return headerNodes
	}
	lowest := headerPlain
	if m.Label != "" {
		return headerRuns
	}
	for _, f := range m.Files {
		switch {
		case len(f.Runs) > 0:
			return headerRuns
		case f.Hash != (Hash{}):
			lowest = headerHashed
		}
	}
	return lowest
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func appendCRC(dst []byte, c uint32) []byte {
	const digits = "0123456789abcdef"
	for s := 28; s >= 0; s -= 4 {
		dst = append(dst, digits[c>>s&15])
	}
	return dst
}

// File looks up a file by name.
func (m *Manifest) File(name string) (File, bool) { return lookUp(m.files, m.Files, name) }

// Head looks up the beginning of a file.
func (m *Manifest) Head(name string) (File, bool) { return lookUp(m.heads, m.Heads, name) }

// NodesOf looks up the end of a file that has the nodes of a database.
func (m *Manifest) NodesOf(name string) (File, bool) { return lookUp(m.nodes, m.Nodes, name) }

func lookUp(x index, files []File, name string) (File, bool) {
	i, ok := x.find(len(files), func(i int) int { return strings.Compare(files[i].Name, name) })
	if !ok {
		return File{}, false
	}
	return files[i], true
}

// CheckBytes compares bytes with the record.
func (f File) CheckBytes(b []byte) error {
	if int64(len(b)) != f.Size {
		return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: f.Name,
			Want: strconv.FormatInt(f.Size, 10) + " bytes", Got: strconv.Itoa(len(b))}
	}
	if got := crc32.Checksum(b, castagnoli); got != f.CRC {
		return ChecksumError(f.Name, f.CRC, got)
	}
	return nil
}

// Leaf looks up an array.
func (m *Manifest) Leaf(item, param string) (Leaf, bool) {
	i, ok := m.leaves.find(len(m.Leaves), func(i int) int {
		return cmp.Or(strings.Compare(m.Leaves[i].Item, item), strings.Compare(m.Leaves[i].Param, param))
	})
	if !ok {
		return Leaf{}, false
	}
	return m.Leaves[i], true
}

// CheckFile compares the bytes of a file with its record.
func (m *Manifest) CheckFile(name string, b []byte) error {
	f, ok := m.File(name)
	if !ok {
		return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: name, Got: "a file that the manifest does not list"}
	}
	return f.CheckBytes(b)
}

// HashError returns the error for bytes of subject that differ from the written ones.
func HashError(subject string, want, got Hash) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: subject,
		Want: fmt.Sprintf("XXH3 %x", want), Got: fmt.Sprintf("%x", got),
		Remedy: "the bytes were damaged after they were written; load another step"}
}

// ChecksumError returns the error for bytes of subject that differ from the written ones.
func ChecksumError(subject string, want, got uint32) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: subject,
		Want: fmt.Sprintf("CRC-32C %08x", want), Got: fmt.Sprintf("%08x", got),
		Remedy: "the bytes were damaged after they were written; load another step"}
}

func corrupt(format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: Name, Got: fmt.Sprintf(format, args...)}
}
