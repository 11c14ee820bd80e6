package main

import (
	"context"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint"
)

// codesIn returns the exit statuses that a pattern finds in a text.
func codesIn(t *testing.T, text, pattern string) []int {
	t.Helper()
	codes := map[int]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		codes[n] = true
	}
	return slices.Sorted(maps.Keys(codes))
}

// The help, the package comment and docs/guide/commands.md name the exit statuses that
// there are, and commands end with them.
func TestExitStatuses(t *testing.T) {
	want := []int{exitOK, exitFailure, exitUsage, exitNotFound, exitCorrupt, exitPreempted, exitInterrupted}
	source, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/guide/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for where, got := range map[string][]int{
		"the help":            codesIn(t, exitCodesHelp, `(\d+) \w`),
		"the package comment": codesIn(t, source.Doc.Text(), `(?m)^\t(\d+) `),
		"commands.md":         codesIn(t, string(guide), `(?m)^\| (\d+) \|`),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s names %d, want %d", where, got, want)
		}
	}

	dir := t.TempDir()
	whole, damaged := filepath.Join(dir, "whole"), filepath.Join(dir, "damaged")
	if err := checkpoint.Save(t.Context(), whole, map[string]any{"w": []float32{1, 2, 3}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(damaged, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(damaged, "bivouac.manifest"), 10); err != nil {
		t.Fatal(err)
	}
	npy := filepath.Join(dir, "w.npy")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"verify", whole}, exitOK},
		{[]string{"extract", whole, "w", "-o", npy}, exitOK},
		{[]string{"extract", whole, "w", "-o", npy}, exitFailure}, // it is there
		{[]string{"verify"}, exitUsage},
		{[]string{"nosuch"}, exitUsage},
		{[]string{"verify", npy, "--nosuch"}, exitUsage},
		{[]string{"verify", filepath.Join(dir, "none")}, exitNotFound},
		{[]string{"cat", whole, "v"}, exitNotFound},
		{[]string{"verify", damaged}, exitCorrupt},
	} {
		if got := run(t.Context(), c.args, io.Discard, io.Discard); got != c.want {
			t.Errorf("%q: exit status %d, want %d", c.args, got, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := run(ended, []string{"verify", whole}, io.Discard, io.Discard); got != exitInterrupted {
		t.Errorf("interrupted: exit status %d", got)
	}
	if got := exitCode(ended, &bivouac.PreemptedError{}); got != exitPreempted {
		t.Errorf("preempted: exit status %d", got)
	}
}
