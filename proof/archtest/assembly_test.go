package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wide matches the registers that only AVX-512 has. The assembler takes them without a word and
// encodes an instruction that other processors refuse with SIGILL.
var wide = regexp.MustCompile(`\b(Z[0-9]+|[XY](1[6-9]|2[0-9]|3[01])|K[0-7])\b`)

// needsMore returns the lines of functions that use registers of AVX-512 and do not say so by their
// name.
func needsMore(source string) []string {
	var out []string
	function := ""
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(strings.TrimSpace(line), "//")
		if name, ok := strings.CutPrefix(code, "TEXT ·"); ok {
			function, _, _ = strings.Cut(name, "(")
			continue
		}
		if !strings.Contains(function, "AVX512") && wide.MatchString(code) {
			out = append(out, function+": "+code)
		}
	}
	return out
}

// A function runs on every processor that its name asks for: registers 16 to 31, masks and 512-bit
// vectors are for functions with AVX512 in their name, which callers reach after a look at the
// processor.
func TestAssemblyKeepsToItsInstructionSet(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_amd64.s") {
			return nil
		}
		files++
		b, err := os.ReadFile(path)
		for _, line := range needsMore(string(b)) {
			t.Errorf("%s: %s: want registers of AVX2 only", filepath.ToSlash(path), line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 3 {
		t.Errorf("found %d files of assembly, want at least 3", files)
	}
}

func TestAssemblyLawCanFail(t *testing.T) {
	for source, want := range map[string]int{
		"TEXT ·mapAVX2(SB), NOSPLIT, $64-56\n\tVPMULUDQ mixer<>+0(SB), Y14, Y16\n": 1,
		"TEXT ·mapAVX2(SB), NOSPLIT, $0\n\tVPADDQ Y14, Y15, Y1 // Y16\n":           0,
		"TEXT ·mapAVX512(SB), NOSPLIT, $0\n\tVPADDQ Z1, Z17, Z1\n":                 0,
		"TEXT ·sum(SB), NOSPLIT, $0\n\tKMOVQ K1, AX\n":                             1,
	} {
		if got := needsMore(source); len(got) != want {
			t.Errorf("%q: got %v, want %d lines", source, got, want)
		}
	}
}
