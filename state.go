package bivouac

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// TreeState is a State that makes its tree anew for each save, for example because its arrays come
// into being while the loop runs, or lie on a device.
type TreeState interface {
	// Tree returns what is saved. The job calls it between two steps and copies the arrays before the
	// loop continues, so the next call may use their memory again. An error ends the loop.
	Tree() (*tree.Node, error)
	// SetTree restores what Tree returned in an earlier run. Open calls it at most once, before the
	// first step, and the memory of the arrays is the state's own from then on. If it returns an
	// error, Open returns it, and the step stays as it is.
	SetTree(*tree.Node) error
}

// stateOf returns what is saved of a State.
func stateOf(state any) (any, error) {
	t, ok := state.(TreeState)
	if !ok {
		return state, nil
	}
	node, err := t.Tree()
	if err == nil && node == nil {
		err = &errs.Error{Kind: errs.Invalid, Subject: "TreeState.Tree", Want: "a tree", Got: "nil"}
	}
	return node, err
}

// setState restores a State.
func setState(state any, node *tree.Node) error {
	if t, ok := state.(TreeState); ok {
		return t.SetTree(node)
	}
	return tree.Into(node, state)
}

// checkState returns an error in the first run for a state that a later run could not restore.
func checkState(state any) error {
	if _, ok := state.(TreeState); ok {
		return nil
	}
	node, err := tree.From(state)
	if err == nil {
		err = tree.Into(node, state) // the values are the same, so nothing changes
	}
	return errs.Wrap("bivouac.Open", "Options.State", err)
}
