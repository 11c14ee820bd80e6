package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
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
	mem := vfstest.NewMem()
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
	if _, err := checkpoint.LoadCheckpointables(ctx, "c",
		&checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Corrupt {
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
		st := local.New(vfstest.NewMem(), "/", nil)
		if err := checkpoint.SaveCheckpointables(ctx, "c", items,
			&checkpoint.SaveOptions{Store: st}); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: st}) {
			t.Errorf("%s: saved", name)
		}
	}
}

func TestLeavesOfTypes(t *testing.T) {
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	o, lo := &checkpoint.SaveOptions{Store: st}, &checkpoint.LoadOptions{Store: st}
	key := checkpoint.Key{Impl: "threefry2x32", Data: tensor.FromSlice([]uint32{1, 2, 3, 4}, 2, 2)}
	state := map[string]any{"key": key, "bytes": []byte{1, 2, 255}, "none": []byte{},
		"zero": tensor.New(tensor.Float32, 0, 3)}
	r, err := checkpoint.SaveAsync(ctx, "c", state, o)
	if err != nil {
		t.Fatal(err)
	}
	key.Data.Data[0] = 9
	if _, err := r.Result(ctx); err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, "c", lo)
	if err != nil {
		t.Fatal(err)
	}
	key.Data.Data[0] = 1
	if got := n.Get("key").Value; cmp.Diff(key, got) != "" {
		t.Errorf("%+v", got)
	}
	var into struct {
		Bytes []byte        `bivouac:"bytes"`
		None  []byte        `bivouac:"none"`
		Zero  tensor.Tensor `bivouac:"zero"`
		Key   any           `bivouac:"key"`
	}
	if err := checkpoint.LoadInto(ctx, "c", &into, lo); err != nil || !bytes.Equal(into.Bytes, []byte{1, 2, 255}) ||
		len(into.None) != 0 || !into.Zero.Shape.Equal(tensor.Shape{0, 3}) {
		t.Errorf("%+v, %v", into, err)
	}
	if err := checkpoint.Save(ctx, "again", n, o); err != nil {
		t.Errorf("what was loaded: %v", err)
	}
	for name, c := range map[string]struct {
		state any
		want  errs.Kind
		text  string
	}{
		"a large integer": {map[string]any{"n": new(big.Int).Lsh(big.NewInt(1), 70)}, errs.Unsupported, "JSON"},
		"names":           {map[string]any{"a.b": map[string]any{"c": 1}, "a": map[string]any{"b.c": 2}}, errs.Invalid, "a.b"},
		"a time":          {map[string]any{"t": map[string]any{"at": time.Unix(1, 0)}}, errs.Unsupported, "at"},
		"no keys":         {map[string]any{"k": checkpoint.Key{Impl: "x", Data: tensor.FromSlice([]float32{1}, 1)}}, errs.Invalid, "k"},
	} {
		err := checkpoint.Save(ctx, "bad", c.state, o)
		if errs.KindOf(err) != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckpointablesMetadata(t *testing.T) {
	ctx := withLines(t)
	st := local.New(vfstest.NewMem(), "/", nil)
	at := state.Document{Version: 1, Kind: "pipeline", Position: 12}
	items := map[string]any{"model": map[string]any{"x": []float32{1, 2}}, "words": words{"a", "b"}, "data": at}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	in, err := checkpoint.CheckpointablesMetadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := in.Item("words")
	d, _ := in.Item("data")
	m, _ := in.Item("model")
	if len(w.Metadata.(words)) != 2 || d.Kind != "json" || len(m.Leaves) != 1 || m.Metadata != nil {
		t.Errorf("%+v", in.Items)
	}
	in, err = checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st, Name: "data"})
	if err != nil || len(in.Items) != 1 || in.Items[0].Name != "data" || in.Items[0].Handler != handler.TypeJSON {
		t.Errorf("of one item: %+v, %v", in, err)
	}
	if _, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st,
		Name: "none"}); errs.KindOf(err) != errs.NotFound {
		t.Errorf("of no item: %v", err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	var back state.Document
	if err := json.Unmarshal(got["data"].(json.RawMessage), &back); err != nil || back.Position != 12 {
		t.Errorf("%+v, %v", back, err)
	}
}
