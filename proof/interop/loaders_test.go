package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Loaders that Bivouac wrote go on as it said, and a difference is told.
func TestLoaders(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := writeLoaders(ctx, root, 11, 40); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compareLoaders(ctx, root, &out); err != nil || !strings.Contains(out.String(), "40 loaders, 0 differences") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	file := filepath.Join(root, "007", "case.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c loaderCase
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	c.Rest[1] = append(c.Rest[1], []int64{-1})
	if b, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := compareLoaders(ctx, root, &out); err == nil ||
		!strings.Contains(out.String(), "DIFFERENCE "+filepath.Join(root, "007")) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
