package readers_test

import (
	"errors"
	"io"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// A loop asks ahead; the state of the reader belongs to the step that is shown.
func TestRoot(t *testing.T) {
	args := opargs.ReadersFile{FileRoot: tree(t, 5)}
	r := newReader(t, args, readers.Options{EnableCheckpointing: true})
	root := r.Root(2)
	if root.Here() != nil {
		t.Error("it stands somewhere before the first step")
	}
	var places []any
	want := [][]int{{0, 1}, {2, 3}, {4}, nil, {0, 1}}
	for i, w := range want {
		values, err := root.Next(t.Context())
		if w == nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("step %d: %v, want the end", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, values[0].(*dynamic.Batch)); !same([][]int{got}, [][]int{w}) {
			t.Errorf("step %d gives %v", i, got)
		}
		places = append(places, root.Here())
	}
	follows := func(s readers.State, want [][]int) {
		t.Helper()
		q := newReader(t, args, readers.Options{})
		if err := q.SetState(s); err != nil {
			t.Fatal(err)
		}
		if got := epoch(t, q, 2); !same(got, want) {
			t.Errorf("after the state comes %v, not %v", got, want)
		}
	}
	follows(stateOf(t, r), want[:3]) // nothing was delivered
	root.Show(places[0])
	follows(stateOf(t, r), want[1:3])
	root.Show(nil) // which says nothing
	follows(stateOf(t, r), want[1:3])
	root.Show(places[2])
	follows(stateOf(t, r), want[:3])
	for _, err := range r.NextEpoch(t.Context(), 2) {
		if err == nil {
			t.Error("the reader of a loop gives batches as well")
		}
	}
}
