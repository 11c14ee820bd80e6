package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

var (
	padding = options.Options{Array: options.Array{Loading: options.ArrayLoading{EnablePaddingAndTruncation: options.On}}}
	partly  = options.Options{PyTree: options.PyTree{Loading: options.TreeLoading{PartialLoad: options.On}}}
)

// Each form of a leaf of an abstract tree gives what it asks for, or is refused.
func TestAbstractLeaf(t *testing.T) {
	st := saved(t, map[string]any{
		"i": []int32{1, -2, 300}, "f": []float32{1, 2.5}, "m": grid(4, 3),
		"n": 7, "x": 1.5, "one": 1, "big": uint64(1 << 63), "s": "text", "none": nil, "zero": tensor.ScalarOf(float32(9)),
	})
	box := checkpoint.Box{Origin: []int{1, 1}, Shape: []int{2, 2}}
	for _, c := range []struct {
		name string
		leaf string
		want any
		o    checkpoint.LoadOptions
		got  any // errs.Kind where it is refused
	}{
		{"as saved", "i", nil, checkpoint.LoadOptions{}, tensor.FromSlice([]int32{1, -2, 300}, 3)},
		{"any array", "i", checkpoint.Abstract{}, checkpoint.LoadOptions{}, tensor.FromSlice([]int32{1, -2, 300}, 3)},
		{"wider", "i", checkpoint.Abstract{DType: tensor.Int64}, checkpoint.LoadOptions{}, tensor.FromSlice([]int64{1, -2, 300}, 3)},
		{"to floats", "i", checkpoint.Abstract{DType: tensor.Float32}, checkpoint.LoadOptions{}, tensor.FromSlice([]float32{1, -2, 300}, 3)},
		{"out of range", "i", checkpoint.Abstract{DType: tensor.Int8}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"lossy", "i", checkpoint.Abstract{DType: tensor.Int8}, checkpoint.LoadOptions{LossyCast: true}, tensor.FromSlice([]int8{1, -2, 44}, 3)},
		{"fraction", "f", checkpoint.Abstract{DType: tensor.Int32}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"truncated", "f", checkpoint.Abstract{DType: tensor.Int32}, checkpoint.LoadOptions{LossyCast: true}, tensor.FromSlice([]int32{1, 2}, 2)},
		{"shape", "i", checkpoint.Abstract{Shape: tensor.Shape{3}}, checkpoint.LoadOptions{}, tensor.FromSlice([]int32{1, -2, 300}, 3)},
		{"smaller", "i", checkpoint.Abstract{Shape: tensor.Shape{2}}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"larger", "i", checkpoint.Abstract{Shape: tensor.Shape{4}}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"rank", "i", checkpoint.Abstract{Shape: tensor.Shape{3, 1}}, checkpoint.LoadOptions{Options: padding}, errs.Mismatch},
		{"truncate", "i", checkpoint.Abstract{Shape: tensor.Shape{2}}, checkpoint.LoadOptions{Options: padding}, tensor.FromSlice([]int32{1, -2}, 2)},
		{"pad", "i", checkpoint.Abstract{Shape: tensor.Shape{5}}, checkpoint.LoadOptions{Options: padding}, tensor.FromSlice([]int32{1, -2, 300, 0, 0}, 5)},
		{"pad only", "i", checkpoint.Abstract{Shape: tensor.Shape{2}},
			checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Pad: options.On}}}, errs.Mismatch},
		{"both ways and cast", "m", checkpoint.Abstract{DType: tensor.Int16, Shape: tensor.Shape{2, 4}}, checkpoint.LoadOptions{Options: padding},
			tensor.FromSlice([]int16{0, 1, 2, 0, 3, 4, 5, 0}, 2, 4)},
		{"to nothing", "m", checkpoint.Abstract{Shape: tensor.Shape{0, 3}}, checkpoint.LoadOptions{Options: padding}, tensor.New(tensor.Int32, 0, 3)},
		{"box", "m", checkpoint.Abstract{Boxes: []checkpoint.Box{box}}, checkpoint.LoadOptions{}, tensor.FromSlice([]int32{4, 5, 7, 8}, 2, 2)},
		{"boxes cast", "m", checkpoint.Abstract{DType: tensor.Int64, Boxes: []checkpoint.Box{box, {Origin: []int{0, 0}, Shape: []int{1, 2}}}},
			checkpoint.LoadOptions{}, checkpoint.Parts{tensor.FromSlice([]int64{4, 5, 7, 8}, 2, 2), tensor.FromSlice([]int64{0, 1}, 1, 2)}},
		{"box of what is padded", "m", checkpoint.Abstract{Shape: tensor.Shape{5, 3}, Boxes: []checkpoint.Box{{Origin: []int{3, 0}, Shape: []int{2, 2}}}},
			checkpoint.LoadOptions{Options: padding}, tensor.FromSlice([]int32{9, 10, 0, 0}, 2, 2)},
		{"box beyond", "m", checkpoint.Abstract{Boxes: []checkpoint.Box{{Origin: []int{3, 0}, Shape: []int{2, 2}}}}, checkpoint.LoadOptions{}, errs.Invalid},
		{"concrete", "i", []float64{0, 0, 0}, checkpoint.LoadOptions{}, tensor.FromSlice([]float64{1, -2, 300}, 3)},
		{"concrete of another shape", "i", []int32{0}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"type of array", "i", checkpoint.TypeOf[tensor.Tensor](), checkpoint.LoadOptions{}, tensor.FromSlice([]int32{1, -2, 300}, 3)},
		{"type of slice", "i", checkpoint.TypeOf[[]float32](), checkpoint.LoadOptions{}, tensor.FromSlice([]float32{1, -2, 300}, 3)},
		{"anything", "s", checkpoint.TypeOf[any](), checkpoint.LoadOptions{}, "text"},
		{"array as scalar", "i", 0, checkpoint.LoadOptions{}, errs.Mismatch},
		{"array as type of scalar", "i", checkpoint.TypeOf[int](), checkpoint.LoadOptions{}, errs.Mismatch},
		{"rank 0 as scalar", "zero", checkpoint.TypeOf[int](), checkpoint.LoadOptions{}, int64(9)},
		{"array as string", "i", "", checkpoint.LoadOptions{}, errs.Mismatch},
		{"array as keys", "i", checkpoint.TypeOf[checkpoint.Key](), checkpoint.LoadOptions{}, errs.Mismatch},
		{"int", "n", 0, checkpoint.LoadOptions{}, int64(7)},
		{"int as float", "n", 0.0, checkpoint.LoadOptions{}, 7.0},
		{"int as bool", "n", false, checkpoint.LoadOptions{}, errs.Mismatch},
		{"one as bool", "one", false, checkpoint.LoadOptions{}, true},
		{"float as int", "x", 0, checkpoint.LoadOptions{}, errs.Mismatch},
		{"float as int, lossy", "x", 0, checkpoint.LoadOptions{LossyCast: true}, int64(1)},
		{"int8", "n", checkpoint.TypeOf[int8](), checkpoint.LoadOptions{}, int64(7)},
		{"large int", "big", 0, checkpoint.LoadOptions{}, uint64(1 << 63)},
		{"large int as int64", "big", checkpoint.TypeOf[int64](), checkpoint.LoadOptions{}, errs.Mismatch},
		{"scalar as array", "n", checkpoint.Abstract{}, checkpoint.LoadOptions{}, tensor.ScalarOf(int64(7))},
		{"scalar as array of a shape", "n", checkpoint.Abstract{Shape: tensor.Shape{1}}, checkpoint.LoadOptions{Options: padding}, errs.Mismatch},
		{"scalar as string", "n", "", checkpoint.LoadOptions{}, errs.Mismatch},
		{"string", "s", "", checkpoint.LoadOptions{}, "text"},
		{"type of string", "s", checkpoint.TypeOf[string](), checkpoint.LoadOptions{}, "text"},
		{"string as array", "s", checkpoint.Abstract{}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"string as int", "s", 0, checkpoint.LoadOptions{}, errs.Mismatch},
		{"none as array", "none", checkpoint.Abstract{}, checkpoint.LoadOptions{}, errs.Mismatch},
		{"placeholder", "i", checkpoint.Placeholder{}, checkpoint.LoadOptions{}, checkpoint.Placeholder{}},
		{"placeholder of a string", "s", checkpoint.Placeholder{}, checkpoint.LoadOptions{}, checkpoint.Placeholder{}},
		{"no type", "i", checkpoint.Abstract{DType: 200}, checkpoint.LoadOptions{}, errs.Invalid},
		{"what no leaf is", "i", make(chan int), checkpoint.LoadOptions{}, errs.Unsupported},
		{"a type that no leaf is", "i", checkpoint.TypeOf[chan int](), checkpoint.LoadOptions{}, errs.Unsupported},
	} {
		o := c.o
		o.Store = st
		abstract := map[string]any{"i": nil, "f": nil, "m": nil, "n": nil, "x": nil, "one": nil, "big": nil, "s": nil,
			"none": nil, "zero": nil}
		abstract[c.leaf] = c.want
		o.Abstract = abstract
		n, err := checkpoint.Load(t.Context(), "c", &o)
		if kind, refused := c.got.(errs.Kind); refused {
			if errs.KindOf(err) != kind {
				t.Errorf("%s: %v, want %v", c.name, err, kind)
			} else if !strings.Contains(err.Error(), c.leaf) {
				t.Errorf("%s: %v does not name the leaf", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := n.Get(c.leaf).Value; !sameLeaf(got, c.got) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.got)
		}
	}
}

