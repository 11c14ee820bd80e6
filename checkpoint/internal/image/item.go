package image

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Item is one checkpointable: a tree of arrays, or one JSON file.
type Item struct {
	Name    string
	Handler string          // type string recorded for it
	Rich    *orbax.Rich     // types of the containers of Tree that are recorded; nil is none
	Tree    *tree.Node      // or
	JSON    json.RawMessage // kept as it is
	File    string          // of the JSON, below the item's directory
}

// Items turns named values into items in the order of their names: a
// json.RawMessage becomes a JSON file, anything else what tree.From makes of it.
func Items(values map[string]any) ([]Item, error) {
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	sort.Strings(names)
	items := make([]Item, 0, len(names))
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, err
		}
		if raw, ok := values[n].(json.RawMessage); ok {
			if !json.Valid(raw) {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "item " + strconv.Quote(n), Want: "valid JSON"}
			}
			items = append(items, Item{Name: n, Handler: orbax.HandlerJSON, JSON: slices.Clone(raw), File: orbax.JSONFile})
			continue
		}
		node, err := tree.Options{KeepUnknown: true}.From(values[n])
		if err != nil {
			return nil, errs.Wrap("", "item "+strconv.Quote(n), err)
		}
		items = append(items, Item{Name: n, Handler: orbax.HandlerTree, Tree: node})
	}
	if len(items) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Got: "nothing to save"}
	}
	return items, nil
}

// reserved are names of files that lie beside the items.
var reserved = []string{orbax.MarkerFile, orbax.CheckpointFile, orbax.CommitFile, orbax.TreeFile}

func checkName(name string) error {
	bad := &errs.Error{Kind: errs.Invalid, Subject: "item " + strconv.Quote(name), Want: "a plain directory name"}
	if strings.ContainsAny(name, "/\\") || store.IsStaging(name) || slices.Contains(reserved, name) || store.CheckName("item", name) != nil || name == "" {
		return bad
	}
	return nil
}
