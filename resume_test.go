package bivouac_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

// names returns the entries of a directory, except the lock and the journal.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != ".bivouac.lock" && e.Name() != journal.Folder {
			out = append(out, e.Name())
		}
	}
	return out
}

// newer makes a step one of a version that does not exist yet, with a right checksum.
func newer(t *testing.T, step string) {
	t.Helper()
	file := filepath.Join(step, "bivouac.manifest")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, ofNewerVersion(b), 0o666); err != nil {
		t.Fatal(err)
	}
}

// ofNewerVersion returns a manifest as one of a version that does not exist yet.
func ofNewerVersion(b []byte) []byte {
	_, rest, _ := strings.Cut(string(b), "\n")
	body := "bivouac.manifest 99\n" + rest[:strings.LastIndex(rest, "end ")]
	return fmt.Appendf([]byte(body), "end %08x\n", crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
}

// damages are what may happen to steps.
var damages = map[string]struct {
	do   func(t *testing.T, step string)
	kind errs.Kind
}{
	"cut":                 {func(t *testing.T, step string) { truncate(t, dataFile(t, step)) }, errs.Corrupt},
	"file missing":        {func(t *testing.T, step string) { remove(t, filepath.Join(step, "data", "data.json")) }, errs.Corrupt},
	"flipped":             {func(t *testing.T, step string) { flip(t, dataFile(t, step)) }, errs.Corrupt},
	"version flipped":     {func(t *testing.T, step string) { flipVersion(t, step) }, errs.Corrupt},
	"of a newer version":  {newer, errs.Unsupported},
	"metadata missing":    {func(t *testing.T, step string) { remove(t, filepath.Join(step, "_CHECKPOINT_METADATA")) }, errs.Corrupt},
	"no document left":    {bare, errs.Corrupt},
	"empty":               {func(t *testing.T, step string) { hollow(t, step) }, errs.Corrupt},
	"another name":        {func(t *testing.T, step string) { rename(t, step, "ckpt_000"+filepath.Base(step)) }, errs.Corrupt},
	"set aside long ago":  {func(t *testing.T, step string) { rename(t, step, filepath.Base(step)+".damaged-3") }, errs.Corrupt},
	"replaced by a link":  {func(t *testing.T, step string) { hollow(t, step); remove(t, step); link(t, step) }, errs.Corrupt},
	"replaced by a file":  {func(t *testing.T, step string) { hollow(t, step); remove(t, step); touch(t, step) }, errs.Corrupt},
	"_METADATA truncated": {func(t *testing.T, step string) { empty(t, filepath.Join(step, "state", "_METADATA")) }, errs.Corrupt},
}

func flipVersion(t *testing.T, step string) {
	file := filepath.Join(step, "bivouac.manifest")
	b, err := os.ReadFile(file)
	if err == nil {
		b[len("bivouac.manifest ")] ^= 8 // "1" becomes "9"
		err = os.WriteFile(file, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func bare(t *testing.T, step string) {
	for _, name := range []string{"_CHECKPOINT_METADATA", "bivouac.manifest", "commit_success.txt"} {
		remove(t, filepath.Join(step, name))
	}
}

func hollow(t *testing.T, step string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(step), os.Mkdir(step, 0o777)); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, step, to string) {
	t.Helper()
	if err := os.Rename(step, filepath.Join(filepath.Dir(step), to)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, step string) {
	if err := os.Symlink("elsewhere", step); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, step string) {
	if err := os.WriteFile(step, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A run in which nothing can be resumed does not begin again at 0: not at the first
// Open, and not at the second. An Open that fails renames nothing. StartFresh moves what
// lies there and deletes nothing.
func TestNothingToResume(t *testing.T) {
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := run(t, dir, 15, bivouac.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, step := range []string{"5", "10", "15"} {
				d.do(t, filepath.Join(dir, step))
			}
			first := names(t, dir)
			for round := range 3 {
				_, err := run(t, dir, 30, bivouac.Options{})
				if !errors.Is(err, d.kind) {
					t.Fatalf("round %d: got %v, want %v", round, err, d.kind)
				}
				for _, step := range names(t, dir) {
					if !strings.Contains(err.Error(), step) {
						t.Errorf("round %d: %v does not name %s", round, err, step)
					}
				}
			}
			left := names(t, dir)
			if len(left) != 3 || !slices.Equal(first, left) {
				t.Errorf("%q became %q", first, left)
			}
			var moved []string
			m, err := run(t, dir, 12, bivouac.Options{StartFresh: true, OnEvent: func(e bivouac.Event) {
				if e.Kind == bivouac.MovedAside {
					moved = append(moved, filepath.Base(e.Name))
				}
			}})
			slices.Sort(moved)
			if err != nil || !same(m, uninterrupted(12)) || !slices.Equal(moved, left) {
				t.Errorf("StartFresh: %v, moved %q, want %q", err, moved, left)
			}
			aside, err := filepath.Glob(filepath.Join(dir, "aside-*"))
			if err != nil || len(aside) != 1 || !slices.Equal(names(t, aside[0]), left) {
				t.Errorf("%q, %v", aside, err)
			}
			if m, err := run(t, dir, 20, bivouac.Options{}); err != nil || !same(m, uninterrupted(20)) {
				t.Errorf("the fresh run does not go on: %v", err)
			}
		})
	}
}

// Beside a step of a newer version no older step is resumed.
func TestNewerVersionBesideOlder(t *testing.T) {
	for _, which := range []string{"5", "10", "15"} {
		dir := t.TempDir()
		if _, err := run(t, dir, 15, bivouac.Options{}); err != nil {
			t.Fatal(err)
		}
		newer(t, filepath.Join(dir, which))
		var events []string
		_, err := run(t, dir, 30, bivouac.Options{OnEvent: func(e bivouac.Event) { events = append(events, fmt.Sprint(e.Kind, " ", e.Name)) }})
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), which) {
			t.Errorf("step %s: %v", which, err)
		}
		if want := []string{"skipped " + which}; !slices.Equal(events, want) {
			t.Errorf("step %s: events %q, want %q", which, events, want)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"10", "15", "5"}) {
			t.Errorf("the directory has %q", got)
		}
	}
}

// An Open that fails renames nothing, whatever it fails for: neither what looks whole nor
// what is damaged in size.
func TestFailedOpenSetsNothingAside(t *testing.T) {
	for _, damage := range []string{"flipped", "cut", "file missing"} {
		t.Run(damage, func(t *testing.T) { failedOpen(t, damages[damage].do) })
	}
}

func failedOpen(t *testing.T, damage func(t *testing.T, step string)) {
	dir := t.TempDir()
	if _, err := run(t, dir, 15, bivouac.Options{Identity: "a"}); err != nil {
		t.Fatal(err)
	}
	damage(t, filepath.Join(dir, "15"))
	if _, err := run(t, dir, 30, bivouac.Options{Identity: "b"}); !errors.Is(err, errs.Mismatch) {
		t.Fatalf("another identity: %v", err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"10", "15", "5"}) {
		t.Errorf("the directory has %q", got)
	}
	m, err := run(t, dir, 30, bivouac.Options{Identity: "a", Keep: bivouac.KeepAll})
	if err != nil || !same(m, uninterrupted(30)) {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Contains(got, "15.damaged") {
		t.Errorf("the directory has %q", got)
	}
}

// Every event of the checkpointer has its kind here.
func TestEventsAreRelayed(t *testing.T) {
	for k := training.EventKind(1); !strings.HasPrefix(k.String(), "event "); k++ {
		got := bivouac.KindOfTraining(k)
		if got == 0 || got.String() != k.String() {
			t.Errorf("%v is told as %v", k, got)
		}
	}
}

// A directory that is a checkpoint, or a part of one, is not opened.
func TestOpenInCheckpoint(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, dir, 15, bivouac.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"15", "15/state", "15/new"} {
		if _, err := run(t, filepath.Join(dir, at), 30, bivouac.Options{}); !errors.Is(err, errs.Invalid) ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", at, err)
		}
	}
	if m, err := run(t, dir, 30, bivouac.Options{}); err != nil || !same(m, uninterrupted(30)) {
		t.Errorf("the run does not go on: %v", err)
	}
}

// A job whose directory or lock file is removed learns it at the next save.
func TestRemovedDirectoryIsNoticed(t *testing.T) {
	for _, what := range []string{"", ".bivouac.lock"} {
		dir := filepath.Join(t.TempDir(), "run")
		m := newModel()
		job, err := bivouac.Open(context.Background(), dir, &counter{Seed: 1},
			bivouac.Options{State: &m, SaveEvery: 5, Steps: 30})
		if err != nil {
			t.Fatal(err)
		}
		var told error
		for b, err := range job.Steps(context.Background()) {
			if err != nil {
				told = err
				break
			}
			m.train(b)
			if job.Step() == 7 {
				if err := job.Wait(context.Background()); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(dir, what)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !errors.Is(told, errs.NotFound) || job.Step() != 10 {
			t.Errorf("without %q: at step %d %v", what, job.Step(), told)
		}
		err = job.Close()
		if lost := what == ""; lost != errors.Is(err, errs.NotFound) || lost && !strings.Contains(err.Error(), "journal") {
			t.Errorf("without %q: Close returns %v; want an error only for the journal that is gone", what, err)
		}
	}
}
