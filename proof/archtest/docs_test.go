package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	testWord     = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	runPattern   = regexp.MustCompile(`-(?:run|fuzz|bench) (?:'([^']*)'|"([^"]*)"|([^\s'"` + "`" + `]+))`)
)

// testsOf returns the names of all tests, fuzz targets, benchmarks and examples.
func testsOf(t *testing.T, root string) (names []string) {
	t.Helper()
	walk(t, root, "_test.go", func(_ string, b []byte) {
		for _, m := range testFunction.FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
	})
	return names
}

// walk visits the files of the repository whose names end in suffix.
func walk(t *testing.T, root, suffix string, visit func(name string, b []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && name != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "shared") {
			return fs.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(name, suffix) {
			return nil
		}
		b, err := os.ReadFile(name)
		if err == nil {
			visit(name, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unknownTests returns the tests that a text names and that are not there: words that
// look like the name of a test, and the alternatives of patterns of -run, -fuzz and -bench
// that match none.
func unknownTests(text string, names []string) (out []string) {
	text = strings.ReplaceAll(text, `\|`, "|") // in tables
	var patterns []string
	rest := runPattern.ReplaceAllStringFunc(text, func(s string) string {
		m := runPattern.FindStringSubmatch(s)
		patterns = append(patterns, strings.Split(m[1]+m[2]+m[3], "|")...)
		return ""
	})
	for _, p := range patterns {
		p, _, _ = strings.Cut(strings.TrimRight(p, "`.,;:)"), "/")
		re, err := regexp.Compile(p)
		if err != nil || p != "^$" && p != "" && !slices.ContainsFunc(names, re.MatchString) {
			out = append(out, "-run "+p)
		}
	}
	for _, word := range testWord.FindAllString(rest, -1) {
		if !slices.Contains(names, word) {
			out = append(out, word)
		}
	}
	return out
}

// Every test that a document names is there.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	const root = "../.."
	names := testsOf(t, root)
	for text, want := range map[string][]string{ // the check finds what is to be found
		"`TestDocumentsNameTestsThatExist`, TestNoSuch/case":         {"TestNoSuch"},
		"`go test ./x -run 'NameTestsThat\\|NoSuch'`":                {"-run NoSuch"},
		"go test -run TestDocumentsNameTests/a,_b -bench NoSuch ./x": {"-run NoSuch"},
		"go test -run '^$' -bench .":                                 nil,
	} {
		if got := unknownTests(text, names); !slices.Equal(got, want) {
			t.Fatalf("in %q: %q, want %q", text, got, want)
		}
	}
	walk(t, root, ".md", func(name string, b []byte) {
		if filepath.Base(name) == "CHANGELOG.md" {
			return // tells of tests as they were
		}
		for _, word := range unknownTests(string(b), names) {
			t.Errorf("%s: %s is not there", name, word)
		}
	})
}
