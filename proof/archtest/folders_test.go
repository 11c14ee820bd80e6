package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture of the floors into docs/architecture.md")

// No arrow between top-level folders points up.
func TestFolders(t *testing.T) {
	pkgs, err := Load(root, Module().Module)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range CheckFolders(Folders(), pkgs, within(pkgs)) {
		t.Error(v)
	}
	for _, c := range []struct{ from, to, want string }{ // the rule can fail
		{"tensor", "pipeline", "tensor -> pipeline: the folder pipeline is not below tensor"},
		{"loader", "pipeline", "loader -> pipeline: the folder pipeline is not below loader"},
		{"internal/vfs", "checkpoint", "internal/vfs -> checkpoint: the folder checkpoint is not below internal"},
		{"nosuch", "errs", "nosuch: its folder is in no row of folders.go"},
		{"internal/conform", "compat/dali", ""},
	} {
		got := CheckFolders(Folders(), []Package{{Path: c.from, Imports: []string{c.to}}}, func(string) bool { return true })
		if want := c.want == ""; want != (len(got) == 0) || !want && got[0].String() != c.want {
			t.Errorf("%s imports %s: %v, want %q", c.from, c.to, got, c.want)
		}
	}
}

// The picture in docs/architecture.md is the table of floors.go.
func TestPicture(t *testing.T) {
	const begin, end = "<!-- floors: go test ./proof/archtest -run Picture -update -->\n```text\n", "```\n"
	rules := Module()
	pkgs, err := Load(root, rules.Module)
	if err != nil {
		t.Fatal(err)
	}
	want := rules.Picture(pkgs)
	for l := range strings.Lines(want) {
		if n := len([]rune(strings.TrimSuffix(l, "\n"))); n != pictureWidth {
			t.Errorf("a line of %d columns, want %d: %s", n, pictureWidth, l)
		}
	}
	file := filepath.Join(root, "docs", "architecture.md")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: no picture between %q and %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s has another picture; run: go test ./proof/archtest -run Picture -update\ngot\n%swant\n%s", file, got,
			want)
	}
}
