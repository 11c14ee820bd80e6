package mistake

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// Told is what the error of a mistake says.
type Told struct {
	Kind   string `json:"kind"`
	Want   string `json:"want,omitempty"`
	Got    string `json:"got,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	Text   string `json:"text"` // all of it
}

// ToldFile returns the name of the file beside a table that has what the errors say.
func ToldFile(table string) string { return strings.TrimSuffix(table, ".json") + "_told.json" }

// ReadTold returns what the errors of a table say, by mistake.
func ReadTold(table string) (map[string]Told, error) {
	b, err := os.ReadFile(ToldFile(table))
	if err != nil {
		return nil, err
	}
	told := map[string]Told{}
	return told, json.Unmarshal(b, &told)
}

// changing are the parts of errors that differ from run to run: directories of tests, holders of
// locks, and random names.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(os.TempDir(), "/")) + `/Test[^/\s]*/\d{3}\b`), "DIR"},
	{regexp.MustCompile(`process \d+ on \S+ since \d\S+Z`), "process PID on HOST since TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "NONCE"},
	{regexp.MustCompile(`0x[0-9a-f]+`), "ADDRESS"},
}

// steady returns a text without the parts that change.
func steady(s string) string {
	for _, c := range changing {
		s = c.pattern.ReplaceAllString(s, c.by)
	}
	return s
}

// hear takes an error apart: the outermost of each part that is present.
func hear(err error) Told {
	told := Told{Kind: errs.KindOf(err).String(), Text: steady(err.Error())}
	var e *errs.Error
	for cause := err; errors.As(cause, &e); cause = e.Err {
		for _, part := range []struct {
			of   *string
			text string
		}{{&told.Want, e.Want}, {&told.Got, e.Got}, {&told.Remedy, e.Remedy}} {
			if *part.of == "" {
				*part.of = steady(part.text)
			}
		}
	}
	return told
}

// holdTold holds what the errors say against the file beside the table. BIVOUAC_TOLD=1 in the
// environment writes the file, from a run of all rows.
func holdTold(t *testing.T, table string, heard map[string]Told) {
	t.Helper()
	if t.Failed() {
		return
	}
	if os.Getenv("BIVOUAC_TOLD") != "" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(heard); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ToldFile(table), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := ReadTold(table)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range heard {
		if got != want[name] {
			t.Errorf("%s: the error says\n%+v\nand %s has\n%+v\n(BIVOUAC_TOLD=1 go test writes it anew)", name, got,
				ToldFile(table), want[name])
		}
	}
}
