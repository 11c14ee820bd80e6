package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const mit = "Permission is hereby granted, free of charge, to any person\nobtaining a copy\n"

func TestRenderAndParse(t *testing.T) {
	want := []entry{
		{"example.com/a", "v1.0.0", "MIT", []text{{"LICENSE", mit}, {"sub/NOTICE", "one\n\ntwo\n"}}},
		{"std", "go", "BSD-3-Clause", nil},
	}
	b, err := render(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{"text\n", "=== module a\n", "=== module a v1 MIT\ntext\n", "=== file LICENSE\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	want[0].Texts[0].Body = "a\n=== module b v1 MIT\n"
	if _, err := render(want); err == nil {
		t.Error("a text that looks like a heading is written")
	}
}

// Each way in which the list can be wrong is named.
func TestDifferences(t *testing.T) {
	listed := func(version, body string) []entry {
		return []entry{{"example.com/a", version, "MIT", []text{{"LICENSE", body}}}}
	}
	linked := listed("v1.0.0", mit)
	elsewhere := entry{"example.com/windows", "v2.0.0", "MIT", []text{{"LICENSE", mit}}}
	versions := map[string]string{"example.com/a": "v1.0.0", "example.com/windows": "v2.0.0"}
	for _, tt := range []struct {
		name    string
		written []entry
		want    string // part of the only difference; empty: none
	}{
		{"same", listed("v1.0.0", mit), ""},
		{"linked on another platform", append(listed("v1.0.0", mit), elsewhere), ""},
		{"missing", nil, "is linked and not listed"},
		{"older", listed("v0.9.0", mit), "version v1.0.0 is linked, v0.9.0 is listed"},
		{"other text", listed("v1.0.0", "other\n"), "are not the module's"},
		{"no longer required", append(listed("v1.0.0", mit), entry{Module: "example.com/gone", Version: "v1.0.0"}), "is listed, and go.mod"},
	} {
		got := differences(tt.written, linked, versions)
		if tt.want == "" && len(got) == 0 || len(got) == 1 && tt.want != "" && strings.Contains(got[0], tt.want) {
			continue
		}
		t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
	}
}

func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		texts []text
		want  string // empty: refused
	}{
		{[]text{{"LICENSE", mit}}, "MIT"},
		{[]text{{"LICENSE", "Apache License\n  Version 2.0, January 2004\n"}, {"sub/LICENSE.txt", mit}}, "Apache-2.0 AND MIT"},
		{[]text{{"LICENSE", mit}, {"PATENTS", "a grant\n"}}, "MIT"},
		{[]text{{"LICENSE", mit}, {"sub/LICENSE", "GNU GENERAL PUBLIC LICENSE\n"}}, ""},
		{[]text{{"PATENTS", "a grant\n"}}, ""},
		{nil, ""},
	} {
		if got, err := identify(tt.texts); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tt.texts, got, err, tt.want)
		}
	}
}

// Files count beside linked packages and above them, and nowhere else.
func TestTextsOf(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"LICENSE", "a/LICENSE.txt", "a/b/NOTICE", "a/b/license.go", "c/LICENSE"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x \r\ny\n\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := textsOf(top, []string{filepath.Join(top, "a", "b")})
	if err != nil {
		t.Fatal(err)
	}
	want := []text{{"LICENSE", "x\ny\n"}, {"a/LICENSE.txt", "x\ny\n"}, {"a/b/NOTICE", "x\ny\n"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
