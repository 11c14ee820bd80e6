package orbax

import (
	"slices"
	"strings"
)

// OwnHandler reports whether a type string is that of a handler of the writer's
// own, whose items have files with whatever names.
func OwnHandler(typeString string) bool {
	return typeString != "" && !strings.HasPrefix(typeString, HandlerPrefix)
}

// IsForeign reports whether a value_type is the type string of a leaf handler:
// these are dotted.
func IsForeign(valueType string) bool {
	return valueType != TypeJAX && valueType != TypeNumpy && strings.Contains(valueType, ".")
}

// HasForeign reports whether leaf handlers have leaves in the tree.
func (t Tree) HasForeign() bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return IsForeign(e.ValueType) })
}

// ForeignFiles returns those of the files of a tree item, named below it, that leaf
// handlers wrote: all that are not of the tree itself. arrays are the parameters of
// its arrays, which have directories where there is no database.
func ForeignFiles(names, arrays []string) []string {
	database := slices.Contains(names, databaseFile)
	dirs := make(map[string]bool, len(arrays))
	for _, param := range arrays {
		dirs[strings.TrimSuffix(param, "/")] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		first, _, deeper := strings.Cut(name, "/")
		switch {
		case slices.Contains([]string{TreeFile, StringsFile, ShardingFile, ArraysDir, CommitFile}, first):
			return true
		case database:
			return first == databaseFile || deeper && (first == "d" || strings.HasPrefix(first, "ocdbt.process_"))
		}
		for i, c := range name {
			if c == '/' && dirs[name[:i]] {
				return true
			}
		}
		return dirs[""]
	})
}

// Arrays returns the parameters of the tree's arrays.
func (t Tree) Arrays() (params []string) {
	for _, e := range t.Entries {
		if !e.Skip && e.ValueType != TypeString && !IsForeign(e.ValueType) {
			params = append(params, e.Path.Param())
		}
	}
	return params
}

// databaseFile is the manifest of the database of a tree.
const databaseFile = "manifest.ocdbt"
