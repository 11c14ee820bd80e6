package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusalsAreOrbaxs: of odd and damaged checkpoints Verify says that Orbax refuses them
// where Orbax 0.12.8 did, and nowhere else.
func TestRefusalsAreOrbaxs(t *testing.T) {
	b, err := os.ReadFile("../../testdata/orbax/refusals.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Bases map[string]map[string]*string `json:"bases"`
		Cases []struct {
			refusal
			Base    json.Number        `json:"base"`
			Changes map[string]*string `json:"changes"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(b, &recorded); err != nil {
		t.Fatal(err)
	}
	said := map[bool]int{}
	for i, c := range recorded.Cases {
		files := maps.Clone(recorded.Bases[c.Base.String()])
		maps.Copy(files, c.Changes)
		dir := t.TempDir()
		for name, data := range files {
			if data != nil {
				put(t, filepath.Join(dir, filepath.FromSlash(name)), strings.HasSuffix(name, "/"), *data)
			}
		}
		said[c.Refused != nil]++
		if d := c.judge(context.Background(), dir); d != "" {
			t.Errorf("case %d: %s: %s", i, c.How, d)
		}
	}
	if said[true] < 100 || said[false] < 100 {
		t.Errorf("Orbax refused %d and loaded %d, want at least 100 of each", said[true], said[false])
	}
}

// put writes a file from base64, or makes a directory.
func put(t *testing.T, at string, dir bool, data string) {
	t.Helper()
	parent := filepath.Dir(at)
	if dir {
		parent = at
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err == nil {
		err = os.MkdirAll(parent, 0o755)
	}
	if err == nil && !dir {
		err = os.WriteFile(at, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
