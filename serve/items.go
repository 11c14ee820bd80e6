package serve

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// eachItem calls do with the name and the members of each item. Items of null have no members.
func eachItem(text []byte, do func(name string, members map[string][]byte) error) error {
	c := &cursor{b: text}
	seen := map[string]bool{}
	for c.enter('{'); c.err == nil && c.more('}'); {
		name := c.text()
		members := map[string][]byte{}
		if !c.isNull() {
			for c.enter('{'); c.err == nil && c.more('}'); {
				member := c.text()
				members[member] = c.skip()
			}
		}
		if c.err != nil {
			break
		}
		err := do(name, members)
		if seen[name] {
			err = &errs.Error{Kind: errs.Invalid, Got: "two items of one name"}
		}
		if err != nil {
			return errs.Wrap("", "item "+strconv.Quote(name), err)
		}
		seen[name] = true
	}
	return errs.Wrap("", "argument items", c.err)
}

// oneOf returns the member that says what an item is.
func oneOf(members map[string][]byte, names ...string) (string, error) {
	for _, name := range names {
		second := map[string]string{"files": "type", "tree": "files"}[name]
		if members[name] != nil && (len(members) == 1 || len(members) == 2 && members[second] != nil) {
			return name, nil
		}
	}
	return "", &errs.Error{Kind: errs.Invalid, Want: "tree, json, proto, or files and type",
		Got: strings.Join(slices.Sorted(maps.Keys(members)), " and ")}
}

// takeDirectories notes the directories in the items of a save, which belong to the call whatever
// becomes of it.
func (k *call) takeDirectories(text []byte) {
	if text == nil {
		return
	}
	eachItem(text, func(_ string, members map[string][]byte) error { //nolint:errcheck // readItems tells
		if members["files"] == nil {
			return nil
		}
		dir := (&cursor{b: members["files"]}).text()
		if (files{dir: dir}).checkDirectory() == nil {
			k.directories = append(k.directories, dir)
		}
		return nil
	})
}

// readItems reads the items of a save. trees are the items some of whose leaves belong to leaf
// handlers.
func (k *call) readItems(text []byte, a *arena) (items map[string]any, trees []*handedTree, err error) {
	if text == nil {
		return nil, nil, &errs.Error{Kind: errs.Invalid, Subject: "argument items", Want: "an object of items",
			Got: "no object"}
	}
	items = map[string]any{}
	err = eachItem(text, func(name string, members map[string][]byte) (err error) {
		what, err := oneOf(members, "tree", "json", "proto", "files")
		if err != nil {
			return err
		}
		v := &cursor{b: members[what]}
		switch what {
		case "tree":
			if members["files"] == nil {
				items[name], err = readTree(v.b, a)
				return err
			}
			t, err := k.handedTree(members["files"])
			if err != nil {
				return err
			}
			trees = append(trees, t)
			items[name], err = readHandedTree(v.b, a, t)
			return err
		case "json":
			items[name] = json.RawMessage(v.text())
		case "proto":
			items[name] = checkpoint.ProtoText(v.text())
		case "files":
			t := &cursor{b: members["type"]}
			f := files{v.text(), t.text()}
			if items[name], err = f, t.err; err == nil && v.err == nil {
				err = f.checkDirectory()
			}
		}
		return cmp.Or(v.err, err)
	})
	return items, trees, err
}

// removeDirectories removes the directories that were given to the call.
func (k *call) removeDirectories() {
	for _, dir := range k.directories {
		if err := os.RemoveAll(dir); err != nil {
			k.Log.Warn("directory of an item is left", "error", err)
		}
	}
}

// registryOf returns the registry for a save. The client has chosen the handlers: each item that is
// not a tree is bound to its own.
func registryOf(items map[string]any) (*handler.Registry, error) {
	bound := map[string]handler.CheckpointableHandler{}
	for name, v := range items {
		switch v := v.(type) {
		case files:
			bound[name] = filesHandler{v.typeString}
		case json.RawMessage:
			bound[name] = handler.JSON{}
		case checkpoint.ProtoText:
			bound[name] = handler.Proto{}
		}
	}
	return registryWith(bound)
}

// registryWith returns the registry of the process with other handlers for some items, or nil,
// which is the registry of the process.
func registryWith(bound map[string]handler.CheckpointableHandler) (*handler.Registry, error) {
	if len(bound) == 0 {
		return nil, nil
	}
	global, r := handler.Global(), &handler.Registry{}
	for _, e := range global.Entries() {
		if e.Name != "" && bound[e.Name] != nil {
			continue
		}
		if err := r.Add(e.Handler, e.Name, global.SecondaryTypeStrings(e.Handler)...); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		if err := r.Add(bound[name], name); err != nil {
			return nil, errs.Wrap("", "item "+strconv.Quote(name), err)
		}
	}
	return r, nil
}

