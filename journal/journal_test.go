package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manual makes a Writer that writes only in Flush and Close.
var manual = journal.WriterOptions{Every: -1}

func memory(t testing.TB) store.Store {
	t.Helper()
	return local.New(vfstest.NewMem(), "/", nil)
}

// stores are the stores that the tests of whole journals use.
func stores(t *testing.T) map[string]store.Store {
	t.Helper()
	disk, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]store.Store{
		"disk":   disk,
		"bucket": object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(nil), "", object.Options{}),
	}
}

// values returns a set of scalars.
func values(pairs ...any) *journal.Scalars {
	s := &journal.Scalars{}
	for i := 0; i < len(pairs); i += 2 {
		if err := s.Set(pairs[i].(string), pairs[i+1].(float64)); err != nil {
			panic(err)
		}
	}
	return s
}

func open(t testing.TB, st store.Store) *journal.Reader {
	t.Helper()
	r, err := journal.Open(t.Context(), st, "run")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows returns the rows and the damage of an attempt.
func rows(t testing.TB, r *journal.Reader, a *journal.Attempt) (list []journal.Row, damage []error) {
	t.Helper()
	for row, err := range r.Rows(t.Context(), a, journal.Position{}) {
		if err != nil {
			damage = append(damage, err)
			continue
		}
		list = append(list, row)
	}
	return list, damage
}

// text describes rows for comparison.
func text(list []journal.Row) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s %d", r.Kind, r.Step)
		for _, s := range r.Scalars {
			fmt.Fprintf(&b, " %s=%v", s.Name, s.Value)
		}
		if r.Save != nil {
			fmt.Fprintf(&b, " %+v", *r.Save)
		}
		if r.Event != nil {
			fmt.Fprintf(&b, " %+v", *r.Event)
		}
		if r.Lost != nil {
			fmt.Fprintf(&b, " %+v", *r.Lost)
		}
		if r.End != nil {
			fmt.Fprintf(&b, " %+v", *r.End)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			w := journal.New(st, "run", journal.Start{From: 10, Steps: 100, World: 8, Seed: "7"}, nil)
			w.Begin()
			tenth := 0.1
			w.Step(11, values("loss", tenth+0.2, "lr", 1e-7))
			w.Step(12, values("loss", math.NaN(), "up", math.Inf(1), "down", math.Inf(-1), `a "b", {c}`, math.Copysign(0, -1)))
			w.Save(12, journal.Save{Bytes: 5, Blocked: 0.25, Took: 1.5})
			w.Event(journal.Event{Name: "damage found", Object: "10/state", Error: "line\nbreak"})
			w.End(journal.End{Outcome: journal.Done})
			w.Step(13, values("loss", 1.0))
			for range 2 {
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r := open(t, st)
			if len(r.Attempts()) != 1 || len(r.Problems()) != 0 {
				t.Fatalf("got %d attempts and problems %v, want 1 and none", len(r.Attempts()), r.Problems())
			}
			a := r.Attempts()[0]
			if s := a.Start; !a.Known || s.From != 10 || s.World != 8 || s.Seed != "7" || s.Version != 1 || a.Number != 1 {
				t.Errorf("start is %+v", a.Start)
			}
			if a.End() == nil || a.End().Outcome != journal.Done {
				t.Errorf("end is %+v, want done", a.End())
			}
			list, damage := rows(t, r, a)
			want := "start 10\n" +
				"step 11 loss=0.30000000000000004 lr=1e-07\n" +
				`step 12 loss=NaN up=+Inf down=-Inf a "b", {c}=-0` + "\n" +
				"save 12 {Bytes:5 Blocked:0.25 Took:1.5 Error:}\n" +
				"event 12 {Name:damage found Object:10/state Tier: Reason: Error:line\nbreak}\n" +
				"end 12 {Outcome:done Error:}\n"
			if got := text(list); got != want || damage != nil {
				t.Errorf("got\n%swant\n%sdamage %v", got, want, damage)
			}
		})
	}
}

func TestRunWithoutJournalHasNoAttempts(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			if r := open(t, st); len(r.Attempts()) != 0 || len(r.Problems()) != 0 {
				t.Errorf("got %v, %v", r.Attempts(), r.Problems())
			}
			w := journal.New(st, "run", journal.Start{}, nil)
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := open(t, st); len(r.Attempts()) != 0 {
				t.Errorf("an attempt that recorded nothing has files: %+v", r.Attempts())
			}
		})
	}
}

