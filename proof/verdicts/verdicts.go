// Package verdicts reads files of a format with what the reference readers said of them.
package verdicts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Read returns the cases of expect.json in dir, a folder of testdata/formats. file gives the
// name of a case's file, and where its content belongs.
func Read[V any](tb testing.TB, dir string, file func(*V) (name string, content *[]byte)) []V {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var doc struct{ Files []V }
	if err := json.Unmarshal(b, &doc); err != nil {
		tb.Fatal(err)
	}
	for i := range doc.Files {
		name, content := file(&doc.Files[i])
		if *content, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			tb.Fatal(err)
		}
	}
	if len(doc.Files) < 50 {
		tb.Fatalf("only %d recorded cases", len(doc.Files))
	}
	return doc.Files
}
