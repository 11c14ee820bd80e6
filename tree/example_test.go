package tree_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/tree"
)

type Layer struct {
	W [][2]float32 `bivouac:"w"`
	B []float32    `bivouac:"b"`
}

type Model struct {
	Layers []Layer `bivouac:"layers"`
	Step   int     `bivouac:"step"`
}

func Example() {
	model := Model{Step: 3, Layers: []Layer{{W: [][2]float32{{1, 2}, {3, 4}}, B: []float32{5, 6}}}}
	n, err := tree.From(&model)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range tree.Flatten(n) {
		fmt.Println(e.Path.Param(), e.Node)
	}

	var restored Model
	fmt.Println(tree.Into(n, &restored), restored)
	// Output:
	// layers.0.w float32[2,2]
	// layers.0.b float32[2]
	// step int 3
	// <nil> {[{[[1 2] [3 4]] [5 6]}] 3}
}

func ExampleDiff() {
	want, _ := tree.From(map[string]any{"step": 3, "w": []float32{1, 2}, "opt": map[string]any{}})
	got, _ := tree.From(map[string]any{"step": 4, "w": []float32{1, 2}, "ema": 0.5})
	fmt.Print(tree.FormatDiff(tree.Diff(want, got)))
	// Output:
	// - opt: dict of 0
	// ~ step: want int 3, got int 4
	// + ema: float 0.5
}

func ExampleInto() {
	n, _ := tree.From(map[string]any{"w": []float32{1, 2, 3}})
	target := struct {
		W []float32 `bivouac:"w"`
	}{W: make([]float32, 2)} // allocated for another shape
	fmt.Println(tree.Into(n, &target))
	// Output: tree.Into: w: mismatch: want float32[2], got float32[3]
}

// Parts of a tree that were made apart become one.
func ExampleMerge() {
	params, _ := tree.From(map[string]any{"layer0": map[string]any{"w": []float32{1, 2}}, "step": 3})
	head, _ := tree.From(map[string]any{"head": map[string]any{"w": []float32{3}}})
	n, err := tree.Merge([]*tree.Node{params, head}, nil)
	fmt.Println(n.Keys, err)

	later, _ := tree.From(map[string]any{"step": 4})
	_, err = tree.Merge([]*tree.Node{params, later}, nil)
	fmt.Println(err)
	n, err = tree.Merge([]*tree.Node{params, later}, &tree.MergeOptions{Overwrite: true})
	fmt.Println(n.Get("step"), err)
	// Output:
	// [layer0 step head] <nil>
	// tree.Merge: step: mismatch: want a leaf in only one tree, got a leaf in trees 0 and 1 (set Overwrite to take the later leaf)
	// int 4 <nil>
}
