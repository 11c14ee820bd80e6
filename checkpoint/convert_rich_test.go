package checkpoint_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tree"
)

// Types of containers are kept as Orbax spelled them, through a safetensors file
// too.
func TestConvertKeepsContainers(t *testing.T) {
	ctx := context.Background()
	src, dir := filepath.Join(orbaxCases, "v1-containers-rich", "checkpoint"), t.TempDir()
	recorded := func(path string) string {
		b, err := os.ReadFile(filepath.Join(path, "state", "_METADATA"))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Rich string `json:"value_metadata_tree"`
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Rich
	}
	for _, l := range allLayouts {
		if l == options.SafetensorsLayout {
			continue // the tree has a string
		}
		dst := filepath.Join(dir, l.String())
		if err := checkpoint.Convert(ctx, src, dst,
			&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}}); err != nil {
			t.Fatal(err)
		}
		if want, got := recorded(src), recorded(dst); want != got || want == "" {
			t.Errorf("%v: %s, want %s", l, got, want)
		}
		var n [2]*tree.Node
		for i, path := range []string{src, dst} {
			var err error
			if n[i], err = checkpoint.Load(ctx, path, nil); err != nil {
				t.Fatal(err)
			}
		}
		if d := tree.Diff(n[0], n[1]); len(d) > 0 {
			t.Errorf("%v: %s", l, tree.FormatDiff(d))
		}
	}
}

// Typed PRNG keys stay what they are, in all layouts and back.
func TestConvertKeepsKeys(t *testing.T) {
	ctx := context.Background()
	from := filepath.Join(orbaxCases, "v1-prng-keys", "checkpoint")
	for _, l := range append(allLayouts, options.DefaultLayout) {
		to := filepath.Join(t.TempDir(), "dst")
		if err := checkpoint.Convert(ctx, from, to,
			&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}}); err != nil {
			t.Fatal(err)
		}
		n, err := checkpoint.Load(ctx, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key, ok := n.Get("k").Value.(checkpoint.Key); !ok || key.Impl != "threefry2x32" || len(key.Data.Data) != 8 {
			t.Errorf("%v: %#v", l, n.Get("k").Value)
		}
		from = to
	}
}