// wantedItems are what a call of load_items asks for.
type wantedItems struct {
	abstract map[string]any        // for LoadOptions; nil is all items
	trees    map[string]*tree.Node // that were asked for by an abstract tree
	bound    map[string]handler.CheckpointableHandler
}

// readWanted reads the items of a load.
func readWanted(text []byte) (*wantedItems, error) {
	w := &wantedItems{trees: map[string]*tree.Node{}, bound: map[string]handler.CheckpointableHandler{}}
	if text == nil {
		return w, nil
	}
	w.abstract = map[string]any{}
	return w, eachItem(text, func(name string, members map[string][]byte) error {
		w.abstract[name] = nil
		if len(members) == 0 {
			return nil
		}
		what, err := oneOf(members, "tree", "json", "proto", "files")
		if err == nil && len(members) > 1 {
			err = &errs.Error{Kind: errs.Invalid, Want: "one member", Got: "two"}
		}
		if err != nil {
			return err
		}
		if v := (&cursor{b: members[what]}); what == "tree" {
			if v.isNull() {
				return nil
			}
			n, err := readTree(v.b, nil)
			w.abstract[name], w.trees[name] = n, n
			return err
		}
		if string(members[what]) != "true" {
			return &errs.Error{Kind: errs.Invalid, Subject: what, Want: "true", Got: clipped(members[what])}
		}
		w.bind(name, what)
		return nil
	})
}

// bind has an item be loaded by a handler of its own.
func (w *wantedItems) bind(name, what string) {
	switch what {
	case "json":
		w.bound[name] = handler.JSON{}
		if name == handler.ItemMetrics {
			w.bound[name] = handler.Metrics{}
		}
	case "proto":
		w.bound[name] = handler.Proto{}
	default:
		w.bound[name] = filesHandler{"bivouac.files." + strconv.Quote(name)}
	}
}

// loadItems loads items.
func loadItems(k *call) (reply, error) {
	return k.loadSeveral(func(o *checkpoint.LoadOptions) (map[string]any, *checkpoint.Info, error) {
		path := k.args.path()
		if err := k.args.finish(); err != nil {
			return nil, nil, err
		}
		items, err := checkpoint.LoadCheckpointables(k.ctx, path, o)
		if err != nil || !hasFiles(items) {
			return items, nil, err
		}
		info, err := checkpoint.Metadata(k.ctx, path,
			&checkpoint.LoadOptions{Options: o.Options, AllowNoManifest: o.AllowNoManifest})
		return items, info, err
	})
}

// loadSeveral loads items with read, and answers with them. The metadata that read returns beside
// files knows the types that they were recorded with.
func (k *call) loadSeveral(read func(*checkpoint.LoadOptions) (map[string]any, *checkpoint.Info, error)) (_ reply,
	err error) {
	to := &result{}
	defer to.drop()
	o := k.loadOptions(to)
	w, err := readWanted(k.args.raw("items"))
	if err != nil {
		return reply{}, err
	}
	if w.abstract != nil {
		o.Abstract = w.abstract
	}
	if o.Checkpointables.Registry, err = registryWith(w.bound); err != nil {
		return reply{}, err
	}
	items, info, err := read(o)
	defer func() {
		if err == nil {
			err = k.ctx.Err()
		}
		if err != nil {
			removeFiles(items)
		}
	}()
	if err != nil {
		return reply{}, err
	}
	return k.loaded(to, o.Report, func(b []byte) ([]byte, error) {
		b = append(b, `"items":{`...)
		for i, name := range slices.Sorted(maps.Keys(items)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			if b, err = appendItem(b, name, items[name], info, w.trees[name], to); err != nil {
				return nil, errs.Wrap("", "item "+strconv.Quote(name), err)
			}
		}
		return append(b, '}'), nil
	})
}

func hasFiles(items map[string]any) bool {
	for _, v := range items {
		if _, ok := v.(files); ok {
			return true
		}
	}
	return false
}

// removeFiles removes the directories of items that nobody will get.
func removeFiles(items map[string]any) {
	for _, v := range items {
		if f, ok := v.(files); ok {
			os.RemoveAll(f.dir) //nolint:errcheck // nobody is left to tell
		}
	}
}

// appendItem appends an item that was loaded.
func appendItem(b []byte, name string, v any, info *checkpoint.Info, abstract *tree.Node, to *result) ([]byte, error) {
	text := func(member, s string) []byte {
		return append(appendText(append(b, `{"`+member+`":`...), s), '}')
	}
	switch v := v.(type) {
	case *tree.Node:
		b, err := appendTree(append(b, `{"tree":`...), v, abstract, to)
		return append(b, '}'), err
	case json.RawMessage:
		return text("json", string(v)), nil
	case checkpoint.ProtoText:
		return text("proto", string(v)), nil
	case files:
		it, _ := info.Item(name)
		b = appendText(append(b, `{"files":`...), v.dir)
		return append(appendText(append(b, `,"type":`...), it.Handler), '}'), nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Want: "a tree, JSON, a protobuf or files",
		Remedy: `ask for it with {"files":true}`}
}
