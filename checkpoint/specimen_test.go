package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// content is the files of a checkpoint by their names below it.
type content map[string][]byte

// contentStore is a store that holds one checkpoint, "c", for reading.
type contentStore struct {
	store.Store // the rest is not called
	files       content
}

func below(name string) string { return strings.TrimPrefix(strings.TrimPrefix(name, "c"), "/") }

func (s contentStore) Properties() store.Properties { return store.Properties{Name: "content"} }

func (s contentStore) Open(_ context.Context, name string) (store.Reader, error) {
	b, ok := s.files[below(name)]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "store.Open", Subject: name}
	}
	return byteReader(b), nil
}

func (s contentStore) Stat(_ context.Context, name string) (store.Info, error) {
	in := below(name)
	if name != "c" && !strings.HasPrefix(name, "c/") {
		return store.Info{}, &errs.Error{Kind: errs.NotFound, Op: "store.Stat", Subject: name}
	}
	if b, ok := s.files[in]; ok {
		return store.Info{Name: name, Size: int64(len(b))}, nil
	}
	for f := range s.files {
		if in == "" || strings.HasPrefix(f, in+"/") {
			return store.Info{Name: name, Dir: true}, nil
		}
	}
	return store.Info{}, &errs.Error{Kind: errs.NotFound, Op: "store.Stat", Subject: name}
}

func (s contentStore) List(_ context.Context, dir string) iter.Seq2[store.Info, error] {
	prefix := ""
	if in := below(dir); in != "" {
		prefix = in + "/"
	}
	found := map[string]store.Info{}
	for f, b := range s.files {
		if rest, ok := strings.CutPrefix(f, prefix); ok {
			name, _, deeper := strings.Cut(rest, "/")
			i := store.Info{Name: name, Dir: deeper}
			if !deeper {
				i.Size = int64(len(b))
			}
			found[name] = i
		}
	}
	return func(yield func(store.Info, error) bool) {
		if len(found) == 0 {
			yield(store.Info{}, &errs.Error{Kind: errs.NotFound, Op: "store.List", Subject: dir})
		}
		for _, n := range slices.Sorted(maps.Keys(found)) {
			if !yield(found[n], nil) {
				return
			}
		}
	}
}

type byteReader []byte

func (r byteReader) Size() int64  { return int64(len(r)) }
func (r byteReader) Close() error { return nil }

func (r byteReader) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off > int64(len(r)) || copy(p, r[off:]) < len(p) {
		return &errs.Error{Kind: errs.Corrupt, Op: "store.ReadAt", Got: "the end of the object"}
	}
	return nil
}

// specimen is a checkpoint and what it holds.
type specimen struct {
	name  string
	files content
	items map[string]any
	boxes []boxed
	// coarse makes the short tests try one damage in coarse; 0 = all.
	coarse int
}

// boxed is a part of an array that is read by itself.
type boxed struct {
	item, path string
	box        zarr.Box
	want       []byte
}

