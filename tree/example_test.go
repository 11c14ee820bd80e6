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
