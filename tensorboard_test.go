package bivouac_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal/tensorboard/tensorboardtest"
)

// boardOf is the directory of event files that the jobs of these tests write beside a run.
func boardOf(dir string) string { return filepath.Join(filepath.Dir(dir), filepath.Base(dir)+"-board") }

// checkBoard checks that TensorBoard shows the losses of steps 1 to last, at least up to least.
func checkBoard(t *testing.T, board string, least int64) (last int64) {
	t.Helper()
	got, err := tensorboardtest.Read(board)
	if err != nil && !(least == 0 && errors.Is(err, os.ErrNotExist)) {
		t.Fatal(err)
	}
	for _, p := range got["loss"] {
		if p.Step != last+1 || p.Value != float32(lossAt(p.Step)) {
			t.Fatalf("after step %d: step %d with loss %v", last, p.Step, p.Value)
		}
		last = p.Step
	}
	if last < least {
		t.Fatalf("the event files end with step %d, but step %d is committed", last, least)
	}
	return last
}

func TestTensorBoardOptionIsChecked(t *testing.T) {
	m := newModel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    bivouac.Options
		kind errs.Kind
		says string
	}{
		{bivouac.Options{TensorBoard: "s3://bucket/board"}, errs.Unsupported, "s3://bucket/board: unsupported: want a directory of this machine"},
		{bivouac.Options{TensorBoard: file}, errs.Invalid, file},
		{bivouac.Options{TensorBoard: t.TempDir(), NoJournal: true}, errs.Invalid, "Options.TensorBoard"},
	} {
		tt.o.State = &m
		dir := t.TempDir()
		for range 2 { // the first failure left no lock
			_, err := bivouac.Open(t.Context(), dir, &counter{Seed: 1}, tt.o)
			if errs.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want kind %v and %q", err, tt.kind, tt.says)
			}
		}
	}
}

// TestEventFileThatFailsStopsNothing puts a file where the directory was.
func TestEventFileThatFailsStopsNothing(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		dir, board := t.TempDir(), filepath.Join(t.TempDir(), "board")
		told := 0
		err := record(t.Context(), dir, 30, bivouac.Options{TensorBoard: board, OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.JournalFailed && strings.Contains(e.Err.Error(), board) {
				told++
			}
		}}, func(step int64) {
			switch {
			case step == 1:
				for os.WriteFile(board, nil, 0o666) != nil { // a flush may make the directory again
					if err := os.RemoveAll(board); err != nil {
						t.Fatal(err)
					}
				}
			case step == 22 && recovers:
				if err := os.Remove(board); err != nil {
					t.Fatal(err)
				}
			}
		})
		if (err == nil) != recovers || told != 1 {
			t.Errorf("recovers %v: %v, told %d times", recovers, err, told)
		}
		if last := checkCurrent(t, readJournal(t, localStore(t, dir), ""), 30); last != 30 {
			t.Errorf("the journal ends with step %d", last)
		}
		if recovers {
			checkBoard(t, board, 30)
		}
	}
}
