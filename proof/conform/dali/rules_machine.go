package dali

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// ruleMachine runs the steps of a program.
type ruleMachine struct {
	dir      string
	contexts []context.Context // the innermost last
	evals    []*dynamic.EvalContext
	objects  map[string]checkpoint.Object
	epochs   map[string]*pulled
	all      map[string]*checkpoint.Checkpoint
	c        *checkpoint.Checkpoint // in use
	json     any                    // the text that was serialized last, nil before
}

func newRuleMachine(ctx context.Context, dir string) *ruleMachine {
	c := checkpoint.New()
	return &ruleMachine{
		dir: dir, contexts: []context.Context{ctx}, objects: map[string]checkpoint.Object{},
		epochs: map[string]*pulled{}, all: map[string]*checkpoint.Checkpoint{"c": c}, c: c,
	}
}

func (m *ruleMachine) close() {
	for _, e := range m.epochs {
		e.stop()
	}
	for _, o := range m.objects {
		if r, ok := o.(*pythonReader); ok {
			r.Close() //nolint:errcheck // there is nothing to lose
		}
	}
	for _, e := range m.evals {
		e.Close()
	}
}

func (m *ruleMachine) ctx() context.Context { return m.contexts[len(m.contexts)-1] }

// pulled is an iteration that goes on from step to step.
type pulled struct {
	next func() ([]int64, error, bool)
	stop func()
}

// value is a state as a program has it.
func (m *ruleMachine) value(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "@json" {
			return m.json, nil
		}
		return v, nil
	case map[string]any:
		if name, ok := v["state_of"].(string); ok {
			o, err := m.object(name)
			if err != nil {
				return nil, err
			}
			return o.GetState()
		}
		if text, ok := v["bytes"].(string); ok {
			return pythonBytes(text), nil
		}
	}
	return pythonic{v}, nil
}

// text is a value that has to be text.
func (m *ruleMachine) text(v any) (string, error) {
	x, err := m.value(v)
	if err != nil {
		return "", err
	}
	s, ok := x.(string)
	if !ok {
		return "", &errs.Error{Kind: errs.Mismatch, Want: "text", Got: fmt.Sprintf("%T", x)} // which Go's types exclude
	}
	return s, nil
}

// step runs a step.
func (m *ruleMachine) step(verb string, a []any) (any, error) {
	name, _ := nth(a, 0).(string)
	switch verb {
	case "rng":
		seed, err := seedOf(a[1])
		if err != nil {
			return nil, err
		}
		g := random.New(seed)
		m.objects[name] = &pythonRNG{g}
		return g.State().String(), nil
	case "duck":
		state, err := m.value(a[1])
		m.objects[name] = &duck{state}
		return nil, err
	case "plain":
		m.objects[name] = &stateless{}
		return nil, nil
	case "file":
		args, _ := nth(a, 2).(map[string]any)
		root, _, err := fileTree(m.contexts[0], int(numberOf(a[1])), 3)
		if err != nil {
			return nil, err
		}
		r, err := newDynamicReader(root, args, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
		if err == nil {
			m.objects[name] = &pythonReader{Reader: r}
			return nil, nil
		}
		if !knownArguments("readers.file", args) || strings.Contains(err.Error(), "shard") {
			return nil, err // there is no object then, as in Python
		}
		// DALI's class looks at shards; all else is refused in the first iteration.
		r, fails := newDynamicReader(root, nil, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
		m.objects[name] = &pythonReader{r, err}
		return nil, fails
	case "epoch", "next":
		return m.iterate(verb, name, a)
	case "state", "set", "draw", "advance":
		o, err := m.object(name)
		if err != nil {
			return nil, err
		}
		return m.use(verb, o, a)
	}
	return m.choose(verb, name, a)
}

// object returns an object of the program. Python raises a KeyError for one whose making failed.
func (m *ruleMachine) object(name string) (checkpoint.Object, error) {
	if o, ok := m.objects[name]; ok {
		return o, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Subject: name, Want: "an object of the program", Got: "none"}
}

// use runs a step on an object.
func (m *ruleMachine) use(verb string, o checkpoint.Object, a []any) (any, error) {
	switch verb {
	case "state":
		s, err := o.GetState()
		return printed(s), err
	case "set":
		v, err := m.value(a[1])
		if err != nil {
			return nil, err
		}
		return nil, o.SetState(v)
	case "draw":
		list := make([]uint32, numberOf(a[1]))
		for i := range list {
			list[i] = o.(*pythonRNG).Uint32()
		}
		return list, nil
	}
	o.(*pythonRNG).Advance(uint64(numberOf(a[1])))
	return nil, nil
}

// knownArguments reports whether an operator has all these arguments.
func knownArguments(name string, args map[string]any) bool {
	s, err := op.Lookup(name)
	for arg := range args {
		if _, ok := s.Param(arg); err != nil || !ok && arg != "enable_checkpointing" {
			return false
		}
	}
	return err == nil
}

// seedOf returns a seed: an integer modulo 2^64, as DALI takes it.
func seedOf(v any) (uint64, error) {
	n, _ := v.(json.Number)
	i, ok := new(big.Int).SetString(n.String(), 10)
	if !ok {
		return 0, &errs.Error{Kind: errs.Mismatch, Subject: "seed", Want: "an integer", Got: fmt.Sprint(v)}
	}
	return i.And(i, new(big.Int).SetUint64(math.MaxUint64)).Uint64(), nil
}

func nth(a []any, i int) any {
	if i < len(a) {
		return a[i]
	}
	return nil
}

func numberOf(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

// iterate begins an epoch, or takes batches of it.
func (m *ruleMachine) iterate(verb, name string, a []any) (any, error) {
	if verb == "epoch" {
		o, err := m.object(name)
		if err != nil {
			return nil, err
		}
		r := o.(*pythonReader)
		if e := m.epochs[name]; e != nil {
			e.stop()
		}
		options, _ := nth(a, 2).(map[string]any)
		seq := dynamicEpoch(m.ctx(), r.Reader, int(numberOf(a[1])))
		if r.refused != nil {
			seq = func(yield func([]int64, error) bool) { yield(nil, r.refused) }
			options = nil
		}
		if captured, _ := options["capture"].(bool); captured {
			seq = capturedEpoch(m.ctx(), r.Root(int(numberOf(a[1]))))
		}
		e := &pulled{}
		e.next, e.stop = iter.Pull2(seq)
		m.epochs[name] = e
		return nil, nil
	}
	e := m.epochs[name]
	if e == nil {
		return "no iterator", nil
	}
	list := []any{}
	for range numberOf(a[1]) {
		indices, err, ok := e.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return append(list, "end"), nil
		}
		list = append(list, indices)
	}
	return list, nil
}

// capturedEpoch yields what a compiled loop begins its steps with.
func capturedEpoch(ctx context.Context, root dynamic.Root) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		for {
			values, err := root.Next(ctx)
			if err != nil {
				return
			}
			samples, err := values[0].(*dynamic.Batch).Samples(ctx)
			if !yield(indicesOfAll(samples, err)) {
				return
			}
		}
	}
}

