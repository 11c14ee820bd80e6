package partial_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ramp(n int, from float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = from + float32(i)
	}
	return out
}

func on(st *local.Store) *partial.SaveOptions {
	return &partial.SaveOptions{SaveOptions: checkpoint.SaveOptions{Store: st}}
}

func mem(t testing.TB) (*local.Store, *vfstest.Mem) {
	t.Helper()
	fsys := vfstest.NewMem()
	return local.New(fsys, "/", nil), fsys
}

func load(t testing.TB, st *local.Store, name string) *tree.Node {
	t.Helper()
	n, err := checkpoint.Load(t.Context(), name, &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	r, err := integrity.Verify(t.Context(), name, &integrity.VerifyOptions{Store: st})
	if err != nil || !r.OK() {
		t.Fatal(err, r)
	}
	return n
}

func want(t testing.TB, v any, got *tree.Node) {
	t.Helper()
	n, err := tree.From(v)
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(tree.Untyped(n), tree.Untyped(got)); len(d) > 0 {
		t.Fatal(tree.FormatDiff(d))
	}
}

// Parts become one checkpoint, which has a manifest that covers all of it.
func TestParts(t *testing.T) {
	st, fsys := mem(t)
	ctx := t.Context()
	o := on(st)
	o.Custom = map[string]any{"a": 1}
	if err := partial.Save(ctx, "c", map[string]any{"enc": map[string]any{"w": ramp(4000, 0), "b": ramp(3, 1)}, "step": 7},
		o); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(ctx, "c.partial_save",
		&checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Invalid {
		t.Fatalf("a session was loaded: %v", err)
	}
	o.Custom = map[string]any{"b": 2}
	if err := partial.Save(ctx, "c", map[string]any{"enc": map[string]any{"g": ramp(2000, 5)}, "name": "x", "none": nil,
		"empty": map[string]any{}}, o); err != nil {
		t.Fatal(err)
	}
	r, err := partial.SaveAsync(ctx, "c.partial_save", map[string]any{"dec": []any{ramp(10, 0), ramp(5000, 2)}}, on(st))
	if err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, map[string]any{
		"enc": map[string]any{"w": ramp(4000, 0), "b": ramp(3, 1), "g": ramp(2000, 5)}, "step": 7, "name": "x", "none": nil,
		"empty": map[string]any{}, "dec": []any{ramp(10, 0), ramp(5000, 2)},
	}, load(t, st, "c"))
	in, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || !in.Manifest || string(in.Custom) != `{"a":1, "b":2}` && !strings.Contains(string(in.Custom), `"b"`) {
		t.Fatalf("%v %+v", err, in)
	}
	if _, err := fsys.Stat("/c.partial_save"); err == nil {
		t.Fatal("the session is still there")
	}
	// Any byte of a data file that is changed is noticed.
	if err := partial.Save(ctx, "c", map[string]any{"x": 1}, on(st)); errs.KindOf(err) != errs.Exists {
		t.Fatalf("a part of a finished checkpoint: %v", err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); errs.KindOf(err) != errs.Exists {
		t.Fatalf("finalized twice: %v", err)
	}
}

// What is there is not replaced unless that is asked for.
func TestClashes(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name          string
		first, second any
		clash         bool
		left          any // when replaced
	}{
		{"the same leaf", map[string]any{"a": ramp(300, 0), "b": 1}, map[string]any{"a": ramp(300, 9)}, true, map[string]any{"a": ramp(300, 9), "b": 1}},
		{"another shape", map[string]any{"a": ramp(3000, 0), "b": 1}, map[string]any{"a": ramp(2, 9)}, true, map[string]any{"a": ramp(2, 9), "b": 1}},
		{"below a leaf", map[string]any{"a": 1, "b": "s"}, map[string]any{"a": map[string]any{"c": 2}}, true, map[string]any{"a": map[string]any{"c": 2}, "b": "s"}},
		{"above leaves", map[string]any{"a": map[string]any{"c": 2, "d": "t"}, "b": "s"}, map[string]any{"a": "u"}, true, map[string]any{"a": "u", "b": "s"}},
		{"beside leaves", map[string]any{"a": map[string]any{"c": 2}}, map[string]any{"a": map[string]any{"d": 3}}, false, map[string]any{"a": map[string]any{"c": 2, "d": 3}}},
		{"into an empty container", map[string]any{"a": map[string]any{}, "b": 1}, map[string]any{"a": map[string]any{"d": 3}}, false, map[string]any{"a": map[string]any{"d": 3}, "b": 1}},
		{"an empty container over leaves", map[string]any{"a": map[string]any{"d": 3}}, map[string]any{"a": map[string]any{}, "c": 1}, false, map[string]any{"a": map[string]any{"d": 3}, "c": 1}},
		{"strings in both", map[string]any{"a": "x"}, map[string]any{"b": "y"}, false, map[string]any{"a": "x", "b": "y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, _ := mem(t)
			if err := partial.Save(ctx, "c", c.first, on(st)); err != nil {
				t.Fatal(err)
			}
			err := partial.Save(ctx, "c", c.second, on(st))
			if (errs.KindOf(err) == errs.Exists) != c.clash || !c.clash && err != nil {
				t.Fatalf("second part: %v", err)
			}
			if c.clash {
				o := on(st)
				o.Replace = true
				if err := partial.Save(ctx, "c", c.second, o); err != nil {
					t.Fatal(err)
				}
			}
			if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
				t.Fatal(err)
			}
			want(t, c.left, load(t, st, "c"))
		})
	}
}

