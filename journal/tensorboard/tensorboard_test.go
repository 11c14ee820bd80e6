package tensorboard_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/journal/tensorboard"
	"github.com/bivouac-ml/bivouac/journal/tensorboard/tensorboardtest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openStore(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := local.Open(dir, nil)
	check(t, err)
	return st
}

// attempt is an attempt under way, with its event file.
type attempt struct {
	t     *testing.T
	w     *journal.Writer
	board *tensorboard.Writer
}

// begin begins an attempt of the run in st that continues from a step. Its clock advances by 125 ms
// a look.
func begin(t *testing.T, st store.Store, board string, from int64) *attempt {
	t.Helper()
	now := time.Date(2026, 11, 29, 6, 0, 0, 123456789, time.UTC)
	w := journal.New(st, "", journal.Start{From: from}, &journal.WriterOptions{Every: -1, SegmentBytes: 2000,
		Now: func() time.Time { now = now.Add(125 * time.Millisecond); return now }})
	b, err := tensorboard.Open(board, w)
	check(t, err)
	w.Begin()
	return &attempt{t, w, b}
}

// step records a step whose loss says who recorded it.
func (a *attempt) step(n int64, loss float64) {
	var s journal.Scalars
	check(a.t, s.Set("loss", loss))
	if n%3 == 0 {
		check(a.t, s.Set("norm", math.NaN()))
	}
	a.board.Step(n, a.w.Step(n, &s), s.All())
}

func (a *attempt) flush() {
	check(a.t, a.w.Flush(a.t.Context()))
	check(a.t, a.board.Flush())
}

func (a *attempt) close() {
	check(a.t, a.w.Close(a.t.Context()))
	check(a.t, a.board.Close())
}

// events returns the names of the event files of a directory.
func events(t *testing.T, dir, ending string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"+ending))
	check(t, err)
	return all
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	check(t, err)
	return b
}

func open(t *testing.T, st store.Store) *journal.Reader {
	t.Helper()
	r, err := journal.Open(t.Context(), st, "")
	check(t, err)
	return r
}

func noWarning(t *testing.T) func(error) { return func(err error) { t.Errorf("warned: %v", err) } }

// TestTensorBoardShowsWhatCounts draws histories of attempts. The event files of the job show the
// rows of the journal that count, and so do the event files of an export. If all rows of an attempt
// count, its two files are equal.
func TestTensorBoardShowsWhatCounts(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		board, exported, st := t.TempDir(), filepath.Join(t.TempDir(), "new"), openStore(t, t.TempDir())
		done := int64(0)
		for number := range 1 + rng.IntN(5) {
			from := rng.Int64N(done + 1)
			a := begin(t, st, board, from)
			for done = from; done < from+rng.Int64N(60); {
				done++
				a.step(done, float64(number)+float64(done)/1000)
				if rng.IntN(9) == 0 {
					a.flush()
				}
			}
			a.close()
		}
		r := open(t, st)
		want := map[string][]tensorboardtest.Point{}
		for row, err := range r.Current(t.Context()) {
			check(t, err)
			for _, s := range row.Scalars {
				want[s.Name] = append(want[s.Name], tensorboardtest.Point{Step: row.Step, Value: float32(s.Value)})
			}
		}
		for range 2 { // the second one replaces the first one
			if _, err := tensorboard.Export(t.Context(), r, exported, noWarning(t)); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{board, exported} {
			got, err := tensorboardtest.Read(dir)
			check(t, err)
			for _, points := range got {
				for i := range points {
					if points[i].Wall < 1.7e9 || points[i].Wall > 1.8e9 {
						t.Errorf("wall time %f", points[i].Wall)
					}
					points[i].Wall = 0
				}
			}
			for name := range got {
				if len(got[name]) == 0 {
					delete(got, name)
				}
			}
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("seed %d: %s has\n%v, want\n%v", seed, dir, got, want)
			}
		}
		live, later := events(t, board, ".job"), events(t, exported, ".export")
		if len(live) != len(r.Attempts()) || len(later) != len(live) {
			t.Fatalf("%d and %d files of %d attempts", len(live), len(later), len(r.Attempts()))
		}
		for i, span := range journal.Spans(r.Attempts()) {
			whole := span.To < 0 || span.Attempt.Last.Step <= span.To
			if same := bytes.Equal(contents(t, live[i]), contents(t, later[i])); same != whole {
				t.Errorf("seed %d: %s and %s are equal: %v, want %v", seed, live[i], later[i], same, whole)
			}
		}
		if extra, _ := filepath.Glob(filepath.Join(exported, ".*")); len(extra) > 0 {
			t.Errorf("left behind: %v", extra)
		}
	}
}

// TestDeletedFileIsMadeAnew deletes the event file, and then its directory.
func TestDeletedFileIsMadeAnew(t *testing.T) {
	board := filepath.Join(t.TempDir(), "board")
	a := begin(t, openStore(t, t.TempDir()), board, 10)
	defer a.close()
	for n := int64(11); n < 14; n++ {
		a.step(n, 1)
		a.flush()
		got, err := tensorboardtest.Read(board)
		check(t, err)
		if points := got["loss"]; len(points) != 1 || points[0].Step != n {
			t.Errorf("after step %d: %v", n, got)
		}
		if n == 11 {
			check(t, os.Remove(events(t, board, ".job")[0]))
		} else {
			check(t, os.RemoveAll(board))
		}
	}
}

