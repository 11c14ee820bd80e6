package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

// ask makes a request and returns the answer.
func ask(t *testing.T, q map[string]any) map[string]json.RawMessage {
	t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := exchange(context.Background(), body, &out); err != nil {
		t.Fatal(err)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func randomLeaves(seed uint64) []leaf {
	n := newTrees(rand.New(rand.NewPCG(seed, 1)), zarrLimits(options.DefaultLayout)).tree()
	return describe(n)
}

func TestExchangeRun(t *testing.T) {
	dir, leaves := filepath.Join(t.TempDir(), "run"), randomLeaves(3)
	run := map[string]any{
		"path": dir, "preserve": map[string]any{"policy": "BestN", "args": map[string]any{"metric": "loss", "n": 1, "reverse": true}},
		"names": map[string]any{"step_prefix": "s", "step_format_fixed_length": 3}, "custom": map[string]any{"a": 1},
	}
	run["do"], run["saves"] = "save", []map[string]any{
		{"step": 1, "leaves": leaves, "data": []int{1}, "metrics": map[string]any{"loss": 2.5}, "custom": map[string]any{"n": 1}},
		{"step": 2, "leaves": leaves, "data": []int{2}, "proto": "fields {\n}\n", "metrics": map[string]any{"loss": 1.5}, "custom": map[string]any{"n": 2}},
	}
	if got := string(ask(t, run)["result"]); got != "[true,true]" {
		t.Fatalf("save: %s", got)
	}
	run["do"] = "view"
	var v runView
	if err := json.Unmarshal(ask(t, run)["result"], &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Steps) != 1 || v.Steps[0].Step != 2 || *v.Latest != 2 || *v.Best != 2 || string(v.Custom) != `{"a":1}` {
		t.Fatalf("view: %d steps, latest %d, best %d, custom %s", len(v.Steps), *v.Latest, *v.Best, v.Custom)
	}
	s := v.Steps[0]
	if d := differences(leaves, s.Leaves); len(d) > 0 || string(s.Data) != "[2]" || s.Metrics["loss"] != 1.5 ||
		string(s.Custom) != `{"n":2}` {
		t.Errorf("step: %q, %s, %v, %s", d, s.Data, s.Metrics, s.Custom)
	}
	if s.Proto == nil || *s.Proto != "fields {\n}\n" {
		t.Error("the proto item is another")
	}
}

func TestExchangeSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	one := []leaf{{Keys: []string{"a"}, Kinds: []string{"dict"}, Kind: "none"}}
	for _, q := range []map[string]any{
		{"do": "part", "path": path, "leaves": one},
		{"do": "finalize", "path": path},
		{"do": "update", "path": path, "leaves": []leaf{{Keys: []string{"b"}, Kinds: []string{"dict"}, Kind: "empty_list"}}},
	} {
		if a := ask(t, q); string(a["result"]) != "true" {
			t.Fatalf("%s: %s", q["do"], a["text"])
		}
	}
	var got []leaf
	if err := json.Unmarshal(ask(t, map[string]any{"do": "load", "path": path})["result"], &got); err != nil ||
		len(got) != 2 {
		t.Errorf("load: %v, %v", got, err)
	}
	if a := ask(t, map[string]any{"do": "finalize", "path": path}); !strings.Contains(string(a["error"]), "already exists") {
		t.Errorf("finalize again: %s", a)
	}
	if err := exchange(context.Background(), []byte(`{"do":"nothing"}`), &bytes.Buffer{}); err == nil {
		t.Error("an unknown request passed")
	}
}
