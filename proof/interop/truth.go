package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/mesh"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

const truthFile = "case.json"

// testCase is what a case.json holds.
type testCase struct {
	Library string          `json:"library,omitempty"`
	Layout  string          `json:"layout"`
	Kind    string          `json:"kind"`           // "tree"; "common": of types that all read; "array": one zarr array, its leaf's key is its name; "run": steps; "handled": items and a leaf of handlers; "unmerged": a tree in databases of several processes, which compare merges
	Path    string          `json:"path"`           // of the checkpoint, below the case
	Step    int64           `json:"step,omitempty"` // of a run
	Data    json.RawMessage `json:"data,omitempty"` // its JSON item
	Leaves  []leaf          `json:"leaves"`
	// Cuts say along which axes of a mesh the arrays are cut, of kind "meshed": what the processes of
	// a mesh saved.
	Cuts map[string]mesh.Spec `json:"cuts,omitempty"`
}

// leaf is one leaf or empty container.
type leaf struct {
	Keys  []string `json:"keys"`
	Kinds []string `json:"kinds"` // of the containers: "dict" or "index"
	Kind  string   `json:"kind"`
	DType string   `json:"dtype,omitempty"`
	Shape []int    `json:"shape,omitzero"`
	Data  []byte   `json:"data,omitzero"`
	Text  *string  `json:"text,omitempty"`
	Impl  string   `json:"impl,omitempty"`
}

func readCase(dir string) (testCase, error) {
	var c testCase
	b, err := os.ReadFile(filepath.Join(dir, truthFile))
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

func (c testCase) write(dir string) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, truthFile), b, 0o644)
}

// describe lists the leaves of a tree.
func describe(n *tree.Node) []leaf {
	var out []leaf
	for _, e := range tree.Flatten(n) {
		l := leaf{Keys: []string{}, Kinds: []string{}}
		for _, k := range e.Path {
			l.Keys = append(l.Keys, k.Name)
			if k.Kind == tree.KeyIndex {
				l.Kinds = append(l.Kinds, "index")
			} else {
				l.Kinds = append(l.Kinds, "dict")
			}
		}
		l.fill(e.Node)
		out = append(out, l)
	}
	return out
}

func (l *leaf) fill(n *tree.Node) {
	switch n.Kind {
	case tree.Dict, tree.Named:
		l.Kind = "empty_dict"
		return
	case tree.List:
		l.Kind = "empty_list"
		return
	case tree.Tuple:
		l.Kind = "empty_tuple"
		return
	}
	array := func(kind string, t tensor.Tensor) {
		l.Kind, l.DType = kind, t.DType.String()
		l.Shape, l.Data = append([]int{}, t.Shape...), append([]byte{}, t.Data...)
	}
	switch v := n.Value.(type) {
	case nil:
		l.Kind = "none"
	case string:
		l.Kind, l.Text = "string", &v
	case bool:
		array("scalar", tensor.ScalarOf(v))
	case int64:
		array("scalar", tensor.ScalarOf(v))
	case uint64:
		array("scalar", tensor.ScalarOf(v))
	case float64:
		array("scalar", tensor.ScalarOf(v))
	case tensor.Tensor:
		array("array", v)
	case checkpoint.Key:
		array("prng_key", v.Data)
		l.Impl = v.Impl
	default:
		l.Kind = fmt.Sprintf("%T", v)
	}
}

func (l leaf) id() string { return strings.Join(l.Keys, "\x00") }

func (l leaf) text() string {
	if l.Text == nil {
		return ""
	}
	return *l.Text
}

func (l leaf) equal(o leaf) bool {
	return slices.Equal(l.Keys, o.Keys) && slices.Equal(l.Kinds, o.Kinds) && l.Kind == o.Kind && l.DType == o.DType &&
		slices.Equal(l.Shape, o.Shape) && bytes.Equal(l.Data, o.Data) && l.text() == o.text() && l.Impl == o.Impl
}

func (l leaf) String() string {
	switch {
	case l.DType == "" && l.Kind == "string":
		return fmt.Sprintf("string %q", l.text())
	case l.DType == "":
		return l.Kind
	}
	return fmt.Sprintf("%s %s%v %x… of %d bytes", l.Kind, l.DType, l.Shape, l.Data[:min(len(l.Data), 16)], len(l.Data))
}

// differences holds what was read against what was written.
func differences(wrote, read []leaf) []string {
	got := map[string]leaf{}
	for _, l := range read {
		got[l.id()] = l
	}
	var out []string
	for _, w := range wrote {
		g, ok := got[w.id()]
		delete(got, w.id())
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%q: wrote %v, read nothing", w.Keys, w))
		case !g.equal(w):
			out = append(out, fmt.Sprintf("%q: wrote %v in %q, read %v in %q", w.Keys, w, w.Kinds, g, g.Kinds))
		}
	}
	for _, g := range read {
		if _, extra := got[g.id()]; extra {
			out = append(out, fmt.Sprintf("%q: wrote nothing, read %v", g.Keys, g))
		}
	}
	return out
}
