package mesh_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/mesh"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

func ExampleLayout() {
	l := mesh.Layout{
		Mesh:  mesh.Mesh{Axes: []string{"data", "model"}, Sizes: []int{2, 2}},
		Rules: []mesh.Rule{{Match: "params/*/w", Spec: mesh.Spec{nil, {"model"}}}},
	}
	for process := range l.Mesh.Len() {
		b, err := l.Box(tree.Path{{Name: "params"}, {Name: "first"}, {Name: "w"}}, tensor.Shape{4, 6}, process)
		fmt.Println(process, b.Origin, b.Shape, err)
	}
	// Output:
	// 0 [0 0] [4 3] <nil>
	// 1 [0 3] [4 3] <nil>
	// 2 [0 0] [4 3] <nil>
	// 3 [0 3] [4 3] <nil>
}

// all meets at a barrier of a job in one process.
type all struct {
	mu      sync.Mutex
	count   int
	waiting map[string]chan struct{}
	there   map[string]int
}

func (a *all) meet(ctx context.Context, key string) error {
	a.mu.Lock()
	if a.waiting[key] == nil {
		a.waiting[key] = make(chan struct{})
	}
	c := a.waiting[key]
	if a.there[key]++; a.there[key] == a.count {
		close(c)
	}
	a.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// random draws a layout for two arrays.
func random(draw *rand.Rand) mesh.Layout {
	sizes := [][]int{{4}, {2, 2}, {1, 4}, {3}, {1}, {2, 1, 3}}[draw.IntN(6)]
	l := mesh.Layout{Mesh: mesh.Mesh{Axes: []string{"a", "b", "c"}[:len(sizes)], Sizes: sizes}}
	for _, name := range []string{"grid", "line"} {
		axes := slices.Clone(l.Mesh.Axes)
		draw.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
		s := make(mesh.Spec, map[string]int{"grid": 2, "line": 1}[name])
		for i := range s {
			n := draw.IntN(min(2, len(axes)) + 1)
			s[i], axes = axes[:n:n], axes[n:]
		}
		l.Rules = append(l.Rules, mesh.Rule{Match: "**/" + name, Spec: s})
	}
	return l
}

// whole returns an array that counts.
func whole(shape ...int) tensor.Tensor {
	v := make([]int32, tensor.Shape(shape).Len())
	for i := range v {
		v[i] = int32(i)
	}
	return tensor.FromSlice(v, shape...)
}

// cut returns the elements of a box.
func cut(t tensor.Tensor, b checkpoint.Box) []int32 {
	v, _ := tensor.Of[int32](t)
	out := []int32{}
	at := slices.Clone(b.Origin)
	for range tensor.Shape(b.Shape).Len() {
		i := 0
		for k, n := range t.Shape {
			i = i*n + at[k]
		}
		out = append(out, v[i])
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < b.Origin[k]+b.Shape[k] {
				break
			}
			at[k] = b.Origin[k]
		}
	}
	return out
}

// TestAnyMeshLoadsOnAnyOther saves random layouts by all their processes, and loads the parts of
// other random layouts.
func TestAnyMeshLoadsOnAnyOther(t *testing.T) {
	draw := rand.New(rand.NewPCG(18, 5))
	arrays := map[string]tensor.Tensor{"grid": whole(7, 6), "line": whole(10)}
	key := func(name string) tree.Path { return tree.Path{{Name: "params"}, {Name: name}} }
	for turn := range 12 {
		from, to := random(draw), random(draw)
		path := filepath.Join(t.TempDir(), "ckpt")
		barrier := &all{count: from.Mesh.Len(), waiting: map[string]chan struct{}{}, there: map[string]int{}}
		var jobs sync.WaitGroup
		for process := range from.Mesh.Len() {
			params := map[string]any{}
			for name, array := range arrays {
				b, err := from.Box(key(name), array.Shape, process)
				if err != nil {
					t.Fatal(err)
				}
				part := tensor.FromSlice(cut(array, b), b.Shape...)
				if params[name], err = from.Shards(key(name), array.Shape, part, process); err != nil {
					t.Fatal(err)
				}
			}
			var o checkpoint.SaveOptions
			o.Multiprocessing = options.Multiprocessing{ProcessIndex: new(options.Host(process)),
				ProcessCount: from.Mesh.Len(), Barrier: barrier.meet}
			jobs.Go(func() {
				if err := checkpoint.Save(t.Context(), path, map[string]any{"params": params}, &o); err != nil {
					t.Errorf("turn %d, process %d: %v", turn, process, err)
				}
			})
		}
		jobs.Wait()
		for process := range to.Mesh.Len() {
			want, err := to.Want(process)
			if err != nil {
				t.Fatal(err)
			}
			n, err := checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{Want: want})
			if err != nil {
				t.Fatal(err)
			}
			for name, array := range arrays {
				b, err := to.Box(key(name), array.Shape, process)
				if err != nil {
					t.Fatal(err)
				}
				got := n.Get("params").Get(name).Value.(tensor.Tensor)
				v, err := tensor.Of[int32](got)
				if err != nil || !slices.Equal(got.Shape, b.Shape) || !slices.Equal(v, cut(array, b)) {
					t.Errorf("turn %d, process %d, %s: got %v, want the box %v: %v", turn, process, name, got, b, err)
				}
			}
		}
	}
}

// TestLayoutsAreChecked refuses meshes, rules and parts that cannot be.
func TestLayoutsAreChecked(t *testing.T) {
	two := mesh.Mesh{Axes: []string{"x", "y"}, Sizes: []int{2, 2}}
	rule := func(match string, s mesh.Spec) []mesh.Rule { return []mesh.Rule{{Match: match, Spec: s}} }
	for _, bad := range []struct {
		layout mesh.Layout
		say    string
	}{
		{mesh.Layout{Mesh: mesh.Mesh{Axes: []string{"x"}}}, "one for each axis"},
		{mesh.Layout{Mesh: mesh.Mesh{Axes: []string{"x", "x"}, Sizes: []int{1, 2}}}, "different names"},
		{mesh.Layout{Mesh: mesh.Mesh{Axes: []string{"x"}, Sizes: []int{0}}}, "at least 1 process"},
		{mesh.Layout{Mesh: two, Rules: rule("w", mesh.Spec{{"z"}})}, `"z"`},
		{mesh.Layout{Mesh: two, Rules: rule("w", mesh.Spec{{"x"}, {"x"}})}, "each once"},
		{mesh.Layout{Mesh: two, Rules: rule("[", nil)}, "syntax error"},
	} {
		_, err := bad.layout.Want(0)
		if err == nil || !strings.Contains(err.Error(), bad.say) {
			t.Errorf("%+v: %v, want %q", bad.layout, err, bad.say)
		}
		if _, err := bad.layout.Box(tree.Path{{Name: "w"}}, tensor.Shape{4, 4}, 0); err == nil {
			t.Errorf("%+v has a box", bad.layout)
		}
	}
	l := mesh.Layout{Mesh: two, Rules: rule("w", mesh.Spec{{"x"}, {"y"}})}
	w := tree.Path{{Name: "w"}}
	if _, err := l.Want(4); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	if _, err := l.Box(w, tensor.Shape{4}, 0); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	if _, err := l.Shards(w, tensor.Shape{4, 4}, whole(2, 3), 0); errs.KindOf(err) != errs.Mismatch {
		t.Error(err)
	}
	if _, err := l.Shards(w, tensor.Shape{4}, whole(2), 0); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "ckpt")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": whole(4)}, nil); err != nil {
		t.Fatal(err)
	}
	want, err := l.Want(0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{Want: want})
	if errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
}
