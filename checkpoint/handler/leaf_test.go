package handler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
	"github.com/google/go-cmp/cmp"
)

// moments keeps leaves of time.Time, all in one file, abstract in a zone.
type moments struct{ lose bool }

type zone string

func (moments) TypeString() string { return "test.Moments" }

func (moments) Serialize(_ context.Context, leaves []Saved[time.Time]) (Commit, error) {
	m := map[string]time.Time{}
	for _, l := range leaves {
		m[l.Name()] = l.Value
	}
	return JSON{File: "moments.json"}.Save(context.Background(), m)
}

func (h moments) Deserialize(ctx context.Context, dir Reader, leaves []Wanted[zone]) ([]time.Time, error) {
	var m map[string]time.Time
	if _, err := (JSON{File: "moments.json"}).Load(ctx, dir, &m); err != nil {
		return nil, err
	}
	var out []time.Time
	for _, l := range leaves {
		at := m[l.Name()]
		if l.Abstract != nil {
			z, err := time.LoadLocation(string(*l.Abstract))
			if err != nil {
				return nil, err
			}
			at = at.In(z)
		}
		out = append(out, at)
	}
	if h.lose {
		out = out[1:]
	}
	return out, nil
}

func (moments) Metadata(_ context.Context, _ Reader, leaves []Wanted[zone]) ([]zone, error) {
	out := make([]zone, len(leaves))
	for i := range out {
		out[i] = "UTC"
	}
	return out, nil
}

func (moments) Finalize(ctx context.Context, dir Writer) error {
	return dir.Put(ctx, "moments.done", nil)
}

func key(names ...string) tree.Path {
	var p tree.Path
	for _, n := range names {
		p = append(p, tree.Key{Name: n})
	}
	return p
}

func TestLeaf(t *testing.T) {
	ctx := t.Context()
	h := Leaf[time.Time, zone](moments{})
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	commit, err := h.Serialize(ctx, []Saved[any]{{key("a", "t"), noon}, {key("b"), noon.Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	dir := &Memory{}
	if err := Run(ctx, commit, dir); err != nil {
		t.Fatal(err)
	}
	if err := h.Finalize(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if names, _ := dir.List(ctx); len(names) != 2 {
		t.Errorf("files %q", names)
	}
	got, err := h.Deserialize(ctx, dir, []Wanted[any]{{Path: key("b")}, {key("a", "t"), new(any(zone("UTC")))}})
	if d := cmp.Diff([]any{noon.Add(time.Hour), noon}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if m, err := h.Metadata(ctx, dir, []Wanted[any]{{Path: key("b")}}); err != nil ||
		cmp.Diff([]any{zone("UTC")}, m) != "" {
		t.Error(m, err)
	}
	if h.TypeString() != "test.Moments" || h.LeafType() != reflect.TypeFor[time.Time]() ||
		h.AbstractType() != reflect.TypeFor[zone]() {
		t.Error("types")
	}
	_, serr := h.Serialize(ctx, []Saved[any]{{key("x"), 7}})
	_, derr := h.Deserialize(ctx, dir, []Wanted[any]{{key("x"), new(any(7))}})
	_, merr := h.Metadata(ctx, dir, []Wanted[any]{{key("x"), new(any(7))}})
	_, lost := Leaf[time.Time, zone](moments{lose: true}).Deserialize(ctx, dir, []Wanted[any]{{Path: key("b")}})
	for _, err := range []error{serr, derr, merr, lost} {
		if !errors.Is(err, errs.Mismatch) {
			t.Error(err)
		}
	}
}

// strings keeps leaves of any fmt.Stringer.
type stringers struct{ moments }

func (stringers) TypeString() string { return "test.Stringers" }

func (stringers) Serialize(context.Context, []Saved[fmt.Stringer]) (Commit, error) { return nil, nil }

func (stringers) Deserialize(context.Context, Reader, []Wanted[bool]) ([]fmt.Stringer, error) {
	return nil, nil
}

func (stringers) Metadata(context.Context, Reader, []Wanted[bool]) ([]bool, error) { return nil, nil }

func TestLeafRegistry(t *testing.T) {
	var r LeafRegistry
	times, any := Leaf[time.Time, zone](moments{}), Leaf[fmt.Stringer, bool](stringers{})
	for _, h := range []*AnyLeaf{times, any} {
		if err := r.Add(h, false, "old."+h.TypeString()); err != nil {
			t.Fatal(err)
		}
	}
	if r.ForValue(time.Now()) != times || r.ForValue(key("a")) != any || r.ForValue(7) != nil || r.ForValue(nil) != nil {
		t.Error("handlers by value")
	}
	if r.ForAbstract(zone("")) != times || r.ForAbstract(true) != any || r.ForAbstract("") != nil {
		t.Error("handlers by abstract value")
	}
	if r.ForType("test.Moments") != times || r.ForType("old.test.Stringers") != any || r.ForType("x") != nil {
		t.Error("handlers by type string")
	}
	again := Leaf[time.Time, zone](moments{lose: true})
	if err := r.Add(again, false); !errors.Is(err, errs.Exists) {
		t.Error(err)
	}
	if err := r.Add(again, true); err != nil || r.ForValue(time.Now()) != again || len(r.All()) != 2 ||
		r.ForType("old.test.Moments") != nil {
		t.Error("override", err)
	}
	var none *LeafRegistry
	if none.ForValue(1) != nil || none.ForType("x") != nil || none.All() != nil {
		t.Error("a nil registry is empty")
	}
}

// labelled is a leaf that names its handler.
type labelled struct{ label string }

func (l labelled) LeafTypeString() string { return l.label }

// TestTypedLeaves checks that several handlers share a leaf type if the leaves name their handler.
func TestTypedLeaves(t *testing.T) {
	var r LeafRegistry
	a, b := Leaf(typed[labelled, int32]{"test.A"}), Leaf(typed[labelled, int32]{"test.B"})
	for _, h := range []*AnyLeaf{a, b} {
		if err := r.Add(h, false); err != nil {
			t.Fatal(err)
		}
	}
	if r.ForValue(labelled{"test.A"}) != a || r.ForValue(labelled{"test.B"}) != b ||
		r.ForValue(labelled{"test.C"}) != nil {
		t.Error("handlers by the type string of the leaf")
	}
	if r.ForType("test.A") != a || r.ForWanted("test.B", nil) != b || !r.Handles(a.LeafType()) {
		t.Error("handlers by type string")
	}
	if err := r.Add(Leaf(typed[labelled, int32]{"test.A"}), false); !errors.Is(err, errs.Exists) {
		t.Error("two handlers of a type string:", err)
	}
	if err := r.Add(a, true); err != nil || len(r.All()) != 2 {
		t.Error("override:", err)
	}
}

// TestLeafFiles checks that a directory that is not of a checkpoint has no other files.
func TestLeafFiles(t *testing.T) {
	dir := &Memory{}
	for _, name := range []string{"b", "a/c"} {
		if err := dir.Put(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := LeafFiles(t.Context(), dir); err != nil || !slices.Equal(names, []string{"a/c", "b"}) {
		t.Error(names, err)
	}
}
