package layout_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// manyLeaves opens the tree of a checkpoint of n arrays of two shapes, a string and an
// empty container.
func manyLeaves(t *testing.T, n int) (open *layout.OpenTree, live uint64) {
	t.Helper()
	ctx, st, state := t.Context(), local.New(vfstest.NewMem(), "/", nil), tree.NewDict()
	for i := range n {
		x := tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{1}, Data: []byte{byte(i), 0, 0, 0}}
		if i%2 == 1 {
			x = tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{2, 2}, Data: []byte{byte(i), 0, 0, 0}}
		}
		state.Set(fmt.Sprintf("leaf%07d", i), tree.NewLeaf(x))
	}
	state.Set("name", tree.NewLeaf("a name")).Set("none", tree.NewDict())
	if err := checkpoint.Save(ctx, "c", state, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	c, err := layout.Open(ctx, st, "c")
	if err != nil {
		t.Fatal(err)
	}
	item, err := c.Default(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before := liveHeap()
	if open, err = c.Tree(ctx, item); err != nil {
		t.Fatal(err)
	}
	after := liveHeap()
	t.Cleanup(func() { open.Close() }) //nolint:errcheck // nothing was written
	return open, after - min(after, before)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers gave back
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An open tree takes little for each leaf: name, path, place in the database and a
// reference to what it has in common with others.
func TestOpenTreeOfManyLeavesIsSmall(t *testing.T) {
	const n = 20_000
	open, live := manyLeaves(t, n)
	if per := live / n; per > 350 {
		t.Errorf("%d bytes a leaf, want at most 350", per)
	}
	runtime.KeepAlive(open)
}

// A check takes next to nothing for the leaves that wait.
func TestCheckOfManyLeavesIsSmall(t *testing.T) {
	const n = 20_000
	open, _ := manyLeaves(t, n)
	seen, told := make([]bool, len(open.Leaves)), 0
	before, taken := liveHeap(), uint64(0)
	err := open.Check(t.Context(), &layout.Checker{Verdict: func(i int, err error) error {
		if told == 0 {
			now := liveHeap()
			taken = now - min(now, before)
		}
		if seen[i] {
			t.Errorf("leaf %d twice", i)
		}
		seen[i] = true
		told++
		return err
	}})
	if err != nil || told != n {
		t.Errorf("%d arrays looked at, want %d: %v", told, n, err)
	}
	if per := taken / n; per > 50 {
		t.Errorf("%d bytes a leaf, want at most 50", per)
	}
	runtime.KeepAlive(open)
}

// Leaves that are alike share their form, others have their own.
func TestLeavesThatAreAlikeShareTheirForm(t *testing.T) {
	open, _ := manyLeaves(t, 100)
	forms := map[*layout.Form]int{}
	for i := range open.Leaves {
		l := &open.Leaves[i]
		forms[l.Form]++
		switch {
		case l.Param == "name":
			if l.Kind != layout.String || l.Text != "a name" || l.DType != tensor.Invalid {
				t.Errorf("%s: %v %q %v", l.Param, l.Kind, l.Text, l.DType)
			}
		case l.Param == "none":
			if l.Kind != layout.EmptyDict || l.Text != "" || l.Shape != nil {
				t.Errorf("%s: %v %q %v", l.Param, l.Kind, l.Text, l.Shape)
			}
		case i%2 == 0:
			if l.DType != tensor.Float32 || !l.Shape.Equal(tensor.Shape{1}) || l.Text != "" {
				t.Errorf("%s: %v%v", l.Param, l.DType, l.Shape)
			}
		default:
			if l.DType != tensor.Uint8 || !l.Shape.Equal(tensor.Shape{2, 2}) || l.Text != "" {
				t.Errorf("%s: %v%v", l.Param, l.DType, l.Shape)
			}
		}
	}
	if len(forms) != 4 {
		t.Errorf("%d forms, want 4", len(forms))
	}
}
