//go:build !bivouac_wheel

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// shellWords splits a line as a shell does: quotes, and a comment at the end.
func shellWords(line string) (words []string) {
	word, in, quote := "", false, rune(0)
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if in {
				words = append(words, word)
			}
			word, in = "", false
		case r == '#' && !in:
			return words
		default:
			word, in = word+string(r), true
		}
	}
	return words
}

// Each command that people see has examples in its help. Each line of them is accepted: the command
// exists, and its flags and arguments are known.
func TestExamples(t *testing.T) {
	root := newRootCommand(&global{stdout: io.Discard, stderr: io.Discard})
	for _, cmd := range allCommands(root) {
		if cmd == root {
			continue
		}
		path := cmd.CommandPath()
		if strings.TrimSpace(cmd.Example) == "" {
			t.Errorf("%s: want an example", path)
			continue
		}
		found := false
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(line, "  ") || len([]rune(line)) > 100 {
				t.Errorf("%s: want two blanks and at most 100 columns: %q", path, line)
			}
			for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|&()", r) }) {
				words := shellWords(strings.TrimSpace(part))
				for len(words) > 0 && strings.Contains(words[0], "=") {
					words = words[1:]
				}
				if len(words) == 0 || words[0] != "bivouac" {
					continue
				}
				found = acceptedExample(t, path, words[1:]) || found
			}
		}
		if !found {
			t.Errorf("%s: no example of it in %q", path, cmd.Example)
		}
	}
}

// acceptedExample checks a command line, and reports whether it is of the command with a path, or
// below it.
func acceptedExample(t *testing.T, path string, args []string) bool {
	t.Helper()
	root := newRootCommand(&global{stdout: io.Discard, stderr: io.Discard})
	cmd, rest, err := root.Find(args)
	if err != nil {
		t.Errorf("%s: %q: %v", path, args, err)
		return false
	}
	if cmd.DisableFlagParsing {
		return cmd.CommandPath() == path
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", path, args, err)
		return false
	}
	var check cobra.PositionalArgs = cmd.Args
	if check != nil {
		if err := check(cmd, cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %q: %v", path, args, err)
		}
	}
	return strings.HasPrefix(cmd.CommandPath()+" ", path+" ")
}
