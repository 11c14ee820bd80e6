package serve

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/journal/tensorboard/tensorboardtest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// journalOf reads the journal of a run.
func journalOf(t *testing.T, dir string) *journal.Reader {
	t.Helper()
	st, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(t.Context(), st, "")
	if err != nil || len(r.Problems()) > 0 {
		t.Fatal(err, r.Problems())
	}
	return r
}

// kinds returns the rows of the only attempt of a run, each in a word.
func kinds(t *testing.T, r *journal.Reader) (words []string) {
	t.Helper()
	if len(r.Attempts()) != 1 {
		t.Fatalf("%d attempts, want 1", len(r.Attempts()))
	}
	for row, err := range r.Rows(t.Context(), r.Attempts()[0], journal.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		word := string(row.Kind)
		if row.Event != nil {
			word = row.Event.Name
		}
		words = append(words, word)
	}
	return words
}

// steps is a block of steps as it travels. The data are the seconds and the values of each step.
func steps(first int64, columns []int, data ...float64) object {
	var b []byte
	for _, v := range data {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return object{"step": first, "columns": columns, "data": base64.StdEncoding.EncodeToString(b)}
}

// TestJournalOfAClient records steps, a save, events and the end.
func TestJournalOfAClient(t *testing.T) {
	c := served(t)
	dir, board := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "board")
	id, mem := c.arena(4096)
	mem[0] = 5
	run := c.quiet("training.open", object{"dir": dir, "journal": true}).Checkpointer
	c.quiet("training.journal", object{"checkpointer": run, "tensorboard": board,
		"start": object{"from": 0, "world": 2, "seed": "7", "program": "train.py", "runtime": "python3"}})
	c.failed(errs.Sequence, "training.journal", object{"checkpointer": run, "start": object{"from": 0}})
	c.quiet("training.record", object{"checkpointer": run, "journal": object{"begin": true, "names": []string{},
		"rows": []any{[]any{"resumed", "0", "", ""}}}})
	c.quiet("training.record", object{"checkpointer": run, "journal": object{"names": []string{"loss", "größe"},
		"rows": []any{steps(1, []int{0}, 0.25, 0.5), steps(2, []int{1, 0}, 0.5, math.NaN(), -1e-300)}}})
	c.quiet("training.save", object{"checkpointer": run, "step": 2, "force": true, "arena": id,
		"items": object{"state": object{"tree": raw(`["d",["w"],[["a","uint8",[4],0]]]`)}}})
	// The rows are there when the step is.
	if words := strings.Join(kinds(t, journalOf(t, dir)), " "); !strings.HasPrefix(words, "start resumed step step") {
		t.Errorf("rows after the save: %s", words)
	}
	c.quiet("training.record", object{"checkpointer": run, "journal": object{"names": []string{"loss"},
		"rows": []any{steps(3, []int{0}, 0.75, 3), []any{"pass ended", "", "", ""}}},
		"end": object{"outcome": "failed", "error": "ValueError"}})
	c.quiet("training.close", object{"checkpointer": run})
	r := journalOf(t, dir)
	if words := strings.Join(kinds(t, r), " "); words != "start resumed step step save step pass ended end" {
		t.Errorf("rows: %s", words)
	}
	a := r.Attempts()[0]
	if a.Start.World != 2 || a.Start.Seed != "7" || a.Start.Program != "train.py" || a.End() == nil ||
		a.End().Outcome != journal.Failed || a.End().Error != "ValueError" {
		t.Errorf("start %+v, end %+v", a.Start, a.End())
	}
	var recorded []journal.Row
	for row, err := range r.Current(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, row)
	}
	if size, _ := recorded[1].Value("größe"); !math.IsNaN(size) || recorded[1].At != 0.5 || recorded[1].Step != 2 {
		t.Errorf("row %+v", recorded[1])
	}
	if n, _ := recorded[1].Value("job/nonfinite"); n != 1 {
		t.Errorf("%v values are not finite, want 1", n)
	}
	if loss, _ := recorded[1].Value("loss"); loss != -1e-300 {
		t.Errorf("loss %v", loss)
	}
	got, err := tensorboardtest.Read(board)
	if err != nil || len(got["loss"]) != 3 || len(got["größe"]) != 1 {
		t.Errorf("event files have %v, %v", got, err)
	}
}

// TestJournalOfAKilledClient ends the connection: the rows that came are kept, and there is no end.
func TestJournalOfAKilledClient(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := newSidecar(t)
	run := c.quiet("training.open", object{"dir": dir, "journal": true}).Checkpointer
	c.quiet("training.journal", object{"checkpointer": run, "start": object{"from": 0}})
	c.quiet("training.record", object{"checkpointer": run, "journal": object{"names": []string{"loss"},
		"rows": []any{steps(1, []int{0}, 0, 1, 0, 1)}}})
	c.end()
	if words := strings.Join(kinds(t, journalOf(t, dir)), " "); words != "start step step" {
		t.Errorf("rows: %s", words)
	}
}

