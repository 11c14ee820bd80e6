package checkpoint_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

func ExampleDelete() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "delete")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	at := filepath.Join(dir, "model")
	items := map[string]any{"params": map[string]any{"w": []float32{1, 2}}, "optimizer": map[string]any{"step": 7}}
	if err := checkpoint.SaveCheckpointables(ctx, at, items, nil); err != nil {
		fmt.Println(err)
		return
	}
	// What only training needs goes, the rest stays loadable.
	fmt.Println(checkpoint.Delete(ctx, at, &checkpoint.DeleteOptions{Name: "optimizer"}))
	left, err := checkpoint.LoadCheckpointables(ctx, at, nil)
	fmt.Println(len(left), left["params"] != nil, err)
	fmt.Println(checkpoint.Delete(ctx, at, nil))
	fmt.Println(checkpoint.Delete(ctx, at, &checkpoint.DeleteOptions{MissingOK: true}))
	// Output:
	// true <nil>
	// 1 true <nil>
	// true <nil>
	// false <nil>
}

func TestDeleteRefuses(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	items := map[string]any{"a": map[string]any{"x": []float32{1, 2}}, "b": map[string]any{"y": 7}}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, "one", map[string]any{"x": 1}, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/no", "/no/checkpoint"} {
		if err := mem.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, item string
		want       errs.Kind
	}{
		{"nothing", "", errs.NotFound},
		{"c", "z", errs.NotFound},
		{"c/a", "", errs.Invalid},
		{"no", "", errs.Invalid},
		{"one", "state", errs.Invalid},
		{"", "", errs.Invalid},
	} {
		deleted, err := checkpoint.Delete(ctx, c.path, &checkpoint.DeleteOptions{Store: st, Name: c.item})
		if errs.KindOf(err) != c.want || deleted {
			t.Errorf("%s %s: %v, %v", c.path, c.item, deleted, err)
		}
		deleted, err = checkpoint.Delete(ctx, c.path, &checkpoint.DeleteOptions{Store: st, Name: c.item, MissingOK: true})
		if (err == nil) != (c.want == errs.NotFound) || deleted {
			t.Errorf("%s %s, missing is right: %v, %v", c.path, c.item, deleted, err)
		}
	}
	for _, name := range []string{"c", "one"} {
		if r, err := integrity.Verify(ctx, name, &integrity.VerifyOptions{Store: st}); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s afterwards: %v, %v", name, r, err)
		}
	}
}

func TestDeleteItemOfSigned(t *testing.T) {
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]any{"a": map[string]any{"x": make([]float32, 5000)}, "b": map[string]any{"y": 7}}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items,
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run 1", Signing: private}},
			Store: st}); err != nil {
		t.Fatal(err)
	}
	o := &checkpoint.DeleteOptions{Store: st, Name: "b"}
	if _, err := checkpoint.Delete(ctx, "c", o); errs.KindOf(err) != errs.Invalid {
		t.Errorf("without the key: %v", err)
	}
	o.Options.Signing = private
	if deleted, err := checkpoint.Delete(ctx, "c", o); err != nil || !deleted {
		t.Fatal(deleted, err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c",
		&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run 1", Verification: public}},
			Store: st})
	if err != nil || len(got) != 1 || got["a"] == nil {
		t.Errorf("what is left: %v, %v", got, err)
	}
	in, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || len(in.Items) != 1 || !in.Manifest {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestDeleteToTrash(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for _, trash := range []string{"trash", filepath.Join(dir, "bin", "x")} {
		at := filepath.Join(dir, "c")
		if err := checkpoint.Save(ctx, at, map[string]any{"x": make([]float32, 5000)}, nil); err != nil {
			t.Fatal(err)
		}
		o := &checkpoint.DeleteOptions{Options: options.Options{Deletion: options.Deletion{GCS: options.GCSDeletion{TodeleteFullPath: trash}}}}
		if deleted, err := checkpoint.Delete(ctx, at, o); err != nil || !deleted {
			t.Fatal(deleted, err)
		}
		if _, err := os.Stat(at); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
		if !filepath.IsAbs(trash) {
			trash = filepath.Join(dir, trash)
		}
		found, err := filepath.Glob(filepath.Join(trash, "c-*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if r, err := integrity.Verify(ctx, found[0], nil); err != nil || len(r.Problems) > 0 {
			t.Errorf("in the trash: %v, %v", r, err)
		}
	}
	o := &checkpoint.DeleteOptions{Options: options.Options{Deletion: options.Deletion{GCS: options.GCSDeletion{TodeleteFullPath: "../elsewhere"}}}}
	at := filepath.Join(dir, "c")
	if err := checkpoint.Save(ctx, at, map[string]any{"x": 1}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Delete(ctx, at, o); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a trash outside of the store: %v", err)
	}
}
