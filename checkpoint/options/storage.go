package options

import (
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/tree"
)

// StorageFor returns the storage options of one leaf: what ScopedStorage
// returns, field by field above the first entry of LeafStorage that matches its
// key path, above those of all arrays.
func (o Options) StorageFor(key tree.Path, leaf any) Storage {
	out := o.Array.Saving.Storage
	for _, l := range o.Bivouac.LeafStorage {
		if matchPath(l.Match, key) {
			out = l.Storage.above(out)
			break
		}
	}
	if f := o.Array.Saving.ScopedStorage; f != nil {
		if s := f(key, leaf); s != nil {
			out = s.above(out)
		}
	}
	return out
}

func (s Storage) above(under Storage) Storage {
	if s.DType == 0 {
		s.DType = under.DType
	}
	if s.ChunkByteSize == 0 {
		s.ChunkByteSize = under.ChunkByteSize
	}
	if s.ShardAxes == nil {
		s.ShardAxes = under.ShardAxes
	}
	return s
}

// matchPath reports whether a pattern of LeafStorage names key.
func matchPath(pattern string, key tree.Path) bool {
	return matchNames(strings.Split(noSlash(pattern), "."), strings.Split(noSlash(key.Param()), "."))
}

// noSlash makes slashes characters like others to path.Match.
func noSlash(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

func matchNames(patterns, names []string) bool {
	// reach[j]: the patterns so far match the first j names.
	reach := make([]bool, len(names)+1)
	reach[0] = true
	for _, p := range patterns {
		next := make([]bool, len(names)+1)
		for j, ok := range reach {
			switch {
			case !ok:
			case p == "**":
				for k := j; k <= len(names); k++ {
					next[k] = true
				}
			case j < len(names):
				if m, err := path.Match(p, names[j]); err == nil && m {
					next[j+1] = true
				}
			}
		}
		reach = next
	}
	return reach[len(names)]
}

// checkPattern reports whether matchPath understands pattern.
func checkPattern(pattern string) error {
	if pattern == "" {
		return path.ErrBadPattern
	}
	for _, p := range strings.Split(noSlash(pattern), ".") {
		if _, err := path.Match(p, ""); err != nil {
			return err
		}
	}
	return nil
}
