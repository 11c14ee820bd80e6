package partial_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
)

// A part that cannot be saved is refused, and there is no session.
func TestRefusedParts(t *testing.T) {
	ctx := t.Context()
	st, fsys := mem(t)
	before := fsys.Hash()
	for what, c := range map[string]struct {
		name  string
		state any
		o     checkpoint.SaveOptions
	}{
		"no name":         {"", 1, checkpoint.SaveOptions{}},
		"an item's name":  {"c", 1, checkpoint.SaveOptions{Name: "a/b"}},
		"metadata":        {"c", 1, checkpoint.SaveOptions{Custom: 3}},
		"a negative room": {"c", 1, checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: -8}}}},
		"a leaf":          {"c", map[string]any{"f": func() {}}, checkpoint.SaveOptions{}},
		"chunks":          {"c", 1, checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ChunkByteSize: -1}}}}}},
	} {
		c.o.Store = st
		if err := partial.Save(ctx, c.name, c.state,
			&partial.SaveOptions{SaveOptions: c.o}); errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := partial.SaveAsync(ctx, c.name, c.state,
			&partial.SaveOptions{SaveOptions: c.o}); errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.Unsupported {
			t.Errorf("%s, in the background: %v", what, err)
		}
	}
	if fsys.Hash() != before {
		t.Error("something changed")
	}
}

// Several processes cannot write one part, and are told what they can do.
func TestSeveralProcesses(t *testing.T) {
	st, _ := mem(t)
	o := on(st)
	o.Multiprocessing = options.Multiprocessing{ProcessCount: 2,
		Barrier: func(context.Context, string) error { return nil }}
	err := partial.Save(t.Context(), "c", map[string]any{"a": 1}, o)
	if errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "PartialUpdate") {
		t.Error(err)
	}
}
