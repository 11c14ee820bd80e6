package documents_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

func journalStore(t *testing.T, path string) store.Store {
	st, err := local.Open(path, nil)
	check(t, err)
	return st
}

// journalSpecimens are runs with a journal: every kind of row, attempts of which the last one
// supersedes steps of the others, and segments.
func journalSpecimens() []specimen {
	return []specimen{{name: "journal/run", write: writeJournal, read: readJournal},
		{name: "journal/operators", write: writeOperators, read: readOperators}}
}

// writeOperators writes what the operators of a run have done.
func writeOperators(t *testing.T, path string) {
	check(t, journal.PutOperators(t.Context(), journalStore(t, path), "", journal.Operators{Attempt: "0123456789abcdef",
		Time: time.Date(2026, 11, 29, 6, 0, 0, 123456789, time.UTC), Step: 7, World: 2, Ended: true,
		Profile: stream.Profile{Batches: 9, Samples: 288, Faults: 1, Queue: 2, Depth: 3, ReadAhead: 1 << 20, ReadAheadPeak: 3 << 20,
			Timed: true, Waited: 1500, Starved: 4, Measured: true, Operators: []stream.Operator{
				{Name: "größe", Kind: "readers.file", Reader: true, Samples: 9, Time: 1 << 40, Largest: 5, Held: 6},
				{Name: "crop", Kind: "crop", Inputs: []string{"größe"}, Output: true}}}}))
}

func readOperators(t *testing.T, path string) string {
	o, err := journal.ReadOperators(t.Context(), journalStore(t, path), "")
	check(t, err)
	return fmt.Sprintf("%+v\n", *o)
}

func writeJournal(t *testing.T, path string) {
	st := journalStore(t, path)
	attempt := func(start journal.Start, last int64, end *journal.End) {
		now := time.Date(2026, 11, 29, 6, 0, 0, 123456789, time.UTC)
		w := journal.New(st, "", start, &journal.WriterOptions{Every: -1, SegmentBytes: 700,
			Now: func() time.Time { now = now.Add(1234567 * time.Nanosecond); return now }})
		w.Event(journal.Event{Name: "resumed", Object: fmt.Sprint(start.From)})
		for step := start.From + 1; step <= last; step++ {
			var s journal.Scalars
			check(t, s.Set("loss", 1/float64(step)))
			check(t, s.Set("größe \"\\", math.Inf(int(step%2)-1)))
			if step%3 == 0 {
				check(t, s.Set("odd", math.NaN()))
			}
			w.Step(step, &s)
		}
		w.Save(last, journal.Save{Bytes: 1 << 40, Blocked: 0.25, Took: 1.5})
		w.Save(last, journal.Save{Blocked: 1, Error: "the disk is full"})
		w.Event(journal.Event{Name: "upload failed", Tier: "bucket", Reason: "offline", Error: "i/o error"})
		if end != nil {
			w.End(*end)
		}
		check(t, w.Close(t.Context()))
	}
	attempt(journal.Start{Identity: "width 8", Steps: 9, SaveEvery: 3, Batch: 32, World: 2, Seed: "7", Bivouac: "0.6.0",
		Program: "example.org/train", Build: "v1.2.3", Runtime: "go1.26.1 linux/amd64"}, 8, nil)
	// The memory of this attempt is full until the flush: rows are lost.
	w := journal.New(st, "", journal.Start{From: 8, Fresh: true}, &journal.WriterOptions{Every: -1, SegmentBytes: 100,
		PendingBytes: 100, Now: func() time.Time { return time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC) }})
	for step := range int64(5) {
		if step == 4 {
			check(t, w.Flush(t.Context()))
		}
		var s journal.Scalars
		check(t, s.Set("a scalar with a name that fills a segment by itself", 1))
		w.Step(9+step, &s)
	}
	check(t, w.Close(t.Context()))
	attempt(journal.Start{From: 6, Steps: 9}, 9, &journal.End{Outcome: journal.Failed, Error: "no more batches"})
}

// readJournal returns every row of every attempt, and then the steps that count.
func readJournal(t *testing.T, path string) string {
	r, err := journal.Open(t.Context(), journalStore(t, path), "")
	check(t, err)
	var b strings.Builder
	scalars := func(row journal.Row) {
		for _, s := range row.Scalars {
			fmt.Fprintf(&b, " %s=%v", s.Name, s.Value)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, "problems", len(r.Problems()))
	for _, a := range r.Attempts() {
		fmt.Fprintln(&b, "attempt", a.Number, a.ID, len(a.Files) > 1, a.End() != nil)
		for row, err := range r.Rows(t.Context(), a, journal.Position{}) {
			check(t, err)
			fmt.Fprint(&b, row.Kind, " ", row.Step, " ", row.At)
			switch {
			case row.Start != nil:
				s := *row.Start
				fmt.Fprintln(&b, "", s.Version, s.Attempt, s.ID, s.Segment, s.Rows, s.From, s.Time, s.Fresh, s.Identity, s.Steps,
					s.SaveEvery, s.Batch, s.World, s.Seed, s.Bivouac, s.Program, s.Build, s.Runtime)
			case row.Save != nil:
				fmt.Fprintf(&b, " %d %v %v %q", row.Save.Bytes, row.Save.Blocked, row.Save.Took, row.Save.Error)
			case row.Event != nil:
				e := row.Event
				fmt.Fprintf(&b, " %q %q %q %q %q", e.Name, e.Object, e.Tier, e.Reason, e.Error)
			case row.Lost != nil:
				fmt.Fprint(&b, " ", row.Lost.First, row.Lost.Last, row.Lost.Rows)
			case row.End != nil:
				fmt.Fprintf(&b, " %s %q", row.End.Outcome, row.End.Error)
			}
			scalars(row)
		}
	}
	for row, err := range r.Current(t.Context()) {
		check(t, err)
		fmt.Fprint(&b, "counts ", row.Step)
		scalars(row)
	}
	return b.String()
}