// Leaves of earlier parts can be taken away.
func TestRemove(t *testing.T) {
	ctx := t.Context()
	st, _ := mem(t)
	if err := partial.Save(ctx, "c", map[string]any{"a": map[string]any{"x": ramp(3000, 0), "y": "s"}, "b": "t", "c": 1},
		on(st)); err != nil {
		t.Fatal(err)
	}
	o := on(st)
	o.Remove = [][]string{{"zz"}}
	if err := partial.Save(ctx, "c", map[string]any{"d": 1}, o); errs.KindOf(err) != errs.NotFound {
		t.Fatalf("removal of what is not there: %v", err)
	}
	o.Remove = [][]string{{"a"}, {"b"}}
	if err := partial.Save(ctx, "c", map[string]any{"d": "u"}, o); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	want(t, map[string]any{"c": 1, "d": "u"}, load(t, st, "c"))
}

// A failure that nobody was told stops Finalize once; one that was told does not.
func TestUntoldFailure(t *testing.T) {
	fsys := vfstest.NewMem()
	st := local.New(fsys, "/", nil)
	ctx := t.Context()
	if err := partial.Save(ctx, "c", map[string]any{"a": 1}, on(st)); err != nil {
		t.Fatal(err)
	}
	for _, tell := range []bool{false, true} {
		fsys.SetCapacity(1)
		r, err := partial.SaveAsync(ctx, "c", map[string]any{"b": ramp(100000, 0)}, on(st))
		if err != nil {
			t.Fatal(err)
		}
		if tell {
			if _, err := r.Result(ctx); errs.KindOf(err) != errs.Exhausted {
				t.Fatalf("full disk: %v", err)
			}
		}
		<-r.Done()
		fsys.SetCapacity(0)
		if tell {
			break
		}
		if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); errs.KindOf(err) != errs.Exhausted {
			t.Fatalf("finalize after a failure that nobody was told: %v", err)
		}
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	want(t, map[string]any{"a": 1}, load(t, st, "c"))
}

func TestAbort(t *testing.T) {
	ctx := t.Context()
	st, fsys := mem(t)
	if err := partial.Abort(ctx, "c", &partial.AbortOptions{Store: st}); errs.KindOf(err) != errs.NotFound {
		t.Fatalf("abort of nothing: %v", err)
	}
	if _, err := partial.SaveAsync(ctx, "c", map[string]any{"a": 1}, on(st)); err != nil {
		t.Fatal(err)
	}
	if err := partial.Abort(ctx, "c", &partial.AbortOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat("/c.partial_save"); err == nil {
		t.Fatal("the session is still there")
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); errs.KindOf(err) != errs.NotFound {
		t.Fatalf("finalize without a session: %v", err)
	}
}

// Several items, of which one is JSON.
func TestItems(t *testing.T) {
	ctx := t.Context()
	st, _ := mem(t)
	if err := partial.SaveCheckpointables(ctx, "c", map[string]any{"model": map[string]any{"w": ramp(3000, 0)},
		"opt": map[string]any{"m": ramp(9, 1)}}, on(st)); err != nil {
		t.Fatal(err)
	}
	if err := partial.SaveCheckpointables(ctx, "c", map[string]any{"model": map[string]any{"b": ramp(9, 0)}},
		on(st)); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	want(t, map[string]any{"w": ramp(3000, 0), "b": ramp(9, 0)}, got["model"].(*tree.Node))
	want(t, map[string]any{"m": ramp(9, 1)}, got["opt"].(*tree.Node))
}

// A state saved in any parts, in any order, with replacements, is the state.
func TestAnyParts(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		fsys := vfstest.NewMem()
		st := local.New(fsys, "/", nil)
		ctx := context.Background()
		state := map[string]any{}
		for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
			part := map[string]any{}
			for _, k := range keys {
				switch rapid.IntRange(0, 5).Draw(t, k) {
				case 0:
					part[k] = ramp(rapid.SampledFrom([]int{1, 7, 400}).Draw(t, "n"), float32(i))
				case 1:
					part[k] = map[string]any{"x": ramp(300, float32(i)), "s": "text" + k}
				case 2:
					part[k] = i
				}
			}
			if len(part) == 0 {
				continue
			}
			o := on(st)
			o.Replace = true
			if err := partial.Save(ctx, "c", part, o); err != nil {
				t.Fatal(err)
			}
			for k, v := range part {
				was, _ := state[k].(map[string]any)
				is, _ := v.(map[string]any)
				if was != nil && is != nil {
					for f, x := range is {
						was[f] = x
					}
					continue
				}
				state[k] = v
			}
		}
		if len(state) == 0 {
			return
		}
		if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
			t.Fatal(err)
		}
		n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		w, err := tree.From(state)
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(w, n); len(d) > 0 {
			t.Fatal(tree.FormatDiff(d))
		}
		if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
			t.Fatal(err, r)
		}
	})
}

