package bivouac_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

func mustOpen(t *testing.T, dir string, o bivouac.Options) *bivouac.Job[int64] {
	t.Helper()
	job, err := bivouac.Open(t.Context(), dir, &counter{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// growing is a state whose arrays come into being while the loop runs: one a step.
type growing struct {
	w      []float32
	memory []float32 // of the last Tree
	set    int
	refuse error
	tree   func() (*tree.Node, error)
}

func (g *growing) Tree() (*tree.Node, error) {
	if g.tree != nil {
		return g.tree()
	}
	g.memory = append(g.memory[:0], g.w...)
	root := tree.NewDict()
	root.Set("w", tree.NewLeaf(tensor.FromSlice(g.memory)))
	return root, nil
}

func (g *growing) SetTree(n *tree.Node) error {
	g.set++
	if g.refuse != nil {
		return g.refuse
	}
	x, _ := n.Get("w").Tensor()
	w, err := tensor.Of[float32](x)
	g.w = slices.Clone(w)
	return err
}

// A TreeState is asked at each save and restored once by Open, and what it gave for one save may
// change before the save is written.
func TestTreeState(t *testing.T) {
	dir := t.TempDir()
	options := func(state *growing, steps int64) bivouac.Options {
		return bivouac.Options{State: state, SaveEvery: 2, Steps: steps, Keep: bivouac.KeepAll}
	}
	first := &growing{w: []float32{0}}
	job := mustOpen(t, dir, options(first, 5))
	for batch, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		first.w = append(first.w, float32(batch))
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	if first.set != 0 {
		t.Errorf("a fresh run restored %d times", first.set)
	}
	second := &growing{}
	job = mustOpen(t, dir, options(second, 8))
	if second.set != 1 || !slices.Equal(second.w, first.w) {
		t.Errorf("restored %d times: got %v, want %v", second.set, second.w, first.w)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	third := &growing{refuse: errors.New("another model")}
	_, err := bivouac.Open(t.Context(), dir, &counter{}, options(third, 8))
	if !errors.Is(err, third.refuse) {
		t.Errorf("SetTree refused: got %v", err)
	}
	fourth := &growing{}
	job = mustOpen(t, dir, options(fourth, 8))
	if !slices.Equal(fourth.w, first.w) {
		t.Errorf("after a refusal: got %v, want %v", fourth.w, first.w)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
}

// A Tree that fails ends the loop, and one that gives nothing is a mistake that is named.
func TestTreeStateFails(t *testing.T) {
	sour := errors.New("the device is gone")
	for name, c := range map[string]struct {
		tree func() (*tree.Node, error)
		is   func(error) bool
	}{
		"error": {func() (*tree.Node, error) { return nil, sour }, func(err error) bool { return errors.Is(err, sour) }},
		"nil": {func() (*tree.Node, error) { return nil, nil }, func(err error) bool {
			return errs.KindOf(err) == errs.Invalid && strings.Contains(err.Error(), "TreeState.Tree")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := mustOpen(t, t.TempDir(),
				bivouac.Options{State: &growing{tree: c.tree}, SaveEvery: 2, Steps: 4})
			var last error
			steps := 0
			for _, err := range job.Steps(t.Context()) {
				if last = err; err == nil {
					steps++
				}
			}
			if !c.is(last) || steps != 2 {
				t.Errorf("after %d steps: %v", steps, last)
			}
			if err := job.Close(); err != nil && !c.is(err) {
				t.Error(err)
			}
		})
	}
}
