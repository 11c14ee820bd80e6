package tiff

import "fmt"

// tags is a directory. It holds the value of each tag.
type tags struct {
	file    *file
	entries map[int]entry
}

type entry struct {
	kind  int
	value []byte
}

// sizes holds the sizes of the types of TIFF 6.0 by number. 0 means that there is no such type.
var sizes = [...]int{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8}

// directory reads the first directory.
func (f *file) directory() (*tags, error) {
	const entrySize = 12
	at := int64(f.order.Uint32(f.data[4:]))
	if at+2 > int64(len(f.data)) {
		return nil, corrupt("a directory", fmt.Sprintf("an offset of %d", at))
	}
	n := int(f.order.Uint16(f.data[at:]))
	list := f.data[at+2:]
	if n*entrySize > len(list) {
		return nil, corrupt(fmt.Sprintf("%d entries", n), fmt.Sprintf("%d bytes", len(list)))
	}
	t := &tags{file: f, entries: map[int]entry{}}
	for ; n > 0; n, list = n-1, list[entrySize:] {
		tag, kind := int(f.order.Uint16(list)), int(f.order.Uint16(list[2:]))
		if kind >= len(sizes) || sizes[kind] == 0 {
			continue
		}
		size := int64(sizes[kind]) * int64(f.order.Uint32(list[4:]))
		value := list[8:entrySize]
		if size > 4 {
			from := int64(f.order.Uint32(value))
			if from+size > int64(len(f.data)) {
				return nil, corrupt("values within the file", fmt.Sprintf("tag %d at %d of %d bytes", tag, from, len(f.data)))
			}
			value = f.data[from:]
		}
		t.entries[tag] = entry{kind, value[:size]}
	}
	return t, nil
}

// values returns the first integers of a tag, at most n.
func (t *tags) values(tag, n int) []int {
	e, ok := t.entries[tag]
	if !ok {
		return nil
	}
	size := sizes[e.kind]
	var out []int
	for at := 0; at+size <= len(e.value) && len(out) < n; at += size {
		switch size {
		case 1:
			out = append(out, int(e.value[at]))
		case 2:
			out = append(out, int(t.file.order.Uint16(e.value[at:])))
		case 4:
			out = append(out, int(t.file.order.Uint32(e.value[at:])))
		default:
			return nil
		}
	}
	return out
}

// bytes returns the stored value of a tag.
func (t *tags) bytes(tag int) []byte { return t.entries[tag].value }
