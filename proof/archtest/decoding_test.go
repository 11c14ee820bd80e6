package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linksOnly are the packages whose tests link codec/jpeg and learn nothing from a second decoder.
// Most do not call it: their coverage of it is 0. The others call it only through packages that are
// in DECODING; package codec/jpeg compares both decoders pixel by pixel.
//
//	go test -coverpkg=./codec/jpeg PACKAGE
var linksOnly = []string{
	"cmd/bivouac", "examples/coco", "examples/digits", "examples/quickstart", "examples/shards", "examples/speech", "examples/train",
	"examples/video", "pipeline/graph", "pipeline/recipe", "recipes",
	"proof/conform", "proof/conform/dali", "proof/documents",
	"compat/dali", "dynamic/checkpoint", "dynamic/fn", "dynamic/random", "dynamic/readers",
	"proof/growth/gate", "proof/interop", "proof/pages", "loader/timeline", "op", "pipeline/fn", "reader", "serve",
	// Through readers.sequence.
	"loader/dataset", "bench/readers", ".",
	"examples/augment", "examples/boxes", "examples/segmentation", "format/arrowipc", "reader/arrow", "reader/parquet",
}

// A package whose tests call codec/jpeg is tested with cgo too: the list in the Makefile and
// linksOnly are together what links it.
func TestDecodingIsWhatLinksTheDecoder(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^DECODING = ((?:.*\\\n)*.*)$`).FindSubmatch(b)
	if m == nil {
		t.Fatal("the Makefile has no list DECODING")
	}
	var decoding []string
	for _, p := range strings.Fields(strings.ReplaceAll(string(m[1]), "\\\n", " ")) {
		decoding = append(decoding, strings.TrimPrefix(p, "./"))
	}
	for _, problem := range compareDecoding(testsThatLink(t, "codec/jpeg"), decoding, linksOnly) {
		t.Error(problem)
	}
}

// testsThatLink returns the packages whose tests link a package of the module.
func testsThatLink(t *testing.T, name string) (out []string) {
	t.Helper()
	module := Module().Module
	cmd := exec.Command("go", "list", "-test", "-f",
		`{{if .ForTest}}{{.ForTest}}{{else}}{{.ImportPath}}{{end}} {{join .Deps " "}}`, "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		test, ok := strings.CutSuffix(fields[0], ".test")
		if ok && slices.Contains(fields[1:], module+"/"+name) {
			out = append(out, relative(test, module))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compareDecoding names every package that is in the wrong list, or in none.
func compareDecoding(linking, decoding, linksOnly []string) (out []string) {
	for _, p := range linking {
		switch decodes, links := slices.Contains(decoding, p), slices.Contains(linksOnly, p); {
		case decodes && links:
			out = append(out, p+": is in DECODING and in linksOnly; remove it from one")
		case !decodes && !links:
			out = append(out, p+": its tests link codec/jpeg; add it to DECODING in the Makefile, or to linksOnly if they do not call it")
		}
	}
	for _, p := range slices.Concat(decoding, linksOnly) {
		if !slices.Contains(linking, p) {
			out = append(out, p+": is listed, and its tests do not link codec/jpeg; remove it")
		}
	}
	return out
}

func TestCompareDecoding(t *testing.T) {
	linking := []string{"a", "b", "c"}
	if got := compareDecoding(linking, []string{"a"}, []string{"b", "c"}); len(got) > 0 {
		t.Errorf("sound lists: %q", got)
	}
	for _, tt := range []struct {
		decoding, linksOnly []string
		want                string
	}{
		{[]string{"a"}, []string{"b"}, "c: its tests link codec/jpeg"},
		{[]string{"a", "b"}, []string{"b", "c"}, "b: is in DECODING and in linksOnly"},
		{[]string{"a", "gone"}, []string{"b", "c"}, "gone: is listed"},
		{[]string{"a"}, []string{"b", "c", "gone"}, "gone: is listed"},
	} {
		if got := compareDecoding(linking, tt.decoding, tt.linksOnly); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("%q and %q: got %q, want %q", tt.decoding, tt.linksOnly, got, tt.want)
		}
	}
}
