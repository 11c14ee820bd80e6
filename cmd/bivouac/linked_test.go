package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTemplates checks that the command does not execute templates of the standard library. They
// call methods by name, so the linker would keep every exported method: 5 MB.
func TestNoTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	out := filepath.Join(t.TempDir(), "bivouac")
	build := exec.Command("go", "build", "-o", out, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	symbols, err := exec.Command("go", "tool", "nm", out).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(symbols), " T main.main\n") {
		t.Fatal("no symbol main.main in the command")
	}
	if strings.Contains(string(symbols), "text/template.(*state).evalField") {
		t.Error("text/template is executed; see newRootCommand")
	}
}
