package handler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// typed is a leaf handler of any types, by any type string.
type typed[L, A any] struct{ name string }

func (h typed[L, A]) TypeString() string                                          { return h.name }
func (typed[L, A]) Serialize(context.Context, []Saved[L]) (Commit, error)         { return nil, nil }
func (typed[L, A]) Deserialize(context.Context, Reader, []Wanted[A]) ([]L, error) { return nil, nil }
func (typed[L, A]) Metadata(context.Context, Reader, []Wanted[A]) ([]A, error)    { return nil, nil }
func (typed[L, A]) Finalize(context.Context, Writer) error                        { return nil }

// TestMistakes is the table of what goes wrong with registries: what the error
// says of what, where and what to do.
func TestMistakes(t *testing.T) {
	leaves := func() *LeafRegistry {
		r := &LeafRegistry{}
		if err := r.Add(Leaf(moments{}), false, "old.Moments"); err != nil {
			t.Fatal(err)
		}
		return r
	}
	add := func(h *AnyLeaf) func() error { return func() error { return leaves().Add(h, false) } }
	local := func() *Registry {
		r, err := Local(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	foo := handlers["FooHandler"]
	for _, c := range []struct {
		mistake string
		make    func() error
		kind    errs.Kind
		says    []string
	}{
		{"no leaf handler", add(nil), errs.Invalid, []string{"LeafRegistry.Add", "want a handler, got nil", "handler.Leaf"}},
		{"a nil leaf handler", add(Leaf[time.Duration, int32](nil)), errs.Invalid, []string{"LeafRegistry.Add", "time.Duration", "type string"}},
		{"no type string", add(Leaf(typed[time.Duration, int32]{})), errs.Invalid, []string{"time.Duration", "want a type string"}},
		{"a type string without a dot", add(Leaf(typed[time.Duration, int32]{"Duration"})), errs.Invalid, []string{"time.Duration", "dot", `"Duration"`, "example.Tokens"}},
		{"a type string of Orbax", add(Leaf(typed[time.Duration, int32]{"jax.Array"})), errs.Invalid, []string{"time.Duration", `"jax.Array"`}},
		{"a leaf type of every tree", add(Leaf(typed[any, int32]{"test.Any"})), errs.Invalid, []string{"test.Any", "interface {}", "define a type"}},
		{"an abstract type of every tree", add(Leaf(typed[time.Duration, map[string]any]{"test.Any"})), errs.Invalid, []string{"test.Any", "map[string]interface {}", "define a type"}},
		{"two handlers of a leaf type", add(Leaf(typed[time.Time, int32]{"test.Other"})), errs.Exists, []string{"LeafRegistry.Add", "time.Time as int32", "test.Moments", "override"}},
		{"two handlers of an abstract type", add(Leaf(typed[time.Duration, zone]{"test.Other"})), errs.Exists, []string{"handler.zone", "test.Moments", "override"}},
		{"two handlers of a type string", add(Leaf(typed[time.Duration, int32]{"test.Moments"})), errs.Exists, []string{"time.Duration", "test.Moments", "override"}},

		{"no handler", func() error { return local().Add(nil, "") }, errs.Invalid, []string{"Registry.Add", "a handler with a type string"}},
		{"a handler without a type string", func() error { return local().Add(unnamed{}, "") }, errs.Invalid, []string{"Registry.Add", "type string"}},
		{"two handlers of one item", func() error { return local().Add(foo, "metrics") }, errs.Exists, []string{`item "metrics"`, TypeMetrics, "another name"}},
		{"a handler twice", func() error { return local().Add(JSON{}, "") }, errs.Exists, []string{TypeJSON, "bind it"}},
		{"two registries with one handler", func() error { _, err := Local(Global(), true); return err }, errs.Exists, []string{TypeProto}},
		{"nobody saves it", func() error { _, err := local().ForSave("x", foo0); return err }, errs.NotFound, []string{`item "x"`, "handler.foo", "PyTreeHandler", "add a handler"}},
		{"nothing to save", func() error { _, err := local().ForSave("x", nil); return err }, errs.Invalid, []string{`item "x"`, "nil"}},
		{"nobody loads it", func() error {
			r := &Registry{}
			if err := r.Add(JSON{}, ""); err != nil {
				return err
			}
			_, err := r.ForLoad("x", nil, "test.Unknown")
			return err
		}, errs.NotFound, []string{`item "x"`, `"test.Unknown"`, "JsonHandler", "add the handler that saved it"}},
		{"nobody loads it as that", func() error {
			_, err := (&Registry{}).ForLoad("x", foo0, "test.Unknown")
			return err
		}, errs.NotFound, []string{`item "x"`, `"test.Unknown"`, "handler.foo", "an empty registry"}},
		{"nobody is bound to it", func() error { _, err := local().Get("x"); return err }, errs.NotFound, []string{`item "x"`}},

		{"an object that is not given", func() error { _, err := Objects{}.Load(t.Context(), &Memory{}, nil); return err }, errs.Invalid, []string{"Objects.Load", "the object to load into", "nil"}},
		{"an array as JSON", func() error { _, err := JSON{}.Save(t.Context(), tensor.New(tensor.Int8, 1)); return err }, errs.Unsupported, []string{"JSON.Save", "save it as a tree"}},
		{"a message without its package", func() error { _, err := Proto{}.Save(t.Context(), 7); return err }, errs.Invalid, []string{"Proto.Save", "int", "protohandler"}},
	} {
		err := c.make()
		if errs.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want %v", c.mistake, err, c.kind)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v\nwant %q", c.mistake, err, text)
			}
		}
	}
}