// seeded is what decides the names in a checkpoint: same seed, same names.
func seeded(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// preserve saves items as a checkpoint in memory.
func preserve(t testing.TB, name string, style writer.Style, seed byte, items map[string]any) specimen {
	t.Helper()
	return preserveAs(t, name, writer.Options{Style: style}, seed, items)
}

// preserveAs is preserve with all options of the Writer. It overwrites o.Now and o.Random.
func preserveAs(t testing.TB, name string, o writer.Options, seed byte, items map[string]any) specimen {
	t.Helper()
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	list, err := writer.Handlers{}.Collect(ctx, items)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(1_700_000_000, int64(seed)) }
	o.Random = seeded(seed)
	w, err := writer.Plan(list, writer.Copy, o)
	if err == nil {
		err = w.Snapshot()
	}
	if err != nil {
		t.Fatal(err)
	}
	txn, err := st.Begin(ctx, "c", store.TxnOptions{})
	if err == nil {
		_, err = w.Write(ctx, txn)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := specimen{name: name, files: content{}, items: map[string]any{}}
	var walk func(dir string)
	walk = func(dir string) {
		for e, err := range st.List(ctx, path.Join("c", dir)) {
			if err != nil {
				t.Fatal(err)
			}
			at := path.Join(dir, e.Name)
			if e.Dir {
				walk(at)
				continue
			}
			if s.files[at], err = store.ReadAll(ctx, st, path.Join("c", at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	walk("")
	for k, v := range items {
		if raw, ok := v.(json.RawMessage); ok {
			s.items[k] = raw
			continue
		}
		if s.items[k], err = tree.From(v); err != nil {
			t.Fatal(err)
		}
	}
	s.findBoxes(t)
	if err := s.examine(s.files); err != nil {
		t.Fatalf("%s, undamaged: %v", name, err)
	}
	if found, err := s.verify(s.files); found || err != nil {
		t.Fatalf("%s, undamaged: Verify finds a problem, or fails: %v", name, err)
	}
	return s
}

// values of a small checkpoint: arrays in the database and beside it, two of
// the same shape on each side, scalars, strings and empty containers.
func values(seed int) map[string]any {
	ramp := func(n, from int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(from*1000+i) / 8
		}
		return v
	}
	return map[string]any{
		"left": ramp(300, seed), "right": ramp(300, seed+1), // out of line
		"a": ramp(6, seed+2), "b": ramp(6, seed+3), // inline
		"step": int64(seed), "rate": 0.5 + float64(seed), "done": false,
		"name": fmt.Sprintf("run %d", seed), "note": "text <&> ü", "none": nil,
		"layers": []any{map[string]any{}, []any{}, tensor.New(tensor.Int4, 3)},
	}
}

func position(seed int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"position":%d}`, seed)) }

// specimens are one checkpoint of each style, in the default layout.
func specimens(t testing.TB, seed byte, n int) []specimen {
	out := []specimen{
		preserve(t, "v1", writer.V1, seed, map[string]any{"state": values(n)}),
		preserve(t, "step", writer.Step, seed, map[string]any{"state": values(n), "data": position(n)}),
	}
	out[1].coarse = 3 // most of it is as in the first
	return out
}

// layouts are one checkpoint of each other layout, and of the compressions.
func layouts(t testing.TB, seed byte, n int) []specimen {
	v := values(n)
	tensors := map[string]any{"left": v["left"], "right": v["right"], "a": v["a"], "b": v["b"],
		"c": tensor.New(tensor.BFloat16, 3), "note": v["note"]}
	var out []specimen
	for _, l := range []struct {
		name  string
		o     writer.Options
		items map[string]any
	}{
		{"ocdbt-zarr2", writer.Options{Layout: options.OCDBTZarr2}, map[string]any{"state": v}},
		{"zarr3", writer.Options{Layout: options.PlainZarr3}, map[string]any{"state": v, "data": position(n)}},
		{"zarr2", writer.Options{Layout: options.PlainZarr2, Style: writer.Step}, map[string]any{"state": v}},
		{"safetensors", writer.Options{Layout: options.SafetensorsLayout}, map[string]any{"state": tensors}},
		{"ocdbt-zarr3, zstd", writer.Options{Storage: writer.Storage{Compression: options.Zstd}}, map[string]any{"state": tensors}},
		{"zarr2, byte-split", writer.Options{Layout: options.PlainZarr2, Storage: writer.Storage{Compression: options.ByteSplit}}, map[string]any{"state": tensors}},
		{"zarr3 in shards, zstd", writer.Options{Layout: options.PlainZarr3, Storage: writer.Storage{Compression: options.Zstd, ChunkBytes: 400}}, map[string]any{"state": tensors}},
		{"safetensors in parts", writer.Options{Layout: options.SafetensorsLayout, MaxFileBytes: 1300}, map[string]any{"state": tensors}},
	} {
		s := preserveAs(t, l.name, l.o, seed, l.items)
		s.coarse = 13
		out = append(out, s)
	}
	return out
}

// examine loads files, which are the files of s with some damage, and says what is wrong with the
// answer: anything except the right values or a proper refusal.
func (s specimen) examine(files content) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	ctx := context.Background()
	if err := s.examineBoxes(ctx, files); err != nil {
		return err
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: contentStore{files: files}})
	if err != nil {
		return refusal(err)
	}
	if len(got) != len(s.items) {
		return fmt.Errorf("loaded %d items of %d, and no error", len(got), len(s.items))
	}
	for name, want := range s.items {
		switch want := want.(type) {
		case *tree.Node:
			n, ok := got[name].(*tree.Node)
			if !ok || !tree.Equal(want, n) {
				return fmt.Errorf("item %q has wrong values, and no error", name)
			}
		case json.RawMessage:
			raw, ok := got[name].(json.RawMessage)
			if !ok || !bytes.Equal(want, raw) {
				return fmt.Errorf("item %q is %s, and no error", name, raw)
			}
		}
	}
	return nil
}

// findBoxes takes a box out of each array of which there is a middle.
func (s *specimen) findBoxes(t testing.TB) {
	t.Helper()
	err := s.eachLeaf(t.Context(), s.files, func(item string, l *layout.Leaf) error {
		if len(l.Shape) == 0 || l.Shape[0] < 3 || l.Bytes() > 1<<20 || l.DType.Size() == 0 {
			return nil
		}
		box := zarr.WholeBox(l.Shape)
		box.Origin[0], box.Shape[0] = 1, l.Shape[0]-2
		all := make([]byte, l.Bytes())
		if err := l.Read(t.Context(), all); err != nil {
			return err
		}
		row := l.Bytes() / l.Shape[0]
		s.boxes = append(s.boxes, boxed{item, l.Path.String(), box, all[row : len(all)-row]})
		return nil
	})
	if err != nil || len(s.boxes) == 0 && len(s.files) > 0 && !strings.Contains(s.name, "chunks") {
		t.Fatalf("%s: %d boxes: %v", s.name, len(s.boxes), err)
	}
}

// eachLeaf opens a checkpoint and hands over the leaves of all trees.
func (s specimen) eachLeaf(ctx context.Context, files content, f func(item string, l *layout.Leaf) error) error {
	c, err := layout.Open(ctx, contentStore{files: files}, "c")
	if err != nil {
		return err
	}
	for name, v := range s.items {
		if _, tree := v.(*tree.Node); !tree {
			continue
		}
		t, err := c.Tree(ctx, name)
		if err != nil {
			return err
		}
		for i := range t.Leaves {
			if err := f(name, &t.Leaves[i]); err != nil {
				t.Close() //nolint:errcheck // the first error counts
				return err
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}

// examineBoxes reads the boxes by themselves: the right bytes, or a refusal.
func (s specimen) examineBoxes(ctx context.Context, files content) error {
	wrong := error(nil)
	err := s.eachLeaf(ctx, files, func(item string, l *layout.Leaf) error {
		i := slices.IndexFunc(s.boxes, func(b boxed) bool { return b.item == item && b.path == l.Path.String() })
		if i < 0 {
			return nil
		}
		b := s.boxes[i]
		if n := tensor.Shape(b.box.Shape).Len() * l.DType.Size(); n != len(b.want) || len(l.Shape) != len(b.box.Shape) {
			return nil // another dtype or shape: the load of the whole must refuse it
		}
		got := make([]byte, len(b.want))
		if err := l.ReadBox(ctx, b.box, got); err != nil {
			return err
		}
		if !bytes.Equal(got, b.want) {
			wrong = fmt.Errorf("box %v of %s has wrong values, and no error", b.box, b.path)
		}
		return nil
	})
	if wrong == nil && err != nil {
		return refusal(err)
	}
	return wrong
}

// refusal accepts the errors that a damaged checkpoint may give.
func refusal(err error) error {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Unsupported, errs.NotFound, errs.Invalid:
		if len(err.Error()) > 2000 {
			return fmt.Errorf("a message of %d bytes", len(err.Error()))
		}
		return nil
	}
	return fmt.Errorf("an error of kind %v: %w", errs.KindOf(err), err)
}

// verify reports whether Verify finds a problem, or what it takes for a newer
// version.
func (s specimen) verify(files content) (found bool, err error) {
	r, err := integrity.Verify(context.Background(), "c", &integrity.VerifyOptions{Store: contentStore{files: files}})
	return errs.KindOf(err) == errs.Unsupported || err == nil && !r.OK(), err
}
