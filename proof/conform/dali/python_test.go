package dali

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

// listener is a host that writes down what the machine asks of it.
type listener struct{ asked []string }

func (l *listener) call(_ *machine, name string, args []any, kw map[string]any) (any, error) {
	l.asked = append(l.asked, fmt.Sprint("call ", name, args, kw))
	return name, nil
}

func (l *listener) method(_ *machine, receiver any, name string, args []any, kw map[string]any) (any, error) {
	l.asked = append(l.asked, fmt.Sprint("method ", receiver, ".", name, args, kw))
	return receiver, nil
}

func (l *listener) operate(operator string, operands ...any) (any, error) {
	l.asked = append(l.asked, fmt.Sprint("operate ", operator, operands))
	return operator, nil
}

func (l *listener) index(x any, indices []any) (any, error) {
	l.asked = append(l.asked, fmt.Sprint("index ", x, indices))
	return x, nil
}

func parseAST(t *testing.T, text string) []any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var ast []any
	if err := dec.Decode(&ast); err != nil {
		t.Fatal(err)
	}
	return ast
}

func TestMachine(t *testing.T) {
	for text, c := range map[string]struct {
		want  any
		asked string
		fails string
	}{
		`["const", 3]`:                            {want: 3},
		`["const", 3.0]`:                          {want: 3.0},
		`["const", null]`:                         {},
		`["const", {"bytes": "ab"}]`:              {want: []byte("ab")},
		`["const", "..."]`:                        {want: ellipsis{}},
		`["name", "types.INT8"]`:                  {want: tensor.Int8},
		`["name", "x"]`:                           {want: "node"},
		`["name", "y"]`:                           {fails: "NameError"},
		`["list", [["const", 1], ["name", "x"]]]`: {want: []any{1, "node"}},
		`["tuple", [["const", 1]]]`:               {want: tuple{1}},
		`["dict", {"a": ["const", 1]}]`:           {want: map[string]any{"a": 1}},

		`["bin", "+", ["const", 1], ["const", 2]]`:             {want: 3},
		`["bin", "*", ["const", 1.5], ["const", 2]]`:           {want: 3.0},
		`["bin", "/", ["const", 1], ["const", 2]]`:             {want: 0.5},
		`["bin", "//", ["const", -7], ["const", 2]]`:           {want: -4},
		`["bin", "%", ["const", -7], ["const", 2]]`:            {want: 1},
		`["bin", "**", ["const", 2], ["const", 3]]`:            {want: 8},
		`["bin", "+", ["const", "a"], ["const", "b"]]`:         {want: "ab"},
		`["bin", "/", ["const", 1], ["const", 0]]`:             {fails: "ZeroDivisionError"},
		`["bin", "<<", ["const", 1], ["const", 2]]`:            {fails: `unknown operator "<<"`},
		`["cmp", "<", ["const", 1], ["const", 2]]`:             {want: true},
		`["un", "-", ["const", 1]]`:                            {want: -1},
		`["un", "~", ["const", 1]]`:                            {want: -2},
		`["un", "not", ["const", true]]`:                       {want: false},
		`["bin", "-", ["name", "x"], ["const", 1]]`:            {want: "-", asked: "operate -[node 1]"},
		`["un", "~", ["name", "x"]]`:                           {want: "unary ~", asked: "operate unary ~[node]"},
		`["if", ["const", true], ["const", 1], ["const", 2]]`:  {want: 1},
		`["if", ["const", false], ["const", 1], ["const", 2]]`: {want: 2},
		`["if", ["name", "x"], ["const", 1], ["const", 2]]`:    {want: "bool", asked: "operate bool[node]"},
		`["bool", "and", ["const", true], ["const", false]]`:   {want: false},
		`["bool", "or", ["const", true], ["name", "y"]]`:       {want: true},
		`["bool", "and", ["name", "x"], ["const", true]]`:      {want: "bool", asked: "operate bool[node]"},

		`["index", ["list", [["const", 7], ["const", 8]]], [["const", 1]]]`:             {want: 8},
		`["index", ["name", "x"], [["const", 1], ["slice", null, ["const", 2], null]]]`: {want: "node", asked: "index node[1 {<nil> 2 <nil>}]"},
		`["call", "fn.op", [["name", "x"]], {"size": ["const", 2]}]`:                    {want: "fn.op", asked: "call fn.op[node] map[size:2]"},
		`["call", "x.shape", [], {}]`:                                                   {want: "node", asked: "method node.shape[] map[]"},
		`["call", ["attr", ["call", "f", [], {}], "gpu"], [], {}]`:                      {want: "f", asked: "call f[] map[] method f.gpu[] map[]"},
		`["call", "twice", [["const", 4]], {}]`:                                         {want: 8},
		`["call", "twice", [], {}]`:                                                     {fails: "TypeError"},
		`["call", "x", [], {}]`:                                                         {fails: "TypeError"},
		`["what", 1]`:                                                                   {fails: `unknown kind of expression "what"`},
		`["const"]`:                                                                     {fails: "no expression"},
	} {
		l := &listener{}
		m := &machine{host: l, names: map[string]any{"x": "node"}}
		m.names["twice"] = &lambda{params: []string{"v"}, body: parseAST(t, `["bin", "*", ["name", "v"], ["const", 2]]`),
			names: m.names}
		got, err := m.eval(parseAST(t, text))
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %v and %v, want an error that says %q", text, got, err, c.fails)
			}
		case err != nil || !cmp.Equal(got, c.want) || strings.Join(l.asked, " ") != c.asked:
			t.Errorf("%s: got %v (%v) and asked %q, want %v and %q", text, got, err, l.asked, c.want, c.asked)
		}
	}
}

