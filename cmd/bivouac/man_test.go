//go:build !bivouac_wheel

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// allCommands returns every command that people see.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, sub := range manCommands(cmd) {
		list = append(list, allCommands(sub)...)
	}
	return list
}

// Each command has a page, which names each of its flags, and man takes it without a complaint.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	for range 2 { // pages that are there are replaced
		if code := run(t.Context(), []string{"man", dir}, io.Discard, io.Discard); code != exitOK {
			t.Fatal(code)
		}
	}
	root := newRootCommand(&global{stdout: io.Discard, stderr: io.Discard})
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != len(allCommands(root)) {
		t.Fatalf("%d pages, want %d, %v", len(list), len(allCommands(root)), err)
	}
	groff, noGroff := exec.LookPath("groff")
	for _, cmd := range allCommands(root) {
		page, err := os.ReadFile(filepath.Join(dir, manName(cmd)+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range flagNames(cmd) {
			if !bytes.Contains(page, []byte(roff("--"+name))) {
				t.Errorf("%s: no --%s", manName(cmd), name)
			}
		}
		for line := range strings.Lines(string(page)) {
			if strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("%s: not of ASCII: %s", manName(cmd), line)
			}
			request := strings.Fields(line)[0] + " "
			if (line[0] == '.' || line[0] == '\'') && !strings.Contains(".TH .SH .TP .BR .B .PP .RS .RE .EX .EE ", request) {
				t.Errorf("%s: text is taken for a request: %s", manName(cmd), line)
			}
		}
		if noGroff == nil {
			name := filepath.Join(dir, manName(cmd)+".1")
			said, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", name).CombinedOutput()
			if err != nil || len(said) > 0 {
				t.Errorf("%s: %v: %s", manName(cmd), err, said)
			}
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".x":       `\&.x`,
		"'runs/*'": `\&'runs/*\(aq`,
		`a\b-c`:    `a\eb\-c`,
		"PATH…×":   `PATH...\[u00D7]`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
