package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file changes the package that it lies in, and those whose tests name it.
func TestChangedPackages(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x_test.go", `package x; var a, b = "../testdata/dali/OPS.json", filepath.Join("..", "docs", "order.md")`)
	write(t, dir, "y_test.go", `package x; var a = filepath.Join("..", "testdata", "orbax-pure", "a.json")`)
	pkgs := []pkg{
		{ImportPath: "m", rel: "."},
		{ImportPath: "m/a", rel: "a"},
		{ImportPath: "m/a/b", rel: "a/b"},
		{ImportPath: "m/x", rel: "x", Dir: dir, TestGoFiles: []string{"x_test.go"}},
		{ImportPath: "m/y", rel: "y", Dir: dir, XTestGoFiles: []string{"y_test.go"}},
	}
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"a.go", []string{"m"}},
		{"a/a.go", []string{"m/a"}},
		{"a/b/testdata/fuzz/F/1", []string{"m/a/b"}},
		{"a/gone/gone.go", nil},
		{"testdata/dali/inputs/x.png", []string{"m/x"}},
		{"testdata/orbax-pure/a.json", []string{"m/y"}},
		{"testdata/orbax/a.json", nil},
		{"docs/order.md", []string{"m/x"}},
		{"docs/other.md", nil},
		{"Makefile", nil},
		{".ci/run", nil},
		{"tools/check/main.go", nil},
		{"go.mod", []string{"m", "m/a", "m/a/b", "m/x", "m/y"}},
	} {
		if got := changedPackages(pkgs, []string{tt.file}); !slices.Equal(got, tt.want) {
			t.Errorf("%s changes %q, want %q", tt.file, got, tt.want)
		}
	}
}

// The nearest importers come first, of these the ones with few tests. A package that only tests
// import is not on the way.
func TestRings(t *testing.T) {
	tests := []string{"x_test.go"}
	pkgs := []pkg{
		{ImportPath: "a", TestGoFiles: tests},
		{ImportPath: "b", Imports: []string{"a"}, TestGoFiles: tests},
		{ImportPath: "c", Imports: []string{"b"}},
		{ImportPath: "d", Imports: []string{"c"}, XTestImports: []string{"b"}, XTestGoFiles: tests},
		{ImportPath: "e", Imports: []string{"d"}, TestGoFiles: tests},
		{ImportPath: "big", Imports: []string{"a"}, TestGoFiles: []string{"x_test.go", "y_test.go"}},
		{ImportPath: "f", XTestImports: []string{"a"}, XTestGoFiles: tests},
		{ImportPath: "g", Imports: []string{"f"}, TestGoFiles: tests},
		{ImportPath: "h", TestGoFiles: tests},
		{ImportPath: "ran", rel: "proof/archtest", Imports: []string{"a"}, TestGoFiles: tests},
	}
	want := [][]string{{"a"}, {"b", "f", "big"}, {"d"}, nil, {"e"}}
	if got := rings(pkgs, []string{"a"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Changed packages run to their end whatever the time is, importers do not begin after it.
func TestTimeIsOver(t *testing.T) {
	var ran []string
	err := test(t.Context(), [][]string{{"a"}, {"b"}}, time.Now().Add(-time.Second), func(ctx context.Context, p []string) ([]string, error) {
		if ctx.Err() != nil {
			t.Errorf("%q runs without time", p)
		}
		ran = append(ran, p...)
		return p, nil
	})
	if err != nil || !slices.Equal(ran, []string{"a"}) {
		t.Errorf("ran %q: %v", ran, err)
	}
}

// Importers run after a failure too, and the failure is the result.
func TestFailureIsKept(t *testing.T) {
	var ran []string
	err := test(t.Context(), [][]string{{"a"}, {"b"}}, time.Now().Add(time.Hour), func(_ context.Context, p []string) ([]string, error) {
		ran = append(ran, p...)
		if p[0] == "a" {
			return p, errFailed
		}
		return p, nil
	})
	if !errors.Is(err, errFailed) || !slices.Equal(ran, []string{"a", "b"}) {
		t.Errorf("ran %q: %v", ran, err)
	}
}

// A line is printed for each package, and the output of tests that failed or never ended.
func TestResults(t *testing.T) {
	var out strings.Builder
	r := &results{w: &out}
	for _, line := range []string{
		`{"Action":"output","Package":"m/a","Test":"TestX","Output":"quiet\n"}`,
		`{"Action":"output","Package":"m/b","Test":"TestBad","Output":"loud\n"}`,
		`{"Action":"pass","Package":"m/a","Test":"TestX"}`,
		`{"Action":"output","Package":"m/a","Output":"PASS\n"}`,
		`{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}`,
		`{"Action":"pass","Package":"m/a"}`,
		`{"Action":"fail","Package":"m/b","Test":"TestBad"}`,
		`{"Action":"output","Package":"m/b","Test":"TestStuck","Output":"panic\n"}`,
		`{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t1s\n"}`,
		`{"Action":"fail","Package":"m/b"}`,
		`{"Action":"skip","Package":"m/c"}`,
		`{"ImportPath":"m/d","Action":"build-output","Output":"d.go:1: wrong\n"}`,
	} {
		r.take([]byte(line + "\n"))
	}
	if want := "ok  \tm/a\t0.1s\nloud\npanic\nFAIL\tm/b\t1s\nd.go:1: wrong\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if !r.failed || !slices.Equal(r.finished, []string{"m/a", "m/b", "m/c"}) {
		t.Errorf("failed %t, finished %q", r.failed, r.finished)
	}
}

// Committed, changed, unknown and removed files count, ignored ones do not.
func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)
		if _, err := git(dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	for _, name := range []string{"same", "changed", "removed"} {
		write(t, dir, name, "1")
	}
	write(t, dir, ".gitignore", "ignored\n")
	run("add", ".")
	run("commit", "-qm", "1")
	run("checkout", "-qb", "work")
	write(t, dir, "committed", "2")
	run("add", ".")
	run("commit", "-qm", "2")
	write(t, dir, "changed", "2")
	write(t, dir, "unknown", "2")
	write(t, dir, "ignored", "2")
	if err := os.Remove(filepath.Join(dir, "removed")); err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string][]string{
		"":     {"changed", "committed", "removed", "unknown"},
		"work": {"changed", "removed", "unknown"},
	} {
		from, err := mergeBase(dir, base)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := changedFiles(dir, from); err != nil || !slices.Equal(got, want) {
			t.Errorf("base %q: got %q, %v, want %q", base, got, err, want)
		}
	}
	if _, err := mergeBase(dir, "nosuch"); err == nil {
		t.Error("a base that does not exist is taken")
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
