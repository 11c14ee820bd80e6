package bivouac_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// lossAt is what the jobs of these tests record.
func lossAt(step int64) float64 { return 1 / float64(step) }

// record runs a job that records its loss, up to step n.
func record(ctx context.Context, dir string, n int64, o bivouac.Options, done func(step int64)) (err error) {
	m := newModel()
	o.State, o.Steps = &m, n
	if o.SaveEvery == 0 {
		o.SaveEvery = 5
	}
	job, err := bivouac.Open(ctx, dir, &counter{Seed: 1}, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	for b, err := range job.Steps(ctx) {
		if err != nil {
			return err
		}
		m.train(b)
		step := job.Step() + 1
		job.Scalar("loss", 0)
		job.Scalars(map[string]float64{"loss": lossAt(step)})
		if step%3 == 0 {
			job.Scalar("norm", math.Inf(1))
		}
		done(step)
	}
	return nil
}

func readJournal(t *testing.T, st store.Store, dir string) *journal.Reader {
	t.Helper()
	r, err := journal.Open(t.Context(), st, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems()) > 0 {
		t.Fatal(r.Problems())
	}
	return r
}

func localStore(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// checkCurrent checks that the rows that count are of steps 1 to last, at least up to least.
func checkCurrent(t *testing.T, r *journal.Reader, least int64) (last int64) {
	t.Helper()
	for row, err := range r.Current(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := row.Value("loss"); row.Step != last+1 || v != lossAt(row.Step) {
			t.Fatalf("after step %d: step %d with %v", last, row.Step, row.Scalars)
		}
		if _, infinite := row.Value("norm"); infinite != (row.Step%3 == 0) {
			t.Fatalf("step %d: %v", row.Step, row.Scalars)
		}
		if n, _ := row.Value("job/nonfinite"); n > 0 != (row.Step%3 == 0) {
			t.Fatalf("step %d: %v", row.Step, row.Scalars)
		}
		if seconds, ok := row.Value("job/seconds"); !ok || seconds < 0 {
			t.Fatalf("step %d took %v s", row.Step, seconds)
		}
		last = row.Step
	}
	if last < least {
		t.Fatalf("the journal ends with step %d, but step %d is committed", last, least)
	}
	return last
}

func TestScalarsOfEachStepAreRecorded(t *testing.T) {
	dir := t.TempDir()
	o := bivouac.Options{BatchSize: 32, Identity: "tiny"}
	if err := record(t.Context(), dir, 12, o, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := record(t.Context(), dir, 20, o, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	r := readJournal(t, localStore(t, dir), "")
	if last := checkCurrent(t, r, 20); last != 20 {
		t.Errorf("the last step is %d, want 20", last)
	}
	if len(r.Attempts()) != 2 {
		t.Fatalf("%d attempts, want 2", len(r.Attempts()))
	}
	a := r.Attempts()[1]
	if a.Start.From != 12 || a.Start.Batch != 32 || a.Start.Identity != "tiny" || a.Start.Steps != 20 ||
		a.End().Outcome != journal.Done {
		t.Errorf("start %+v, end %+v", a.Start, a.End())
	}
	var saves []int64
	resumed := false
	for row, err := range r.Rows(t.Context(), a, journal.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Save != nil && row.Save.Error == "" && row.Save.Took > 0 {
			saves = append(saves, row.Step)
		}
		resumed = resumed || row.Event != nil && row.Event.Name == "resumed"
		if v, ok := row.Value("job/samples_per_second"); row.Kind == journal.StepRow && (!ok || v <= 0) {
			t.Errorf("step %d: %v samples a second", row.Step, v)
		}
	}
	if fmt.Sprint(saves) != "[15 20]" || !resumed {
		t.Errorf("saves %v, resumed %v; want [15 20], true", saves, resumed)
	}
}

// seeded is a stream with the state of a loader.
type seeded struct{ counter }

func (s *seeded) AppendState([]byte) ([]byte, error) {
	return state.Document{Version: state.Version, Kind: "loader", Fields: map[string]string{"seed": "7"},
		Extra: map[string]json.RawMessage{"world": json.RawMessage("3")}}.Marshal()
}

// TestStartSaysSeedAndRanks also shows that they are not known of another stream.
func TestStartSaysSeedAndRanks(t *testing.T) {
	for want, data := range map[string]stream.Stream[int64]{
		"7 of 3": &seeded{counter{Seed: 1}}, " of 0": &counter{Seed: 1},
	} {
		m, dir := newModel(), t.TempDir()
		job, err := bivouac.Open(t.Context(), dir, data, bivouac.Options{State: &m, SaveEvery: bivouac.Never})
		if err != nil {
			t.Fatal(err)
		}
		for range job.Steps(t.Context()) {
			if job.Step() == 2 {
				break
			}
		}
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
		s := readJournal(t, localStore(t, dir), "").Attempts()[0].Start
		if got := fmt.Sprintf("%s of %d", s.Seed, s.World); got != want {
			t.Errorf("seed %q, want %q", got, want)
		}
	}
}

// TestOutcomesAreRecorded leaves the loop in each way.
func TestOutcomesAreRecorded(t *testing.T) {
	for want, leave := range map[journal.Outcome]func(dir string) error{
		journal.Done: func(dir string) error { return record(t.Context(), dir, 7, bivouac.Options{}, func(int64) {}) },
		journal.Failed: func(dir string) error {
			ctx, cancel := context.WithCancel(t.Context())
			return record(ctx, dir, 7, bivouac.Options{}, func(step int64) {
				if step == 4 {
					cancel()
				}
			})
		},
		journal.Stopped: func(dir string) error {
			m := newModel()
			job, err := bivouac.Open(t.Context(), dir, &counter{Seed: 1}, bivouac.Options{State: &m})
			if err != nil {
				return err
			}
			for range job.Steps(t.Context()) {
				job.Scalar("loss", 1)
				if job.Step() == 3 {
					break
				}
			}
			return job.Close()
		},
	} {
		dir := t.TempDir()
		if err := leave(dir); (err != nil) != (want == journal.Failed) {
			t.Errorf("%s: %v", want, err)
		}
		a := readJournal(t, localStore(t, dir), "").Attempts()[0]
		if a.End() == nil || a.End().Outcome != want || (a.End().Error != "") != (want == journal.Failed) {
			t.Errorf("%s: end is %+v", want, a.End())
		}
	}
}

// TestPreemptedAttemptSaysSo also shows that the row is there before Close.
func TestPreemptedAttemptSaysSo(t *testing.T) {
	dir := t.TempDir()
	e, _ := preemptAt(t, dir, 23, bivouac.Options{SaveEvery: 10})
	a := readJournal(t, localStore(t, dir), "").Attempts()[0]
	if a.End() == nil || a.End().Outcome != journal.Preempted || e.Step != 23 ||
		!strings.Contains(a.End().Error, "step 23") {
		t.Errorf("end is %+v", a.End())
	}
}

// TestRecordingChild is the program that TestKilledJobsTellOneStory kills.
func TestRecordingChild(t *testing.T) {
	dir := os.Getenv("BIVOUAC_TEST_RECORD")
	if dir == "" {
		t.Skip("the program of another test")
	}
	o := bivouac.Options{SaveEvery: 4, TensorBoard: boardOf(dir)}
	err := record(t.Context(), dir, 150, o, func(step int64) {
		fmt.Println("step", step)
		time.Sleep(300 * time.Microsecond)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKilledJobsTellOneStory kills a job at many instants. The rows of each committed step are
// there after each kill, and in the end each step has one row that counts.
func TestKilledJobsTellOneStory(t *testing.T) {
	dir := t.TempDir()
	kills, finished := 0, false
	for round := 0; !finished; round++ {
		if round > 60 {
			t.Fatal("the job does not come to its end")
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRecordingChild$")
		cmd.Env = append(os.Environ(), "BIVOUAC_TEST_RECORD="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, kill := 0, 5+rand.IntN(25)
		for s := bufio.NewScanner(out); s.Scan(); lines++ {
			if lines == kill {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				cmd.Process.Kill() //nolint:errcheck // it may have ended
			}
		}
		if finished = cmd.Wait() == nil; !finished {
			kills++
		}
		committed := int64(0)
		for _, name := range names(t, dir) {
			var step int64
			if _, err := fmt.Sscanf(name, "%d", &step); err == nil && !store.IsStaging(name) {
				committed = max(committed, step)
			}
		}
		r := readJournal(t, localStore(t, dir), "")
		checkCurrent(t, r, committed)
		checkBoard(t, boardOf(dir), committed)
		for i, a := range r.Attempts() {
			last := i == len(r.Attempts())-1
			killedAfter := committed == 150 && a.End() != nil && a.End().Outcome == journal.Done
			if (a.End() != nil) != (last && finished) && !killedAfter {
				t.Fatalf("attempt %d of %d ended: %+v", i+1, len(r.Attempts()), a.End())
			}
		}
	}
	r := readJournal(t, localStore(t, dir), "")
	if last := checkBoard(t, boardOf(dir), 150); last != 150 {
		t.Errorf("the last step of the event files is %d, want 150", last)
	}
	if last := checkCurrent(t, r, 150); last != 150 || kills < 3 {
		t.Errorf("the last step is %d after %d kills, want 150 after at least 3", last, kills)
	}
	t.Logf("%d kills, %d attempts", kills, len(r.Attempts()))
}

// noJournal is a store that takes no journal while broken is set.
type noJournal struct {
	*local.Store
	broken atomic.Bool
}

func (s *noJournal) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	if s.broken.Load() && path.Base(path.Dir(name)) == journal.Folder {
		return &errs.Error{Kind: errs.Exhausted, Op: "store.Put", Subject: name, Got: "a full disk"}
	}
	return s.Store.Put(ctx, name, b, o)
}

// TestJournalThatFailsStopsNothing also shows that all rows come once the store takes them again.
func TestJournalThatFailsStopsNothing(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		disk, err := local.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		st := &noJournal{Store: disk}
		st.broken.Store(true)
		told := 0
		err = record(t.Context(), "run", 30, bivouac.Options{Store: st, OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.JournalFailed {
				told++
			}
		}}, func(step int64) {
			if recovers && step == 22 {
				st.broken.Store(false)
			}
		})
		if (err == nil) != recovers || !recovers && !errors.Is(err, errs.Exhausted) || told != 1 {
			t.Errorf("recovers %v: %v, told %d times", recovers, err, told)
		}
		if _, err := st.Stat(t.Context(), "run/30"); err != nil {
			t.Errorf("recovers %v: step 30: %v", recovers, err)
		}
		if recovers {
			checkCurrent(t, readJournal(t, st, "run"), 30)
		}
	}
}

func TestScalarThatIsRefusedIsTold(t *testing.T) {
	for _, name := range []string{"", "job/seconds", strings.Repeat("x", 300)} {
		m, dir, told := newModel(), t.TempDir(), 0
		job, err := bivouac.Open(t.Context(), dir, &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 3,
			OnEvent: func(e bivouac.Event) {
				if e.Kind == bivouac.JournalFailed && errors.Is(e.Err, errs.Invalid) {
					told++
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range job.Steps(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			job.Scalar(name, 7)
		}
		if err := job.Close(); !errors.Is(err, errs.Invalid) || told != 1 {
			t.Errorf("%.20q: Close returns %v, told %d times", name, err, told)
		}
		for row, err := range readJournal(t, localStore(t, dir), "").Current(t.Context()) {
			if v, ok := row.Value("job/seconds"); err != nil || !ok || v == 7 {
				t.Errorf("%.20q: %v, %v", name, row.Scalars, err)
			}
		}
	}
}

func TestNoJournalWritesNone(t *testing.T) {
	dir := t.TempDir()
	if err := record(t.Context(), dir, 7, bivouac.Options{NoJournal: true}, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/journal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}

func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	for every, want := range map[time.Duration]int{time.Nanosecond: 8, bivouac.Never: 0, time.Hour: 0} {
		out.Reset()
		o := bivouac.Options{Log: log, LogEvery: every}
		if err := record(t.Context(), t.TempDir(), 8, o, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != want || want > 0 && !strings.Contains(out.String(), "step=8 of=8") ||
			want > 0 && !strings.Contains(out.String(), "loss=0.125") {
			t.Errorf("every %v: %d lines, want %d:\n%s", every, n, want, out.String())
		}
	}
}
