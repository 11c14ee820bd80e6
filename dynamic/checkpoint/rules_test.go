package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
)

// program is a recorded program against DALI's Checkpoint.
type program struct {
	Name    string
	Program [][]any
	Expect  []struct {
		Value   any
		Error   string
		Message string
	}
	Short [][]any `json:"complete_loaded_len"`
	Flags struct {
		Complete, Loaded bool
		Names            []string
		JSON             *string
	}
}

// programs reads rules.json, or skips the test.
func programs(t *testing.T) []program {
	t.Helper()
	for _, dir := range []string{filepath.Join("..", "..", "..", "shared", "vectors", "dali"), filepath.Join("..", "..", "testdata", "dali")} {
		b, err := os.ReadFile(filepath.Join(dir, "ckpt", "dynamic", "rules.json"))
		if err != nil {
			continue
		}
		var list []program
		if err := json.Unmarshal(b, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	t.Skip("rules.json is not here")
	return nil
}

// What DALI's Checkpoint did, step by step, in programs without readers.
func TestRules(t *testing.T) {
	ran := 0
	for _, p := range programs(t) {
		if slices.ContainsFunc(p.Program, func(step []any) bool {
			return slices.Contains([]string{"file", "epoch", "next", "plain", "context", "endcontext", "same"}, step[0].(string)) ||
				len(step) > 1 && step[1] == "@current" || onlyPython(step)
		}) {
			continue
		}
		ran++
		t.Run(p.Name, func(t *testing.T) { p.run(t) })
	}
	if ran < 30 {
		t.Errorf("%d programs", ran)
	}
}

// onlyPython reports whether a step has states that are no text and no object.
func onlyPython(step []any) bool {
	if step[0] == "duck" || step[0] == "put" || step[0] == "set" {
		switch v := step[2].(type) {
		case string:
		case map[string]any:
			return v["bytes"] != nil
		default:
			return true
		}
	}
	return false
}

// duck is an object of a type of its own.
type duck struct{ state string }

func (d *duck) CheckpointType() string { return "Duck" }

func (d *duck) GetState() (any, error) { return d.state, nil }

func (d *duck) SetState(state any) error {
	s := fmt.Sprint(state)
	if s == "refuse" {
		return &errs.Error{Kind: errs.Invalid, Got: "refused"}
	}
	d.state = s
	return nil
}

// machine runs programs.
type machine struct {
	t       *testing.T
	objects map[string]checkpoint.Stateful
	all     map[string]*checkpoint.Checkpoint
	c       *checkpoint.Checkpoint
	json    string
}

func (p *program) run(t *testing.T) {
	t.Chdir(t.TempDir())
	m := &machine{t: t, objects: map[string]checkpoint.Stateful{}, all: map[string]*checkpoint.Checkpoint{"c": checkpoint.New()}}
	m.c = m.all["c"]
	for i, step := range p.Program {
		got, err := m.step(step[0].(string), step[1:])
		want := p.Expect[i]
		switch {
		case want.Error != "":
			if err == nil || !errors.Is(err, kinds[want.Error]) {
				t.Fatalf("step %d, %v: got %v, %v; DALI raises %s: %s", i, step, got, err, want.Error, want.Message)
			}
		case err != nil:
			t.Fatalf("step %d, %v: %v; DALI gives %v", i, step, err, want.Value)
		default:
			if d := cmp.Diff(want.Value, plain(t, got)); d != "" {
				t.Fatalf("step %d, %v: %s", i, step, d)
			}
		}
		if d := cmp.Diff(p.Short[i], plain(t, []any{m.c.IsComplete(), m.c.IsLoaded(), m.c.Len()})); d != "" {
			t.Fatalf("after step %d, %v: %s", i, step, d)
		}
	}
	var text *string
	if s, err := m.c.Serialize(); err == nil {
		text = &s
	}
	if d := cmp.Diff(p.Flags.JSON, text); d != "" {
		t.Errorf("in the end: %s", d)
	}
	if got := append([]string{}, m.c.Names()...); !slices.Equal(got, p.Flags.Names) {
		t.Errorf("names in the end: %v, not %v", got, p.Flags.Names)
	}
}

// kinds are what DALI's exceptions are here.
var kinds = map[string]errs.Kind{
	"KeyError": errs.NotFound, "FileNotFoundError": errs.NotFound, "TypeError": errs.Mismatch,
	"ValueError": errs.Invalid, "JSONDecodeError": errs.Invalid, "RuntimeError": errs.Sequence,
}

// plain is a value as JSON has it.
func plain(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (m *machine) value(v any) any {
	switch v := v.(type) {
	case string:
		if v == "@json" {
			return m.json
		}
	case map[string]any:
		s, err := m.objects[v["state_of"].(string)].GetState()
		if err != nil {
			m.t.Fatal(err)
		}
		return s
	}
	return v
}

func (m *machine) step(verb string, a []any) (any, error) {
	name, _ := first(a).(string)
	switch verb {
	case "rng":
		g := random.New(uint64(a[1].(float64)))
		m.objects[name] = g
		return g.State().String(), nil
	case "duck":
		m.objects[name] = &duck{a[1].(string)}
		return nil, nil
	case "state":
		s, err := m.objects[name].GetState()
		return fmt.Sprint(s), err
	case "set":
		return nil, m.objects[name].SetState(m.value(a[1]))
	case "draw":
		list := make([]uint32, int(a[1].(float64)))
		for i := range list {
			list[i] = m.objects[name].(*random.RNG).Uint32()
		}
		return list, nil
	case "advance":
		m.objects[name].(*random.RNG).Advance(uint64(a[1].(float64)))
		return nil, nil
	case "use":
		if m.all[name] == nil {
			m.all[name] = checkpoint.New()
		}
		m.c = m.all[name]
		return nil, nil
	}
	return m.call(verb, name, a)
}

func first(a []any) any {
	if len(a) == 0 {
		return nil
	}
	return a[0]
}

// call is a method of the checkpoint, or plain file access.
func (m *machine) call(verb, name string, a []any) (any, error) {
	c := m.c
	switch verb {
	case "register":
		if a[1] == nil {
			return c.RegisterAnonymous(m.objects[name])
		}
		return c.Register(m.objects[name], a[1].(string))
	case "get":
		s, err := c.GetState(name)
		switch s.(type) {
		case nil:
			return nil, err
		case random.State:
			return []string{"State", fmt.Sprint(s)}, err
		}
		return []string{"str", fmt.Sprint(s)}, err
	case "put":
		return nil, c.SetState(name, m.value(a[1]), typeOf(a))
	case "collect":
		return nil, c.Collect()
	case "restore":
		return nil, c.Restore()
	case "clear":
		return nil, c.Clear()
	case "serialize":
		s, err := c.Serialize()
		if err == nil {
			m.json = s
		}
		return s, err
	case "deserialize":
		if a[0] == "@json" && m.json == "" { // None there, which Go's types exclude
			return nil, &errs.Error{Kind: errs.Mismatch}
		}
		return nil, c.Deserialize(m.value(a[0]).(string))
	case "save":
		return c.Save(m.t.Context(), name)
	case "load":
		return c.Load(name)
	case "names":
		return append([]string{}, c.Names()...), nil
	case "len":
		return c.Len(), nil
	case "has":
		return c.Contains(name), nil
	case "complete":
		return c.IsComplete(), nil
	case "loaded":
		return c.IsLoaded(), nil
	}
	return m.files(verb, name, a)
}

func typeOf(a []any) any {
	if len(a) < 3 || a[2] == nil {
		return nil
	}
	t, ok := a[2].(map[string]any)
	switch {
	case !ok:
		return a[2]
	case t["class"] == "RNG":
		return random.New(1)
	case t["class"] == "Duck":
		return &duck{}
	case t["class"] != nil:
		return t["class"]
	}
	return t["value"]
}

func (m *machine) files(verb, name string, a []any) (any, error) {
	switch verb {
	case "write":
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			m.t.Fatal(err)
		}
		return nil, os.WriteFile(name, []byte(m.value(a[1]).(string)), 0o666)
	case "read":
		b, err := os.ReadFile(name)
		return string(b), err
	case "files":
		list := []string{}
		err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, strings.TrimPrefix(path, "./"))
			}
			return err
		})
		slices.Sort(list)
		return list, err
	}
	m.t.Fatalf("unknown verb %s", verb)
	return nil, nil
}
