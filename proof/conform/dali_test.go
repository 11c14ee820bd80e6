package conform

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/conform/dali"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

var committedDali = filepath.Join("..", "..", "testdata", "dali")

// commonOfDali are what the cases of more than one section read.
var commonOfDali = []string{"OPS.json", "inputs", "tolerances.json"}

// alteredDali has one folder of the excerpt, with a text of one of its files replaced, once. What
// other sections and groups record is not there: reading it again for each alteration takes longer
// than all the cases.
func alteredDali(t *testing.T, file, old, changed string) string {
	t.Helper()
	dir := t.TempDir()
	link := func(name string) {
		from, err := filepath.Abs(filepath.Join(committedDali, name))
		if err == nil {
			err = os.Symlink(from, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range commonOfDali {
		link(name)
	}
	at := filepath.FromSlash(file)
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(at)), 0o777); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file, "/") {
		entries, err := os.ReadDir(filepath.Join(committedDali, filepath.Dir(at)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != filepath.Base(at) {
				link(filepath.Join(filepath.Dir(at), e.Name()))
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(committedDali, at))
	if err != nil {
		t.Fatal(err)
	}
	if old != "" && !strings.Contains(string(b), old) {
		t.Fatalf("%s does not contain %s", file, old)
	}
	writeFile(t, filepath.Join(dir, at), []byte(strings.Replace(string(b), old, changed, 1)))
	return dir
}

// Each alteration of an expectation must be seen.
func TestAlterationsOfDaliAreSeen(t *testing.T) {
	const crop = "ops/crop/cases.json"
	for name, c := range map[string]struct{ only, file, old, changed, want string }{
		"nothing":          {"ops/crop/0501", crop, "", "", ""},
		"dtype":            {"ops/crop/0501", crop, `"dtype": "UINT8"`, `"dtype": "INT8"`, "not int8"},
		"shape":            {"ops/crop/0501", crop, `"shape": [20, 18, 3]`, `"shape": [20, 18, 1, 3]`, "not uint8[20,18,1,3]"},
		"layout":           {"ops/crop/0501", crop, `"shape": [20, 18, 3], "layout": "HWC"`, `"shape": [20, 18, 3], "layout": "CHW"`, `layout: got "HWC", want "CHW"`},
		"file":             {"ops/crop/0501", crop, `"npy": "o0_s0.npy"`, `"npy": "o0_s1.npy"`, "elements differ"},
		"an error":         {"ops/crop/0501", crop, `"args": {"crop": [20, 18]}, "outputs"`, `"args": {"crop": [20, 18]}, "error": {"type": "RuntimeError"}, "outputs"`, "no error, want RuntimeError"},
		"one sample less":  {"ops/crop/0501", crop, `"output": 0, "sample": 1`, `"output": 0, "sample": 0`, "sample 0"},
		"one more output":  {"ops/crop/0501", crop, `"output": 0, "sample": 1`, `"output": 1, "sample": 0`, "output 1, sample 0: want a sample"},
		"argument":         {"ops/crop/0501", crop, `"crop": [20, 18]`, `"crop": [20, 17]`, "got uint8[20,17,3]"},
		"expression":       {"ops/crop/0520", crop, `["const", 9]`, `["const", 8]`, "got uint8[7,64,3]"},
		"index":            {"order/file/file_000", "order/file.json", `"indices": [[0], [1]`, `"indices": [[0], [2]`, "batch 1: got [1], want [2]"},
		"label":            {"order/file/file_000", "order/file.json", `"labels": [[0]`, `"labels": [[1]`, "batch 0: labels [0], want [1]"},
		"reader_meta":      {"order/file/file_000", "order/file.json", `"epoch_size_padded": 10`, `"epoch_size_padded": 11`, "reader_meta"},
		"random number":    {"rng/random_uniform_000", "rng/random_uniform_000.json", "3f3b3153", "3f3b3154", "iteration 1: output 0, sample 0"},
		"random state":     {"rng/random_uniform_000", "rng/random_uniform_000.json", "_0000000000000004:", "_0000000000000005:", "states before iteration 1"},
		"checkpoint":       {"ckpt/pipeline/ext_sample", "ckpt/pipeline/ext_sample_24.json", "ChYKEl9fRXh0ZXJuYWxTb3VyY2VfMB", "ChYKEl9fRXh0ZXJuYWxTb3VyY2VfMC", "after 0 iterations: "},
		"next":             {"ckpt/pipeline/ext_sample", "ckpt/pipeline/ext_sample_24.json", `"next": [[[{"shape": [4], "dtype": "int32", "data": [3,`, `"next": [[[{"shape": [4], "dtype": "int32", "data": [4,`, "after 1 iterations: continued, iteration 0"},
		"end of the epoch": {"ckpt/pipeline/ext_sample", "ckpt/pipeline/ext_sample_24.json", `"StopIteration", `, ``, "end of epoch true, want false"},
		"later state":      {"ckpt/pipeline/ext_sample", "ckpt/pipeline/ext_sample_24.json", `"checkpoint_after_next": {"ops": [{"operator_name": "__`, `"checkpoint_after_next": {"ops": [{"operator_name": "_`, "checkpoint after the recorded iterations"},
		"dynamic index":    {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"indices": [1, 7, 5]`, `"indices": [1, 7, 6]`, "epoch 0, batch 0: got [1 7 5]"},
		"dynamic draw":     {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"f32": ["`, `"f32": ["0`, "uniform: sample 0"},
		"dynamic state":    {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"reader_state": "C`, `"reader_state": "D`, "reader: state"},
		"dynamic text":     {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"checkpoint_json": "{\"version\": 2`, `"checkpoint_json": "{\"version\": 3`, "checkpoint: state"},
		"dynamic metadata": {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"epoch_size": 10`, `"epoch_size": 11`, "metadata: got"},
		"dynamic restore":  {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"next_epochs": [[[6, 2, 0]`, `"next_epochs": [[[6, 2, 1]`, "restored after epoch 0, batch 0"},
		"dynamic end":      {"ckpt/dynamic/reader_0", "ckpt/dynamic/reader_0.json", `"reader_state_end": "C`, `"reader_state_end": "D`, "in the end, want"},
		"rule value":       {"ckpt/dynamic/rules/mixed_everything", "ckpt/dynamic/rules.json", `{"value": [[3, 4, 5], [6, 0, 1], "end"]}`, `{"value": [[3, 4, 5], [6, 0, 1]]}`, "want [[3 4 5] [6 0 1]]"},
		"rule error":       {"ckpt/dynamic/rules/reader_bad_state", "ckpt/dynamic/rules.json", `{"error": "TypeError", "message": "state must be`, `{"error": "ValueError", "message": "state must be`, "DALI raises ValueError"},
		"rule length":      {"ckpt/dynamic/rules", "ckpt/dynamic/rules.json", `"complete_loaded_len": [[`, `"complete_loaded_len": [[true, true, 7], [`, "complete, loaded and length"},
		"graph output":     {"graph/g01", "graph/g01_constant/outputs.json", `"data": [3]`, `"data": [4]`, "iteration 0, output 0, sample 0"},
		"graph layout":     {"graph/g01", "graph/g01_constant/outputs.json", `"layout": ""`, `"layout": "X"`, `layout "", want "X"`},
		"graph property":   {"graph/g01", "graph/g01_constant/outputs.json", `"seed": "1234"`, `"seed": "1235"`, "property seed"},
		"drawing":          {"graph/g01", "graph/g01_constant/graph.dot", "__Constant_0 ->", "__Constant_1 ->", "graph.dot: line 5"},
		"drawn tensors":    {"graph/g01", "graph/g01_constant/graph_tensors.dot", "blue", "red", "graph_tensors.dot: line 2"},
		"trace":            {"exec/run_api/000", "exec.json", `["share_outputs", [0]]`, `["share_outputs", [1]]`, "want [["},
		"iterator":         {"exec/iterator_policy/000", "exec.json", `"len": 3`, `"len": 4`, `"len": 4`},
		"state of it":      {"exec/iterator_policy/000", "exec.json", `{\"_counter\": 8`, `{\"_counter\": 9`, `_counter\": 9`},
		"property":         {"exec/properties/000", "exec.json", `"exec_pipelined": "True"`, `"exec_pipelined": "None"`, `"exec_pipelined": "None"`},
		"a mistake":        {"errors/flipped_jpeg", "errors.json", `"ok": true`, `"ok": false, "type": "RuntimeError"`, "no error, want RuntimeError"},
		"no mistake":       {"errors/unknown_argument", "errors.json", `"ok": false`, `"ok": true`, "sise"},
	} {
		code, out := conform("-suite", "dali", "-only", c.only, alteredDali(t, c.file, c.old, c.changed))
		switch {
		case c.want == "" && (code != 0 || !strings.Contains(lastLine(out), " 0 failed, 0 skipped, 0 divergent")):
			t.Errorf("%s: exit %d\n%s", name, code, out)
		case c.want != "" && (code != 1 || !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want)):
			t.Errorf("%s: exit %d, want a failure that says %q\n%s", name, code, c.want, out)
		}
	}
}

// What a run prints as a divergence is in the document, and nothing else.
func TestDaliDivergencesAreListed(t *testing.T) {
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n### Divergences\n")
	section, _, _ = strings.Cut(section, "\n### ")
	kinds := dali.Divergences()
	for _, kind := range kinds {
		if !strings.Contains(section, "| `"+kind+"` |") {
			t.Errorf("%s does not list %s", daliDocument, kind)
		}
	}
	if rows := strings.Count(section, "\n| `"); rows != len(kinds) || rows > 20 {
		t.Errorf("%d rows, %d divergences; 20 are allowed", rows, len(kinds))
	}
}

const daliDocument = "../../docs/compat/dali.md"

func TestStatusNeedsItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.md")
	writeFile(t, file, []byte("# Other\n"))
	if code, out := conform("-suite", "dali", "-only", "ops/crop/0501", "-status", file, committedDali); code != 1 ||
		!strings.Contains(out, "has no lines") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// Operators of an expression are counted, wherever they stand in it.
func TestOperatorsOfExpressions(t *testing.T) {
	call := func(name string, args ...any) []any { return []any{"call", name, args, map[string]any{}} }
	a, one, whole := []any{"name", "a"}, []any{"const", 1}, []any{"slice", nil, nil, nil}
	for name, c := range map[string]struct {
		ast  []any
		want []string
	}{
		"arithmetic": {[]any{"bin", "+", a, []any{"un", "-", a}}, []string{"_arithmetic_generic_op"}},
		"math":       {call("math.sqrt", a), []string{"_arithmetic_generic_op"}},
		"nested":     {call("fn.reductions.sum", call("fn.cast", []any{"index", a, []any{one}})), []string{"reductions.sum", "cast", "_tensor_subscript"}},
		"whole":      {[]any{"index", a, []any{whole, []any{"const", nil}}}, []string{"_subscript_dim_check"}},
		"new axis":   {[]any{"index", a, []any{call("newaxis"), whole}}, []string{"expand_dims", "_subscript_dim_check"}},
		"last axis":  {[]any{"index", a, []any{whole, call("newaxis")}}, []string{"expand_dims"}},
		"both":       {[]any{"index", a, []any{one, call("newaxis")}}, []string{"_tensor_subscript", "expand_dims"}},
		"one output": {[]any{"index", call("fn._conditional.split", a), []any{one}}, []string{"_conditional.split"}},
		"shape":      {call("a.shape"), []string{"_shape"}},
		"constant":   {call("types.Constant", []any{"const", true}), []string{"constant"}},
		"keyword":    {[]any{"call", "fn.resize", []any{a}, map[string]any{"size": call("fn.cast", a)}}, []string{"resize", "cast"}},
	} {
		if got := dali.OperatorsOf(&dalivec.Case{AST: c.ast}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
