package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var committedPure = filepath.Join("..", "..", "testdata", "orbax-pure")

func TestCommittedPureCases(t *testing.T) {
	code, out := conform("-suite", "orbax-pure", committedPure)
	if code != 0 || !strings.HasSuffix(lastLine(out), " passed, 0 failed, 0 skipped") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// The whole set, where it lies beside the checkout.
func TestAllPureCases(t *testing.T) {
	all := filepath.Join("..", "..", "..", "shared", "vectors", "orbax-pure")
	if _, err := os.Stat(all); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	if code, out := conform("-suite", "orbax-pure", all); code != 0 ||
		lastLine(out) != "1500 passed, 0 failed, 0 skipped" {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// A runner that cannot fail proves nothing.
func TestPureAlterationsAreSeen(t *testing.T) {
	const (
		info   = `{"step": 2, "seconds": 5, "metrics": {"acc": 0.5}}`
		latest = `"spec": {"policy": "LatestN", "args": {"n": 1}}, "checkpoints": [` + info + `]`
		fixed  = `"policy": "FixedIntervalPolicy", "args": {"interval": 2}, "step": 4, "seconds": 0, "previous": [], "is_saving_in_progress": false, "reached_preemption": false`
		names  = `"format": {"step_prefix": null, "step_format_fixed_length": null}, "directories": ["7", "x"], "probe": 7`
		chunks = `"global_shape": [4], "write_shape": [4], "dtype": "int8", "target_byte_size": 2, "shard_axes": []`
		merge  = `"trees": [{"a": 1}, {"a": [2]}]`
	)
	for name, c := range map[string]struct{ family, text, want string }{
		"right":             {"policies", `{` + latest + `, "result": [true]}`, ""},
		"preserved":         {"policies", `{` + latest + `, "result": [false]}`, "got [true]"},
		"unknown policy":    {"policies", `{"spec": {"policy": "Surprise", "args": {}}, "checkpoints": [], "result": []}`, "Surprise"},
		"unknown argument":  {"policies", `{"spec": {"policy": "LatestN", "args": {"surprise": 1}}, "checkpoints": [], "result": []}`, "surprise"},
		"no refusal":        {"policies", `{` + latest + `, "error": "ValueError"}`, "want a refusal"},
		"no verdict":        {"policies", `{` + latest + `}`, "either a result or an error"},
		"unknown member":    {"policies", `{` + latest + `, "result": [true], "surprise": 1}`, "unknown member surprise"},
		"decided":           {"decisions", `{` + fixed + `, "result": true}`, ""},
		"decision":          {"decisions", `{` + fixed + `, "result": false}`, "got true"},
		"named":             {"names", `{` + names + `, "found": {"result": [[7, "7"]]}, "build": {"result": "7"}, "find": {"result": "7"}}`, ""},
		"found":             {"names", `{` + names + `, "found": {"result": []}, "build": {"result": "7"}, "find": {"result": "7"}}`, "found."},
		"build":             {"names", `{` + names + `, "found": {"result": [[7, "7"]]}, "build": {"result": "8"}, "find": {"result": "7"}}`, "build."},
		"find":              {"names", `{` + names + `, "found": {"result": [[7, "7"]]}, "build": {"result": "7"}, "find": {"error": "ValueError"}}`, "find."},
		"chunked":           {"chunks", `{` + chunks + `, "result": [2]}`, ""},
		"chunk":             {"chunks", `{` + chunks + `, "result": [4]}`, "got [2]"},
		"merged":            {"merge", `{` + merge + `, "overwrite": true, "result": {"a": [2]}}`, ""},
		"merge":             {"merge", `{` + merge + `, "overwrite": true, "result": {"a": [1]}}`, "got"},
		"merge not allowed": {"merge", `{` + merge + `, "overwrite": false, "result": {"a": [2]}}`, "want map"},
		"unknown family":    {"surprise", `{}`, "unknown family"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.family+".json"), []byte("["+c.text+"]"), 0o666); err != nil {
			t.Fatal(err)
		}
		code, out := conform("-suite", "orbax-pure", dir)
		want := 0
		if c.want != "" {
			want = 1
		}
		if code != want || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", name, code, want, c.want, out)
		}
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "merge.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out := conform("-suite", "orbax-pure", empty); code != 1 || !strings.Contains(out, "no cases") {
		t.Errorf("no cases: exit %d\n%s", code, out)
	}
}