func sameLeaf(a, b any) bool {
	p, ok := a.(checkpoint.Parts)
	q, both := b.(checkpoint.Parts)
	if ok && both {
		return slices.EqualFunc(p, q, tensor.Tensor.Equal)
	}
	x, ok := a.(tensor.Tensor)
	y, both := b.(tensor.Tensor)
	if ok && both {
		return x.Equal(y)
	}
	return ok == both && a == b
}

// The tree that is given back has the containers, and their order, of the abstract
// one; what the report says is what was done.
func TestAbstractTree(t *testing.T) {
	st := saved(t, map[string]any{"a": map[string]any{"w": grid(3, 2), "b": []float32{1, 2}}, "l": []any{1, 2},
		"opt": map[string]any{"m": grid(2, 2), "s": "x"}})
	want := tree.NewDict().
		Set("opt", tree.NewLeaf(checkpoint.Placeholder{})).
		Set("l", &tree.Node{Kind: tree.Tuple, Items: []*tree.Node{{}, tree.NewLeaf(0.0)}}).
		Set("a", tree.NewDict().Set("w", tree.NewLeaf(checkpoint.Abstract{Shape: tensor.Shape{2, 3}})).Set("b",
			tree.NewLeaf(checkpoint.Abstract{DType: tensor.BFloat16})))
	var report checkpoint.LoadReport
	n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Options: padding, Store: st, Abstract: want,
		Report: &report})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(n.Keys, []string{"opt", "l", "a"}) || n.Get("opt").Value != any(checkpoint.Placeholder{}) ||
		n.Get("l").Kind != tree.Tuple {
		t.Errorf("got %v, %v, %v", n.Keys, n.Get("opt"), n.Get("l"))
	}
	const told = `state: opt.s: not read
state: a.b: cast from float32 to bfloat16
state: a.w: padded from [3,2] to [2,3], truncated from [3,2] to [2,3]
state: l[1]: cast from int64 to float64
state: opt.m: not read
`
	if report.String() != told {
		t.Errorf("the report says\n%s", report.String())
	}
}

