package serve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// TestNodesThatAreRefused lists what no tree is. None of it panics, and each error says what is
// wanted.
func TestNodesThatAreRefused(t *testing.T) {
	a := &arena{mem: make([]byte, 4096), uses: 1}
	for node, want := range map[string]string{
		`["a","float32",[2],4092]`:                    "inside of",
		`["a","float32",[1025],0]`:                    "inside of",
		`["a","float32",[2],-64]`:                     "inside of",
		`["a","float32",[2],32]`:                      "multiple of 64",
		`["a","float32",[2],4160]`:                    "inside of",
		`["a","float32",[0],4160]`:                    "inside of",
		`["a","float32",[1],9223372036854775807]`:     "inside of",
		`["a","float32",[1],9223372036854775808]`:     "64 bits",
		`["a","float32",[4294967296,4294967296,4],0]`: "",
		`["a","float32",[9223372036854775807],0]`:     "",
		`["a","float32",[-1],0]`:                      "at least 0",
		`["a","float32",[1.5],0]`:                     "64 bits",
		`["a","float33",[1],0]`:                       "",
		`["a",7,[1],0]`:                               "a string",
		`["a","float32",{},0]`:                        "an array",
		`["a","float32",[1]]`:                         "64 bits",
		`["a","float32",[1],0,1]`:                     "the end of the array",
		`["m","float32",[2],[[[0],[2]]]]`:             "64 bits",
		`["m","float32",[2],[[[0],[2],8]]]`:           "multiple of 64",
		`["k","threefry2x32",[2],4096]`:               "inside of",
		`["d",["a"],[]]`:                              "as many keys",
		`["d",["a"]]`:                                 "an array",
		`["n","T",["a","b"],[1]]`:                     "as many keys",
		`["d",[1],[1]]`:                               "a string",
		`["q"]`:                                       "a kind of node",
		`[]`:                                          "a string",
		`{}`:                                          "a node",
		`["f","NaN"]`:                                 "nan",
		`["u","-1"]`:                                  "unsigned",
		`["u","18446744073709551616"]`:                "unsigned",
		`9223372036854775808`:                         "64 bits",
		`1e999`:                                       "64 bits",
		`"\ud800"`:                                    "Unicode",
		`["d",["\udfff"],[1]]`:                        "Unicode",
		`["y","bytes"]`:                               "int",
		`["h","my.Leaf",0]`:                           "arrays",
		strings.Repeat(`["l",[`, maxLevels+2) + strings.Repeat(`]]`, maxLevels+2): "levels",
	} {
		n, err := readTree([]byte(node), a)
		if err == nil {
			t.Errorf("%.60s was read as %v", node, n)
		} else if kind := errs.KindOf(err); kind != errs.Invalid && kind != errs.Unsupported ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", node, err, want)
		}
	}
	if _, err := readTree([]byte(`["a","int8",[1],0]`), nil); errs.KindOf(err) != errs.Invalid {
		t.Errorf("an array without an arena: %v", err)
	}
	if n, err := readTree([]byte(`["a","int8",[0],0]`), nil); err != nil || len(n.Value.(tensor.Tensor).Data) != 0 {
		t.Errorf("an empty array without an arena: %v", err)
	}
}

