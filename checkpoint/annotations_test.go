package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	parts "github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

func annotated(notes map[string]string) options.Options {
	return options.Options{Bivouac: options.Bivouac{Annotations: notes}}
}

func wantAnnotations(t *testing.T, st store.Store, path string, want map[string]string) {
	t.Helper()
	in, err := checkpoint.Metadata(t.Context(), path, &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, in.Annotations); d != "" {
		t.Errorf("%s: -want +got:\n%s", path, d)
	}
}

// Annotations are kept in every layout and through conversions, and joined where
// checkpoints are; the metadata that Orbax sees has nothing of them.
func TestAnnotations(t *testing.T) {
	notes := map[string]string{"owner": "vision", "licence": "CC-BY 4.0, «as is»"}
	ctx := options.With(t.Context(), annotated(map[string]string{"owner": "nobody", "site": "a"}))
	want := map[string]string{"owner": "vision", "licence": notes["licence"], "site": "a"}
	for _, o := range storages() {
		st := local.New(vfstest.NewMem(), "/", nil)
		o.Store, o.Annotations = st, notes
		if err := checkpoint.Save(ctx, "c", map[string]any{"x": []float32{1}}, &o); err != nil {
			t.Fatal(err)
		}
		wantAnnotations(t, st, "c", want)
		if in, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st}); err != nil || len(in.Custom) > 2 {
			t.Errorf("custom metadata %s, %v", in.Custom, err)
		}
		if err := checkpoint.Convert(t.Context(), "c", "d",
			&checkpoint.ConvertOptions{Store: st, Options: annotated(map[string]string{"site": "b"})}); err != nil {
			t.Fatal(err)
		}
		wantAnnotations(t, st, "d", map[string]string{"owner": "vision", "licence": notes["licence"], "site": "b"})
		if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
			t.Errorf("%v, %v", r, err)
		}
		if err := st.Put(ctx, "c/bivouac.annotations", []byte(`{"owner":"somebody"}`), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: changed annotations: %v", labelOf(o), err)
		}
	}
}

func TestAnnotationsOfParts(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	for i, n := range []map[string]string{{"owner": "a", "first": "1"}, nil, {"owner": "b"}} {
		part := map[string]any{string(rune('x' + i)): []float32{1}}
		if err := checkpoint.Save(t.Context(), "u", part,
			&checkpoint.SaveOptions{Store: st, PartialUpdate: true, Options: annotated(n)}); err != nil {
			t.Fatal(err)
		}
		if err := parts.Save(t.Context(), "p", part, &parts.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st,
			Options: annotated(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := parts.Finalize(t.Context(), "p", &parts.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"u", "p"} {
		wantAnnotations(t, st, path, map[string]string{"owner": "b", "first": "1"})
		if r, err := integrity.Verify(t.Context(), path, &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
			t.Errorf("%v, %v", r, err)
		}
	}
}

func TestAnnotationsOfSteps(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	c, err := training.Open(t.Context(), "run", &training.Options{Store: st,
		Options: annotated(map[string]string{"owner": "a"})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Save(t.Context(), 3, map[string]any{"x": []float32{1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	wantAnnotations(t, st, "run/3", map[string]string{"owner": "a"})
}
