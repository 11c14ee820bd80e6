// Package mistake compares the outcomes of wrong calls with tables.
//
// A table is a JSON file with a row for each mistake: the measured outcome in Orbax 0.12.8, and the
// outcome here. Ids come from the measurements: 5.8 is the eighth mistake, 6.31 the thirty-first
// leaf; several rows may be ways to make one mistake, and rows without an id were not measured.
// docs/compat/mistakes.md is made of the tables. Beside each table is the file of what the errors
// say, NAME_told.json. The catalogue of errors of the site is made of these files.
package mistake

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// Row is one mistake.
type Row struct {
	ID      string   `json:"id,omitempty"`
	Mistake string   `json:"mistake"`
	Orbax   string   `json:"orbax"`          // the error, or "no error" and what comes of it
	Bivouac string   `json:"bivouac"`        // the kind of the error, or "ok"
	Says    []string `json:"says,omitempty"` // what the error names
	Why     string   `json:"why,omitempty"`  // where both do not do the same
}

// Silent reports whether Orbax goes on with something else than it was asked for.
func (r Row) Silent() bool { return strings.HasPrefix(r.Orbax, "no error: ") }

// Name is what documents call the row: its id, and where it has none the mistake.
func (r Row) Name() string {
	if r.ID == "" {
		return r.Mistake
	}
	return r.ID
}

// Read returns the rows of a table.
func Read(file string) ([]Row, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows []Row
	return rows, json.Unmarshal(b, &rows)
}

// Another is the outcome of a call that succeeds with something else than is right.
type Another string

// Error says what came.
func (a Another) Error() string { return "another outcome: " + string(a) }

// Maker makes a mistake, and returns what the wrong call does.
type Maker func(*testing.T) error

// Check makes each mistake of a table, and holds the outcome against its row. Every
// row has its maker, and every maker a row.
func Check(t *testing.T, table string, makers map[string]Maker) {
	t.Helper()
	rows, err := Read(table)
	if err != nil {
		t.Fatal(err)
	}
	listed, heard := map[string]bool{}, map[string]Told{}
	for _, r := range rows {
		listed[r.Mistake] = true
		t.Run(r.Mistake, func(t *testing.T) {
			if makers[r.Mistake] == nil {
				t.Fatal("nothing makes this mistake")
			}
			err := makers[r.Mistake](t)
			r.hold(t, err)
			if err != nil {
				heard[r.Mistake] = hear(err)
			}
		})
	}
	holdTold(t, table, heard)
	for name := range makers {
		if !listed[name] {
			t.Errorf("%q is not in %s", name, table)
		}
	}
}

// hold holds an outcome against the row.
func (r Row) hold(t *testing.T, err error) {
	t.Helper()
	got, says := "ok", ""
	if err != nil {
		got, says = errs.KindOf(err).String(), err.Error()
	}
	if _, other := errors.AsType[Another](err); other || got != r.Bivouac {
		t.Errorf("got %s: %v; the table says %s", got, err, r.Bivouac)
	}
	for _, s := range r.Says {
		if !strings.Contains(says, s) {
			t.Errorf("the error does not name %s: %s", s, says)
		}
	}
}
