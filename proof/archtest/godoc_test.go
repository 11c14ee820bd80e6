package archtest

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostDocLines is two screens.
const mostDocLines = 100

// docLines returns how many lines go doc prints of a package: its comment and its top-level names.
func docLines(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command("go", "doc")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go doc in %s: %v\n%s", dir, err, out)
	}
	return bytes.Count(out, []byte("\n"))
}

func TestGoDocOfTopPackagesFitsTwoScreens(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(ExportedLimits())) {
		if strings.Contains(name, "/") {
			continue
		}
		if n := docLines(t, filepath.Join(root, name)); n > mostDocLines {
			t.Errorf("%s: want at most %d lines of go doc, got %d (document a type where it is declared, "+
				"move seldom names to a sub-package)", name, mostDocLines, n)
		}
	}
}

func TestDocLinesAreCounted(t *testing.T) {
	text := "// Package a is one.\n//\n// It has a second paragraph.\npackage a\n\nfunc F() {}\n"
	dir := writeModule(t, map[string]string{"a/a.go": text})
	if n := docLines(t, filepath.Join(dir, "a")); n != 7 {
		t.Errorf("want 7 lines, got %d", n)
	}
}
