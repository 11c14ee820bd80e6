package handler

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/big"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
	"github.com/google/go-cmp/cmp"
)

// saved returns the directory that h makes of v.
func saved(t *testing.T, h CheckpointableHandler, v any) *Memory {
	t.Helper()
	commit, err := h.Save(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	dir := &Memory{}
	if err := Run(t.Context(), commit, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestJSON(t *testing.T) {
	v := map[string]any{"lr": 0.5, "names": []string{"a", "<b>"}, "n": 7}
	dir := saved(t, JSON{}, v)
	v["n"] = 8
	text, err := dir.ReadFile(t.Context(), "data.json")
	if err != nil || string(text) != `{"lr":0.5,"n":7,"names":["a","<b>"]}` {
		t.Errorf("%s, %v", text, err)
	}
	got, err := JSON{}.Load(t.Context(), dir, nil)
	want := map[string]any{"lr": 0.5, "names": []any{"a", "<b>"}, "n": int64(7)}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	var typed struct{ LR float64 }
	if got, err := (JSON{}).Load(t.Context(), dir, &typed); err != nil || typed.LR != 0.5 || got != any(&typed) {
		t.Errorf("%v, %v", got, err)
	}
	if m, err := (JSON{}).Metadata(t.Context(), dir); m != nil || err != nil {
		t.Error(m, err)
	}
	for _, v := range []any{math.NaN(), []byte("a")} {
		if _, err := (JSON{}).Save(t.Context(), v); !errors.Is(err, errs.Unsupported) {
			t.Error(err)
		}
	}
}

func TestWhatIsJSON(t *testing.T) {
	type cycle struct{ Next *cycle }
	endless := &cycle{}
	endless.Next = endless
	for _, v := range []any{1, "a", []string{"a"}, map[string]any{"a": nil}, struct{ A *int }{}, json.RawMessage("1"),
		time.Now(), []float32{1}} {
		if !(JSON{}).Handles(v) {
			t.Errorf("%T is no JSON", v)
		}
	}
	for _, v := range []any{[]byte("a"), [2]byte{}, tensor.New(tensor.Int8, 1),
		map[string]any{"a": []any{tensor.New(tensor.Int8, 1)}},
		tree.NewLeaf(1), struct{ B []byte }{}, math.NaN(), func() {}, endless, ProtoText{}, &counter{}, 1i} {
		if (JSON{}).Handles(v) {
			t.Errorf("%T is JSON", v)
		}
	}
}

func TestJSONFiles(t *testing.T) {
	ctx := t.Context()
	files := func(names ...string) *Memory {
		m := &Memory{}
		for _, n := range names {
			if err := m.Put(ctx, n, []byte(`"`+n+`"`)); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	for _, c := range []struct {
		h    CheckpointableHandler
		dir  *Memory
		want any
	}{
		{JSON{}, files("data.json", "metadata"), "data.json"},
		{JSON{}, files("metadata"), "metadata"},
		{JSON{File: "x"}, files("x", "data.json"), "x"},
		{JSON{File: "x"}, files("data.json"), "data.json"},
		{Metrics{}, files("metrics", "data.json"), "metrics"},
		{Metrics{}, files("metadata"), "metadata"},
		{JSON{}, files("metrics"), nil},
		{Metrics{}, files(), nil},
	} {
		got, err := c.h.Load(ctx, c.dir, nil)
		if got != c.want || (err == nil) != (c.want != nil) || err != nil && !errors.Is(err, errs.NotFound) {
			t.Errorf("%T: %v, %v, want %v", c.h, got, err, c.want)
		}
	}
	if _, err := saved(t, Metrics{}, map[string]float64{"loss": 1}).ReadFile(ctx, "metrics"); err != nil {
		t.Error(err)
	}
}

func TestJSONValues(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for text, want := range map[string]any{
		"1":                              int64(1),
		"-9223372036854775808":           int64(math.MinInt64),
		"18446744073709551615":           uint64(math.MaxUint64),
		"123456789012345678901234567890": huge,
		"1.0":                            1.0,
		"1e3":                            1000.0,
		"NaN":                            math.NaN(),
		"[-Infinity, Infinity]":          []any{math.Inf(-1), math.Inf(1)},
		`{"NaN": "Infinity", "a": NaN}`:  map[string]any{"NaN": "Infinity", "a": math.NaN()},
		`["float:NaN", "\"", NaN]`:       []any{"float:NaN", `"`, math.NaN()},
		"null":                           nil,
		"1e999":                          math.Inf(1),
	} {
		got, err := decodeJSON([]byte(text), nil)
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
			cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); d != "" || err != nil {
			t.Errorf("%s: %s, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "{", "1 2", "NaN NaN", "-NaN", "Infinit", `"NaN`, "[1,]"} {
		m := &Memory{}
		if err := m.Put(t.Context(), "data.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := (JSON{}).Load(t.Context(), m, nil); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.5, NaN, "\"NaN"]}`, "-Infinity", `"`, "1e999",
		"123456789012345678901234567890"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeJSON(b, nil)
		if err != nil {
			return
		}
		if !(JSON{}).Handles(v) {
			return // NaN and infinities are read, not written
		}
		if v == nil {
			return
		}
		commit, err := JSON{}.Save(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		dir := &Memory{}
		if err := Run(t.Context(), commit, dir); err != nil {
			t.Fatal(err)
		}
		if _, err := (JSON{}).Load(t.Context(), dir, nil); err != nil {
			t.Errorf("%v loads once: %v", v, err)
		}
	})
}

func TestProtoText(t *testing.T) {
	dir := saved(t, Proto{}, ProtoText(`value: "x"`))
	for _, abstract := range []any{nil, ProtoText{}} {
		if got, err := (Proto{}).Load(t.Context(), dir, abstract); err != nil || string(got.(ProtoText)) != `value: "x"` {
			t.Errorf("%v, %v", got, err)
		}
	}
	if text, err := dir.ReadFile(t.Context(), "proto.pbtxt"); string(text) != `value: "x"` || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := (Proto{}).Load(t.Context(), dir, 7); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := (Proto{}).Save(t.Context(), 7); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := (Proto{}).Load(t.Context(), &Memory{}, nil); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if m, err := (Proto{}).Metadata(t.Context(), dir); err != nil || len(m.(ProtoText)) != 0 {
		t.Error(m, err)
	}
}

// box is a Checkpointable: what loads is another one.
type box struct{ counter }

func (b *box) Load(ctx context.Context, dir Reader) (any, error) {
	out := &box{}
	return out, out.counter.Load(ctx, dir)
}

func (b *box) Metadata(ctx context.Context, dir Reader) (any, error) { return dir.List(ctx) }

func TestObjects(t *testing.T) {
	c := &counter{N: 3}
	commit, err := Objects{}.Save(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.N = 4
	dir := &Memory{}
	if err := Run(t.Context(), commit, dir); err != nil {
		t.Fatal(err)
	}
	into := &counter{}
	if got, err := (Objects{}).Load(t.Context(), dir, into); got != any(into) || into.N != 3 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	b := &box{}
	got, err := Objects{}.Load(t.Context(), saved(t, Objects{}, &box{counter{9}}), b)
	if err != nil || got.(*box).N != 9 || b.N != 0 {
		t.Errorf("%v, %v, abstract %v", got, err, b)
	}
	for _, v := range []any{nil, 7} {
		if _, err := (Objects{}).Load(t.Context(), dir, v); !errors.Is(err, errs.Invalid) {
			t.Error(err)
		}
	}
	if _, err := (Objects{}).Save(t.Context(), 7); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := (Objects{}).Load(t.Context(), &Memory{}, into); !errors.Is(err, errs.NotFound) || into.N != 3 {
		t.Error(err)
	}
	if m, err := MetadataOf(t.Context(), Objects{}, dir, b); err != nil || cmp.Diff([]string{"n"}, m) != "" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := MetadataOf(t.Context(), Objects{}, dir, into); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
}

func TestTreeWithoutEngine(t *testing.T) {
	if !(Tree{}).Handles(values["json"]) || (Tree{}).Handles(&counter{}) || (Tree{}).Handles(ProtoText{}) ||
		(Tree{}).Handles(foo{}) {
		t.Error("what is a tree")
	}
	none := noEngine{} // of this program the examples have one
	if !none.Handles(values["json"]) || none.Handles(foo{}) || none.HandlesAbstract(foo{}) {
		t.Error("what is a tree without an engine")
	}
	_, err := none.Save(t.Context(), 1)
	_, lerr := none.Load(t.Context(), &Memory{}, nil)
	_, merr := none.Metadata(t.Context(), &Memory{})
	for _, err := range []error{err, lerr, merr} {
		if !errors.Is(err, errs.Unsupported) {
			t.Error(err)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, n := range []string{"a", "a/b.csv", "a b", "é"} {
		if err := CheckName(n); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []string{"", ".", "..", "/a", "a/", "a//b", "a/../b", "./a", `a\b`, "a\x00", "\xff"} {
		if err := CheckName(n); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", n, err)
		}
	}
}

func TestRunHoldsHandlersToTheRules(t *testing.T) {
	var late Writer
	for _, c := range []struct {
		name   string
		commit Commit
		want   errs.Kind
	}{
		{"escape", func(ctx context.Context, d Writer) error { return d.Put(ctx, "../x", nil) }, errs.Invalid},
		{"escape by Create", func(ctx context.Context, d Writer) error { _, err := d.Create(ctx, "/x"); return err }, errs.Invalid},
		{"twice", func(ctx context.Context, d Writer) error {
			return errors.Join(d.Put(ctx, "x", nil), d.Put(ctx, "x", nil))
		}, errs.Exists},
		{"left open", func(ctx context.Context, d Writer) error { _, err := d.Create(ctx, "x"); return err }, errs.Invalid},
		{"close failed", func(ctx context.Context, d Writer) error {
			w, err := d.Create(ctx, "full")
			if err == nil {
				_ = w.Close() // the mistake
			}
			return err
		}, errs.Exhausted},
		{"own error", func(context.Context, Writer) error { return &errs.Error{Kind: errs.Busy} }, errs.Busy},
	} {
		if err := Run(t.Context(), c.commit, &full{}); errs.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	dir := &Memory{}
	err := Run(t.Context(), func(ctx context.Context, d Writer) error {
		late = d
		w, err := d.Create(ctx, "a/b")
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, "text"); err != nil {
			return err
		}
		return w.Close()
	}, dir)
	if b, rerr := dir.ReadFile(t.Context(), "a/b"); err != nil || rerr != nil || string(b) != "text" {
		t.Errorf("%v, %q, %v", err, b, rerr)
	}
	if err := late.Put(t.Context(), "late", nil); !errors.Is(err, errs.Closed) {
		t.Error(err)
	}
}

// full is a Memory where the file of that name cannot be closed.
type full struct{ Memory }

func (f *full) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	if name == "full" {
		return noSpace{}, nil
	}
	return f.Memory.Create(ctx, name)
}

type noSpace struct{ io.Writer }

func (noSpace) Close() error { return &errs.Error{Kind: errs.Exhausted} }

func TestDirectories(t *testing.T) {
	ctx := t.Context()
	m := &Memory{}
	if err := m.Put(ctx, "a/b", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(ctx, "a/b", nil); !errors.Is(err, errs.Exists) {
		t.Error(err)
	}
	if _, err := m.Create(ctx, "../a"); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	for name, r := range map[string]Reader{"memory": m,
		"dir": Dir(fstest.MapFS{"a/b": {Data: []byte("text")}, "empty": {Mode: fs.ModeDir}})} {
		names, err := r.List(ctx)
		if d := cmp.Diff([]string{"a/b"}, names); d != "" || err != nil {
			t.Errorf("%s: %s, %v", name, d, err)
		}
		f, err := r.Open(ctx, "a/b")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b := make([]byte, 2)
		if n, err := f.ReadAt(b, 1); n != 2 || err != nil || string(b) != "ex" || f.Size() != 4 {
			t.Errorf("%s: %d, %v, %q, %d", name, n, err, b, f.Size())
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		for _, missing := range []string{"a/c", "x"} {
			if _, err := r.Open(ctx, missing); !errors.Is(err, errs.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := r.ReadFile(ctx, missing); !errors.Is(err, errs.NotFound) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"../a", "/etc/passwd"} {
		if _, err := Dir(fstest.MapFS{}).ReadFile(ctx, name); !errors.Is(err, errs.Invalid) {
			t.Error(err)
		}
		if _, err := Dir(fstest.MapFS{}).Open(ctx, name); !errors.Is(err, errs.Invalid) {
			t.Error(err)
		}
	}
}
