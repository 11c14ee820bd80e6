package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An alteration of what a data set holds is seen, and so is a data set without a case.
func TestAlterationsOfDataSetsAreSeen(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"i":-5`, `"i":-6`, "read_back[0].i"},
		{`{"decimal":"0.125"}`, `{"decimal":"0.5"}`, "read_back[1].dec"},
		{`{"float":"0x1.0000000000000p-2"}`, `{"float":"0x1.0000000000000p-3"}`, "read_back[1].fs"},
		{`"shape":[1,3]`, `"shape":[3]`, "read_back[2].nd"},
		{`"s":"sé"`, `"s":"s"`, "read_back[0].s"},
		{`{"id":1,`, `{"id":2,`, "read_back[1].js"},
		{`"samples":25`, `"samples":24`, "25 samples, want 24"},
		{`"index.json":"`, `"index.json":"0`, "index.json is not the file"},
		{`"dir":"mds-none-900-25"`, `"dir":"mds-zstd-900-25"`, "mds-none-900-25: no case"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "streaming"))); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "mds.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), `\u00e9`, "é")
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s has no %s", name, c.old)
		}
		writeFile(t, name, []byte(strings.Replace(text, c.old, c.new, 1)))
		code, out := conform("-suite", "streaming", "-only", "mds", dir)
		if code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want a failure that says %q\n%s", c.new, code, c.want, out)
		}
	}
}
