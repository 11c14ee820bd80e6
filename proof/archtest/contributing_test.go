package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var quotedWord = regexp.MustCompile("`([^`\n]+)`")

// unknownPaths returns the paths that a text quotes and that are not below top. A word is a
// path if it has a slash and begins with an entry of top. Of a path with a placeholder, such
// as op/FAMILY/NAME.go, the directories before it count.
func unknownPaths(text, top string) (out []string) {
	entries, _ := os.ReadDir(top)
	for _, m := range quotedWord.FindAllStringSubmatch(text, -1) {
		for word := range strings.FieldsSeq(m[1]) {
			word = strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/...")
			first, _, ok := strings.Cut(word, "/")
			if !ok || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == first }) {
				continue
			}
			at := regexp.MustCompile(`/[^/]*[A-Z]{4}`).FindStringIndex(word)
			path := word
			if at != nil {
				path = word[:at[0]]
			}
			if _, err := os.Stat(filepath.Join(top, path)); err != nil {
				out = append(out, word)
			}
		}
	}
	return out
}

// The map in CONTRIBUTING.md names files and packages that are there.
func TestContributingNamesPathsThatExist(t *testing.T) {
	for text, want := range map[string][]string{ // the check finds what is to be found
		"`op/FAMILY/NAME.go`, `internal/nosuch/NAME.go`":       {"internal/nosuch/NAME.go"},
		"`go test ./op/... ./op/nosuch/...`, `text/tabwriter`": {"op/nosuch"},
		"`proof/archtest/floors.go` and `internal/nosuch.go`.": {"internal/nosuch.go"},
	} {
		if got := unknownPaths(text, root); !slices.Equal(got, want) {
			t.Fatalf("in %q: %q, want %q", text, got, want)
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range unknownPaths(string(b), root) {
		t.Errorf("CONTRIBUTING.md: %s is not there", word)
	}
}