func TestStatements(t *testing.T) {
	l := &listener{}
	m := &machine{host: l, names: map[string]any{}}
	program := `[["let", "p", ["const", 5]], ["do", ["call", "f", [["name", "p"]], {}]]]`
	if err := m.run(parseAST(t, program)); err != nil || strings.Join(l.asked, "") != "call f[5] map[]" {
		t.Errorf("asked %q, %v", l.asked, err)
	}
	if err := m.run(parseAST(t, `[["while", ["const", 1]]]`)); err == nil {
		t.Error("an unknown statement is passed over")
	}
}

// A lambda keeps the names that it was made with, and does not change them.
func TestLambdasHaveAScope(t *testing.T) {
	m := &machine{host: &listener{}, names: map[string]any{"v": 1}}
	f, err := m.eval(parseAST(t, `["lambda", ["v"], ["name", "v"]]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.apply(f, 2); err != nil || got != 2 || m.names["v"] != 1 {
		t.Errorf("got %v, %v; outside %v", got, err, m.names["v"])
	}
}

func TestOptionsByDALIsNames(t *testing.T) {
	var o dali.PipelineOptions
	err := setOptions(&o, map[string]any{
		"exec_async": false, "enable_checkpointing": true, "num_threads": json.Number("3"), "seed": json.Number("7"), "output_ndim": json.Number("2"),
		"prefetch_queue_depth": map[string]any{"cpu_size": json.Number("3"), "gpu_size": json.Number("4")},
	})
	want := dali.PipelineOptions{Options: pipeline.Options{Workers: 3, Seed: 7, OutputNDim: []int{2}}, ExecAsync: dali.Off,
		EnableCheckpointing: true,
		CPUQueueSize:        3, GPUQueueSize: 4}
	if d := cmp.Diff(want, o); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for name, v := range map[string]any{"num_threads": nil, "exec_async": "no", "output_dtype": "x", "prefetch_queue_depth": "2", "sise": 1} {
		if err := setOption(&o, name, v); err == nil || (name != "sise") != (exceptionKind(err) == "TypeError") {
			t.Errorf("%s = %v: %v", name, v, err)
		}
	}
}

// What only the interpreter refused counts for nothing; what came through the engine does.
func TestMistakesComeFromTheEngine(t *testing.T) {
	zero := raise("ZeroDivisionError", "x")
	through := &errs.Error{Kind: errs.Other, Op: "external_source", Err: zero}
	for name, c := range map[string]struct {
		program wrongProgram
		err     error
		good    bool
	}{
		"nothing raised":      {wrongProgram{OK: true}, nil, true},
		"raised all the same": {wrongProgram{OK: true}, through, false},
		"a callback's":        {wrongProgram{Type: "ZeroDivisionError"}, through, true},
		"another callback's":  {wrongProgram{Type: "KeyError"}, through, false},
		"the interpreter's":   {wrongProgram{Type: "ZeroDivisionError"}, zero, false},
		"the engine's":        {wrongProgram{Type: "RuntimeError"}, &errs.Error{Kind: errs.Invalid}, true},
		"the engine's, other": {wrongProgram{Type: "TypeError"}, &errs.Error{Kind: errs.IO}, false},
		"nothing":             {wrongProgram{Type: "RuntimeError"}, nil, false},
		"an error of no kind": {wrongProgram{Type: "RuntimeError"}, errors.New("x"), false},
	} {
		if err := c.program.judge(&suite.Report{}, name, c.err); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := &suite.Report{Kinds: Divergences()}
	program := wrongProgram{OK: true}
	if err := program.judge(r, "checkpoint_other_seed", nil); err == nil || r.Divergence != "" {
		t.Errorf("a restored state of another seed: %v, %q", err, r.Divergence)
	}
	if err := program.judge(r, "checkpoint_other_seed", &errs.Error{Kind: errs.Mismatch}); err != nil ||
		!strings.HasPrefix(r.Divergence, "restore_checked: ") {
		t.Errorf("a refused state of another seed: %v, %q", err, r.Divergence)
	}
}

// TestPipelinesPutTogether reads programs that name outputs by set_outputs, and feed a static
// executor.
func TestPipelinesPutTogether(t *testing.T) {
	for _, c := range []struct {
		ast   string
		fails bool
	}{
		{`[["let", "p", ["call", "dali.Pipeline", [], {"batch_size": ["const", 2]}]],
			["let", "x", ["call", "fn.external_source", [], {"name": ["const", "x"]}]],
			["do", ["call", "p.set_outputs", [["name", "x"]], {}]],
			["do", ["call", "p.build", [], {}]],
			["do", ["call", "p.feed_input", [["const", "x"], ["list", [["name", "img"], ["name", "img"]]]], {}]],
			["do", ["call", "p.run", [], {}]]]`, false},
		{`[["let", "p", ["call", "dali.Pipeline", [], {}]],
			["let", "x", ["call", "fn.external_source", [], {"name": ["const", "x"]}]],
			["do", ["call", "p.set_outputs", [["name", "x"]], {}]],
			["do", ["call", "p.set_outputs", [["name", "x"]], {}]]]`, true},
		{`[["let", "p", ["call", "dali.Pipeline", [], {"exec_dynamic": ["const", false]}]],
			["let", "x", ["call", "fn.external_source", [], {"name": ["const", "x"]}]],
			["do", ["call", "p.set_outputs", [["name", "x"]], {}]],
			["do", ["call", "p.build", [], {}]],
			["do", ["call", "p.feed_input", [["const", "x"], ["list", [["name", "img"]]]], {}]],
			["do", ["call", "p.run", [], {}]]]`, true},
		{`[["let", "p", ["call", "pipe", [["lambda", [], ["call", "fn.external_source", [], {"name": ["const", "x"]}]]], {"run": ["const", null]}]],
			["do", ["call", "p.set_outputs", [["const", 1]], {}]]]`, true},
		{`[["let", "p", ["call", "dali.Pipeline", [], {}]], ["do", ["call", "p.feed_input", [["const", "x"], ["list", []]], {}]]]`, true},
	} {
		host := &programmer{grapher: &grapher{}, ctx: t.Context()}
		image, err := zeros([]any{4, 5, 3}, "uint8")
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{host: host, names: map[string]any{"img": image}}
		if err := m.run(parseAST(t, c.ast)); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.ast, err)
		}
		host.close()
	}
}
