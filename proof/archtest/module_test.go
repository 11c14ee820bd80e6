package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Go refuses a module with two files whose names differ in case only, and some file systems cannot
// hold them. It also refuses some characters in names.
func TestModuleCanBePacked(t *testing.T) {
	folded := map[string]string{}
	err := filepath.WalkDir("../..", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && name != "../.." && (e.Name() == "dist" || e.Name() == "bin" || strings.HasPrefix(e.Name(), ".")) {
			return fs.SkipDir
		}
		if other, ok := folded[strings.ToLower(name)]; ok {
			t.Errorf("%s and %s differ in case only: rename one of them", other, name)
		}
		folded[strings.ToLower(name)] = name
		if strings.ContainsAny(e.Name(), `"'*<>?|\:`+"`") {
			t.Errorf("%s: the name has a character that Go allows in no module: rename it", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
