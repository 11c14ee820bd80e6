package orbax

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tree"
)

// replayParts saves the leaves of the checkpoint at from in the same parts with
// checkpoint/partial, and holds what becomes of them against the same expectation.
func replayParts(ctx context.Context, r *suite.Report, o *suite.Object, from string) {
	tmp, err := os.MkdirTemp("", "conform-")
	if err != nil {
		r.Fail("%v", err)
		return
	}
	defer os.RemoveAll(tmp)
	at := filepath.Join(tmp, "checkpoint")
	if err := saveParts(ctx, r, o, from, at); err != nil {
		r.Fail("replay of parts: %v", err)
		return
	}
	if checkpoint.IsCheckpoint(ctx, at, nil) {
		r.Fail("replay of parts: there is a checkpoint before Finalize")
	}
	if err := partial.Finalize(ctx, at, nil); err != nil {
		r.Fail("replay of parts: Finalize: %v", err)
		return
	}
	compareCheckpoint(ctx, r, asNumPy(r, o), at)
}

// asNumPy is the expectation of a checkpoint that Bivouac saved: what were arrays
// of JAX are arrays of the host.
func asNumPy(r *suite.Report, o *suite.Object) *suite.Object {
	items, err := suite.Decode(o.Raw("items"))
	if err != nil {
		r.Fail("items: %v", err)
	}
	for _, it := range items {
		for _, l := range suite.NewObject(r, "", it).List("leaves") {
			m, _ := l.(map[string]any)
			delete(m, "write_shape")
			if m["value_type"] == "jax.Array" {
				m["value_type"] = "np.ndarray"
			}
		}
	}
	return suite.NewObject(r, "replay of parts: ", map[string]any{"items": items,
		"custom_metadata": o.Get("custom_metadata")})
}

// saveParts saves each part; the custom metadata is dealt out to them by member.
func saveParts(ctx context.Context, r *suite.Report, o *suite.Object, from, at string) error {
	var parts [][][]string
	if err := json.Unmarshal(o.Raw("parts"), &parts); err != nil {
		return err
	}
	items, err := checkpoint.LoadCheckpointables(ctx, from, nil)
	if err != nil {
		return err
	}
	custom := dealMembers(o, len(parts))
	for i, paths := range parts {
		for name, v := range items {
			root, ok := v.(*tree.Node)
			if !ok || len(items) != 1 {
				r.Fail("parts: of the one tree that their paths tell of, want one item, got %d", len(items))
				return nil
			}
			part, err := only(root, paths)
			if err != nil {
				return err
			}
			so := &partial.SaveOptions{}
			so.Name = name
			if len(custom[i]) > 0 {
				so.Custom = custom[i]
			}
			if err := partial.Save(ctx, at, part, so); err != nil {
				return err
			}
		}
	}
	return nil
}

// only is the tree of the leaves at paths.
func only(root *tree.Node, paths [][]string) (*tree.Node, error) {
	wanted := map[string]bool{}
	for _, p := range paths {
		wanted[strings.Join(p, "\x00")] = true
	}
	var kept []tree.Entry
	for _, e := range tree.Flatten(root) {
		if wanted[pathKey(e.Path)] {
			kept = append(kept, e)
		}
	}
	return tree.Unflatten(kept)
}

// dealMembers gives each of n parts some members of custom_metadata.
func dealMembers(o *suite.Object, n int) []map[string]any {
	hands := make([]map[string]any, n)
	all, _ := o.Members["custom_metadata"].(map[string]any)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		if hands[i%n] == nil {
			hands[i%n] = map[string]any{}
		}
		hands[i%n][name] = all[name]
	}
	return hands
}
