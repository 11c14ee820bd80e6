package augment

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of the Python client anew")

// TestPythonTables makes the tables of the Python client from the suites, policies and limits of
// this package, and compares them with its file; with -update it writes the file.
func TestPythonTables(t *testing.T) {
	path := filepath.Join("..", "..", "python", "bivouac", "auto_aug", "_tables.py")
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		t.Skip("the Python client is not here")
	}
	want := pythonTables()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the tables of this package (run go generate ./op/augment)", path)
	}
}

// pythonTables is a module with texts as parseAugmentation and parsePolicy read them.
func pythonTables() []byte {
	var b bytes.Buffer
	b.WriteString(`"""The suites and policies of automatic augmentation. "go generate ./op/augment" writes this file.

SUITES have augmentations with the ranges of their magnitudes. POLICIES have sub-policies:
augmentations with their probabilities and bins. LIMITS have the longest translations, in pixels
and as a share of the extent.
"""

from __future__ import annotations

`)
	fmt.Fprintf(&b, "POLICY_BINS = %d\n\n", policyBins)
	b.WriteString("LIMITS: dict[str, tuple[int, float]] = {\n")
	for i, name := range []string{"rand_augment", "trivial_augment_wide", "auto_augment"} {
		share := strconv.FormatFloat(limits[i][1], 'g', -1, 64)
		if float64(int(limits[i][1])) == limits[i][1] {
			share += ".0"
		}
		fmt.Fprintf(&b, "    %q: (%d, %s),\n", name, int(limits[i][0]), share)
	}
	b.WriteString("}\n\n")
	pythonTexts(&b, "SUITES", map[string][]string{
		"rand_augment": randSuite, "rand_augment_non_monotonic": unevenSuite, "trivial_augment_wide": wideSuite,
		"auto_augment": policySuite,
	})
	b.WriteString("\n")
	pythonTexts(&b, "POLICIES", policies)
	return b.Bytes()
}

func pythonTexts(b *bytes.Buffer, name string, tables map[string][]string) {
	fmt.Fprintf(b, "%s: dict[str, tuple[str, ...]] = {\n", name)
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(b, "    %q: (\n", key)
		for _, text := range tables[key] {
			fmt.Fprintf(b, "        %q,\n", text)
		}
		b.WriteString("    ),\n")
	}
	b.WriteString("}\n")
}
