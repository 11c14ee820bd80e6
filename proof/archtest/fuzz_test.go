package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// Each fuzz target has a corpus beside it, so that every test run tries what was
// once of interest.
func TestFuzzCorpora(t *testing.T) {
	targets := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipDir(root, path, d.Name())
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range fuzzTarget.FindAllSubmatch(b, -1) {
			targets++
			corpus := filepath.Join(filepath.Dir(path), "testdata", "fuzz", string(m[1]))
			if files, _ := os.ReadDir(corpus); len(files) < 3 {
				t.Errorf("%s: %d files in %s", path, len(files), corpus)
			}
		}
		return nil
	})
	if err != nil || targets < 30 {
		t.Errorf("%d targets: %v", targets, err)
	}
}
