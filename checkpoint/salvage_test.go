package checkpoint_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// spoil removes a file, or flips a bit in the middle of it.
func spoil(t *testing.T, fsys vfs.FS, name string, gone bool) {
	t.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), fsys.Remove(name)); err != nil {
		t.Fatal(err)
	}
	if gone {
		return
	}
	b[len(b)/2] ^= 4
	w, err := fsys.Create(name, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// An array whose own metadata is damaged or missing is lost alone, with and without a
// manifest, in each version of zarr.
func TestSalvageMetadata(t *testing.T) {
	ctx := context.Background()
	for _, l := range []struct {
		layout options.Layout
		file   string
	}{{options.PlainZarr3, "zarr.json"}, {options.PlainZarr2, ".zarray"}} {
		for _, gone := range []bool{false, true} {
			for _, bare := range []bool{false, true} {
				mem := vfstest.NewMem()
				st := local.New(mem, "/", nil)
				o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l.layout}}, Store: st}
				if err := checkpoint.Save(ctx, "c", map[string]any{"a": []float32{1, 2, 3}, "b": make([]float64, 3000)},
					o); err != nil {
					t.Fatal(err)
				}
				if spoil(t, mem, "/c/state/b/"+l.file, gone); bare {
					spoil(t, mem, "/c/bivouac.manifest", true)
				}
				lo := &checkpoint.LoadOptions{Store: st, AllowNoManifest: true}
				if _, err := checkpoint.Load(ctx, "c", lo); err == nil {
					continue // a flipped bit of a text that no checksum covers may stay unseen
				}
				var r checkpoint.LoadReport
				lo.Salvage, lo.Report = true, &r
				n, err := checkpoint.Load(ctx, "c", lo)
				if err != nil {
					t.Errorf("%v, gone %v, without manifest %v: %v", l.layout, gone, bare, err)
					continue
				}
				if x, ok := n.Get("a").Tensor(); !ok || x.Shape.Len() != 3 {
					t.Errorf("%v, gone %v, without manifest %v: a is %v", l.layout, gone, bare, n.Get("a"))
				}
				if lost := r.Lost(); len(lost) != 1 || lost[0].Path.String() != "b" ||
					n.Get("b").Value != (checkpoint.Placeholder{}) {
					t.Errorf("%v, gone %v, without manifest %v: lost are %v", l.layout, gone, bare, lost)
				}
			}
		}
	}
}

// Of a checkpoint with one array that is not whole a load with Salvage returns all
// others, and names that one.
func TestSalvage(t *testing.T) {
	ctx := context.Background()
	state := map[string]any{"a": []float32{1, 2, 3}, "b": make([]float64, 3000), "n": int64(7), "s": "text"}
	for _, gone := range []bool{false, true} {
		mem := vfstest.NewMem()
		st := local.New(mem, "/", nil)
		o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}},
			Store: st}
		if err := checkpoint.Save(ctx, "c", state, o); err != nil {
			t.Fatal(err)
		}
		spoil(t, mem, "/c/state/b/c/0", gone)
		if _, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("gone %v: without Salvage: %v", gone, err)
		}
		var r checkpoint.LoadReport
		n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Salvage: true, Report: &r})
		if err != nil {
			t.Fatalf("gone %v: %v", gone, err)
		}
		want, err := tree.From(map[string]any{"a": state["a"], "b": checkpoint.Placeholder{}, "n": state["n"],
			"s": state["s"]})
		if err != nil {
			t.Fatal(err)
		}
		if n.Get("b").Value != (checkpoint.Placeholder{}) || !tree.Equal(want.Get("a"), n.Get("a")) ||
			!tree.Equal(want.Get("n"), n.Get("n")) || !tree.Equal(want.Get("s"), n.Get("s")) {
			t.Errorf("gone %v: loaded %v", gone, n)
		}
		if lost := r.Lost(); len(lost) != 1 || lost[0].Path.String() != `b` || !errors.Is(lost[0].Lost, errs.Corrupt) ||
			!strings.Contains(r.String(), "lost: ") {
			t.Errorf("gone %v: lost are %v", gone, lost)
		}
		items, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st, Salvage: true, Report: &r})
		if err != nil || !tree.Equal(items["state"].(*tree.Node).Get("a"), want.Get("a")) {
			t.Errorf("gone %v: all items: %v", gone, err)
		}
		if _, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Salvage: true}); !errors.Is(err,
			errs.Invalid) {
			t.Errorf("without a report nobody is told what is lost: %v", err)
		}
		rd, err := checkpoint.OpenReader(ctx, "c", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range rd.Info().Leaves {
			if l.Kind != checkpoint.ArrayLeaf {
				continue
			}
			if err := rd.Check(ctx, l); (err != nil) != (l.Param == "b") || err != nil && !errors.Is(err, errs.Corrupt) {
				t.Errorf("gone %v: check of %s: %v", gone, l.Param, err)
			}
		}
		if err := rd.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestConvertSalvages: a copy of a damaged checkpoint has all that is whole, None for each
// leaf that is lost, and its report has every one of these and no other. Without Salvage
// there is no copy.
func TestConvertSalvages(t *testing.T) {
	ctx := context.Background()
	state := map[string]any{"a": []float32{1, 2, 3}, "b": make([]float64, 3000),
		"c": map[string]any{"d": make([]int16, 500), "e": "text"}}
	for _, gone := range []bool{false, true} {
		mem := vfstest.NewMem()
		st := local.New(mem, "/", nil)
		o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}},
			Store: st}
		if err := checkpoint.Save(ctx, "c", state, o); err != nil {
			t.Fatal(err)
		}
		spoil(t, mem, "/c/state/b/zarr.json", gone)
		spoil(t, mem, "/c/state/c.d/c/0", false)
		if err := checkpoint.Convert(ctx, "c", "refused",
			&checkpoint.ConvertOptions{Store: st}); errs.KindOf(err) != errs.Corrupt {
			t.Fatalf("without Salvage: %v", err)
		}
		if err := checkpoint.Convert(ctx, "c", "refused",
			&checkpoint.ConvertOptions{Store: st, Salvage: true}); errs.KindOf(err) != errs.Invalid {
			t.Fatalf("without a Report: %v", err)
		}
		var report checkpoint.LoadReport
		if err := checkpoint.Convert(ctx, "c", "copy", &checkpoint.ConvertOptions{Store: st, Salvage: true,
			Report: &report}); err != nil {
			t.Fatal(err)
		}
		var lost []string
		for _, l := range report.Lost() {
			lost = append(lost, l.Path.Param())
		}
		if got := strings.Join(lost, " "); got != "b c.d" {
			t.Fatalf("lost %q, want b and c.d", got)
		}
		got, err := checkpoint.Load(ctx, "copy", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		want, err := tree.From(map[string]any{"a": state["a"], "b": nil, "c": map[string]any{"d": nil, "e": "text"}})
		if err != nil {
			t.Fatal(err)
		}
		if !tree.Equal(got, want) {
			t.Errorf("the copy has %v, want %v", got, want)
		}
	}
}
