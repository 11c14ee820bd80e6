package handler

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A foo is neither a tree nor JSON.
type foo struct{ F func() }

type abstractFoo struct{ F func() }

// counter saves itself.
type counter struct{ N int }

func (c *counter) Save(context.Context) (Commit, error) {
	b, err := json.Marshal(c.N)
	return func(ctx context.Context, dir Writer) error { return dir.Put(ctx, "n", b) }, err
}

func (c *counter) Load(ctx context.Context, dir Reader) error {
	b, err := dir.ReadFile(ctx, "n")
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &c.N)
}

// spy is a handler that is only asked.
type spy struct {
	Proto
	name     string
	takes    func(any) bool
	abstract func(any) Verdict
}

func (s spy) TypeString() string            { return "test." + s.name }
func (s spy) Handles(v any) bool            { return s.takes(v) }
func (s spy) HandlesAbstract(a any) Verdict { return s.abstract(a) }

func verdict(yes bool) Verdict {
	if yes {
		return Yes
	}
	return No
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

var handlers = map[string]CheckpointableHandler{
	"PyTreeHandler":                 Tree{},
	"JsonHandler":                   JSON{},
	"MetricsHandler":                Metrics{},
	"ProtoHandler":                  Proto{},
	"StatefulCheckpointableHandler": Objects{},
	"FooHandler":                    spy{name: "FooHandler", takes: is[foo], abstract: func(a any) Verdict { return verdict(is[abstractFoo](a)) }},
	"Greedy":                        spy{name: "Greedy", takes: is[any], abstract: func(any) Verdict { return Yes }},
	"Asker":                         spy{name: "Asker", takes: is[map[string]any], abstract: func(any) Verdict { return Ask }},
	"Shy":                           spy{name: "Shy", takes: func(any) bool { return false }, abstract: func(any) Verdict { return No }},
	"CounterHandler":                spy{name: "CounterHandler", takes: is[*counter], abstract: func(a any) Verdict { return verdict(is[*counter](a)) }},
}

var values = map[string]any{
	"none": nil, "json": map[string]any{"a": 1, "b": []any{1.5, "x"}}, "arrays": map[string]any{"w": tensor.New(tensor.Float32, 2)},
	"text": "abc", "number": 7, "list": []int{1, 2}, "bytes": []byte("ab"), "empty": map[string]any{}, "object": func() {},
	"mixed": map[string]any{"a": func() {}}, "counter": &counter{}, "foo": foo{}, "message": ProtoText{},
}

// What the real library answers to the same questions.
type answers struct {
	Version    string
	Registries map[string][]any
	Built      map[string]string
	Save, Load [][]string
}

func readAnswers(t *testing.T) answers {
	t.Helper()
	b, err := os.ReadFile("testdata/resolution.json")
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Save) < 500 || len(a.Load) < 1000 {
		t.Fatalf("%d and %d answers: the file is not whole", len(a.Save), len(a.Load))
	}
	return a
}

func (a answers) build(t *testing.T, name string) (*Registry, error) {
	t.Helper()
	spec := a.Registries[name]
	inherit := len(spec) > 0 && spec[0] == "global"
	r, err := Local(nil, inherit)
	if err != nil {
		t.Fatal(err)
	}
	if inherit {
		spec = spec[1:]
	}
	for _, e := range spec {
		row := e.([]any)
		var secondary []string
		for _, s := range row[2].([]any) {
			secondary = append(secondary, s.(string))
		}
		if err := r.Add(handlers[row[0].(string)], row[1].(string), secondary...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// short is the handler's class in Orbax, or the kind of error as the file spells it.
func short(h CheckpointableHandler, err error) string {
	switch {
	case errors.Is(err, errs.NotFound):
		return "NOENTRYERROR"
	case err != nil:
		return err.Error()
	}
	name := h.TypeString()
	return name[strings.LastIndexByte(name, '.')+1:]
}

func TestResolutionIsOrbaxs(t *testing.T) {
	a := readAnswers(t)
	built := map[string]*Registry{}
	for name, want := range a.Built {
		r, err := a.build(t, name)
		if errors.Is(err, errs.Exists) != (want == "ALREADYEXISTSERROR") || (err == nil) != (want == "") {
			t.Errorf("registry %q: %v, in Orbax %q", name, err, want)
		}
		built[name] = r
	}
	wrong := 0
	for _, row := range a.Save {
		got := short(built[row[0]].ForSave(row[1], values[row[2]]))
		if got != row[3] {
			if wrong++; wrong < 10 {
				t.Errorf("registry %q: %s as %q is saved by %s, in Orbax by %s", row[0], row[2], row[1], got, row[3])
			}
		}
	}
	for _, row := range a.Load {
		abstract := values[row[2]]
		if row[2] == "foo" {
			abstract = abstractFoo{}
		}
		got := short(built[row[0]].ForLoad(row[1], abstract, row[3]))
		if got != row[4] {
			if wrong++; wrong < 10 {
				t.Errorf("registry %q: %q, saved by %q, is loaded as %s by %s, in Orbax by %s", row[0], row[1], row[3], row[2], got,
					row[4])
			}
		}
	}
	t.Logf("%d answers of Orbax %s, %d differ", len(a.Save)+len(a.Load), a.Version, wrong)
}

func TestSaveNothing(t *testing.T) {
	if _, err := Global().ForSave("x", nil); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

func TestRegistry(t *testing.T) {
	parent, err := Local(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Add(handlers["FooHandler"], "", "old.Foo"); err != nil {
		t.Fatal(err)
	}
	child, err := Local(parent, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Add(handlers["Greedy"], "foo"); err != nil {
		t.Fatal(err)
	}
	if parent.Has("foo") || Global().Has("foo") || !child.Has("foo") || !child.Has(ItemState) || child.Has("") {
		t.Error("what was added to a copy is elsewhere, or not there")
	}
	if got := child.SecondaryTypeStrings(handlers["FooHandler"]); len(got) != 1 || got[0] != "old.Foo" {
		t.Errorf("secondary type strings %q", got)
	}
	if n, g := len(child.Entries()), len(Global().Entries()); n != g+2 {
		t.Errorf("%d entries, global %d", n, g)
	}
	if _, err := Local(child, true); !errors.Is(err, errs.Exists) {
		t.Errorf("the global handlers twice: %v", err)
	}
	if _, err := child.Get("nothing"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if err := child.Add(nil, ""); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if err := child.Add(spy{}, ""); err != nil { // "test." is a type string
		t.Error(err)
	}
}

func TestVerdictString(t *testing.T) {
	if No.String() != "no" || Yes.String() != "yes" || Ask.String() != "ask" || Verdict(7).String() != "verdict 7" {
		t.Error("names of verdicts")
	}
}