// Trees of another structure are refused with what differs, both ways.
func TestAbstractStructure(t *testing.T) {
	st := saved(t, map[string]any{"a": []int32{1}, "b": map[string]any{"c": 1.5, "s": "x"}})
	for name, c := range map[string]struct {
		abstract any
		o        options.Options
		says     []string // nil where it loads
	}{
		"same":                 {map[string]any{"a": nil, "b": nil}, options.Options{}, nil},
		"missing":              {map[string]any{"a": nil}, options.Options{}, []string{"+ b: dict of 2", "PartialLoad"}},
		"extra":                {map[string]any{"a": nil, "b": nil, "zz": checkpoint.Abstract{}}, options.Options{}, []string{"- zz: "}},
		"both":                 {map[string]any{"a": nil, "b": map[string]any{"c": nil, "d": nil}}, options.Options{}, []string{"- b.d", `+ b.s`}},
		"container":            {map[string]any{"a": nil, "b": []any{1, "x"}}, options.Options{}, []string{"~ b: want list of 2, got dict of 2"}},
		"leaf for a container": {map[string]any{"a": nil, "b": 1}, options.Options{}, []string{"~ b"}},
		"container for a leaf": {map[string]any{"a": map[string]any{"x": nil}, "b": nil}, options.Options{}, []string{"~ a"}},
		"partial":              {map[string]any{"b": map[string]any{"c": nil}}, partly, nil},
		"partial, extra":       {map[string]any{"a": nil, "zz": checkpoint.Abstract{}}, partly, []string{"- zz"}},
		"partial, kept":        {map[string]any{"a": nil, "zz": []float32{5}}, partly, nil},
		"partial, container":   {map[string]any{"b": []any{1}}, partly, []string{"~ b"}},
	} {
		var report checkpoint.LoadReport
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Options: c.o, Store: st, Abstract: c.abstract,
			Report: &report})
		if c.says == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want, err := tree.From(c.abstract)
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Structure(want, n); len(d) > 0 {
				t.Errorf("%s: %s", name, tree.FormatDiff(d))
			}
			if name == "partial, kept" &&
				report.String() != "state: zz: not saved: kept\nstate: b.c: not read\nstate: b.s: not read\n" &&
				len(report.Leaves) != 3 {
				t.Errorf("%s: the report says\n%s", name, report.String())
			}
			continue
		}
		if errs.KindOf(err) != errs.Mismatch {
			t.Errorf("%s: %v, want Mismatch", name, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v does not say %q", name, err, s)
			}
		}
	}
	if _, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st, Abstract: map[string]any{},
		Want: func(checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{} }}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("Abstract and Want: %v", err)
	}
}

