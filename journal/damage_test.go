package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
)

// specimen writes an attempt of several segments and returns its files and rows.
func specimen(t testing.TB, st store.Store) (files map[string][]byte, list []journal.Row) {
	t.Helper()
	w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 200})
	for step := int64(1); step <= 6; step++ {
		w.Step(step, values("loss", 1/float64(step), "lr", math.NaN()))
	}
	w.Save(6, journal.Save{Bytes: 77})
	w.End(journal.End{Outcome: journal.Failed, Error: "why"})
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := open(t, st)
	files = map[string][]byte{}
	for _, f := range r.Attempts()[0].Files {
		b, err := store.ReadAll(t.Context(), st, path.Join("run/journal", f.Name))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = b
	}
	list, _ = rows(t, r, r.Attempts()[0])
	return files, list
}

func put(t testing.TB, st store.Store, name string, b []byte) {
	t.Helper()
	if err := st.Put(t.Context(), path.Join("run/journal", name), b, store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestEachFlippedBitIsFound flips each bit of each file. No row that is read differs from what was
// written, and the damage is told.
func TestEachFlippedBitIsFound(t *testing.T) {
	st := memory(t)
	files, list := specimen(t, st)
	written := map[string]bool{}
	for _, row := range list {
		written[text([]journal.Row{row})] = true
	}
	for name, whole := range files {
		for bit := range len(whole) * 8 {
			b := bytes.Clone(whole)
			b[bit/8] ^= 1 << (bit % 8)
			put(t, st, name, b)
			r := open(t, st)
			a := r.Attempts()[0]
			got, damage := rows(t, r, a)
			if damage == nil {
				t.Fatalf("%s: bit %d: no damage is told", name, bit)
			}
			if all := slices.Concat(damage, r.Problems()); !strings.Contains(errors.Join(all...).Error(), name) {
				t.Fatalf("%s: bit %d: the file is not named: %v", name, bit, all)
			}
			for _, err := range slices.Concat(damage, r.Problems()) {
				if !errors.Is(err, errs.Corrupt) {
					t.Fatalf("%s: bit %d: %v", name, bit, err)
				}
			}
			for _, row := range got {
				if one := text([]journal.Row{row}); !written[one] {
					t.Fatalf("%s: bit %d: read a row that was not written: %s", name, bit, one)
				}
			}
			if len(got) < len(list)-2 { // a flipped newline joins two lines
				t.Fatalf("%s: bit %d: %d rows of %d", name, bit, len(got), len(list))
			}
		}
		put(t, st, name, whole)
	}
}

// TestEachCutIsFound cuts each file at each byte.
func TestEachCutIsFound(t *testing.T) {
	st := memory(t)
	files, _ := specimen(t, st)
	for name, whole := range files {
		for n := range whole {
			put(t, st, name, whole[:n])
			r := open(t, st)
			a := r.Attempts()[0]
			got, damage := rows(t, r, a)
			last := a.Files[len(a.Files)-1].Name == name
			onLine := n > 0 && whole[n-1] == '\n'
			if damage == nil && !(last && onLine) { // rows that are missing at the very end were never there
				t.Fatalf("%s cut at %d: no damage is told", name, n)
			}
			for _, row := range got {
				if row.Kind == journal.StepRow && row.Scalars[0].Value != 1/float64(row.Step) {
					t.Fatalf("%s cut at %d: step %d has %v", name, n, row.Step, row.Scalars)
				}
			}
		}
		put(t, st, name, whole)
	}
	if r := open(t, st); len(r.Problems()) > 0 {
		t.Fatal(r.Problems())
	}
}

func TestMissingSegmentIsTold(t *testing.T) {
	for missing := range 2 {
		st := memory(t)
		specimen(t, st)
		r := open(t, st)
		f := r.Attempts()[0].Files[missing]
		if err := st.RemoveTree(t.Context(), path.Join("run/journal", f.Name)); err != nil {
			t.Fatal(err)
		}
		r = open(t, st)
		a := r.Attempts()[0]
		if !a.Known || a.Start.ID != a.ID {
			t.Errorf("without segment %d the start is not known", missing+1)
		}
		_, damage := rows(t, r, a)
		if len(r.Problems()) != 1 || len(damage) != 1 || !errors.Is(damage[0], errs.Corrupt) {
			t.Errorf("without segment %d: problems %v, damage %v; want one each", missing+1, r.Problems(), damage)
		}
	}
}

func TestForeignFilesAreTold(t *testing.T) {
	st := memory(t)
	specimen(t, st)
	for _, name := range []string{"notes.txt", "1-abc.1.jsonl", "000001-0123456789abcdef.0001.jsonl", "x/y.jsonl"} {
		put(t, st, name, []byte("hello\n"))
	}
	r := open(t, st)
	if len(r.Attempts()) != 1 || len(r.Problems()) != 4 {
		t.Errorf("%d attempts, problems %v; want 1 and 4", len(r.Attempts()), r.Problems())
	}
}

func TestRenamedSegmentIsTold(t *testing.T) {
	st := memory(t)
	files, _ := specimen(t, st)
	for name, b := range files {
		if strings.Contains(name, ".000001.") {
			put(t, st, "000002-0123456789abcdef.000001.jsonl", b)
		}
	}
	r := open(t, st)
	if len(r.Problems()) != 1 || !errors.Is(r.Problems()[0], errs.Mismatch) || r.Attempts()[1].Known {
		t.Errorf("problems %v, want a mismatch", r.Problems())
	}
}

// TestLineOfTheDocument reads the line in docs/format/journal.md, whose checksum another program
// computed.
func TestLineOfTheDocument(t *testing.T) {
	line := `{"kind":"step","step":12,"t":3.204101,"scalars":{"loss":0.5,"lr":0.001},"crc":"d06921fe"}`
	row, err := journal.ParseLine([]byte(line))
	if err != nil || row.Step != 12 || len(row.Scalars) != 2 || row.Scalars[1].Value != 0.001 {
		t.Errorf("got %+v, %v", row, err)
	}
}

// TestNewerVersionIsToldAndRead writes what a newer version might write.
func TestNewerVersionIsToldAndRead(t *testing.T) {
	st := memory(t)
	name := "000001-0123456789abcdef.000001.jsonl"
	put(t, st, name, slices.Concat(
		journal.Seal(`{"kind":"start","step":3,"t":0,"start":{"version":2,"attempt":1,"id":"0123456789abcdef",`+
			`"segment":1,"from":3,"colour":"red"}`),
		journal.Seal(`{"kind":"step","step":4,"t":1.5,"scalars":{"loss":0.5},"colour":"red"`),
		journal.Seal(`{"kind":"dream","step":4,"t":1.5,"dream":{"of":"sheep"}`)))
	r := open(t, st)
	if len(r.Problems()) != 1 || !errors.Is(r.Problems()[0], errs.Unsupported) {
		t.Errorf("problems %v, want that the version is newer", r.Problems())
	}
	list, damage := rows(t, r, r.Attempts()[0])
	if len(list) != 3 || damage != nil || list[1].Scalars[0].Value != 0.5 || list[2].Kind != "dream" ||
		!bytes.Contains(list[2].Raw, []byte("sheep")) {
		t.Errorf("got %+v, damage %v", list, damage)
	}
}

// TestQuickFormEqualsJSON compares the reader of step rows with encoding/json.
func TestQuickFormEqualsJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s journal.Scalars
		for range rapid.IntRange(0, 5).Draw(rt, "scalars") {
			_ = s.Set(rapid.String().Draw(rt, "name"), rapid.Float64().Draw(rt, "value"))
		}
		at := time.Duration(rapid.Int64Range(0, 1e18).Draw(rt, "at"))
		line := bytes.TrimSuffix(journal.AppendStep(nil, rapid.Int64().Draw(rt, "step"), at, &s), []byte("\n"))
		quick, err := journal.ParseLine(line)
		if err != nil {
			rt.Fatal(err)
		}
		// A space in front of a member is the same JSON, but not the quick form.
		open := string(line[:bytes.LastIndex(line, []byte(`,"crc"`))])
		other := bytes.TrimSuffix(journal.Seal(strings.Replace(open, `"kind"`, ` "kind"`, 1)), []byte("\n"))
		slow, err := journal.ParseLine(other)
		if err != nil {
			rt.Fatal(err)
		}
		if a, b := text([]journal.Row{quick}), text([]journal.Row{slow}); a != b || quick.At != slow.At {
			rt.Fatalf("got %s and %s", a, b)
		}
		for name, v := range s.All() {
			if got, ok := quick.Value(name); !ok || math.Float64bits(got) != math.Float64bits(v) && !math.IsNaN(v) {
				rt.Fatalf("%q is %v, want %v", name, got, v)
			}
		}
	})
}

