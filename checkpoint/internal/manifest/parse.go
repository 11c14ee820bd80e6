package manifest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Parse reads a document in time and memory in proportion to its length. The records of heads and
// nodes must be of files that the document lists and that have at least that number of bytes.
// Errors are errs.Corrupt, or errs.Unsupported for a newer version. A newer version counts as such
// only if its own checksum is right: documents of all versions begin with the line of the version
// and end with the record "end".
func Parse(b []byte) (*Manifest, error) {
	const endLen = len("end 01234567\n")
	b, signature, err := cutSignature(b)
	switch {
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(b, []byte("bivouac.manifest ")):
		return nil, corrupt("does not begin with the name of the format")
	case len(b) < len(headerPlain)+endLen:
		return nil, corrupt("%d bytes, too short", len(b))
	}
	// Each version ends like this, newer ones too. A document that does not is damaged, even if its
	// first line names a newer version.
	body, end := b[:len(b)-endLen], b[len(b)-endLen:]
	var want [endLen]byte
	if !bytes.Equal(end, append(appendCRC(append(want[:0], "end "...), crc32.Checksum(body, castagnoli)), '\n')) {
		return nil, corrupt("the document's own checksum does not match")
	}
	if !slices.ContainsFunc([]string{headerPlain, headerHashed, headerRuns, headerNodes},
		func(h string) bool { return bytes.HasPrefix(b, []byte(h)) }) {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		if len(line) > 40 {
			line = line[:40]
		}
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "manifest", Subject: Name, Want: "version 1, 2, 3 or 4",
			Got:    fmt.Sprintf("%q", line),
			Remedy: "use a newer Bivouac"}
	}
	m := &Manifest{signature: signature, signed: message(b)}
	for n, rest := 2, body[len(headerPlain):]; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 {
			continue
		}
		if err := m.parseLine(string(line)); err != nil {
			return nil, corrupt("line %d: %v", n, err)
		}
	}
	if err := m.number(); err != nil {
		return nil, err
	}
	if got, least := string(b[:len(headerPlain)]), m.header(); got < least {
		return nil, corrupt("%q with records that only %q has", got, least)
	}
	return m, nil
}

func (m *Manifest) parseLine(line string) error {
	if text, ok := strings.CutPrefix(line, labelWord); ok {
		return m.parseLabel(text)
	}
	kind, rest, _ := strings.Cut(line, " ")
	crc, rest, err := cutCRC(rest)
	if err != nil {
		return err
	}
	num, rest, _ := strings.Cut(rest, " ")
	size, err := strconv.ParseInt(num, 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("size %q", num)
	}
	f := File{Size: size, CRC: crc}
	switch kind {
	case "file", "head", "nodes":
		if f.Name, rest, err = cutQuoted(rest); err != nil {
			return fmt.Errorf("file name: %v", err)
		}
	}
	switch kind {
	case "file":
		if err := f.parseTail(rest); err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	case "head":
		if rest != "" {
			return fmt.Errorf("after the name of a file: %.60q", rest)
		}
		m.Heads = append(m.Heads, f)
	case "nodes":
		if err := f.Hash.parse(strings.TrimPrefix(rest, " ")); err != nil {
			return err
		}
		m.Nodes = append(m.Nodes, f)
	case "leaf":
		l := Leaf{Size: size, CRC: crc}
		if err := l.parse(rest); err != nil {
			return err
		}
		m.Leaves = append(m.Leaves, l)
	default:
		return fmt.Errorf("record %q", kind)
	}
	return nil
}

// parse reads the names of an array and its checksums.
func (l *Leaf) parse(s string) (err error) {
	if l.Item, s, err = cutQuoted(s); err != nil {
		return fmt.Errorf("item: %v", err)
	}
	if l.Param, s, err = cutQuoted(strings.TrimPrefix(s, " ")); err != nil {
		return fmt.Errorf("parameter: %v", err)
	}
	if s == "" {
		return nil
	}
	// The names are copied, so that the line, which may be long, is not kept.
	l.Item, l.Param = strings.Clone(l.Item), strings.Clone(l.Param)
	l.Chunks = make([]uint32, 0, (len(s)+8)/9)
	for s = strings.TrimPrefix(s, " "); ; {
		c, rest, err := cutCRC(s)
		if err != nil {
			return err
		}
		l.Chunks = append(l.Chunks, c)
		if len(s) == 8 {
			return nil
		}
		s = rest
	}
}

