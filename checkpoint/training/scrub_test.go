package training_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// scrubbed is a run with a scrub, in a bubble of time. The disk counts what is read of
// each file.
type scrubbed struct {
	*testing.T
	dir string
	c   *training.Checkpointer

	mu     sync.Mutex
	events []training.Event
	reads  []string         // files, in the order in which they were first read
	bytes  map[string]int64 // read of each, below the run
	hold   func(name string)
	fail   func(name string) error // of an open
}

func newScrubbed(t *testing.T) *scrubbed {
	return &scrubbed{T: t, dir: t.TempDir(), bytes: map[string]int64{}}
}

// inBubble is synctest.Test. What the compressor of nodes makes once is made before it.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	st := local.New(vfstest.NewMem(), "/", nil)
	err := checkpoint.Save(t.Context(), "warm", layers(1, 64), &checkpoint.SaveOptions{Store: st})
	if err == nil {
		_, err = checkpoint.Load(t.Context(), "warm", &checkpoint.LoadOptions{Store: st})
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, f)
}

const scrubEvery = 24 * time.Hour

func (s *scrubbed) open(o training.Options) {
	s.Helper()
	fsys := vfstest.Intercept(vfs.OS(), func(c *vfstest.Call, do func() error) error {
		s.mu.Lock()
		hold, fail := s.hold, s.fail
		if c.Op == vfstest.OpReadAt {
			if s.bytes[c.Name] == 0 {
				s.reads = append(s.reads, c.Name)
			}
			s.bytes[c.Name] += c.Size
		}
		s.mu.Unlock()
		if hold != nil && c.Op == vfstest.OpSync {
			hold(c.Name)
		}
		if fail != nil && c.Op == vfstest.OpOpen {
			if err := fail(c.Name); err != nil {
				return err
			}
		}
		return do()
	})
	o.Store = local.New(fsys, filepath.ToSlash(s.dir), nil)
	o.Scrub.Every, o.Scrub.Rate = scrubEvery, 1<<20
	o.OnEvent = func(e training.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}
	c, err := training.Open(s.Context(), "run", &o)
	if err != nil {
		s.Fatal(err)
	}
	s.c = c
}

func (s *scrubbed) save(step int64) {
	s.Helper()
	if _, err := s.c.Save(s.Context(), step, layers(2, 4<<20), &training.SaveOptions{Force: true}); err != nil {
		s.Fatal(err)
	}
}

func (s *scrubbed) close() {
	s.Helper()
	if err := s.c.Close(); err != nil {
		s.Fatal(err)
	}
}

// found returns the damage that was told since the last call.
func (s *scrubbed) found() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == training.DamageFound {
			if !errors.Is(e.Err, errs.Corrupt) {
				s.Error(e.Err)
			}
			var ee *errs.Error
			errors.As(e.Err, &ee)
			out = append(out, ee.Subject)
		}
	}
	s.events = nil
	slices.Sort(out)
	return out
}

// flip changes a byte of a file in place.
func (s *scrubbed) flip(name string) {
	s.Helper()
	at := filepath.Join(s.dir, "run", name)
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	b := make([]byte, 1)
	f.ReadAt(b, info.Size()/2)
	b[0] ^= 32
	if _, err := f.WriteAt(b, info.Size()/2); err != nil {
		s.Fatal(err)
	}
	os.Chtimes(at, info.ModTime(), info.ModTime()) // as a disk does it
}

// largest returns the largest data file of a step.
func (s *scrubbed) largest(step string) (name string) {
	s.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, "run", step, "state/d/*"))
	size := int64(-1)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Size() > size {
			name, size = f, info.Size()
		}
	}
	rel, _ := filepath.Rel(filepath.Join(s.dir, "run"), name)
	return rel
}

func (s *scrubbed) results() map[string]training.ScrubResult {
	s.Helper()
	list, err := training.ScrubResults(s.Context(), filepath.Join(s.dir, "run"), nil)
	if err != nil {
		s.Fatal(err)
	}
	out := map[string]training.ScrubResult{}
	for _, r := range list {
		out[r.Directory] = r
	}
	return out
}

