package gomlx

import (
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/train/metrics"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A State is the state of a trainer on GoMLX: all variables of a context. Give it to
// bivouac.Options.State, or to checkpoint.Save by its Tree.
//
// GoMLX makes variables when a graph first asks for them. A State keeps restored values until then.
// Values that no graph has asked for are saved again, so that nothing is lost if a run uses a part
// of the model only.
//
// Two things are not saved. The hyperparameters of the context are the program's. The variables of
// metrics have names with a random part, so that no later process could find them: moving averages,
// which GoMLX prints, begin anew after an interruption. No weight depends on them.
//
// A State keeps a copy of the variables in the memory of the host, which each save uses again. It
// is not safe for concurrent use.
type State struct {
	ctx  *context.Context
	next context.Loader // the loader before, which is asked later
	// restored are values that no variable has taken, by path.
	restored map[string]*tensors.Tensor
	memory   map[string][]byte // of the last Tree, by path
}

// NewState returns the State of all variables of ctx. It becomes the loader of ctx. A loader that
// ctx has already, such as a handler of GoMLX's own checkpoints, is asked for what the State does
// not have.
//
// For GoMLX a restored variable exists before the model asks for it the first time. So make the
// model with ctx.Checked(false), or it panics because the variable exists.
func NewState(ctx *context.Context) *State {
	s := &State{ctx: ctx, next: ctx.Loader(), restored: map[string]*tensors.Tensor{}, memory: map[string][]byte{}}
	ctx.SetLoader(s)
	return s
}

// pathOf returns the path of a variable in the tree, joined by "/".
func pathOf(scope, name string) string {
	return strings.Trim(scope+context.ScopeSeparator+name, context.ScopeSeparator)
}

// Tree implements bivouac.TreeState. The arrays are copies, which the next call overwrites. It
// fails with errs.Invalid if the name of a variable is also the name of a scope beside it, since
// one of them would hide the other in a checkpoint.
func (s *State) Tree() (*tree.Node, error) {
	root := tree.NewDict()
	memory := make(map[string][]byte, len(s.memory))
	put := func(path string, value *tensors.Tensor) error {
		t, err := toTensor(value, s.memory[path])
		if err != nil {
			return errs.Wrap("gomlx.State", path, err)
		}
		memory[path] = t.Data
		return place(root, path, t)
	}
	values := map[string]*tensors.Tensor{}
	for v := range s.ctx.IterVariables() {
		if !v.HasValue() || ofMetric(v.Scope()) {
			continue // without a value: no graph has run with it, and the next start initializes it too
		}
		value, err := v.Value()
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "gomlx.State", Subject: v.ScopeAndName(), Err: err}
		}
		values[pathOf(v.Scope(), v.Name())] = value
	}
	for path, value := range s.restored {
		if _, ok := values[path]; !ok {
			values[path] = value
		}
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if err := put(path, values[path]); err != nil {
			return nil, err
		}
	}
	s.memory = memory
	return root, nil
}

// ofMetric reports whether a scope has the variables of a metric.
func ofMetric(scope string) bool {
	const scopes = context.ScopeSeparator + metrics.Scope
	return scope == scopes || strings.HasPrefix(scope, scopes+context.ScopeSeparator)
}

// place sets the leaf at a path.
func place(root *tree.Node, path string, t tensor.Tensor) error {
	keys := strings.Split(path, context.ScopeSeparator)
	at := root
	for i, key := range keys {
		child := at.Get(key)
		last := i == len(keys)-1
		if child != nil && (last || child.Kind == tree.Leaf) {
			return &errs.Error{Kind: errs.Invalid, Op: "gomlx.State", Subject: path,
				Want:   "different names of variables and scopes",
				Got:    "a variable and a scope called " + strings.Join(keys[:i+1], context.ScopeSeparator),
				Remedy: "rename one of them"}
		}
		switch {
		case last:
			at.Set(key, tree.NewLeaf(t))
		case child == nil:
			child = tree.NewDict()
			at.Set(key, child)
		}
		at = child
	}
	return nil
}

// SetTree implements bivouac.TreeState. Variables that the context has already get their values
// now, the others when a graph asks for them. It fails with errs.Mismatch, and changes nothing, if
// a variable of the context has another shape or element type, and if the tree holds something else
// than arrays.
func (s *State) SetTree(n *tree.Node) error {
	values := map[string]*tensors.Tensor{}
	for _, e := range tree.Flatten(n) {
		path, err := variablePath(e)
		if err != nil {
			return err
		}
		if path == "" {
			continue
		}
		t, ok := e.Node.Tensor()
		if !ok {
			return &errs.Error{Kind: errs.Mismatch, Op: "gomlx.State", Subject: path, Want: "an array", Got: e.Node.String()}
		}
		if values[path], err = FromTensor(t); err != nil {
			return errs.Wrap("gomlx.State", path, err)
		}
	}
	for v := range s.ctx.IterVariables() {
		if value, ok := values[pathOf(v.Scope(), v.Name())]; ok && !value.Shape().Equal(v.Shape()) {
			return &errs.Error{Kind: errs.Mismatch, Op: "gomlx.State", Subject: v.ScopeAndName(), Want: v.Shape().String(),
				Got:    value.Shape().String(),
				Remedy: "the checkpoint is of another model: use its configuration, or another directory"}
		}
	}
	s.restored = values
	for v := range s.ctx.IterVariables() {
		value, ok := s.take(v.Scope(), v.Name())
		if !ok {
			continue
		}
		if err := v.SetValue(value); err != nil {
			return &errs.Error{Kind: errs.Invalid, Op: "gomlx.State", Subject: v.ScopeAndName(), Err: err}
		}
	}
	return nil
}

// variablePath returns the path of a leaf, or "" for an empty dictionary.
func variablePath(e tree.Entry) (string, error) {
	if e.Node.Kind != tree.Leaf && e.Node.Len() == 0 {
		return "", nil
	}
	var keys []string
	for _, k := range e.Path {
		if k.Kind != tree.KeyDict && k.Kind != tree.KeyAttr {
			return "", &errs.Error{Kind: errs.Mismatch, Op: "gomlx.State", Subject: e.Path.String(),
				Want: "dictionaries of arrays", Got: "a list"}
		}
		keys = append(keys, k.Name)
	}
	return strings.Join(keys, context.ScopeSeparator), nil
}

// take returns a restored value and forgets it.
func (s *State) take(scope, name string) (*tensors.Tensor, bool) {
	path := pathOf(scope, name)
	value, ok := s.restored[path]
	delete(s.restored, path)
	return value, ok
}

// LoadVariable implements context.Loader.
func (s *State) LoadVariable(ctx *context.Context, scope, name string) (*tensors.Tensor, bool) {
	if value, ok := s.take(scope, name); ok || s.next == nil {
		return value, ok
	}
	return s.next.LoadVariable(ctx, scope, name)
}

// DeleteVariable implements context.Loader.
func (s *State) DeleteVariable(ctx *context.Context, scope, name string) error {
	s.take(scope, name)
	if s.next == nil {
		return nil
	}
	return s.next.DeleteVariable(ctx, scope, name)
}
