package demo

import (
	"context"
	"os"
	"strings"
	"testing"
)

// The README and docs/status.md show the digests that the demo prints. They are golden: a change of
// them is a change of behaviour, and CHANGELOG.md must say so.
func TestPagesShowTheDigests(t *testing.T) {
	if testing.Short() {
		t.Skip("trains twice; not in short mode")
	}
	o := Options{Dir: t.TempDir(), Command: childOf(real), Seed: 7, Kills: NoKills}
	r, err := Run(context.Background(), o, new(quiet))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"README.md", "docs/status.md"} {
		page, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]bool{}
		for line := range strings.Lines(string(page)) {
			lines[strings.Join(strings.Fields(line), " ")] = true
		}
		for _, row := range r.rows() {
			want := row.name + " " + row.a + " " + row.b + " equal"
			if !lines[want] {
				t.Errorf("%s: want the line %q, got none (if the change is intended, say so in CHANGELOG.md)", file, want)
			}
		}
	}
}
