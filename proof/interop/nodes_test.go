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

// Graphs that Bivouac wrote are played as it said, and a difference is told, of a value and
// of a state.
func TestNodes(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := writeNodes(ctx, root, 11, 40); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compareNodes(ctx, root, &out); err != nil || !strings.Contains(out.String(), "40 graphs, 0 differences") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for dir, change := range map[string]func(c *nodesCase){
		"007": func(c *nodesCase) { c.Events[0] = float64(-1) },
		"008": func(c *nodesCase) {
			s := string(c.States[1])
			c.States[1] = json.RawMessage(`{` + s[strings.Index(s, `,`)+1:len(s)-1] + `,"more":1}`)
		},
		"009": func(c *nodesCase) { c.Rest[0] = float64(-1) },
	} {
		file := filepath.Join(root, dir, "case.json")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c nodesCase
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if b, err = json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if err := compareNodes(ctx, root, &out); err == nil ||
			!strings.Contains(out.String(), "DIFFERENCE "+filepath.Join(root, dir)) {
			t.Errorf("%s: %v\n%s", dir, err, out.String())
		}
	}
}
