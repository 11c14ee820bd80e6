package npy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const vectors = "../../testdata/formats/npy"

// verdict is an entry of the recorded cases.
type verdict struct {
	File          string
	Error         []string
	UnsupportedOK bool `json:"unsupported_ok"`
	content       []byte
}

func (v verdict) isArchive() bool { return strings.HasSuffix(v.File, ".npz") }

func recorded(tb testing.TB) []verdict {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(vectors, "expect.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var doc struct{ Files []verdict }
	if err := json.Unmarshal(b, &doc); err != nil {
		tb.Fatal(err)
	}
	for i := range doc.Files {
		v := &doc.Files[i]
		if v.content, err = os.ReadFile(filepath.Join(vectors, v.File)); err != nil {
			tb.Fatal(err)
		}
	}
	if len(doc.Files) < 50 {
		tb.Fatalf("only %d recorded cases", len(doc.Files))
	}
	return doc.Files
}