var foo0 = foo{F: func() {}}

// unnamed is a handler whose type string is empty.
type unnamed struct{ Proto }

func (unnamed) TypeString() string { return "" }

// TestSecondaryTypeStrings finds handlers by the type strings of others.
func TestSecondaryTypeStrings(t *testing.T) {
	r := &LeafRegistry{}
	first, second := Leaf(moments{}), Leaf(typed[time.Duration, int32]{"test.Durations"})
	for _, h := range []*AnyLeaf{first, second} {
		if err := r.Add(h, false, "old.Times"); err != nil {
			t.Fatal(err)
		}
	}
	for abstract, want := range map[any]*AnyLeaf{nil: second, zone("UTC"): first, time.Time{}: first, int32(1): second,
		time.Second: second, 7: second} {
		if got := r.ForWanted("old.Times", abstract); got != want {
			t.Errorf("%T: %v, want %v", abstract, got, want)
		}
	}
	if r.ForWanted("test.Moments", int32(1)) != first || r.ForWanted("old.Unknown", zone("")) != nil {
		t.Error("a handler of another type string")
	}
	local, err := Local(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Add(handlers["FooHandler"], "bound", "old.Foo", "older.Foo"); err != nil {
		t.Fatal(err)
	}
	for _, typeString := range []string{"test.FooHandler", "old.Foo", "older.Foo"} {
		if h, err := local.ForLoad("elsewhere", nil, typeString); err != nil || h.TypeString() != "test.FooHandler" {
			t.Errorf("%s: %v, %v", typeString, h, err)
		}
	}
	if h, err := Global().ForLoad("elsewhere", nil, "old.Foo"); err == nil && h.TypeString() == "test.FooHandler" {
		t.Error("what was added to a local registry is in that of the process")
	}
}

// panicky panics when it is asked whether it takes a value.
type panicky struct{ Proto }

func (panicky) TypeString() string          { return "test.Panicky" }
func (panicky) Handles(any) bool            { panic(fmt.Errorf("no idea")) }
func (panicky) HandlesAbstract(any) Verdict { panic("no idea") }

func TestPanicsOfVerdicts(t *testing.T) {
	r := &Registry{}
	if err := r.Add(panicky{}, ""); err != nil {
		t.Fatal(err)
	}
	_, serr := r.ForSave("x", 1)
	_, lerr := r.ForLoad("x", 1, "test.Panicky")
	_, terr := Takes(panicky{}, 1)
	for _, err := range []error{serr, lerr, terr} {
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "test.Panicky.Handles") ||
			!strings.Contains(err.Error(), "no idea") || !strings.Contains(err.Error(), "mistakes_test.go:") {
			t.Error(err)
		}
	}
}
