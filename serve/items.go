package serve

import (
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// readItems reads the items of a save.
func readItems(text []byte, a *arena) (map[string]any, error) {
	items := map[string]any{}
	if text == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument items", Want: "an object of items", Got: "none"}
	}
	c := &cursor{b: text}
	for c.enter('{'); c.err == nil && c.more('}'); {
		name := c.text()
		v, err := readItem(c, a)
		if err != nil {
			return nil, errs.Wrap("", "item "+strconv.Quote(name), err)
		}
		if _, twice := items[name]; twice {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "item " + strconv.Quote(name), Got: "two of this name"}
		}
		items[name] = v
	}
	return items, errs.Wrap("", "argument items", c.err)
}

// readItem reads the value of an item.
func readItem(c *cursor, a *arena) (any, error) {
	members := map[string][]byte{}
	for c.enter('{'); c.err == nil && c.more('}'); {
		name := c.text()
		members[name] = c.skip()
	}
	if c.err != nil {
		return nil, c.err
	}
	for name, raw := range members {
		v := &cursor{b: raw}
		switch name {
		case "tree":
			return readTree(raw, a)
		case "json":
			s := v.text()
			return json.RawMessage(s), v.err
		case "proto":
			s := v.text()
			return checkpoint.ProtoText(s), v.err
		}
	}
	return nil, &errs.Error{Kind: errs.Invalid, Want: "a tree, json, proto or files"}
}