// Options that a session does not have are refused.
func TestOptions(t *testing.T) {
	ctx := t.Context()
	st, _ := mem(t)
	for name, set := range map[string]func(o *partial.SaveOptions){
		"overwrite": func(o *partial.SaveOptions) { o.Overwrite = true },
		"base":      func(o *partial.SaveOptions) { o.Base = "x" },
		"layout":    func(o *partial.SaveOptions) { o.Layout = options.SafetensorsLayout },
		"plain":     func(o *partial.SaveOptions) { o.Layout = options.PlainZarr3 },
	} {
		o := on(st)
		set(o)
		if err := partial.Save(ctx, "c", map[string]any{"a": 1}, o); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := partial.Save(ctx, "c", map[string]any{"a": 1}, on(st)); err != nil {
		t.Fatal(err)
	}
	o := on(st)
	o.Layout = options.OCDBTZarr2
	if err := partial.Save(ctx, "c", map[string]any{"b": 1}, o); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("zarr2 after zarr3: %v", err)
	}
}

// Only one part of a session is saved at a time, and a wait for one ends with its
// context.
func TestOneAtATime(t *testing.T) {
	st, _ := mem(t)
	release := make(chan struct{})
	o := on(st)
	o.Progress = func(done, total int64) { <-release }
	r, err := partial.SaveAsync(t.Context(), "c", map[string]any{"a": ramp(100000, 0)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := partial.Save(ctx, "c", map[string]any{"b": 1}, on(st)); errs.KindOf(err) != errs.Canceled ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("save while another is under way: %v", err)
	}
	close(release)
	if _, err := r.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A session of ours looks like one of Orbax's, without a guard, until it holds
// what Orbax cannot finalize.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "c")
	ctx := t.Context()
	guarded := func() bool {
		names, err := filepath.Glob(at + ".partial_save/*_guard/state/_METADATA")
		if err != nil {
			t.Fatal(err)
		}
		return len(names) == 1
	}
	for i, p := range []struct {
		state   any
		guarded bool
	}{{map[string]any{"a": 1, "s": "x"}, false}, {map[string]any{"b": 1}, false}, {map[string]any{"t": "y"}, true},
		{map[string]any{"c": 3}, true}} {
		if err := partial.Save(ctx, at, p.state, nil); err != nil {
			t.Fatal(err)
		}
		if guarded() != p.guarded {
			t.Fatalf("after part %d guarded is %v", i, guarded())
		}
	}
	if err := partial.Finalize(ctx, at, nil); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Fatal(err, names)
	}
}

// A key signs what it has signed part by part: not a part without a signature,
// though it has no arrays.
func TestSigned(t *testing.T) {
	ctx := t.Context()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	for _, unsigned := range []any{map[string]any{"s": "only text"}, map[string]any{"x": ramp(300, 0)}, nil} {
		st, _ := mem(t)
		o := on(st)
		o.Signing = key
		if err := partial.Save(ctx, "c", map[string]any{"a": ramp(3000, 0)}, o); err != nil {
			t.Fatal(err)
		}
		if unsigned != nil {
			if err := partial.Save(ctx, "c", unsigned, on(st)); err != nil {
				t.Fatal(err)
			}
		}
		err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st,
			Options: checkpoint.Options{Bivouac: options.Bivouac{Signing: key}}})
		if (err != nil) != (unsigned != nil) {
			t.Fatalf("with %v: %v", unsigned, err)
		}
		if err != nil {
			continue
		}
		if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st,
			Key: key.Public().(ed25519.PublicKey)}); err != nil || !r.OK() {
			t.Fatal(err, r)
		}
	}
}