// TestScrubFindsEachFlip: a flipped byte of each file of a step, the manifest included, is
// told once, and kept; the next Open tells it again; a repair forgets it.
func TestScrubFindsEachFlip(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{Options: options.Options{Bivouac: options.Bivouac{Parity: 3}}})
		s.save(1)
		s.save(2)
		time.Sleep(2 * scrubEvery)
		if got := s.found(); got != nil {
			t.Fatalf("found %v in whole steps", got)
		}
		if r := s.results(); len(r) != 2 || len(r["1"].Damages)+len(r["2"].Damages) > 0 || r["1"].Bytes < 8<<20 {
			t.Fatalf("%+v", r)
		}
		want := []string{s.largest("1"), "2/_CHECKPOINT_METADATA"}
		for _, name := range want {
			s.flip(name)
		}
		time.Sleep(2 * scrubEvery)
		if got := s.found(); !slices.Equal(got, want) {
			t.Fatalf("found %v, want %v", got, want)
		}
		time.Sleep(3 * scrubEvery)
		if got := s.found(); got != nil {
			t.Fatalf("found %v again", got)
		}
		if got := fmt.Sprint(s.c.Steps()); got != "[1 2]" {
			t.Fatalf("steps %s: what is damaged stays where it is", got)
		}
		s.close()
		s.open(training.Options{})
		// Step 2 is not listed: it is told as Skipped.
		if got := s.found(); !slices.Equal(got, want[:1]) {
			t.Fatalf("Open told %v, want %v", got, want[:1])
		}
		s.close()
		r, err := integrity.Repair(t.Context(), filepath.Join(s.dir, "run"), &integrity.RepairOptions{Apply: true})
		if err != nil || len(r.Actions) != 2 {
			t.Fatalf("%v %+v", err, r)
		}
		if r := s.results(); len(r) != 0 {
			t.Fatalf("after the repair: %+v", r)
		}
		s.flip("2/bivouac.manifest")
		s.open(training.Options{})
		time.Sleep(2 * scrubEvery)
		s.found()
		s.close()
	})
}

// TestScrubReadsOnceAndSlowly: a file that steps share is read once a round, no faster
// than the rate, the step that was read longest ago first.
func TestScrubReadsOnceAndSlowly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{Dedup: training.Dedup{On: true}})
		for step := int64(1); step <= 3; step++ {
			s.save(step)
			time.Sleep(time.Minute)
		}
		s.mu.Lock()
		s.reads, s.bytes = nil, map[string]int64{}
		s.mu.Unlock()
		time.Sleep(scrubEvery - 3*time.Minute + 2*time.Second) // step 1 is read for two seconds
		start, data := time.Now(), int64(0)
		for name, n := range s.read() {
			if strings.Contains(name, "/state/d/") && n > 1<<20 {
				data += n
			}
		}
		if data == 0 || data > 3<<20 {
			t.Fatalf("%d bytes were read in two seconds", data)
		}
		time.Sleep(scrubEvery / 2)
		data = 0
		for name, n := range s.read() {
			if strings.Contains(name, "/state/d/") {
				data += n
			}
		}
		if data < 8<<20 || data > 8<<20+64<<10 {
			t.Errorf("%d bytes were read of two arrays of 4 MiB that three steps share", data)
		}
		first := time.Since(start)
		if r := s.results(); len(r) != 3 || r["1"].At.Sub(start) < 5*time.Second || r["1"].At.After(r["2"].At) ||
			r["2"].At.After(r["3"].At) {
			t.Errorf("after %v: %+v", first, r)
		}
		s.close()
	})
}

func (s *scrubbed) read() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int64{}
	for n, b := range s.bytes {
		out[n] = b
	}
	return out
}

// TestScrubWaitsForSaves: while a save is written nothing is read, and Close ends both.
func TestScrubWaitsForSaves(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{})
		s.save(1)
		time.Sleep(scrubEvery + 2*time.Second) // in the middle of a file
		release := make(chan struct{})
		s.mu.Lock()
		s.hold = func(string) { <-release }
		s.mu.Unlock()
		r, err := s.c.SaveAsync(t.Context(), 2, layers(2, 4<<20), &training.SaveOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		before := s.read()
		time.Sleep(10 * time.Minute)
		for name, n := range s.read() {
			if n != before[name] {
				t.Errorf("%d bytes of %s were read beside a save", n-before[name], name)
			}
		}
		if len(s.results()) != 0 {
			t.Error("a step was read beside a save")
		}
		close(release)
		if _, err := r.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(s.results()) != 1 {
			t.Error("the scrub did not go on")
		}
		s.close()
	})
}

