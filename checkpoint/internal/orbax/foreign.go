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

// ForeignFiles returns those files of a tree item, named below it, that leaf
// handlers wrote: all that are not of the tree itself.
func (t Tree) ForeignFiles(names []string) []string {
	database := slices.Contains(names, databaseFile)
	var dirs []string // of arrays
	for _, e := range t.Entries {
		if !database && !e.Skip && !IsForeign(e.ValueType) && e.ValueType != TypeString {
			dirs = append(dirs, e.Path.Param()+"/")
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		first, below, deeper := strings.Cut(name, "/")
		switch {
		case slices.Contains([]string{TreeFile, StringsFile, ShardingFile, ArraysDir, CommitFile}, first):
			return true
		case database && (first == databaseFile || deeper && first == "d" || deeper && strings.HasPrefix(first, "ocdbt.process_") && below != ""):
			return true
		}
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(name, dir) || dir == "/" })
	})
}

// databaseFile is the manifest of the database of a tree.
const databaseFile = "manifest.ocdbt"
