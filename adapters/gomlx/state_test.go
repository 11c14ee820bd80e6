package gomlx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/bivouac-ml/bivouac/adapters/gomlx"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Each element type that GoMLX and Bivouac have comes back with its bits, also scalars and tensors
// without elements.
func TestTensors(t *testing.T) {
	n := 0
	for _, d := range tensor.DTypes() {
		for _, shape := range []tensor.Shape{{}, {3}, {2, 3}, {2, 0, 3}} {
			in := tensor.New(d, shape...)
			for i := range in.Data {
				in.Data[i] = byte(i % 2)
			}
			out, err := gomlx.FromTensor(in)
			if errs.KindOf(err) == errs.Unsupported {
				if !strings.Contains(err.Error(), d.String()) {
					t.Errorf("%v: %v", d, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(d, err)
			}
			n++
			back, err := gomlx.ToTensor(out)
			if err != nil {
				t.Fatal(d, err)
			}
			if diff := tree.Diff(tree.NewLeaf(in), tree.NewLeaf(back)); len(diff) > 0 || back.DType != d {
				t.Errorf("%v %v: %s", d, shape, tree.FormatDiff(diff))
			}
		}
	}
	if n != 15*4 {
		t.Errorf("got %d tensors of types that both have, want 60", n)
	}
}

func TestFromBatch(t *testing.T) {
	b := tensor.NewBatch(tensor.Float32, 2, 3)
	got, err := gomlx.FromBatch(b)
	if err != nil || !got.Shape().Equal(shapes.Make(dtypes.Float32, 2, 3)) {
		t.Errorf("got %v, %v", got, err)
	}
	b.Reset(tensor.Float32, 1, "")
	for _, n := range []int{2, 3} {
		if _, err := b.Grow(n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := gomlx.FromBatch(b); err == nil {
		t.Error("samples of two shapes are no tensor")
	}
}

func TestToTensorOfNothing(t *testing.T) {
	x := tensors.FromScalar(float32(1))
	if err := x.FinalizeAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := gomlx.ToTensor(x); errs.KindOf(err) != errs.Invalid {
		t.Errorf("got %v", err)
	}
}

func leaf(t *testing.T, n *tree.Node, keys ...string) float32 {
	t.Helper()
	for _, k := range keys {
		if n = n.Get(k); n == nil {
			t.Fatalf("there is no %v", keys)
		}
	}
	x, ok := n.Tensor()
	if !ok {
		t.Fatalf("%v is no array", keys)
	}
	v, err := tensor.Of[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// Values go to the variables that are there, wait for those that come later, and are saved again if
// none comes.
func TestStateKeepsWhatNobodyAskedFor(t *testing.T) {
	first := context.New().Checked(false)
	state := gomlx.NewState(first)
	first.In("a").VariableWithValue("w", []float32{1})
	first.In("a").In("b").VariableWithValue("w", []float32{2})
	first.VariableWithValue("top", []float32{3})
	saved, err := state.Tree()
	if err != nil {
		t.Fatal(err)
	}
	if leaf(t, saved, "a", "w") != 1 || leaf(t, saved, "a", "b", "w") != 2 || leaf(t, saved, "top") != 3 {
		t.Error(saved)
	}
	second := context.New().Checked(false)
	early := second.In("a").VariableWithValue("w", []float32{0})
	again := gomlx.NewState(second)
	if err := again.SetTree(saved); err != nil {
		t.Fatal(err)
	}
	if got := early.MustValue().Value().([]float32); got[0] != 1 {
		t.Errorf("a variable that was there: %v", got)
	}
	late := second.In("a").In("b").VariableWithValue("w", []float32{0})
	if got := late.MustValue().Value().([]float32); got[0] != 2 {
		t.Errorf("a variable that came later: %v", got)
	}
	if err := late.SetValue(tensors.FromValue([]float32{20})); err != nil {
		t.Fatal(err)
	}
	n, err := again.Tree()
	if err != nil {
		t.Fatal(err)
	}
	if leaf(t, n, "a", "w") != 1 || leaf(t, n, "a", "b", "w") != 20 || leaf(t, n, "top") != 3 {
		t.Error(n)
	}
	if err := second.DeleteVariable("/", "top"); err != nil {
		t.Fatal(err)
	}
	if n, err = again.Tree(); err != nil || n.Get("top") != nil {
		t.Errorf("a deleted variable: %v, %v", n, err)
	}
}

// What does not fit is refused, and nothing changes.
func TestStateRefuses(t *testing.T) {
	ctx := context.New().Checked(false)
	v := ctx.In("a").VariableWithValue("w", []float32{1})
	state := gomlx.NewState(ctx)
	for name, c := range map[string]struct {
		tree any
		want string
	}{
		"another shape": {map[string]any{"a": map[string]any{"w": []float32{1, 2}}}, "/a/w"},
		"another type":  {map[string]any{"a": map[string]any{"w": []int32{1}}}, "/a/w"},
		"a list":        {map[string]any{"a": []any{[]float32{1}}}, "list"},
		"a text":        {map[string]any{"a": map[string]any{"w": "text"}}, "array"},
		"float8":        {map[string]any{"x": tensor.New(tensor.Float8E5M2, 1)}, "float8_e5m2"},
	} {
		n, err := tree.From(c.tree)
		if err != nil {
			t.Fatal(err)
		}
		if err := state.SetTree(n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
		if got := v.MustValue().Value().([]float32); got[0] != 1 {
			t.Errorf("%s: the variable is %v", name, got)
		}
	}
	ctx.VariableWithValue("a", []float32{2})
	var e *errs.Error
	if _, err := state.Tree(); !errors.As(err, &e) || e.Remedy == "" {
		t.Errorf("a variable and a scope with one name: %v", err)
	}
}

// constant is a loader that was there before.
type constant struct{ asked, deleted []string }

func (c *constant) LoadVariable(_ *context.Context, scope, name string) (*tensors.Tensor, bool) {
	c.asked = append(c.asked, scope+":"+name)
	return tensors.FromValue([]float32{9}), true
}

func (c *constant) DeleteVariable(_ *context.Context, scope, name string) error {
	c.deleted = append(c.deleted, scope+":"+name)
	return nil
}

// An earlier loader is asked only for what the State does not have.
func TestStateAsksTheLoaderBefore(t *testing.T) {
	ctx, before := context.New().Checked(false), &constant{}
	ctx.SetLoader(before)
	state := gomlx.NewState(ctx)
	n, err := tree.From(map[string]any{"own": []float32{1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := state.SetTree(n); err != nil {
		t.Fatal(err)
	}
	if got := ctx.VariableWithValue("own", []float32{0}).MustValue().Value().([]float32); got[0] != 1 {
		t.Error(got)
	}
	if got := ctx.VariableWithValue("other", []float32{0}).MustValue().Value().([]float32); got[0] != 9 {
		t.Error(got)
	}
	if err := ctx.DeleteVariable("/", "other"); err != nil {
		t.Fatal(err)
	}
	if strings.Join(before.asked, " ") != "/:other" || strings.Join(before.deleted, " ") != "/:other" {
		t.Errorf("asked %v, deleted %v", before.asked, before.deleted)
	}
}