// TestNodesSurvive checks that a tree that was written is read the same.
func TestNodesSurvive(t *testing.T) {
	leaf := rapid.Custom(func(t *rapid.T) *tree.Node {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return tree.NewLeaf(rapid.Int64().Draw(t, "int"))
		case 1:
			return tree.NewLeaf(rapid.Float64().Draw(t, "float"))
		case 2:
			return tree.NewLeaf(rapid.String().Draw(t, "text"))
		case 3:
			return tree.NewLeaf(rapid.Bool().Draw(t, "bool"))
		case 4:
			return tree.NewLeaf(rapid.Uint64Min(math.MaxInt64+1).Draw(t, "uint"))
		case 5:
			return tree.NewLeaf(rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0,
				-1)}).Draw(t, "special"))
		}
		return &tree.Node{}
	})
	var node func(level int) *rapid.Generator[*tree.Node]
	node = func(level int) *rapid.Generator[*tree.Node] {
		return rapid.Custom(func(t *rapid.T) *tree.Node {
			kind := rapid.SampledFrom([]tree.Kind{tree.Leaf, tree.Dict, tree.List, tree.Tuple, tree.Named}).Draw(t,
				"node")
			if level == 0 || kind == tree.Leaf {
				return leaf.Draw(t, "leaf")
			}
			n := &tree.Node{Kind: kind, Items: rapid.SliceOfN(node(level-1), 0, 4).Draw(t, "items")}
			if kind == tree.Dict || kind == tree.Named {
				n.Keys = rapid.SliceOfNDistinct(rapid.String(), len(n.Items), len(n.Items),
					rapid.ID[string]).Draw(t, "keys")
			}
			if kind == tree.Named {
				n.Type = rapid.String().Draw(t, "type")
			}
			return n
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		want := node(4).Draw(t, "tree")
		text, err := appendTree(nil, want, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readTree(text, nil)
		if err != nil || !tree.Equal(want, got) {
			t.Fatalf("%s: %v\n%s", text, err, tree.FormatDiff(tree.Diff(want, got)))
		}
		again, err := appendTree(nil, got, nil, nil)
		if err != nil || string(again) != string(text) { // kinds and types, which Equal leaves aside
			t.Fatalf("%s, then %s: %v", text, again, err)
		}
	})
}

// TestAMillionLeaves checks that a large tree is read and written.
func TestAMillionLeaves(t *testing.T) {
	if testing.Short() {
		t.Skip("half a gigabyte of nodes")
	}
	const n = 1_000_000
	a := &arena{mem: make([]byte, 64*16), uses: 1}
	var b []byte
	b = append(b, `["d",[`...)
	for i := range n {
		b = fmt.Appendf(b, `"layer.%d"`, i)
		if i < n-1 {
			b = append(b, ',')
		}
	}
	b = append(b, `],[`...)
	for i := range n {
		b = fmt.Appendf(b, `["a","float32",[4,4],%d]`, i%16*64)
		if i < n-1 {
			b = append(b, ',')
		}
	}
	b = append(b, `]]`...)
	got, err := readTree(b, a)
	if err != nil || len(got.Items) != n || got.Keys[n-1] != "layer."+strconv.Itoa(n-1) {
		t.Fatal(err)
	}
	again, err := appendTree(nil, got, nil, &result{windows: []window{{mem: a.mem}}})
	if err != nil || string(again) != string(b) {
		t.Fatalf("%d bytes, want %d: %v", len(again), len(b), err)
	}
}

// TestAbstractNodes checks what a load asks for.
func TestAbstractNodes(t *testing.T) {
	n,
		err := readTree([]byte(`["l",[["s",null,null],["s","int8",[2,3]],`+
		`["s",null,[4],[[[0],[2]],[[2],[2]]]],["x"],["y","int"],null]]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := n.Items[0].Value.(checkpoint.Abstract); a.DType != tensor.Invalid || a.Shape != nil || a.Boxes != nil {
		t.Error(a)
	}
	if a := n.Items[1].Value.(checkpoint.Abstract); a.DType != tensor.Int8 || !slices.Equal(a.Shape, tensor.Shape{2,
		3}) {
		t.Error(a)
	}
	if a := n.Items[2].Value.(checkpoint.Abstract); len(a.Boxes) != 2 || a.Boxes[1].Origin[0] != 2 {
		t.Error(a)
	}
	if n.Items[3].Value != any(checkpoint.Placeholder{}) || n.Items[5].Value != nil {
		t.Error(n.Items)
	}
}

// FuzzTree checks that no text makes the reader of trees panic or reach outside of the arena.
func FuzzTree(f *testing.F) {
	f.Add(`["d",["a"],[["a","float32",[2],64]]]`)
	f.Add(`["m","float32",[4],[[[0],[2],0],[[2],[2],64]]]`)
	f.Add(`["l",[["s",null,[4],[[[0],[2]]]],["k","threefry2x32",[2],0],["f","nan"],["u","7"]]]`)
	a := &arena{mem: make([]byte, 256), uses: 1}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readBody(strings.NewReader(text), int64(len(text))); err != nil {
			return // which is not JSON
		}
		n, err := readTree([]byte(text), a)
		if err != nil {
			if errs.KindOf(err) == errs.Other {
				t.Fatal(err)
			}
			return
		}
		if n.Check() == nil {
			if _, err := appendTree(nil, n, nil, &result{windows: []window{{mem: a.mem}}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
