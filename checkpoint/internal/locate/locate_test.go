package locate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// AboveHolds says the same as Above and Holds, for each way to write a path.
func TestAboveHolds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "run", "step", "item"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mark", "run/step/mark"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(dir, "run"))
	held := 0
	for _, at := range []string{"step", "./step", "step/item", "step/item/", "step/../step/item", "step/..", ".", "./",
		"..", "../run", "../run/step", "/", dir, filepath.Join(dir, "run"), filepath.Join(dir, "run", "step", "item"),
		"no/such", "no"} {
		want, inside := "", false
		above, ok := Above(at, nil, 1)
		if ok {
			if inside, err = Holds(t.Context(), above, nil, "mark"); err != nil {
				t.Fatal(err)
			}
		}
		if inside {
			want, held = above, held+1
		}
		got, holds, err := AboveHolds(t.Context(), at, nil, "mark")
		if err != nil || holds != inside || holds && got != want {
			t.Errorf("%q: %q, %v, %v, want %q, %v", at, got, holds, err, want, inside)
		}
	}
	if held < 5 {
		t.Errorf("%d of the paths lie below a mark, want some", held)
	}
	st := local.New(vfstest.NewMem(), "/", nil)
	for _, at := range []string{"step", "a/b", ""} {
		if _, holds, err := AboveHolds(t.Context(), at, st, "mark"); holds || err != nil {
			t.Errorf("%q of a store: %v, %v", at, holds, err)
		}
	}
}