// What Metadata says of a checkpoint loads it.
func TestAbstractFromMetadata(t *testing.T) {
	for _, name := range []string{"v1-containers", "v1-dtypes-np", "v1-prng"} {
		dir := filepath.Join("..", "testdata", "orbax", name, "checkpoint")
		want, err := checkpoint.Load(t.Context(), dir, nil)
		if errs.KindOf(err) == errs.NotFound {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := checkpoint.Metadata(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		var report checkpoint.LoadReport
		got, err := checkpoint.Load(t.Context(), dir, &checkpoint.LoadOptions{Abstract: info, Report: &report})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := tree.Diff(tree.Untyped(want), tree.Untyped(got)); len(d) > 0 || len(report.Leaves) > 0 {
			t.Errorf("%s: %s%s", name, tree.FormatDiff(d), report.String())
		}
	}
}

// LoadInto casts to the types of what it fills.
func TestLoadIntoCasts(t *testing.T) {
	st := saved(t, map[string]any{"w": []float32{1, 2.5}, "v": []int64{3, 4}, "n": 5})
	dst := struct {
		W tensor.Tensor `bivouac:"w"`
		V []float64     `bivouac:"v"`
		N tensor.Tensor `bivouac:"n"`
	}{tensor.New(tensor.Float64, 2), make([]float64, 2), tensor.New(tensor.Float32)}
	memory := &dst.W.Data[0]
	var report checkpoint.LoadReport
	if err := checkpoint.LoadInto(t.Context(), "c", &dst,
		&checkpoint.LoadOptions{Store: st, Report: &report}); err != nil {
		t.Fatal(err)
	}
	if !dst.W.Equal(tensor.FromSlice([]float64{1, 2.5}, 2)) || !slices.Equal(dst.V, []float64{3, 4}) ||
		!dst.N.Equal(tensor.ScalarOf(float32(5))) {
		t.Errorf("got %+v", dst)
	}
	if &dst.W.Data[0] != memory || len(report.Leaves) != 3 {
		t.Errorf("not in place, or the report says %s", report.String())
	}
	narrow := map[string]any{"w": make([]int32, 2), "v": make([]int8, 2), "n": 0}
	if err := checkpoint.LoadInto(t.Context(), "c", narrow,
		&checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("a fraction as an int32: %v", err)
	}
	if err := checkpoint.LoadInto(t.Context(), "c", narrow,
		&checkpoint.LoadOptions{Store: st, LossyCast: true}); err != nil ||
		!slices.Equal(narrow["w"].([]int32), []int32{1, 2}) {
		t.Errorf("lossy: %v, %v", narrow, err)
	}
	wrong := map[string]any{"w": make([]float32, 3), "v": make([]int64, 2), "n": 0}
	if err := checkpoint.LoadInto(t.Context(), "c", wrong,
		&checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), `"w"`) {
		t.Errorf("another shape: %v", err)
	}
	if err := checkpoint.LoadInto(t.Context(), "c", wrong,
		&checkpoint.LoadOptions{Store: st, Options: padding}); err != nil ||
		!slices.Equal(wrong["w"].([]float32), []float32{1, 2.5, 0}) {
		t.Errorf("padded: %v, %v", wrong, err)
	}
}

// Items are loaded as their part of the abstract says, and those alone.
func TestAbstractItems(t *testing.T) {
	st := saved(t, map[string]any{"w": []float32{1}})
	for name, c := range map[string]struct {
		abstract any
		kind     errs.Kind
	}{
		"cast":        {map[string]any{"state": map[string]any{"w": checkpoint.Abstract{DType: tensor.Float64}}}, 0},
		"placeholder": {map[string]any{"state": checkpoint.Placeholder{}}, 0},
		"missing":     {map[string]any{"state": nil, "zz": nil}, errs.NotFound},
		"no map":      {[]any{1}, errs.Invalid},
	} {
		r := checkpoint.LoadCheckpointablesAsync(t.Context(), "c", &checkpoint.LoadOptions{Store: st, Abstract: c.abstract})
		items, err := r.Result(t.Context())
		if errs.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if c.kind != errs.Other {
			continue
		}
		w, _ := items["state"].(*tree.Node).Get("w").Tensor()
		if (name == "cast") != (w.DType == tensor.Float64) {
			t.Errorf("%s: %v", name, w)
		}
	}
}

// stuck is a store whose reads wait for the context.
type stuck struct{ store.Store }

func (s stuck) Open(ctx context.Context, _ string) (store.Reader, error) {
	<-ctx.Done()
	return nil, &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
}

// A load in the background gives its tree, ends when it is cancelled, and when it
// has taken as long as the options let it.
func TestLoadAsync(t *testing.T) {
	st := saved(t, map[string]any{"w": []float32{1}})
	n, err := checkpoint.LoadAsync(t.Context(), "c", &checkpoint.LoadOptions{Store: st}).Result(t.Context())
	if err != nil || n.Get("w") == nil {
		t.Fatal(n, err)
	}
	r := checkpoint.LoadAsync(t.Context(), "c", &checkpoint.LoadOptions{Store: stuck{st}})
	r.Cancel()
	if _, err := r.Result(t.Context()); errs.KindOf(err) != errs.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	late := options.Options{Asynchronous: options.Asynchronous{LoadTimeout: 1}}
	if _, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: stuck{st},
		Options: late}); errs.KindOf(err) != errs.Canceled {
		t.Errorf("late: %v", err)
	}
}

// Damage is found in what is cast, whether one checksum covers all of the array or
// each part has its own, before any value of it is used.
func TestCastFindsDamage(t *testing.T) {
	whole := grid(700, 900)
	state := map[string]any{"w": whole}
	dir := t.TempDir()
	for _, name := range []string{"c", "c.npz"} {
		file := filepath.Join(dir, name)
		if name == "c" {
			if err := checkpoint.Save(t.Context(), file, state, nil); err != nil {
				t.Fatal(err)
			}
			file = ""
			for _, f := range []string{"state/d/*", "state/ocdbt.process_0/d/*"} {
				found, _ := filepath.Glob(filepath.Join(dir, name, f))
				for _, p := range found {
					if info, err := os.Stat(p); err == nil && info.Size() > int64(len(whole.Data)/2) {
						file = p
					}
				}
			}
		} else {
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := npy.NewArchiveWriter(f, false)
			if err := errors.Join(w.Write("w", whole), w.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 0x10
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = checkpoint.Load(t.Context(), filepath.Join(dir, name),
			&checkpoint.LoadOptions{LossyCast: true, Abstract: map[string]any{"w": checkpoint.Abstract{DType: tensor.Float32}}})
		if errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v, want Corrupt", name, err)
		}
	}
}
