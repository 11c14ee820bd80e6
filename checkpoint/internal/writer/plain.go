package writer

import (
	"path"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
)

// planPlain gives every chunk its own file.
func (t *treePlan) planPlain() error {
	if err := t.checkNames(); err != nil {
		return err
	}
	for _, a := range t.arrays {
		for i := range a.chunks {
			c := &a.chunks[i]
			if !c.inFile() || c.size < 0 {
				continue
			}
			f := &file{name: path.Join(a.param, c.key())}
			f.place(c)
			t.files = append(t.files, f)
		}
	}
	return nil
}

// plainFiles returns the metadata of all arrays, and the chunks that were small enough to be
// encoded at once.
func (t *treePlan) plainFiles() []store.Blob {
	var out []store.Blob
	for _, a := range t.arrays {
		out = append(out, store.Blob{Name: path.Join(t.dir, a.param, a.metaKey), Data: a.meta})
		for i := range a.chunks {
			if c := &a.chunks[i]; !c.inFile() {
				out = append(out, store.Blob{Name: path.Join(t.dir, a.param, c.key()), Data: c.inline})
			}
		}
	}
	return out
}

// checkPrefixes returns an error for arrays whose keys have the same prefix, such as "a" and "a/":
// one would overwrite the other, in databases too.
func (t *treePlan) checkPrefixes() error {
	odd := false
	for i := range t.leaves {
		l := &t.leaves[i]
		odd = odd || l.isArray && (l.param == "" || strings.HasSuffix(l.param, "/"))
	}
	if !odd {
		return nil
	}
	of := make(map[string]string, len(t.leaves))
	for i := range t.leaves {
		l := &t.leaves[i]
		if !l.isArray {
			continue
		}
		prefix := zarr.KeyPrefix(l.param)
		if other, taken := of[prefix]; taken {
			return &errs.Error{Kind: errs.Invalid, Subject: "array " + strconv.Quote(l.param), Want: "keys of its own",
				Got:    "the keys of array " + strconv.Quote(other) + ": a slash at the end of a name does not tell them apart",
				Remedy: "rename one of them"}
		}
		of[prefix] = l.param
	}
	return nil
}

// longestName is the longest element of a path that file systems allow.
const longestName = 255

// checkNames returns an error for names of parameters that cannot be directories of a file system,
// or that would be files in the directory of another parameter.
func (t *treePlan) checkNames() error {
	bad := func(param, got string) error {
		return &errs.Error{Kind: errs.Unsupported, Subject: "array " + strconv.Quote(param), Got: got,
			Remedy: "rename a key, or choose a layout with a database"}
	}
	used := map[string]string{} // file or directory → parameter, "" for documents
	files := map[string]bool{orbax.TreeFile: true, orbax.StringsFile: true, orbax.ArraysDir: true,
		orbax.ShardingFile: true, orbax.CommitFile: true}
	for f := range files {
		used[f] = ""
	}
	for _, a := range t.arrays {
		if dir := strings.TrimSuffix(a.param, "/"); a.param != "" && (dir == "" || store.CheckFinalName("", dir) != nil) {
			return bad(a.param, "a name that no directory can have")
		}
		for _, e := range strings.Split(a.param, "/") {
			if len(e) > longestName {
				return bad(a.param, "a name of more than "+strconv.Itoa(longestName)+" bytes")
			}
		}
		names := []string{path.Join(a.param, a.metaKey)}
		for _, key := range a.keys {
			names = append(names, path.Join(a.param, key))
		}
		for _, n := range names {
			if other, ok := used[n]; ok {
				return bad(a.param, clash(n, other))
			}
			files[n], used[n] = true, a.param
			for dir := path.Dir(n); dir != "."; dir = path.Dir(dir) {
				if files[dir] {
					return bad(a.param, clash(dir, used[dir]))
				}
				used[dir] = a.param
			}
		}
	}
	return nil
}

func clash(file, other string) string {
	if other == "" {
		return "the name of the file " + strconv.Quote(file) + " of every checkpoint"
	}
	return strconv.Quote(file) + ", which array " + strconv.Quote(other) + " has too"
}
