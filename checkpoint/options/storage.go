package options

import (
	"cmp"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/tree"
)

// StorageFor returns the storage options and the compression of one leaf. Field by field,
// ScopedStorage comes first, then the first entry of LeafStorage that matches the key path, then
// the options of all arrays. The compression comes from that entry if it has one, else it is
// DefaultCompression, as for all arrays.
func (o Options) StorageFor(key tree.Path, leaf any) (out Storage, c Compression) {
	out = o.Array.Saving.Storage
	for _, l := range o.Bivouac.LeafStorage {
		if ok, _ := MatchPath(l.Match, key); ok { // Validate has looked at the pattern
			out, c = l.Storage.above(out), l.Compression
			break
		}
	}
	if f := o.Array.Saving.ScopedStorage; f != nil {
		if s := f(key, leaf); s != nil {
			out = s.above(out)
		}
	}
	return out, c
}

func (s Storage) above(under Storage) Storage {
	s.DType, s.ChunkByteSize = cmp.Or(s.DType, under.DType), cmp.Or(s.ChunkByteSize, under.ChunkByteSize)
	if s.ShardAxes == nil {
		s.ShardAxes = under.ShardAxes
	}
	return s
}

// MatchPath reports whether pattern names key. It has one element for each key
// of the path, separated by "/". An element is a pattern of path.Match for the
// key, or "**" for any number of keys, also none: "layers/*/w", "**/embedding",
// "opt/**". "" is the root alone. A malformed pattern is path.ErrBadPattern.
func MatchPath(pattern string, key tree.Path) (bool, error) {
	var elements []string
	if pattern != "" {
		elements = strings.Split(pattern, "/")
	}
	// reach[j]: the elements so far match the first j keys.
	reach := make([]bool, len(key)+1)
	reach[0] = true
	for _, e := range elements {
		if _, err := path.Match(e, ""); err != nil {
			return false, err
		}
		next := make([]bool, len(key)+1)
		for j, ok := range reach {
			switch {
			case !ok:
			case e == "**":
				for k := j; k <= len(key); k++ {
					next[k] = true
				}
			case j < len(key):
				// A slash in a key is a character like any other.
				ok, err := path.Match(e, strings.ReplaceAll(key[j].Name, "/", "\x00"))
				if err != nil {
					return false, err
				}
				next[j+1] = next[j+1] || ok
			}
		}
		reach = next
	}
	return reach[len(key)], nil
}
