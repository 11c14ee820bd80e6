package orbax

import (
	"slices"
	"strings"
)

// OwnHandler reports whether a type string names a handler of the user, whose items may have files
// with any names.
func OwnHandler(typeString string) bool {
	return typeString != "" && !strings.HasPrefix(typeString, HandlerPrefix)
}

// handlerTypes maps each type string in the registry of Orbax 0.12.8 to the handler that
// loads it. The type string of metrics is not here.
var handlerTypes = map[string]string{
	HandlerTree:  HandlerTree,
	HandlerJSON:  HandlerJSON,
	HandlerProto: HandlerProto,

	handlersV0 + "pytree_checkpoint_handler.PyTreeCheckpointHandler":          HandlerTree,
	handlersV0Later + "pytree_checkpoint_handler.PyTreeCheckpointHandler":     HandlerTree,
	handlersV0 + "standard_checkpoint_handler.StandardCheckpointHandler":      HandlerTree,
	handlersV0Later + "standard_checkpoint_handler.StandardCheckpointHandler": HandlerTree,
	handlersV0 + "json_checkpoint_handler.JsonCheckpointHandler":              HandlerJSON,
	handlersV0Later + "json_checkpoint_handler.JsonCheckpointHandler":         HandlerJSON,
	handlersV0 + "proto_checkpoint_handler.ProtoCheckpointHandler":            HandlerProto,
	handlersV0Later + "proto_checkpoint_handler.ProtoCheckpointHandler":       HandlerProto,
	HandlerMetrics: HandlerMetrics,
}

// LoadsWith returns the handler with which Orbax loads an item: by item name, by the recorded type
// string, or else the handler of trees.
func LoadsWith(item, typeString string) string {
	switch item {
	case StateItem:
		return HandlerTree
	case MetricsItem:
		return HandlerMetrics
	}
	if h, ok := handlerTypes[typeString]; ok {
		return h
	}
	return HandlerTree
}

// IsForeign reports whether a value_type is the type string of a leaf handler: such type strings
// contain a dot.
func IsForeign(valueType string) bool {
	return valueType != TypeJAX && valueType != TypeNumpy && strings.Contains(valueType, ".")
}

// HasForeign reports whether leaf handlers have leaves in the tree.
func (t Tree) HasForeign() bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return IsForeign(e.ValueType) })
}

// ForeignFiles returns the files of a tree item, relative to it, that leaf handlers wrote: all
// files that do not belong to the tree itself. arrays are the parameters of its arrays, which have
// directories if there is no database.
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
