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

// Datasets that Bivouac wrote go on as it said, and a difference is told.
func TestStreaming(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := writeStreaming(ctx, root, 5, 40); err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // what streaming would add
		file := filepath.Join(root, caseName(i), "case.json")
		c := readStreaming(t, file)
		_, before, err := c.play()
		if err != nil {
			t.Fatal(err)
		}
		c.Before = before
		writeJSON(t, file, c)
	}
	var out bytes.Buffer
	if err := compareStreaming(ctx, root, &out); err != nil ||
		!strings.Contains(out.String(), "40 datasets, 0 differences") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for i, change := range []func(c *streamingCase){
		func(c *streamingCase) { c.Rest[1][0] = append(c.Rest[1][0], 7) },
		func(c *streamingCase) { c.Before = append(c.Before, []int64{7}) },
		func(c *streamingCase) { c.State = bytes.Replace(c.State, []byte(`"epoch":`), []byte(`"epoch":1`), 1) },
		func(c *streamingCase) { c.Refused = "ValueError" },
	} {
		file := filepath.Join(root, caseName(i), "case.json")
		c := readStreaming(t, file)
		change(&c)
		writeJSON(t, file, c)
		out.Reset()
		if err := compareStreaming(ctx, root, &out); err == nil || strings.Count(out.String(), "DIFFERENCE ") != i+1 {
			t.Errorf("change %d: %v\n%s", i, err, out.String())
		}
	}
}

func readStreaming(t *testing.T, file string) (c streamingCase) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
