package mesh_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/mesh"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// What Orbax wrote of arrays on meshes comes back byte for byte.
func TestShardingsOfOrbax(t *testing.T) {
	roots, err := filepath.Glob("../../testdata/orbax/*/checkpoint")
	if err != nil || len(roots) == 0 {
		t.Fatal(roots, err)
	}
	more, _ := filepath.Glob("../../../shared/vectors/orbax/*/checkpoint") // a malformed pattern it is not
	meshes := 0
	for _, root := range append(roots, more...) {
		info, err := checkpoint.Metadata(t.Context(), root, nil)
		if err != nil {
			continue // damaged on purpose
		}
		for _, item := range info.Items {
			for _, l := range item.Leaves {
				if l.Sharding == "" || l.KeyImpl != "" {
					continue
				}
				m, s, err := mesh.FromSharding(l.Sharding)
				if err != nil {
					t.Errorf("%s: %s: %v", root, l.Param, err)
					continue
				}
				if len(m.Axes) == 0 {
					continue
				}
				meshes++
				if got, err := m.Sharding(s, l.Shape); got != l.Sharding {
					t.Errorf("%s: %s: %v (-Orbax +ours)\n%s", root, l.Param, err, cmp.Diff(l.Sharding, got))
				}
			}
		}
	}
	if meshes < 4 {
		t.Errorf("%d arrays on meshes, want at least 4", meshes)
	}
}

// The processes of a mesh that JAX saved get their boxes, and a leaf that Layout saves names the
// mesh from which it came.
func TestShardingThereAndBack(t *testing.T) {
	info, err := checkpoint.Metadata(t.Context(), "../../testdata/orbax/v1-two-processes/checkpoint", nil)
	if err != nil {
		t.Fatal(err)
	}
	leaves := info.Items[0].Leaves
	i := slices.IndexFunc(leaves, func(l checkpoint.LeafInfo) bool { return l.Param == "w" })
	m, s, err := mesh.FromSharding(leaves[i].Sharding)
	if err != nil {
		t.Fatal(err)
	}
	want := mesh.Mesh{Axes: []string{"x", "y"}, Sizes: []int{2, 4}, Devices: []int{0, 1, 2, 3, 2048, 2049, 2050, 2051}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	l := mesh.Layout{Mesh: m, Rules: []mesh.Rule{{Match: "w", Spec: s}}, JAX: true}
	key := tree.Path{{Name: "w"}}
	for process := range m.Len() {
		b, err := l.Box(key, leaves[i].Shape, process)
		if err != nil {
			t.Fatal(err)
		}
		part := tensor.New(leaves[i].DType, b.Shape...)
		shards, err := l.Shards(key, leaves[i].Shape, part, process)
		if err != nil || shards.Sharding != leaves[i].Sharding {
			t.Errorf("process %d: %s, %v", process, shards.Sharding, err)
		}
	}
}

// A checkpoint whose _sharding is damaged can still be described, without shardings.
func TestDamagedShardings(t *testing.T) {
	l := mesh.Layout{Mesh: mesh.Mesh{Axes: []string{"x"}, Sizes: []int{1}}, JAX: true}
	w, err := l.Shards(tree.Path{{Name: "w"}}, tensor.Shape{4}, tensor.New(tensor.Float32, 4), 0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": w}, nil); err != nil {
		t.Fatal(err)
	}
	for i, damage := range []func(name string) error{
		func(string) error { return nil },
		func(name string) error { return os.WriteFile(name, []byte("{"), 0o666) },
		os.Remove,
	} {
		if err := damage(filepath.Join(path, "state", "_sharding")); err != nil {
			t.Fatal(err)
		}
		info, err := checkpoint.Metadata(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Items[0].Leaves[0].Sharding; (got != "") != (i == 0) {
			t.Errorf("damage %d: the sharding %q", i, got)
		}
	}
}

func TestBadShardings(t *testing.T) {
	const good = `{"sharding_type": "NamedSharding", "shape": [2], "axis_names": ["x"], "partition_spec": ["x"], ` +
		`"device_mesh": {"mesh": [{"id": 0}, {"id": 1}]}}`
	if _, _, err := mesh.FromSharding(good); err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{
		"{": "", `"shape": [2]`: `"shape": [0]`, `[2]`: `[2, 2]`, `["x"], "p`: `["x", "x"], "p`,
		`"partition_spec": ["x"]`: `"partition_spec": [7]`, `"partition_spec": ["x"`: `"partition_spec": ["y"`,
		`, {"id": 1}`: "", `"id": 1`: `"name": 1`,
	} {
		text := strings.Replace(good, old, new, 1)
		if _, _, err := mesh.FromSharding(text); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err := mesh.FromSharding(strings.Replace(good, "Named", "GSPMD", 1)); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	m := mesh.Mesh{Axes: []string{"x"}, Sizes: []int{2}}
	if _, err := m.Sharding(mesh.Spec{{"x"}}, tensor.Shape{3}); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	m.Devices = []int{1}
	if err := m.Validate(); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

func FuzzFromSharding(f *testing.F) {
	for _, name := range []string{"v1-two-processes", "v1-sharded-joint"} {
		b, err := os.ReadFile("../../testdata/orbax/" + name + "/checkpoint/state/_sharding")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, s, err := mesh.FromSharding(text)
		if err != nil || len(m.Axes) == 0 || m.Len() > 1000 {
			return
		}
		shape := make(tensor.Shape, len(s))
		again, err := m.Sharding(s, shape)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		n, spec, err := mesh.FromSharding(again)
		if err != nil || !cmp.Equal(m, n) || len(spec) != len(s) {
			t.Errorf("%q became %q: %v", text, again, err)
		}
	})
}
