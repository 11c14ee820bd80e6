package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// words is what lines saves, one word a file.
type words []string

// lines writes words into files of a directory.
type lines struct{}

func (lines) TypeString() string { return "test.Lines" }

func (lines) Handles(v any) bool { _, ok := v.(words); return ok }

func (lines) HandlesAbstract(a any) handler.Verdict {
	if _, ok := a.(words); ok {
		return handler.Yes
	}
	return handler.No
}

func (lines) Save(_ context.Context, v any) (handler.Commit, error) {
	list := append(words{}, v.(words)...)
	return func(ctx context.Context, dir handler.Writer) error {
		for i, w := range list {
			f, err := dir.Create(ctx, fmt.Sprintf("w/%d", i))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(f, w); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (lines) Load(ctx context.Context, dir handler.Reader, _ any) (any, error) {
	names, err := dir.List(ctx)
	if err != nil {
		return nil, err
	}
	var out words
	for _, n := range names {
		f, err := dir.Open(ctx, n)
		if err != nil {
			return nil, err
		}
		b := make([]byte, f.Size())
		if _, err := f.ReadAt(b, 0); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		out = append(out, string(b))
	}
	return out, nil
}

func (lines) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	names, err := dir.List(ctx)
	return make(words, len(names)), err
}

// withLines is a context whose registry has lines.
func withLines(t *testing.T) context.Context {
	t.Helper()
	r, err := handler.Local(nil, true)
	if err == nil {
		err = r.Add(lines{}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return options.With(context.Background(), options.Options{Checkpointables: options.Checkpointables{Registry: r}})
}

func TestCheckpointables(t *testing.T) {
	ctx := withLines(t)
	mem := vfs.NewMem()
	st := local.New(mem, "/", nil)
	w := words{"a", "bc"}
	items := map[string]any{
		"model": map[string]any{"x": []float32{1, 2}},
		"words": w,
		"data":  json.RawMessage(`{"position": 12345678901234567890123}`),
		"text":  checkpoint.ProtoText("a: 1\n"),
		"one":   []float32{3},
	}
	r, err := checkpoint.SaveCheckpointablesAsync(ctx, "c", items, &checkpoint.SaveOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	w[0], items["model"].(map[string]any)["x"].([]float32)[0] = "changed", 7
	if _, err := r.Result(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words{"a", "bc"}, got["words"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(items["data"], got["data"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(items["text"], got["text"]); diff != "" {
		t.Error(diff)
	}
	var model struct {
		X []float32 `bivouac:"x"`
	}
	if err := tree.Into(got["model"].(*tree.Node), &model); err != nil || model.X[0] != 1 {
		t.Error(model, err)
	}
	if len(got) != len(items) {
		t.Error(got)
	}
	plain, err := checkpoint.LoadCheckpointables(context.Background(), "c", &checkpoint.LoadOptions{Store: st})
	if _, there := plain["words"]; err != nil || there || len(plain) != len(items)-1 {
		t.Errorf("without the handler: %v, %v", plain, err)
	}

	if err := mem.Remove("/c/words/w/1"); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create("/c/words/w/1", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("bB"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a changed byte in the file of a handler: %v", err)
	}
}

func TestRefusedCheckpointables(t *testing.T) {
	ctx := withLines(t)
	for name, items := range map[string]map[string]any{
		"nothing":       nil,
		"an empty name": {"": 1},
		"metrics":       {"metrics": map[string]any{"loss": 1.5}},
		"AUTO":          {"AUTO": 1},
		"nil":           {"a": nil},
		"no JSON":       {"a": json.RawMessage("{")},
	} {
		st := local.New(vfs.NewMem(), "/", nil)
		if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st}); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: st}) {
			t.Errorf("%s: saved", name)
		}
	}
}
