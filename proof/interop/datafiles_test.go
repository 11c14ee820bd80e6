package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A part of what tools/interop/datafiles.py makes is read equal, and a difference is told.
func TestDataFiles(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/datafiles")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compareData(ctx, root, &out); err != nil || strings.Count(out.String(), " 0 differences") != 3 {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, c := range []struct{ folder, old, new string }{
		{"0000", `"hex": "`, `"hex": "00`},
		{"0003", `"values": [null, `, `"values": [`},
		{"0005", `"dtype": "int8"`, `"dtype": "int16"`},
	} {
		file := filepath.Join(root, c.folder, "case.json")
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(whole, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(changed, whole) {
			t.Fatalf("%s has no %s", file, c.old)
		}
		if err := os.WriteFile(file, changed, 0o666); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if err := compareData(ctx, root, &out); err == nil || !strings.Contains(out.String(), "DIFFERENCE "+c.folder) {
			t.Errorf("%s changed: %v\n%s", c.folder, err, out.String())
		}
		if err := os.WriteFile(file, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := compareData(ctx, t.TempDir(), &out); err == nil {
		t.Error("nothing to compare: no error")
	}
}
