package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mistakeTables are the tables of wrong calls, which tests hold, and their titles.
var mistakeTables = []struct{ title, file string }{
	{"Saving and loading", "checkpoint/testdata/mistakes"},
	{"Partial saves", "checkpoint/partial/testdata/mistakes"},
	{"Training", "checkpoint/training/testdata/mistakes"},
	{"Leaves", "checkpoint/testdata/leaves"},
}

// mistake is a row of a table.
type mistake struct {
	Mistake, Bivouac, Why string
}

// told is what its error says.
type told struct{ Kind, Want, Got, Remedy, Text string }

const catalogueHead = `# Errors

Each error of Bivouac says what failed, what was wanted, what was found, and what to do. This page
lists the errors of wrong calls. The tests make each of these calls, and compare what the error says
with this list. In a program, ` + "`errors.Is(err, errs.NotFound)`" + ` tells the kind.

| Kind | When | Exit status of the command |
|---|---|---|
| not found | the named thing does not exist | 3 |
| already exists | the target exists and must not be replaced | 1 |
| invalid | an argument, option or name is malformed | 2 |
| mismatch | two things that must agree do not: shape, dtype, structure | 4 |
| corrupt | stored bytes are damaged | 4 |
| unsupported | legal, and not something that this build can do | 1 |
| exhausted | a limit was reached: disk, memory budget, quota | 1 |
| canceled | the context ended or the operation was cancelled | 130 |
| permission denied | the system refused access | 1 |
| i/o error | the system failed for another reason | 1 |
| closed | the object was used after Close | 1 |
| busy | another operation or process holds the resource | 1 |
| out of sequence | the call does not fit the state of the object | 1 |

[What comes of mistakes](compat/mistakes.md) compares the same calls with Orbax.
`

// catalogue returns the page of errors. It fails if a row has no recorded error, or the other way
// around.
func catalogue(root string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(catalogueHead)
	for _, table := range mistakeTables {
		var rows []mistake
		all := map[string]told{}
		if err := readJSON(filepath.Join(root, table.file+".json"), &rows); err != nil {
			return nil, err
		}
		if err := readJSON(filepath.Join(root, table.file+"_told.json"), &all); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n## %s\n", table.title)
		used := map[string]bool{}
		for _, r := range rows {
			t, ok := all[r.Mistake]
			if r.Bivouac == "ok" {
				continue
			}
			if !ok || t.Kind != r.Bivouac {
				return nil, fmt.Errorf("%s: %q: want the error that was recorded, of kind %s, got %q", table.file, r.Mistake,
					r.Bivouac, t.Kind)
			}
			used[r.Mistake] = true
			t.write(&b, r)
		}
		for name := range all {
			if !used[name] {
				return nil, fmt.Errorf("%s_told.json: %q: want a row of %s.json, got none", table.file, name, table.file)
			}
		}
	}
	return b.Bytes(), nil
}

// write writes an entry: the call, the kind, the cause and the remedy.
func (t told) write(b *bytes.Buffer, r mistake) {
	fmt.Fprintf(b, "\n### %s\n\n", escaped(r.Mistake))
	fmt.Fprintf(b, "- Kind: %s\n", t.Kind)
	cause := ""
	if t.Want != "" {
		cause = "want " + t.Want
	}
	if t.Got != "" {
		cause = strings.TrimPrefix(cause+", got "+t.Got, ", ")
	}
	if cause == "" {
		cause = t.Text
	}
	fmt.Fprintf(b, "- Cause: %s\n", escaped(cause))
	switch {
	case t.Remedy != "":
		fmt.Fprintf(b, "- Remedy: %s\n", escaped(t.Remedy))
	case t.Want != "":
		fmt.Fprintf(b, "- Remedy: give %s\n", escaped(t.Want))
	default:
		b.WriteString("- Remedy: change the call as the cause says\n")
	}
	if r.Why != "" {
		fmt.Fprintf(b, "- Why: %s\n", escaped(r.Why))
	}
	fence := "```"
	for strings.Contains(t.Text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n%stext\n%s\n%s\n", fence, strings.TrimRight(t.Text, "\n"), fence)
}

// escaped returns a text of one line that Markdown shows as it is.
func escaped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#+-!|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// readJSON reads a file of JSON.
func readJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// errorKinds returns the kinds that the head of the page lists.
func errorKinds() (kinds []string) {
	for line := range strings.Lines(catalogueHead) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			kinds = append(kinds, strings.TrimSpace(cells[1]))
		}
	}
	return slices.Delete(kinds, 0, 2) // the head of the table
}
