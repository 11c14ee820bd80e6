package checkpoint_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// saveSmall saves small arrays and perhaps one that lies beside the nodes in the
// data file, and returns the data file.
func saveSmall(t *testing.T, path string, l options.Layout, x float64, mid ...float32) (file string) {
	t.Helper()
	state := map[string]any{"x": x, "y": int64(7), "v": []float32{1, 2, 3}}
	if mid != nil {
		state["mid"] = mid
	}
	if err := checkpoint.Save(context.Background(), path, state,
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(path, "state", "d", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rewrite changes the manifest, as one that is whole.
func rewrite(t *testing.T, path string, edit func(m *manifest.Manifest)) {
	t.Helper()
	file := filepath.Join(path, manifest.Name)
	m, err := manifest.Parse(read(t, file))
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	if err := os.WriteFile(file, m.Append(nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Nodes of another checkpoint, whole by themselves and of the same size, are
// noticed, though every CRC-32C there is matches.
func TestNodesOfAnotherCheckpoint(t *testing.T) {
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a")
		file := saveSmall(t, path, l, 0.31415926535)
		var other []byte
		for i := 0; len(other) != len(read(t, file)) || bytes.Equal(other, read(t, file)); i++ {
			if i == 50 {
				t.Fatal("no checkpoint of the same size")
			}
			b := filepath.Join(dir, "b")
			other = read(t, saveSmall(t, b, l, 0.1234567+float64(i)*0.7654321))
			if err := os.RemoveAll(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := checkpoint.Load(t.Context(), path, nil)
		if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "XXH3") {
			t.Errorf("%v: %v, %v", l, n, err)
		}
		r, err := integrity.Verify(t.Context(), path, nil)
		if err != nil || r.OK() {
			t.Errorf("%v: verify: %v, %v", l, r, err)
		}
	}
}

// An array without a record is one that lies in nodes which the manifest lists,
// or it is damage.
func TestArraysWithoutRecord(t *testing.T) {
	leaf := func(m *manifest.Manifest, param string) int {
		return slices.IndexFunc(m.Leaves, func(l manifest.Leaf) bool { return l.Param == param })
	}
	for name, edit := range map[string]func(m *manifest.Manifest){
		"an array beside the nodes": func(m *manifest.Manifest) { m.Leaves = slices.Delete(m.Leaves, leaf(m, "mid"), leaf(m, "mid")+1) },
		"no record of the nodes":    func(m *manifest.Manifest) { m.Nodes = nil },
		"other nodes":               func(m *manifest.Manifest) { m.Nodes[0].Size-- },
		"nodes before the file":     func(m *manifest.Manifest) { m.Nodes[0].Size = 1 << 40 },
		"nodes of another file":     func(m *manifest.Manifest) { m.Nodes[0].Name = "state/manifest.ocdbt" },
	} {
		path := filepath.Join(t.TempDir(), "c")
		saveSmall(t, path, options.DefaultLayout, 1, make([]float32, 1000)...)
		rewrite(t, path, func(m *manifest.Manifest) {
			for _, small := range []string{"x", "y", "v"} {
				if leaf(m, small) >= 0 {
					t.Errorf("%s has a record", small)
				}
			}
			edit(m)
		})
		if _, err := checkpoint.Load(t.Context(), path, nil); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Checkpoints that list every array, as earlier versions wrote them, are compared with that list.
func TestSmallArraysWithRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	saveSmall(t, path, options.DefaultLayout, 1)
	records := []manifest.Leaf{
		{Item: "state", Param: "v", Size: 12, CRC: 0x1bc4ea61}, {Item: "state", Param: "x", Size: 8}, {Item: "state", Param: "y", Size: 8},
	}
	rewrite(t, path, func(m *manifest.Manifest) { m.Nodes, m.Leaves = nil, append(m.Leaves, records...) })
	for _, l := range records {
		want := func(i checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Skip: i.Param != l.Param} }
		if _, err := checkpoint.Load(t.Context(), path,
			&checkpoint.LoadOptions{Want: want}); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s, with the checksum of something else: %v", l.Param, err)
		}
	}
	rewrite(t, path, func(m *manifest.Manifest) {
		for i := range m.Leaves {
			if l := &m.Leaves[i]; l.Param == "y" {
				l.CRC = crc.Sum([]byte{7, 0, 0, 0, 0, 0, 0, 0})
			}
		}
	})
	want := func(i checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Skip: i.Param != "y"} }
	n, err := checkpoint.Load(t.Context(), path, &checkpoint.LoadOptions{Want: want})
	if err != nil {
		t.Fatal(err)
	}
	if y := n.Get("y"); y == nil || y.Value != int64(7) {
		t.Errorf("y is %v", y)
	}
}

// An array that lies in a node has the same boxes as any array.
func TestBoxesInNodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	saveSmall(t, path, options.DefaultLayout, 1)
	r, err := checkpoint.OpenReader(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // nothing was written
	l, err := r.Leaf("v")
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 8)
	if err := r.ReadBox(t.Context(), l, []int{1}, []int{2}, dst); err != nil ||
		!bytes.Equal(dst, []byte{0, 0, 0, 0x40, 0, 0, 0x40, 0x40}) {
		t.Errorf("% x, %v", dst, err)
	}
}
