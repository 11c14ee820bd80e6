package options

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// MarshalYAML returns the same options as MarshalJSON, for go.yaml.in/yaml/v3.
func (o Options) MarshalYAML() (any, error) { return yamlNode(encode(o)), nil }

// UnmarshalYAML works like ParseYAML for a parsed document.
func (o *Options) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := valid(fromYAML(n, 0))
	if err == nil {
		*o = parsed
	}
	return err
}

func readYAML(b []byte) (value, error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return value{kind: kindMap}, nil
	case err != nil:
		return value{}, at(1, 1, "", "YAML", err.Error(), "")
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return value{}, at(max(1, more.Line), max(1, more.Column), "", "one document", "more", "")
	}
	if len(doc.Content) != 1 {
		return value{kind: kindMap}, nil
	}
	v, err := fromYAML(doc.Content[0], 0)
	if err == nil && v.kind == kindNull {
		v.kind = kindMap // the document has only comments
	}
	return v, err
}

func fromYAML(n *yaml.Node, depth int) (value, error) {
	v := value{line: n.Line, col: n.Column}
	refuse := func(got string) (value, error) {
		return value{}, at(n.Line, n.Column, "", "plain YAML", got, "")
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return refuse("an alias")
	case n.Anchor != "":
		return refuse("an anchor")
	case n.Style&yaml.TaggedStyle != 0:
		return refuse("the tag " + n.Tag)
	case depth > maxDepth:
		return refuse("values nested too deep")
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return v, v.scalar(n)
	case yaml.SequenceNode:
		v.kind = kindList
		for _, c := range n.Content {
			item, err := fromYAML(c, depth+1)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
		return v, nil
	case yaml.MappingNode:
		v.kind = kindMap
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, c := n.Content[i], n.Content[i+1]
			if k.Kind != yaml.ScalarNode || k.Anchor != "" || k.ShortTag() != "!!str" {
				return value{}, at(k.Line, k.Column, "", "a name", "another key: "+k.Value, "")
			}
			item, err := fromYAML(c, depth+1)
			if err != nil {
				return value{}, err
			}
			v.keys, v.items = append(v.keys, key{k.Value, k.Line, k.Column}), append(v.items, item)
		}
		return v, v.duplicate()
	}
	return refuse("a node of kind " + strconv.Itoa(int(n.Kind)))
}

func (v *value) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		v.kind = kindNull
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return at(n.Line, n.Column, "", "true or false", n.Value, "")
		}
		v.kind, v.text = kindBool, strconv.FormatBool(b)
	case "!!int":
		var i int64
		if err := n.Decode(&i); err != nil {
			return at(n.Line, n.Column, "", "a 64-bit number", n.Value, "")
		}
		v.kind, v.text = kindNumber, strconv.FormatInt(i, 10)
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return at(n.Line, n.Column, "", "a number", n.Value, "")
		}
		v.kind, v.text = kindNumber, strconv.FormatFloat(f, 'g', -1, 64)
	default: // strings and dates; no option is a date
		v.kind, v.text = kindString, n.Value
	}
	return nil
}

func yamlNode(v value) *yaml.Node {
	scalar := func(tag string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.text} }
	switch v.kind {
	case kindNull:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case kindBool:
		return scalar("!!bool")
	case kindNumber:
		return scalar("") // the form of the text tells whether it is an integer
	case kindString:
		n := &yaml.Node{}
		n.SetString(v.text)
		return n
	case kindList:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v.items {
			if item.kind == kindMap {
				n.Style = 0
			}
			n.Content = append(n.Content, yamlNode(item))
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i, item := range v.items {
		k := &yaml.Node{}
		k.SetString(v.keys[i].name)
		n.Content = append(n.Content, k, yamlNode(item))
	}
	return n
}