func TestBadRowsAreRefused(t *testing.T) {
	c := served(t)
	dir := filepath.Join(t.TempDir(), "run")
	run := c.quiet("training.open", object{"dir": dir, "journal": true}).Checkpointer
	start := func(more object) object {
		more["checkpointer"] = run
		return more
	}
	c.failed(errs.Invalid, "training.journal", start(object{"start": object{"from": -1}}))
	c.failed(errs.Invalid, "training.journal", start(object{"start": object{"whence": 1}}))
	c.failed(errs.Invalid, "training.journal", start(object{"start": object{}, "tensorboard": "relative"}))
	c.failed(errs.Unsupported, "training.journal", start(object{"start": object{}, "tensorboard": "s3://bucket/board"}))
	c.quiet("training.journal", start(object{"start": object{"from": 0}}))
	one, two := "AAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAA==" // base64 of 8 and of 16 zeros
	nan, minus := "AAAAAAAA+H8=", "AAAAAAAA8L8="           // of NaN and of -1
	for _, rows := range []string{
		`{"names":["a"],"rows":[{"step":1,"columns":[1],"data":"` + two + `"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[-1],"data":"` + two + `"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[0],"data":"` + one + `"}]}`,
		`{"names":["a"],"rows":[{"step":-1,"columns":[],"data":"` + one + `"}]}`,
		`{"names":["a"],"rows":[{"step":1.5,"columns":[],"data":"` + one + `"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":"` + nan + `"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":"` + minus + `"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":"AAAA"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":"?"}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":""}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":[],"data":null}]}`, `{"names":["a"],"rows":[{"step":1,"columns":[]}]}`,
		`{"names":["a"],"rows":[{"step":1,"columns":{},"data":"` + one + `"}]}`, `{"names":["a"],"rows":[{"stop":1}]}`,
		`{"names":["a"],"rows":[["event"]]}`, `{"names":["a"],"rows":[["event","","","",""]]}`, `{"names":["a"],"rows":[1]}`,
		`{"names":["a"],"rows":[[]]}`, `{"names":["a"],"rows":{}}`, `{"names":[1],"rows":[]}`, `{"names":"a","rows":[]}`,
		`{"names":["\ud800"],"rows":[]}`, `{"nams":[],"rows":[]}`, `[]`, `1`,
	} {
		c.failed(errs.Invalid, "training.record", start(object{"journal": raw(rows)}))
	}
	c.quiet("training.close", start(object{}))
	if _, err := os.Stat(filepath.Join(dir, "journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}

// TestNamesThatTheJournalRefusesAreTold records the other scalars.
func TestNamesThatTheJournalRefusesAreTold(t *testing.T) {
	c := served(t)
	dir := filepath.Join(t.TempDir(), "run")
	run := c.quiet("training.open", object{"dir": dir, "journal": true}).Checkpointer
	c.quiet("training.journal", object{"checkpointer": run, "start": object{"from": 0}})
	id := c.start("training.record", object{"checkpointer": run, "journal": object{
		"names": []string{"", "loss"}, "rows": []any{steps(1, []int{0, 1}, 0, 1, 2), steps(2, []int{0}, 0, 1)}}})
	told := 0
	c.await(func(s said) bool {
		if s.Event == "journal failed" {
			told++
		}
		return s.ID == id && s.Event == ""
	})
	c.quiet("training.close", object{"checkpointer": run})
	n := 0
	for row, err := range journalOf(t, dir).Current(t.Context()) {
		n++
		if v, ok := row.Value("loss"); err != nil || n == 1 && (!ok || v != 2) {
			t.Errorf("row %+v, %v", row, err)
		}
	}
	if n != 2 || told != 1 {
		t.Errorf("%d steps, told %d times", n, told)
	}
}

// TestRowsWithoutAJournalAreDropped shows that a save is not refused because of them.
func TestRowsWithoutAJournalAreDropped(t *testing.T) {
	c := served(t)
	dir := filepath.Join(t.TempDir(), "run")
	for _, asked := range []bool{false, true} {
		run := c.quiet("training.open", object{"dir": dir, "journal": asked}).Checkpointer
		c.quiet("training.record", object{"checkpointer": run, "journal": object{"names": []string{"loss"},
			"rows": []any{steps(1, []int{0}, 0, 1)}}, "end": object{"outcome": "done"}})
		if !asked {
			c.failed(errs.Sequence, "training.journal", object{"checkpointer": run, "start": object{}})
		}
		c.quiet("training.close", object{"checkpointer": run})
	}
	if _, err := os.Stat(filepath.Join(dir, "journal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}
