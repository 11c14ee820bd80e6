package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestFloors(t *testing.T) {
	rules := Module()
	pkgs, err := Load(root, rules.Module)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("found %d packages below %s: the test looks in the wrong place", len(pkgs), root)
	}
	for _, v := range rules.Check(pkgs, within(pkgs)) {
		t.Error(v)
	}
}

func TestLinks(t *testing.T) {
	rules := Module()
	deps, err := Links(root, rules.Module)
	if err != nil {
		t.Fatal(err)
	}
	if len(deps) < 5 {
		t.Fatalf("go list found %d packages of the module", len(deps))
	}
	for _, v := range rules.CheckLinks(deps) {
		t.Error(v)
	}
}

func within(pkgs []Package) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(pkgs, func(p Package) bool { return p.Path == path })
	}
}

// The rules must be able to fail: each case breaks one, in a module that is otherwise sound.
func TestViolationsAreSeen(t *testing.T) {
	rules := Module()
	all := []Package{
		{Path: "errs"}, {Path: "tensor"}, {Path: "tree"}, {Path: "order"}, {Path: "store"}, {Path: "store/local"},
		{Path: "store/object/s3"}, {Path: "internal/vfs"}, {Path: "op"}, {Path: "op/image"}, {Path: "pipeline/exec"}, {Path: "pipeline/graph"},
		{Path: "pipeline"}, {Path: "pipeline/fn"}, {Path: "checkpoint"}, {Path: "checkpoint/training"},
		{Path: "compat/dali"}, {Path: "."}, {Path: "cmd/bivouac"}, {Path: "examples/digits"}, {Path: "proof/crash"},
	}
	tests := []struct {
		name string
		pkg  Package
		want string // part of the violation; empty: allowed
	}{
		{"down", Package{Path: "tree", Imports: []string{"tensor", "errs", "fmt"}}, ""},
		{"root uses engines", Package{Path: ".", Imports: []string{"checkpoint/training", "tree", "store/local"}}, ""},
		{"command links cobra", Package{Path: "cmd/bivouac", Imports: []string{"github.com/spf13/cobra", "examples/digits", "compat/dali"}}, ""},
		{"crash tests use vfs", Package{Path: "proof/crash", Imports: []string{"internal/vfs", "store/local", "."}}, ""},
		{"up", Package{Path: "tensor", Imports: []string{"store"}}, "points up"},
		{"engine to job", Package{Path: "checkpoint", Imports: []string{"."}}, "points up"},
		{"engine to generated leaf", Package{Path: "pipeline", Imports: []string{"pipeline/fn"}}, "points up"},
		{"sideways", Package{Path: "tensor", Imports: []string{"tree"}}, "points sideways"},
		{"engine to engine", Package{Path: "pipeline", Imports: []string{"checkpoint"}}, "points sideways"},
		{"engine to compat", Package{Path: "pipeline", Imports: []string{"compat/dali"}}, "engines are handed"},
		{"job to compat", Package{Path: ".", Imports: []string{"compat/dali"}}, "engines are handed"},
		{"engine to vfs", Package{Path: "checkpoint", Imports: []string{"internal/vfs"}}, "belongs to the stores"},
		{"engine links a driver", Package{Path: "checkpoint", Imports: []string{"store/object/s3"}}, "get an object store from the caller"},
		{"data engine picks a store", Package{Path: "pipeline", Imports: []string{"store/local"}}, "picks the store"},
		{"job drives the executor", Package{Path: ".", Imports: []string{"pipeline/exec"}}, "engine in front"},
		{"cobra in a library", Package{Path: "checkpoint", Imports: []string{"github.com/spf13/cobra"}}, "no such module"},
		{"etcd in a store", Package{Path: "store/local", Imports: []string{"go.etcd.io/etcd/client/v3"}}, "no such module"},
		{"clock on the pure floor", Package{Path: "order", Imports: []string{"time"}}, "does without it"},
		{"files on the pure floor", Package{Path: "tree", Imports: []string{"os"}}, "does without it"},
		{"goroutine on the pure floor", Package{Path: "order", Goroutines: []string{"x.go:7"}}, "starts no goroutines"},
		{"no floor", Package{Path: "utils"}, "stands on no floor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := rules.Check([]Package{tt.pkg}, within(all))
			if tt.want == "" {
				if len(got) != 0 {
					t.Errorf("want it allowed, got %v", got)
				}
				return
			}
			if len(got) == 0 {
				t.Fatal("the violation was not seen")
			}
			if !slices.ContainsFunc(got, func(v Violation) bool { return strings.Contains(v.String(), tt.want) }) {
				t.Errorf("want %q, got %v", tt.want, got)
			}
		})
	}
}

func TestLinkViolationsAreSeen(t *testing.T) {
	rules := Module()
	got := rules.CheckLinks(map[string][]string{
		"cmd/bivouac":    {"github.com/spf13/cobra", "go.etcd.io/etcd/server/v3/embed"},
		"reader/parquet": {"github.com/parquet-go/parquet-go"},
		"loader": {"github.com/parquet-go/parquet-go/format", rules.Module + "/codec/jpeg", rules.Module + "/codec/wav",
			rules.Module + "/reader"},
		"reader/frames":   {rules.Module + "/codec/jpeg"},
		"checkpoint":      {"fmt", "github.com/klauspost/compress/zstd"},
		"store/cloud":     {"github.com/aws/aws-sdk-go-v2/aws"},
		"examples/digits": {"github.com/vbauerster/mpb/v8"},
	})
	want := []Violation{
		{"examples/digits", "github.com/vbauerster/mpb/v8", "only the command and opt-in packages may link it"},
		{"loader", "codec/jpeg", rules.Without[0].Reason},
		{"loader", "github.com/parquet-go/parquet-go/format", "only the command and opt-in packages may link it"},
		{"store/cloud", "github.com/aws/aws-sdk-go-v2/aws", "only the command and opt-in packages may link it"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Load must read files of all build tags, skip tests and nested modules, and see go statements.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.go":            "package m\nimport \"example.com/m/x\"\n",
		"x/x.go":          "package x\nfunc F() { go F() }\nfunc G(g interface{ Go(func()) }) { g.Go(F) }\n",
		"x/x_plan9.go":    "//go:build plan9\n\npackage x\nimport \"net/http\"\n",
		"x/x_test.go":     "package x\nimport \"testing\"\n",
		"x/testdata/t.go": "package broken(\n",
		"tools/go.mod":    "module example.com/m/tools\n",
		"tools/t.go":      "package tools\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir, "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Path: ".", Imports: []string{"x"}},
		{Path: "x", Imports: []string{"net/http"}, Goroutines: []string{"x.go:2", "x.go:3"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