// choose switches checkpoints and contexts.
func (m *ruleMachine) choose(verb, name string, a []any) (any, error) {
	switch verb {
	case "use":
		if name == "@current" {
			m.c = checkpoint.Current(m.ctx())
			return nil, nil
		}
		if c := m.all[name]; c == nil || c.Len() == 0 { // an empty one is false in Python, and made anew
			m.all[name] = checkpoint.New()
		}
		m.c = m.all[name]
		return nil, nil
	case "same":
		if name == "@current" {
			return m.c == checkpoint.Current(m.ctx()), nil
		}
		return m.c == m.all[name], nil
	case "context":
		e := dynamic.NewEvalContext(dynamic.Options{})
		m.evals = append(m.evals, e)
		m.contexts = append(m.contexts, dynamic.With(m.ctx(), e))
		return nil, nil
	case "endcontext":
		m.contexts = m.contexts[:len(m.contexts)-1]
		return nil, nil
	}
	return m.call(verb, name, a)
}

// call calls a method of the checkpoint in use.
func (m *ruleMachine) call(verb, name string, a []any) (any, error) {
	c := m.c
	switch verb {
	case "register":
		o, err := m.object(name)
		if err != nil {
			return nil, err
		}
		if a[1] == nil {
			return c.RegisterAnonymous(o)
		}
		return c.Register(o, a[1].(string))
	case "get":
		s, err := c.GetState(name)
		return describedState(s), err
	case "put":
		v, err := m.value(a[1])
		if err != nil {
			return nil, err
		}
		return nil, c.SetState(name, v, classOf(nth(a, 2)))
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
		s, err := m.text(a[0])
		if err != nil {
			return nil, err
		}
		return nil, c.Deserialize(s)
	case "save":
		file, err := c.Save(m.ctx(), m.path(name))
		return m.relative(file), err
	case "load":
		file, err := c.Load(m.path(name))
		return m.relative(file), err
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

func (m *ruleMachine) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m *ruleMachine) relative(file string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(file, m.dir), string(filepath.Separator)))
}

// files looks at files without the checkpoint.
func (m *ruleMachine) files(verb, name string, a []any) (any, error) {
	switch verb {
	case "write":
		text, err := m.text(a[1])
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o777); err != nil {
			return nil, err
		}
		return nil, os.WriteFile(m.path(name), []byte(text), 0o666)
	case "read":
		b, err := os.ReadFile(m.path(name))
		return string(b), err
	case "files":
		list := []string{}
		err := filepath.WalkDir(m.dir, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, m.relative(file))
			}
			return err
		})
		slices.Sort(list)
		return list, err
	}
	return nil, fmt.Errorf("unknown step %s", verb)
}