// TestScrubOnBadDisk: a manifest that cannot be read, and a step that nobody has finished
// reading when the run is closed, are no damage, and the step counts as not read.
func TestScrubOnBadDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{})
		s.save(1)
		s.mu.Lock()
		s.fail = func(name string) error {
			if strings.HasSuffix(name, "/run/1/bivouac.manifest") {
				return syscall.EIO
			}
			return nil
		}
		s.mu.Unlock()
		time.Sleep(2 * scrubEvery)
		if got := s.found(); got != nil {
			t.Errorf("a disk that does not answer: found %v", got)
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		s.save(2)
		time.Sleep(scrubEvery + 2*time.Second) // in the middle of a file
		s.close()
		if r, ok := s.results()["2"]; ok || s.found() != nil {
			t.Errorf("a step of which nobody has read all: %+v", r)
		}
		if _, err := training.ScrubResults(t.Context(), "../run",
			local.New(vfstest.NewMem(), "/", nil)); errs.KindOf(err) != errs.Invalid {
			t.Errorf("a name that a store cannot have: %v", err)
		}
	})
}

// TestScrubDocumentIsNeverTrusted: where the document is damaged, of a newer version, or
// speaks of another step of the name, steps are read anew.
func TestScrubDocumentIsNeverTrusted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{})
		s.save(1)
		time.Sleep(2 * scrubEvery)
		s.close()
		doc := filepath.Join(s.dir, "run", ".bivouac.scrub")
		whole, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{
			"damaged":  append([]byte("x"), whole...),
			"flipped":  []byte(strings.Replace(string(whole), "step 1", "step 3", 1)),
			"a newer":  []byte("bivouac.scrub 2\nend 00000000\n"),
			"empty":    {},
			"no bytes": nil,
		} {
			if err := os.WriteFile(doc, b, 0o666); err != nil {
				t.Fatal(err)
			}
			if r := s.results(); len(r) != 0 {
				t.Errorf("%s: %+v", name, r)
			}
			s.open(training.Options{})
			time.Sleep(2 * scrubEvery)
			if r := s.results(); len(r) != 1 {
				t.Errorf("%s: was not read anew: %+v", name, r)
			}
			s.close()
		}
		s.open(training.Options{})
		if _, err := s.c.Save(t.Context(), 1, layers(1, 1<<20),
			&training.SaveOptions{Force: true, Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if r := s.results(); len(r) != 0 {
			t.Errorf("of a step that was replaced: %+v", r)
		}
		s.close()
	})
}

// TestScrubKeepsDamageFromSpreading: a file that a scrub found damaged is not linked again.
func TestScrubKeepsDamageFromSpreading(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newScrubbed(t)
		s.open(training.Options{Dedup: training.Dedup{On: true}})
		s.save(1)
		s.save(2)
		s.flip(s.largest("2"))
		time.Sleep(2 * scrubEvery)
		if got := s.found(); len(got) != 2 {
			t.Fatalf("found %v: want the file in both steps", got)
		}
		s.save(3)
		if r, err := integrity.Verify(context.Background(), filepath.Join(s.dir, "run/3"), nil); err != nil || !r.OK() {
			t.Fatalf("%v %+v", err, r)
		}
		s.close()
	})
}

// TestScrubbedDamageIsNotCounted: steps that a scrub found damaged do not count for the
// preservation policy, here and in the next process: as many whole ones stay as it keeps.
func TestScrubbedDamageIsNotCounted(t *testing.T) {
	for _, again := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			s := newScrubbed(t)
			o := training.Options{Preserve: training.LatestN{N: 3}, Foreground: true}
			s.open(o)
			for step := int64(1); step <= 3; step++ {
				s.save(step)
			}
			s.flip(s.largest("2"))
			s.flip(s.largest("3"))
			time.Sleep(2 * scrubEvery)
			if got := s.found(); len(got) != 2 {
				t.Fatalf("found %v", got)
			}
			if again {
				s.close()
				s.open(o)
			}
			s.save(4)
			s.save(5)
			if got := fmt.Sprint(s.c.Steps()); got != "[1 3 4 5]" {
				t.Fatalf("steps %s: want three whole ones, and what the policy keeps of the damaged ones", got)
			}
			for _, r := range s.c.Retention() {
				if !r.Keep {
					t.Errorf("%+v", r)
				}
			}
			s.save(6)
			if got := fmt.Sprint(s.c.Steps()); got != "[4 5 6]" {
				t.Fatalf("steps %s", got)
			}
			s.close()
		})
	}
}
