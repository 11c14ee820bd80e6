package ocdbt

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxInt   = math.MaxInt
	maxInt64 = math.MaxInt64
	missing  = math.MaxUint64 // offset and length of a root that is not there
)

func utoa(v uint64) string { return strconv.FormatUint(v, 10) }

// File names a data file by a path inside the database directory, in two parts.
// For a value only their concatenation matters; for a node, Base is the path
// below which the files that the node mentions lie.
type File struct {
	Base string // "" or ends in "/" by custom
	Name string
}

// Path returns the whole path, with "/" between elements.
func (f File) Path() string { return f.Base + f.Name }

func (f File) compare(g File) int {
	if c := strings.Compare(f.Base, g.Base); c != 0 {
		return c
	}
	return strings.Compare(f.Name, g.Name)
}

// checkPath returns what is wrong with the path of a data file, or "".
func checkPath(p string) string {
	if p == "" {
		return "path is empty"
	}
	if strings.ContainsAny(p, "\x00\\") {
		return "path has a NUL or a backslash"
	}
	for e := range strings.SplitSeq(p, "/") {
		switch e {
		case "":
			return "path is absolute or has an empty element"
		case ".", "..":
			return "path has an element " + e
		}
	}
	return ""
}

// fileTable is a decoded table. Paths in it are not yet checked: an empty one
// is legal as long as only a missing root refers to it.
type fileTable []File

// readFileTable reads a table whose paths are below the transitive path.
func readFileTable(c *cursor, transitive string, limit int64) fileTable {
	n := c.count(math.MaxUint32, "number of files")
	prefix := c.lengths(n-1, "path prefix length")
	suffix := c.lengths(n, "path suffix length")
	base := c.lengths(n, "base path length")
	if c.err != nil || n == 0 {
		return nil
	}
	total := int64(0)
	length := 0
	for i := range n {
		shared := 0
		if i > 0 {
			shared = int(prefix[i-1])
			if shared > length {
				c.fail("file %d shares %d bytes with a path of %d", i, shared, length)
				return nil
			}
			if b, p := int(base[i]), int(base[i-1]); shared > min(b, p) && b != p {
				c.fail("file %d shares %d bytes across different base paths", i, shared)
				return nil
			}
		}
		length = shared + int(suffix[i])
		if len(transitive)+length > MaxPathLength {
			c.fail("path of file %d is longer than %d bytes", i, MaxPathLength)
			return nil
		}
		if int(base[i]) > length {
			c.fail("base path of file %d is longer than its path", i)
			return nil
		}
		total += int64(len(transitive) + length)
	}
	if total > limit {
		c.err = tooLarge(c.at, limit)
		return nil
	}
	t := make(fileTable, n)
	previous := ""
	for i := range t {
		s := string(c.bytes(int(suffix[i]), "path"))
		if c.err != nil {
			return nil
		}
		if i > 0 {
			s = previous[:prefix[i-1]] + s
		}
		previous = s
		t[i] = File{Base: transitive + s[:base[i]], Name: s[base[i]:]}
	}
	return t
}

// file returns entry i of the table for an object that exists.
func (t fileTable) file(c *cursor, i uint64) File {
	if c.err != nil {
		return File{}
	}
	if i >= uint64(len(t)) {
		c.fail("file %d of %d", i, len(t))
		return File{}
	}
	return t[i]
}

// check reports files whose paths may not be opened.
func (t fileTable) check(c *cursor) {
	for _, f := range t {
		if why := checkPath(f.Path()); why != "" {
			c.fail("file %q: %s", f.Path(), why)
			return
		}
	}
}

// fileSet collects the files that an object refers to and numbers them.
type fileSet struct {
	files []File
	index map[File]uint64
}

func newFileSet(files func(yield func(File) bool)) fileSet {
	s := fileSet{index: map[File]uint64{}}
	last := File{Name: "\x00"}
	for f := range files {
		if f == last {
			continue
		}
		last = f
		if _, ok := s.index[f]; !ok {
			s.index[f] = 0
			s.files = append(s.files, f)
		}
	}
	slices.SortFunc(s.files, File.compare)
	for i, f := range s.files {
		s.index[f] = uint64(i)
	}
	return s
}

func (s fileSet) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.files)))
	prefix := make([]int, len(s.files))
	for i := 1; i < len(s.files); i++ {
		f, g := s.files[i-1], s.files[i]
		prefix[i] = commonPrefix(f.Base, g.Base)
		if f.Base == g.Base {
			prefix[i] += commonPrefix(f.Name, g.Name)
		}
		b = binary.AppendUvarint(b, uint64(prefix[i]))
	}
	for i, f := range s.files {
		b = binary.AppendUvarint(b, uint64(len(f.Base)+len(f.Name)-prefix[i]))
	}
	for _, f := range s.files {
		b = binary.AppendUvarint(b, uint64(len(f.Base)))
	}
	for i, f := range s.files {
		b = append(b, f.Path()[prefix[i]:]...)
	}
	return b
}

func commonPrefix[S ~string | ~[]byte](a, b S) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
