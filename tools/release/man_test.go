package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"testing"
)

// The pages that the command writes are compressed, with the same bytes each time. A command that
// writes none fails the release.
func TestManPages(t *testing.T) {
	r := &release{commands: map[string][]byte{}}
	host := runtime.GOOS + "/" + runtime.GOARCH
	r.commands[host] = []byte("#!/bin/sh\nmkdir -p \"$2\" && cd \"$2\" && echo .TH A > bivouac.1 && " +
		"echo .TH B > bivouac-ls.1\n")
	first, err := r.manPages(t.Context())
	if err != nil || len(first) != 2 {
		t.Fatalf("%d pages, %v", len(first), err)
	}
	again, err := r.manPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range first {
		if !bytes.Equal(b, again[name]) {
			t.Errorf("%s differs in a second run", name)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(first["bivouac-ls.1.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != ".TH B\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, wrong := range []string{"#!/bin/sh\nexit 3\n", "#!/bin/sh\nexit 0\n"} {
		r.commands[host] = []byte(wrong)
		if pages, err := r.manPages(t.Context()); err == nil {
			t.Errorf("%q: %d pages", wrong, len(pages))
		}
	}
}