// TestFileThatFailsIsTriedAgain puts a file where the directory was, and takes it away later.
func TestFileThatFailsIsTriedAgain(t *testing.T) {
	board := filepath.Join(t.TempDir(), "board")
	a := begin(t, openStore(t, t.TempDir()), board, 0)
	check(t, os.Remove(board))
	check(t, os.WriteFile(board, nil, 0o666))
	check(t, a.w.Flush(t.Context()))
	for n := int64(1); n < 4; n++ {
		a.step(n, 1)
		if err := a.board.Flush(); err == nil || !strings.Contains(err.Error(), board) {
			t.Errorf("step %d: %v", n, err)
		}
	}
	check(t, os.Remove(board))
	a.close()
	got, err := tensorboardtest.Read(board)
	check(t, err)
	if len(got["loss"]) != 3 {
		t.Errorf("got %v, want 3 steps", got)
	}
}

// TestStepsBeyondTheBoundAreTold never flushes.
func TestStepsBeyondTheBoundAreTold(t *testing.T) {
	a := begin(t, openStore(t, t.TempDir()), t.TempDir(), 0)
	var s journal.Scalars
	for i := range journal.MaxScalars {
		check(t, s.Set(fmt.Sprint(strings.Repeat("n", 190), i), 1))
	}
	for n := range int64(tensorboard.PendingBytes/200000 + 2) {
		a.board.Step(n+1, 0, s.All())
	}
	check(t, a.w.Close(t.Context()))
	if err := a.board.Close(); !errors.Is(err, errs.Exhausted) || !strings.Contains(err.Error(), "steps were dropped") {
		t.Errorf("got %v", err)
	}
	if err := a.board.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestAttemptWithoutNumberHasNoFile(t *testing.T) {
	board := t.TempDir()
	a := begin(t, openStore(t, t.TempDir()), board, 0)
	a.step(1, 1)
	check(t, a.board.Flush())
	if all := events(t, board, ""); len(all) > 0 {
		t.Errorf("files %v before the journal has the attempt", all)
	}
	a.flush()
	if all := events(t, board, ".job"); len(all) != 1 {
		t.Errorf("files %v", all)
	}
	a.close()
}

func TestBucketsAreRefused(t *testing.T) {
	st := openStore(t, t.TempDir())
	w := journal.New(st, "", journal.Start{}, &journal.WriterOptions{Every: -1})
	_, err := tensorboard.Open("s3://bucket/board", w)
	_, err2 := tensorboard.Export(t.Context(), open(t, st), "gs://bucket/board", noWarning(t))
	check(t, w.Close(t.Context()))
	for _, err := range []error{err, err2} {
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "bucket/board") {
			t.Errorf("got %v", err)
		}
	}
}

func TestExportKeepsOtherEventFiles(t *testing.T) {
	st := openStore(t, t.TempDir())
	board := t.TempDir()
	a := begin(t, st, board, 0)
	a.step(1, 1)
	a.close()
	other := openStore(t, t.TempDir())
	begin(t, other, t.TempDir(), 0).close()
	foreign := t.TempDir()
	check(t, os.WriteFile(filepath.Join(foreign, "events.out.tfevents.1790000000.host"), []byte("x"), 0o666))
	exported := t.TempDir()
	if _, err := tensorboard.Export(t.Context(), open(t, other), exported, noWarning(t)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o666))
	for dir, want := range map[string]string{
		board: "that a job writes", foreign: "another program", exported: "another run", file: "a directory",
	} {
		before := fmt.Sprint(events(t, dir, ""))
		_, err := tensorboard.Export(t.Context(), open(t, st), dir, noWarning(t))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		if after := fmt.Sprint(events(t, dir, "")); after != before {
			t.Errorf("%s: before %s, after %s", dir, before, after)
		}
	}
}

// TestDamagedJournalIsExported damages the start row of the second attempt.
func TestDamagedJournalIsExported(t *testing.T) {
	dir, exported := t.TempDir(), t.TempDir()
	st := openStore(t, dir)
	for from := range int64(2) {
		a := begin(t, st, t.TempDir(), 2*from)
		a.step(2*from+1, 1)
		a.step(2*from+2, 1)
		a.close()
	}
	file := filepath.Join(dir, journal.Folder, open(t, st).Attempts()[1].Files[0].Name)
	b := contents(t, file)
	b[20] ^= 1
	check(t, os.WriteFile(file, b, 0o666))
	warned := 0
	files, err := tensorboard.Export(t.Context(), open(t, st), exported, func(error) { warned++ })
	check(t, err)
	got, err := tensorboardtest.Read(exported)
	check(t, err)
	points := got["loss"]
	if len(points) != 4 || warned == 0 || len(files) != 2 || files[1].Steps != 2 {
		t.Fatalf("%v, %d warnings, files %+v", got, warned, files)
	}
	for i, p := range points {
		if p.Step != int64(i+1) || i > 0 && p.Wall <= points[i-1].Wall {
			t.Errorf("point %d is %+v, after %+v", i, p, points[max(i-1, 0)])
		}
	}
}