// number makes the indices and returns an error if a name occurs twice.
func (m *Manifest) number() error {
	files := func(x *index, of []File, what string) error {
		return x.number(len(of), func(i, j int) int { return strings.Compare(of[i].Name, of[j].Name) }, func(i int) error {
			return corrupt("%s %q twice", what, of[i].Name)
		})
	}
	if err := files(&m.files, m.Files, "file"); err != nil {
		return err
	}
	if err := files(&m.heads, m.Heads, "the head of"); err != nil {
		return err
	}
	if err := files(&m.nodes, m.Nodes, "the nodes of"); err != nil {
		return err
	}
	for _, parts := range [][]File{m.Heads, m.Nodes} {
		for _, p := range parts {
			switch f, ok := m.File(p.Name); {
			case !ok:
				return corrupt("a part of %q, which is not a listed file", p.Name)
			case p.Size > f.Size:
				return corrupt("%d bytes of %q, which has %d", p.Size, p.Name, f.Size)
			}
		}
	}
	return m.leaves.number(len(m.Leaves), func(i, j int) int {
		a, b := &m.Leaves[i], &m.Leaves[j]
		return cmp.Or(strings.Compare(a.Item, b.Item), strings.Compare(a.Param, b.Param))
	}, func(i int) error { return corrupt("leaf %q of %q twice", m.Leaves[i].Param, m.Leaves[i].Item) })
}

// index finds records by their names. The zero index finds none.
type index struct {
	made  bool
	order []int32 // the indices of the records sorted by name; nil if the records are sorted
}

// number makes the index of n records, or returns the error for a name that occurs twice.
func (x *index) number(n int, compare func(i, j int) int, twice func(i int) error) error {
	x.made = true
	ascending := true
	for i := 1; i < n && ascending; i++ {
		ascending = compare(i-1, i) < 0
	}
	if ascending {
		return nil
	}
	x.order = make([]int32, n)
	for i := range x.order {
		x.order[i] = int32(i)
	}
	slices.SortFunc(x.order, func(i, j int32) int { return compare(int(i), int(j)) })
	for k := 1; k < n; k++ {
		if compare(int(x.order[k-1]), int(x.order[k])) == 0 {
			return twice(int(x.order[k]))
		}
	}
	return nil
}

// find returns the position of a record among n. compare compares the name of a record with the
// wanted name.
func (x *index) find(n int, compare func(i int) int) (int, bool) {
	if !x.made {
		return 0, false
	}
	at := func(k int) int {
		if x.order == nil {
			return k
		}
		return int(x.order[k])
	}
	low, high := 0, n
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch c := compare(at(mid)); {
		case c == 0:
			return at(mid), true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

// parseTail reads what follows the name: hash and age, runs, both, or nothing.
func (f *File) parseTail(s string) error {
	if s == "" {
		return nil
	}
	fields := strings.Split(s, " ")
	if fields[0] != "" {
		return fmt.Errorf("after the name of a file: %.60q", s)
	}
	fields = fields[1:]
	if len(fields) > 1 && len(fields[0]) == hex.EncodedLen(len(f.Hash)) {
		if err := f.parseHash(fields[0], fields[1]); err != nil {
			return err
		}
		fields = fields[2:]
	}
	return f.parseRuns(fields)
}

// parse reads 32 digits that are not all zero.
func (h *Hash) parse(digits string) error {
	if len(digits) == hex.EncodedLen(len(h)) {
		if _, err := hex.Decode(h[:], []byte(digits)); err == nil && *h != (Hash{}) {
			return nil
		}
	}
	return fmt.Errorf("hash %.60q", digits)
}

func (f *File) parseHash(digits, age string) error {
	if err := f.Hash.parse(digits); err != nil {
		return err
	}
	n, err := strconv.ParseInt(age, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("age %q", age)
	}
	f.Age = int(n)
	return nil
}

// cutCRC takes eight hexadecimal digits and the space after them.
func cutCRC(s string) (uint32, string, error) {
	word, rest, _ := strings.Cut(s, " ")
	if len(word) != 8 {
		return 0, "", fmt.Errorf("checksum %q", word)
	}
	v, err := strconv.ParseUint(word, 16, 32)
	return uint32(v), rest, err
}

func cutQuoted(s string) (string, string, error) {
	if name, rest, ok := cutPlain(s); ok {
		return name, rest, nil
	}
	q, err := strconv.QuotedPrefix(s)
	if err != nil || q[0] != '"' {
		return "", "", fmt.Errorf("no quoted name in %.40q", s)
	}
	name, err := strconv.Unquote(q)
	return name, s[len(q):], err
}

// cutPlain is cutQuoted for names without escapes.
func cutPlain(s string) (name, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[1:i], s[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return "", "", false
		}
	}
	return "", "", false
}
