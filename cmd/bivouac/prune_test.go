package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// Nothing is removed of a run that a training writes.
func TestPruneBesideTraining(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c, err := training.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step := range int64(4) {
		if _, err := c.Save(t.Context(), step, map[string]any{"w": []float32{1}},
			&training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	_, errText, code := command(t, "prune", dir, "--keep-last", "1")
	if code != exitFailure || !strings.Contains(errText, "busy") {
		t.Errorf("exit status %d: %s", code, errText)
	}
	out, errText, code := command(t, "prune", dir, "--keep-last", "1", "--skip-busy")
	if code != exitOK || !strings.HasPrefix(out, "busy: nothing was removed") {
		t.Errorf("with --skip-busy: exit status %d: %s%s", code, out, errText)
	}
	if _, _, code := command(t, "prune", dir, "--keep-last", "1", "--dry-run"); code != exitOK {
		t.Errorf("a dry run: exit status %d", code)
	}
	for _, args := range [][]string{{"rm", dir, "--step", "1"}, {"rm", "-r", dir}, {"rm", "-r", "--force", dir}} {
		if _, errText, code := command(t, args...); code != exitFailure || !strings.Contains(errText, "busy") {
			t.Errorf("%q: exit status %d: %s", args, code, errText)
		}
	}
	if _, _, code := command(t, "protect", dir, "--step", "1"); code != exitOK {
		t.Errorf("protect: exit status %d", code)
	}
	if err := c.Reload(t.Context()); err != nil || len(c.Steps()) != 4 {
		t.Errorf("the steps are %v, %v", c.Steps(), err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	out, _, code = command(t, "prune", dir, "--keep-last", "1")
	if code != exitOK || !strings.Contains(out, "2 steps kept, 2 removed") {
		t.Errorf("after the training: exit status %d: %s", code, out)
	}
}
