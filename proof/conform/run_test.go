package conform

import (
	"bytes"
	"encoding/json"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var committed = filepath.Join("..", "..", "testdata", "orbax")

// conform runs the command and returns its exit status and output.
func conform(args ...string) (int, string) {
	var out bytes.Buffer
	code := Run(args, &out, &out)
	return code, out.String()
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestCommittedCases(t *testing.T) {
	code, out := conform("-suite", "orbax", committed)
	if code != 0 || !strings.HasSuffix(lastLine(out), " passed, 0 failed, 0 skipped") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// The whole set, where it lies beside the checkout: every layout, and by itself
// the default one.
func TestAllCases(t *testing.T) {
	all := filepath.Join("..", "..", "..", "shared", "vectors", "orbax")
	if _, err := os.Stat(all); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	for only, want := range map[string]string{
		"core": "30 passed, 0 failed, 0 skipped",
		"":     "143 passed, 0 failed, 0 skipped",
	} {
		code, out := conform("-suite", "orbax", "-only", only, all)
		if code != 0 || lastLine(out) != want {
			t.Errorf("-only %q: exit %d, want the last line %q\n%s", only, code, want, out)
		}
	}
}

// altered copies a case and changes its expectation.
func altered(t *testing.T, name string, change func(e map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(committed, name))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name, "expect.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := suite.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	if b, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func leafOf(e map[string]any, kind string) map[string]any {
	items, ok := e["items"].(map[string]any)
	if !ok {
		items = e["checkpoints"].([]any)[0].(map[string]any)["items"].(map[string]any)
	}
	for _, l := range items["state"].(map[string]any)["leaves"].([]any) {
		if m := l.(map[string]any); m["kind"] == kind {
			return m
		}
	}
	return nil
}

// A runner that cannot fail proves nothing: each alteration must be seen.
func TestAlterationsAreSeen(t *testing.T) {
	for name, c := range map[string]struct {
		base   string
		change func(e map[string]any)
		want   string
	}{
		"hash": {"v1-containers", func(e map[string]any) {
			l := leafOf(e, "array")
			l["sha256"] = strings.Repeat("0", 64)
		}, "sha256"},
		"dtype":        {"v1-containers", func(e map[string]any) { leafOf(e, "array")["dtype"] = "int64" }, "dtype"},
		"shape":        {"v1-containers", func(e map[string]any) { leafOf(e, "array")["shape"] = []any{json.Number("4")} }, "shape"},
		"value":        {"v1-scalars", func(e map[string]any) { leafOf(e, "scalar")["value"] = json.Number("77") }, "value"},
		"string":       {"v1-scalars", func(e map[string]any) { leafOf(e, "string")["value"] = "other" }, "value"},
		"key kind":     {"v1-containers", func(e map[string]any) { leafOf(e, "array")["keykinds"] = []any{"index", "dict", "dict"} }, "keykinds"},
		"value type":   {"v1-containers", func(e map[string]any) { leafOf(e, "array")["value_type"] = "jax.Array" }, "value_type"},
		"write shape":  {"v1-sharded-2x4", func(e map[string]any) { leafOf(e, "array")["write_shape"] = []any{json.Number("1")} }, "write_shape"},
		"key impl":     {"v1-prng-keys", func(e map[string]any) { leafOf(e, "prng_key")["impl"] = "rbg" }, "impl"},
		"missing leaf": {"v1-containers", func(e map[string]any) { leafOf(e, "array")["keypath"] = []any{"a", "b", "z"} }, "missing"},
		"custom":       {"v1-containers", func(e map[string]any) { e["custom_metadata"] = map[string]any{"n": json.Number("1")} }, "custom_metadata"},
		"json item": {"v1-items", func(e map[string]any) {
			e["items"].(map[string]any)["dataset"].(map[string]any)["value"] = "x"
		}, "value"},
		"proto item": {"v1-items", func(e map[string]any) {
			e["items"].(map[string]any)["pb"].(map[string]any)["value"] = map[string]any{}
		}, "value"},
		"extra item": {"v1-items", func(e map[string]any) { delete(e["items"].(map[string]any), "pb") }, "not expected"},
		"handler": {"v1-items", func(e map[string]any) {
			e["item_handlers"].(map[string]any)["pb"] = "none"
		}, "handler"},
		"step":      {"trainer-basic", func(e map[string]any) { e["steps"] = []any{json.Number("0"), json.Number("9")} }, "steps"},
		"latest":    {"trainer-basic", func(e map[string]any) { e["latest"] = json.Number("2") }, "latest"},
		"metrics":   {"trainer-basic", func(e map[string]any) { first(e)["metrics"] = nil }, "metrics"},
		"directory": {"trainer-basic", func(e map[string]any) { first(e)["directory"] = "1" }, "directory"},
		"returned":  {"trainer-latest2", func(e map[string]any) { e["save_calls"].([]any)[4].(map[string]any)["returned"] = true }, "returned"},
		"preservation": {"trainer-latest2", func(e map[string]any) {
			e["preservation"] = map[string]any{"policy": "PreserveAll", "args": map[string]any{}}
		}, "replay"},
		"name format": {"trainer-names", func(e map[string]any) {
			e["name_format"] = map[string]any{"step_prefix": nil, "step_format_fixed_length": nil}
		}, "steps"},
		"temporary":      {"interrupted-item", func(e map[string]any) { e["temporary"].([]any)[0].(map[string]any)["path"] = "1" }, "loaded"},
		"unknown member": {"v1-containers", func(e map[string]any) { e["surprise"] = true }, "unknown member surprise"},
		"unknown leaf member": {"v1-containers", func(e map[string]any) {
			leafOf(e, "array")["surprise"] = true
		}, "unknown member"},
		"unknown layout":     {"v1-containers", func(e map[string]any) { e["layout"] = "surprise" }, "unknown layout"},
		"unknown divergence": {"v1-containers", func(e map[string]any) { e["divergence"] = map[string]any{"kind": "x", "require": "y"} }, "unknown divergence"},
		"collision": {"v1-containers", func(e map[string]any) {
			e["divergence"] = map[string]any{"kind": "collision", "require": "y"}
		}, "succeeded"},
	} {
		code, out := conform("-suite", "orbax", altered(t, c.base, c.change))
		if code != 1 || !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want) ||
			!strings.HasPrefix(lastLine(out), "0 passed, 1 failed") {
			t.Errorf("%s: exit %d, want a failure that says %q\n%s", name, code, c.want, out)
		}
	}
}

func first(e map[string]any) map[string]any { return e["checkpoints"].([]any)[0].(map[string]any) }

// A flipped bit in the data of a case is seen.
func TestDamageIsSeen(t *testing.T) {
	dir := altered(t, "v1-bare-array", func(map[string]any) {})
	n := 0
	err := filepath.WalkDir(filepath.Join(dir, "v1-bare-array", "checkpoint", "state", "d"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			n++
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return os.WriteFile(path, b, 0o666)
		})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if code, out := conform("-suite", "orbax", dir); code != 1 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestSelection(t *testing.T) {
	if code, out := conform("-suite", "orbax", "-only", "v1-bare,trainer-names", committed); code != 0 ||
		lastLine(out) != "3 passed, 0 failed, 0 skipped" {
		t.Errorf("by name: exit %d\n%s", code, out)
	}
	if code, out := conform("-suite", "orbax", "-only", "v1_trainer", committed); code != 0 ||
		lastLine(out) != "8 passed, 0 failed, 0 skipped" {
		t.Errorf("by family: exit %d\n%s", code, out)
	}
	if code, out := conform("-suite", "orbax", "-only", "nothing", committed); code != 1 ||
		lastLine(out) != "0 passed, 0 failed, 0 skipped" {
		t.Errorf("nothing passed: exit %d\n%s", code, out)
	}
	if code, _ := conform("-suite", "none", committed); code != 2 {
		t.Errorf("unknown suite: exit %d", code)
	}
	if code, out := conform("-suite", "orbax", "-json", "-only", "v1-bare-array", committed); code != 0 ||
		!strings.HasPrefix(out, `{"case":"v1-bare-array"`) {
		t.Errorf("json: exit %d\n%s", code, out)
	}
}