// TestLastValueOfAStepCounts also checks that a value does not leak into the next step.
func TestLastValueOfAStepCounts(t *testing.T) {
	st := memory(t)
	w := journal.New(st, "run", journal.Start{}, &manual)
	s := values("loss", 1.0, "lr", 2.0, "loss", 3.0)
	w.Step(1, s)
	s.Clear()
	_ = s.Set("lr", 4)
	w.Step(2, s)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := open(t, st)
	list, _ := rows(t, r, r.Attempts()[0])
	if got, want := text(list), "start 0\nstep 1 loss=3 lr=2\nstep 2 lr=4\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	var s journal.Scalars
	for name, kind := range map[string]errs.Kind{"": errs.Invalid, strings.Repeat("x", 201): errs.Invalid} {
		if err := s.Set(name, 1); !errors.Is(err, kind) {
			t.Errorf("%.10q: got %v, want %v", name, err, kind)
		}
	}
	for i := range journal.MaxScalars {
		if err := s.Set(fmt.Sprint(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set("one more", 1); !errors.Is(err, errs.Exhausted) {
		t.Errorf("got %v, want exhausted", err)
	}
	if err := s.Set("0", 2); err != nil {
		t.Errorf("a known name: %v", err)
	}
}

// TestSegmentsFollowEachOther also checks that reading continues at each position.
func TestSegmentsFollowEachOther(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 400})
			for step := range int64(50) {
				w.Step(step+1, values("loss", float64(step)/3))
				if step%7 == 0 {
					if err := w.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := open(t, st)
			a := r.Attempts()[0]
			if len(a.Files) < 10 {
				t.Fatalf("%d segments, want at least 10", len(a.Files))
			}
			list, damage := rows(t, r, a)
			if len(list) != 51 || damage != nil || a.Last.Step != 50 {
				t.Fatalf("%d rows, damage %v, last %d; want 51, none, 50", len(list), damage, a.Last.Step)
			}
			for i, row := range list {
				var rest []journal.Row
				for next, err := range r.Rows(t.Context(), a, row.Next) {
					if err != nil {
						t.Fatal(err)
					}
					rest = append(rest, next)
				}
				if got, want := text(rest), text(list[i+1:]); got != want {
					t.Fatalf("after row %d: got\n%swant\n%s", i, got, want)
				}
			}
		})
	}
}

// TestAttemptsNeverShareFiles starts writers that all see the same folder.
func TestAttemptsNeverShareFiles(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var work sync.WaitGroup
			for k := range 8 {
				work.Go(func() {
					w := journal.New(st, "run", journal.Start{}, nil)
					w.Step(1, values("k", float64(k)))
					if err := w.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
			r := open(t, st)
			seen := map[float64]bool{}
			for _, a := range r.Attempts() {
				v, _ := a.Last.Value("k")
				seen[v] = true
			}
			if len(seen) != 8 || len(r.Attempts()) != 8 {
				t.Errorf("%d attempts with %d values, want 8 and 8", len(r.Attempts()), len(seen))
			}
			w := journal.New(st, "run", journal.Start{}, nil)
			w.Step(1, values("k", 9.0))
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := r.Attempts()[7].Number
			if err := r.Refresh(t.Context()); err != nil || r.Attempts()[8].Number != before+1 {
				t.Errorf("the next attempt is %d (%v), want %d", r.Attempts()[8].Number, err, before+1)
			}
		})
	}
}

// TestRowsArriveInTheBackground checks that a reader sees rows without Flush, and not one write a
// row.
func TestRowsArriveInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: memory(t)}
		w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: 5 * time.Second})
		for step := range int64(1000) {
			w.Step(step+1, values("loss", 1.0))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		r := open(t, st)
		if last := r.Attempts()[0].Last; last.Step < 950 || last.At < 94 || last.At > 100 {
			t.Errorf("the last row is of step %d after %v s, want at least 950 of 1000", last.Step, last.At)
		}
		if puts := st.puts; puts < 18 || puts > 22 {
			t.Errorf("%d writes in 100 seconds, want 20", puts)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// counting counts the writes of a store, and fails some.
type counting struct {
	store.Store
	mu    sync.Mutex
	puts  int
	fails func(put int) bool // may be nil
	after func()             // called after each write; may be nil
}

func (c *counting) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.puts++
	if c.fails != nil && c.fails(c.puts) {
		return &errs.Error{Kind: errs.IO, Op: "store.Put", Subject: name, Got: "no answer"}
	}
	err := c.Store.Put(ctx, name, bytes.Clone(b), o)
	if c.after != nil {
		c.after()
	}
	return err
}

// TestStoreThatFailsLosesNothing draws which writes fail. A flush that returned nil has all rows,
// and the next flush that succeeds brings what the failed ones did not.
func TestStoreThatFailsLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := &counting{Store: memory(t)}
		bad := rapid.SliceOfN(rapid.Bool(), 64, 64).Draw(rt, "fails")
		st.fails = func(put int) bool { return put < len(bad) && bad[put] }
		w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1,
			SegmentBytes: rapid.IntRange(1, 600).Draw(rt, "segment")})
		step := int64(0)
		check := func() {
			r := open(t, st)
			if step == 0 {
				return
			}
			list, damage := rows(t, r, r.Attempts()[0])
			if damage != nil || int64(len(list)) != step+1 {
				rt.Fatalf("%d rows, damage %v; want %d", len(list), damage, step+1)
			}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "rows") {
			step++
			w.Step(step, values("loss", float64(step)))
			if rapid.Bool().Draw(rt, "flush") && w.Flush(t.Context()) == nil {
				check()
			}
		}
		st.fails = nil
		if err := w.Close(t.Context()); err != nil {
			rt.Fatal(err)
		}
		check()
	})
}

