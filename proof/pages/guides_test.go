package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/declared"
)

const module = "../.."

// documents are the texts of the module, by their paths below it.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = string(b)
		}
	}
	return out
}

var (
	code   = regexp.MustCompile("(?s)```.*?```")
	link   = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	proof  = regexp.MustCompile(`\b((?:Test|Example|Fuzz|Benchmark)[A-Z]\w*)\b`)
	proves = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
)

// Links lead to files that are there.
func TestLinks(t *testing.T) {
	for file, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %s leads nowhere", file, m[1])
			}
		}
	}
}

// Tests and examples that a document names exist.
func TestNamedProofsExist(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range proves.FindAllStringSubmatch(string(b), -1) {
			known[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range documents(t) {
		for _, m := range proof.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which is nowhere", file, m[1])
			}
		}
	}
}

var identifier = regexp.MustCompile("`(?:\\*|&|\\[\\])?((?:checkpoint|options|handler|partial|training|integrity|diff|surgery|tree|tensor|errs|store|pipeline|fn|dynamic|random|readers)\\.[A-Z]\\w*(?:\\.[A-Z]\\w*)?)")

// Names of packages that a document quotes are declared. Options also have the members of the
// options that they embed.
func TestQuotedNamesAreDeclared(t *testing.T) {
	names := declared.In(module)
	for file, text := range documents(t) {
		text, gone := withoutOldNames(text)
		for _, m := range identifier.FindAllStringSubmatch(gone, -1) {
			if names.Check(m[1]) == nil {
				t.Errorf("%s: %s is in the column of old names, and still declared", file, m[1])
			}
		}
		for _, m := range identifier.FindAllStringSubmatch(text, -1) {
			err := names.Check(m[1])
			if member := m[1][strings.LastIndex(m[1], ".")+1:]; err != nil && strings.Count(m[1], ".") == 2 &&
				strings.Contains(m[1], "Options.") {
				if names.Check("options.Options."+member) == nil || names.Check("options.Bivouac."+member) == nil {
					continue
				}
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// withoutOldNames cuts the first cells out of the tables below "### Renamed", and returns these
// cells too.
func withoutOldNames(text string) (rest, old string) {
	renamed := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			renamed = strings.TrimSpace(line) == "### Renamed"
		}
		if cells := strings.SplitN(line, "|", 3); renamed && len(cells) == 3 && cells[0] == "" {
			old += cells[1] + "\n"
			line = "|" + cells[2]
		}
		rest += line
	}
	return rest, old
}

func TestOldNamesAreCut(t *testing.T) {
	rest, old := withoutOldNames("`a.A`\n### Renamed\n| old | new |\n| `a.B` | `a.C` |\n## Next\n| `a.D` | `a.E` |\n")
	if want := "`a.A`\n### Renamed\n| new |\n| `a.C` |\n## Next\n| `a.D` | `a.E` |\n"; rest != want {
		t.Errorf("the rest: want %q, got %q", want, rest)
	}
	if want := " old \n `a.B` \n"; old != want {
		t.Errorf("the old names: want %q, got %q", want, old)
	}
}
