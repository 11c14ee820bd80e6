package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// HDF5 may begin with a block of its user, so its first bytes stand at some powers of two.
func TestRecognise(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	const hdf5 = "\x89HDF\r\n\x1a\n"
	for content, want := range map[string]string{
		hdf5:                                  "an HDF5 file",
		strings.Repeat("u", 512) + hdf5 + "x": "an HDF5 file",
		strings.Repeat("u", 2048) + hdf5:      "an HDF5 file",
		strings.Repeat("u", 100) + hdf5:       "another file",
		strings.Repeat("u", 2048) + hdf5[:7]:  "another file",
		"GGUF\x03":                            "a GGUF file",
		"GGU":                                 "another file",
		"":                                    "another file",
		"xGGUF":                               "another file",
		strings.Repeat("u", 512) + "GGUF\x03\x00": "another file",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := noCheckpoint(t.Context(), file)
		wantKind := errs.Unsupported
		if want == "another file" {
			wantKind = errs.Invalid
		}
		if got := newFailureText(err).Got; got != want || errs.KindOf(err) != wantKind {
			t.Errorf("%.20q: %s, %v", content, got, err)
		}
	}
}