// TestKillAtAnyInstantLeavesAPrefix reads the journal after each write as if the process had ended
// there.
func TestKillAtAnyInstantLeavesAPrefix(t *testing.T) {
	st := &counting{Store: memory(t)}
	w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 700})
	var flushed int
	st.after = func() {
		r, err := journal.Open(context.Background(), st.Store, "run")
		if err != nil {
			t.Fatal(err)
		}
		a := r.Attempts()[0]
		list, damage := rows(t, r, a)
		if damage != nil || len(r.Problems()) > 0 || len(list) < flushed+1 || a.End() != nil {
			t.Fatalf("%d rows, want at least %d; damage %v %v", len(list), flushed+1, damage, r.Problems())
		}
		for i, row := range list[1:] {
			if row.Step != int64(i+1) {
				t.Fatalf("row %d is of step %d", i, row.Step)
			}
		}
	}
	for step := 1; step <= 60; step++ {
		w.Step(int64(step), values("loss", 1/float64(step)))
		if step%9 == 0 {
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			flushed = step
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFullMemoryIsToldAsLost makes a store fail until rows must be dropped.
func TestFullMemoryIsToldAsLost(t *testing.T) {
	st := &counting{Store: memory(t), fails: func(int) bool { return true }}
	w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 300, PendingBytes: 2000})
	for step := int64(1); step <= 100; step++ {
		w.Step(step, values("loss", 1.0))
	}
	if err := w.Flush(t.Context()); !errors.Is(err, errs.IO) {
		t.Fatalf("got %v, want the error of the store", err)
	}
	st.fails = nil
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Step(101, values("loss", 1.0))
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := open(t, st)
	list, damage := rows(t, r, r.Attempts()[0])
	if damage != nil {
		t.Fatal(damage)
	}
	var lost *journal.Lost
	kept := int64(0)
	for _, row := range list {
		if row.Lost != nil {
			lost = row.Lost
		} else if row.Kind == journal.StepRow && lost == nil {
			kept = row.Step
		}
	}
	if lost == nil || lost.First != kept+1 || lost.Last != 100 || lost.Rows != 100-kept || kept < 10 {
		t.Fatalf("lost is %+v after %d rows", lost, kept)
	}
	if last := list[len(list)-1]; last.Step != 101 {
		t.Errorf("the last row is of step %d, want 101", last.Step)
	}

	st.fails = func(int) bool { return true }
	w = journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 300, PendingBytes: 600})
	for step := int64(1); step <= 100; step++ {
		w.Step(step, values("loss", 1.0))
	}
	err := w.Close(t.Context())
	if !errors.Is(err, errs.IO) || !errors.Is(err, errs.Exhausted) ||
		!strings.Contains(err.Error(), "to 100 were dropped") {
		t.Errorf("Close returns %v, want the error of the store and the dropped rows", err)
	}
}

// TestAddingARowAllocatesNothing checks that a step costs no garbage.
func TestAddingARowAllocatesNothing(t *testing.T) {
	w := journal.New(memory(t), "run", journal.Start{}, &journal.WriterOptions{Every: -1, SegmentBytes: 64 << 20})
	s, names := &journal.Scalars{}, []string{"loss", "lr", "gradient norm"}
	step := int64(0)
	add := func() {
		s.Clear()
		for _, name := range names {
			if err := s.Set(name, 1/float64(step+3)); err != nil {
				t.Fatal(err)
			}
		}
		step++
		w.Step(step, s)
	}
	for range 100_000 { // the buffer grows first
		add()
	}
	if n := testing.AllocsPerRun(1000, add); n > 0.01 {
		t.Errorf("%v allocations a step, want none", n)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// discarding takes all writes and keeps nothing.
type discarding struct{ store.Store }

func (discarding) Put(context.Context, string, []byte, store.PutOptions) error { return nil }

func BenchmarkStep(b *testing.B) {
	w := journal.New(discarding{memory(b)}, "run", journal.Start{}, nil)
	s, names := &journal.Scalars{}, []string{"loss", "lr", "gradient norm", "job/seconds", "job/samples_per_second"}
	b.ReportAllocs()
	for step := int64(1); b.Loop(); step++ {
		s.Clear()
		for _, name := range names {
			if err := s.Set(name, 1/float64(step+3)); err != nil {
				b.Fatal(err)
			}
		}
		w.Step(step, s)
	}
	b.StopTimer()
	if err := w.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
