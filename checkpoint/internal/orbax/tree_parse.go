package orbax

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/tree"
)

// ParseTree reads _METADATA and ignores unknown members. Member names of an entry are
// case-sensitive, and no name may occur twice.
func ParseTree(b []byte) (Tree, error) {
	var t Tree
	s, err := newScanner(b)
	if err != nil {
		return t, corrupt(TreeFile, "%v", err)
	}
	var seen names
	found := false
	err = s.object(func(name string) error {
		if !seen.add(name) {
			return fmt.Errorf("member %q twice", name)
		}
		found = found || name == "tree_metadata"
		if err := t.parseMember(s, name); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
		return nil
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return Tree{}, corrupt(TreeFile, "%v", err)
	case !found:
		return Tree{}, corrupt(TreeFile, "no tree_metadata")
	}
	return t, nil
}

func (t *Tree) parseMember(s *scanner, name string) (err error) {
	if name == "tree_metadata" {
		p := entryParser{scanner: s}
		t.Entries, err = p.entries()
		return err
	}
	if s.null() {
		return nil
	}
	switch name {
	case "use_ocdbt":
		t.UseOCDBT = new(bool)
		*t.UseOCDBT, err = s.boolean()
	case "use_zarr3":
		t.UseZarr3, err = s.boolean()
	case "store_array_data_equal_to_fill_value":
		t.StoreFill, err = s.boolean()
	case "custom_metadata":
		var raw string
		raw, err = s.value()
		t.Custom = json.RawMessage(raw)
	case "value_metadata_tree":
		var text string
		if text, err = s.text(); err == nil {
			t.Rich, err = parseRich(json.RawMessage(text), 0)
		}
	default:
		_, err = s.value()
	}
	return err
}

// entryParser reads the entries of tree_metadata.
//
// Names are copied from the document, so that a tree does not keep it in memory. A name that equals
// the name in the previous entry, as most inner names do, shares its memory.
type entryParser struct {
	*scanner
	keys []tree.Key // of the current entry
	last tree.Path  // of the previous entry
	pool []tree.Key // memory of paths
}

func (p *entryParser) entries() ([]Entry, error) {
	var out []Entry
	var seen names
	err := p.object(func(name string) error {
		if !seen.add(name) {
			return fmt.Errorf("member %q twice", name)
		}
		e, err := p.entry()
		if err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

func (p *entryParser) entry() (e Entry, err error) {
	var keys, value bool
	err = p.object(func(name string) (err error) {
		switch name {
		case "key_metadata":
			if keys {
				return twice(name)
			}
			keys = true
			e.Path, err = p.path()
		case "value_metadata":
			if value {
				return twice(name)
			}
			value = true
			err = p.leaf(&e)
		default:
			_, err = p.value()
		}
		return err
	})
	switch {
	case err != nil:
	case !keys:
		err = fmt.Errorf("no key_metadata")
	case !value:
		err = fmt.Errorf("no value_metadata")
	}
	return e, err
}

func twice(name string) error { return fmt.Errorf("member %q twice", name) }

// path reads key_metadata.
func (p *entryParser) path() (tree.Path, error) {
	p.keys = p.keys[:0]
	err := p.array(func() error {
		k, err := p.key()
		p.keys = append(p.keys, k)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(p.pool) < len(p.keys) {
		p.pool = make([]tree.Key, max(256, len(p.keys)))
	}
	n := copy(p.pool, p.keys)
	p.last, p.pool = p.pool[:n:n], p.pool[n:]
	return p.last, nil
}

// key reads one element of key_metadata.
func (p *entryParser) key() (k tree.Key, err error) {
	var named, typed bool
	err = p.object(func(name string) (err error) {
		switch name {
		case "key":
			if named {
				return twice(name)
			}
			named = true
			k.Name, err = p.text()
		case "key_type":
			if typed {
				return twice(name)
			}
			typed = true
			k.Kind, err = p.keyKind()
		default:
			_, err = p.value()
		}
		return err
	})
	if err != nil {
		return k, err
	}
	if !named || !typed {
		return k, fmt.Errorf("a key without name or key_type")
	}
	if k.Kind == tree.KeyIndex {
		if n, err := strconv.Atoi(k.Name); err != nil || n < 0 || strconv.Itoa(n) != k.Name {
			return k, fmt.Errorf("sequence key %q is not an index", k.Name)
		}
	}
	if i := len(p.keys); i < len(p.last) && p.last[i].Name == k.Name {
		k.Name = p.last[i].Name
	} else {
		k.Name = strings.Clone(k.Name)
	}
	return k, nil
}

func (p *entryParser) keyKind() (tree.KeyKind, error) {
	switch n, err := p.integer(); {
	case err != nil:
		return 0, err
	case n == 1:
		return tree.KeyIndex, nil
	case n == 2:
		return tree.KeyDict, nil
	default:
		return 0, fmt.Errorf("key_type %d", n)
	}
}

// leaf reads value_metadata.
func (p *entryParser) leaf(e *Entry) error {
	var typed, skip, shape bool
	err := p.object(func(name string) (err error) {
		switch name {
		case "value_type":
			if typed {
				return twice(name)
			}
			typed = true
			var text string
			text, err = p.text()
			e.ValueType = valueType(text)
		case "skip_deserialize":
			if skip {
				return twice(name)
			}
			skip = true
			e.Skip, err = p.boolean()
		case "write_shape":
			if shape {
				return twice(name)
			}
			shape = true
			e.WriteShape, err = p.shape()
		default:
			_, err = p.value()
		}
		return err
	})
	if err == nil && !(typed && skip) {
		err = fmt.Errorf("value_metadata without value_type or skip_deserialize")
	}
	return err
}

// shape reads write_shape, which may be null.
func (p *entryParser) shape() ([]int, error) {
	if p.null() {
		return nil, nil
	}
	out := []int{}
	err := p.array(func() error {
		n, err := p.integer()
		out = append(out, n)
		return err
	})
	return out, err
}

// valueType returns one shared string for each known type.
func valueType(name string) string {
	for _, known := range [...]string{
		TypeNumpy, TypeScalar, TypeJAX, TypeString, TypeNone, TypeDict, TypeList, TypeTuple, TypeNamedTuple,
	} {
		if name == known {
			return known
		}
	}
	return strings.Clone(name)
}
