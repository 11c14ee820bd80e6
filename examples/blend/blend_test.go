package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/reader"
)

// A run that stops twice ends with the digest of a run that does not.
func TestBlendGoesOn(t *testing.T) {
	if _, err := reader.Schema("tokens"); err != nil {
		t.Skip(err)
	}
	whole, parts := t.TempDir(), t.TempDir()
	var want, got bytes.Buffer
	if err := run(context.Background(), whole, steps, &want); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{37, 120, steps} {
		got.Reset()
		if err := run(context.Background(), parts, stop, &got); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != want.String() || !strings.HasPrefix(want.String(), "200 steps, ") {
		t.Errorf("want %s, got %s", &want, &got)
	}
	t.Log(want.String())
}

// The guide shows the data.yaml of this example.
func TestGuideShowsTheFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/data-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, append([]byte("```yaml\n"), append(bytes.Clone(dataYAML), "```\n"...)...)) {
		t.Error("docs/guide/data-yaml.md has another data.yaml: copy examples/blend/data.yaml into it")
	}
}