// TestResumedRunReadsAsOneRun draws runs that are killed and resumed. What Current yields equals a
// table in which each step has the value of the last attempt that did it, up to where later
// attempts began.
func TestResumedRunReadsAsOneRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := memory(t)
		truth := map[int64]float64{}
		committed := []int64{0}
		for attempt := range rapid.IntRange(1, 6).Draw(rt, "attempts") {
			from := rapid.SampledFrom(committed).Draw(rt, "from") // damage may send it back further than the last step
			for step := range truth {
				if step > from {
					delete(truth, step)
				}
			}
			committed = slices.DeleteFunc(committed, func(s int64) bool { return s > from })
			w := journal.New(st, "run", journal.Start{From: from}, &journal.WriterOptions{Every: -1, SegmentBytes: 300})
			w.Begin()
			for step := from + 1; step <= from+rapid.Int64Range(0, 20).Draw(rt, "steps"); step++ {
				v := float64(attempt)*1000 + float64(step)
				w.Step(step, values("loss", v))
				truth[step] = v
				if rapid.IntRange(0, 4).Draw(rt, "save") == 0 {
					committed = append(committed, step)
				}
			}
			if err := w.Close(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		r := open(t, st)
		got, last := map[int64]float64{}, int64(-1)
		for row, err := range r.Current(t.Context()) {
			if err != nil {
				rt.Fatal(err)
			}
			if row.Step <= last {
				rt.Fatalf("step %d comes after step %d", row.Step, last)
			}
			last = row.Step
			got[row.Step], _ = row.Value("loss")
		}
		if a, b := fmt.Sprint(got), fmt.Sprint(truth); a != b {
			rt.Fatalf("got %s, want %s", a, b)
		}
	})
}

func FuzzParseLine(f *testing.F) {
	for _, text := range []string{
		`{"kind":"step","step":1,"t":0.000001,"scalars":{"loss":0.5,"lr":"NaN"}`,
		`{"kind":"start","step":0,"t":0,"start":{"version":1,"attempt":1,"id":"0123456789abcdef","segment":1,"from":0}`,
		`{"kind":"end","step":9,"t":1,"end":{"outcome":"done"}`,
		`{"kind":"step","step":1,"t":1,"scalars":{"a":1,"a":2}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if row, err := journal.ParseLine(b); err == nil && row.Kind == "" && row.Raw == nil {
			t.Errorf("a row without a kind: %s", strconv.Quote(string(b)))
		}
		line := journal.Seal(string(b))
		if _, err := journal.ParseLine(line[:len(line)-1]); err != nil && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%v is not of kind corrupt", err)
		}
	})
}
