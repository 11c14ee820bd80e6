package tree

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/enum"
)

// KeyKind says what kind of container a key belongs to.
type KeyKind uint8

// The kinds of keys: a key of a Dict, an index of a List or Tuple, an attribute of a Named.
const (
	KeyDict KeyKind = iota
	KeyIndex
	KeyAttr
)

// String returns the kind in words.
func (k KeyKind) String() string {
	return enum.Name(k, []string{"dict key", "index", "attribute"}, "key kind %d")
}

// Key is one step of a path. The name of an index is its decimal form.
type Key struct {
	Name string
	Kind KeyKind
}

// Path leads from the root to a node. The empty path is the root itself.
type Path []Key

// Param returns the name of the parameter in Orbax: the names of the keys, joined with dots and not
// escaped. It is "" for the root. Different paths may have the same name; see Collisions.
func (p Path) Param() string {
	switch len(p) {
	case 0:
		return ""
	case 1:
		return p[0].Name
	}
	names := make([]string, len(p))
	for i, k := range p {
		names[i] = k.Name
	}
	return strings.Join(names, ".")
}

// String returns the path in a readable form: layers[0].w. A name that would be misread is in
// quotes: a["b.c"]. The root is "(root)".
func (p Path) String() string {
	if len(p) == 0 {
		return "(root)"
	}
	var b strings.Builder
	for i, k := range p {
		switch {
		case k.Kind == KeyIndex:
			b.WriteString("[" + k.Name + "]")
		case !plain(k.Name):
			b.WriteString("[" + strconv.Quote(k.Name) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(k.Name)
		}
	}
	return b.String()
}

func plain(name string) bool {
	if name == "" || name[0] == '(' {
		return false
	}
	for _, r := range name {
		if strings.ContainsRune(`.[]"…`, r) || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// Compare orders paths key by key. Indices are ordered by value and come before other keys, names
// are ordered by their bytes, and a path comes before the paths below it.
func (p Path) Compare(o Path) int {
	for i := range min(len(p), len(o)) {
		if c := p[i].compare(o[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(o))
}

func (k Key) compare(o Key) int {
	if k.Kind == KeyIndex && o.Kind == KeyIndex {
		return cmp.Or(cmp.Compare(len(k.Name), len(o.Name)), strings.Compare(k.Name, o.Name))
	}
	if k.Kind == KeyIndex {
		return -1
	}
	if o.Kind == KeyIndex {
		return 1
	}
	return cmp.Or(strings.Compare(k.Name, o.Name), cmp.Compare(k.Kind, o.Kind))
}

// index parses the canonical decimal form of an index.
func index(name string) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == name
}
