package training_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// chained is a run whose steps are signed.
type chained struct {
	*testing.T
	dir    string
	events []training.Event
}

func chainKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func (r *chained) open(o training.Options) (*training.Checkpointer, error) {
	r.events = nil
	if o.Signing == nil && o.Verification == nil {
		o.Signing = chainKey(1)
	}
	o.Foreground = true
	o.OnEvent = func(e training.Event) { r.events = append(r.events, e) }
	return training.Open(r.Context(), r.dir, &o)
}

func (r *chained) save(o training.Options, steps ...int64) {
	r.Helper()
	c, err := r.open(o)
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range steps {
		if _, err := c.Save(r.Context(), s, layers(1, 64), &training.SaveOptions{Force: true, Overwrite: true}); err != nil {
			r.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		r.Fatal(err)
	}
}

// refuses reports what Open says of a run with a step that is missing.
func (r *chained) refuses(want ...string) {
	r.Helper()
	for name, o := range map[string]training.Options{
		"writer": {}, "cleaner": {Clean: true},
		"reader": {Options: options.Options{Bivouac: options.Bivouac{Verification: chainKey(1).Public().(ed25519.PublicKey)}}},
	} {
		c, err := r.open(o)
		if err == nil {
			c.Close()
			r.Errorf("%s: Open says nothing, want %q", name, want)
			continue
		}
		for _, w := range append(want, "AcceptMissing") {
			if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), w) {
				r.Errorf("%s: %v, want %q", name, err, w)
			}
		}
		if _, there := os.Stat(filepath.Join(r.dir, "4.damaged")); there != nil &&
			strings.Contains(err.Error(), "lies there") {
			r.Errorf("%s: %v, and nothing lies there", name, err)
		}
	}
}

func (r *chained) passes() {
	r.Helper()
	c, err := r.open(training.Options{})
	if err != nil {
		r.Fatal(err)
	}
	c.Close()
}

// TestRemovedStepIsNoticed: the newest, a middle one, the oldest, all of them, the head, one
// that took the place of another: Open names each until it is accepted; what the run
// itself removes trips nothing.
func TestRemovedStepIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *chained) error
		want []string
	}{
		"newest": {func(r *chained) error { return os.RemoveAll(filepath.Join(r.dir, "4")) }, []string{"4: corrupt: the step is missing"}},
		"middle": {func(r *chained) error { return os.RemoveAll(filepath.Join(r.dir, "3")) }, []string{"3"}},
		"oldest": {func(r *chained) error { return os.RemoveAll(filepath.Join(r.dir, "2")) }, []string{"2"}},
		"two newest": {func(r *chained) error {
			return errors.Join(os.RemoveAll(filepath.Join(r.dir, "3")), os.RemoveAll(filepath.Join(r.dir, "4")))
		}, []string{"3", "4"}},
		"renamed":  {func(r *chained) error { return os.Rename(filepath.Join(r.dir, "4"), filepath.Join(r.dir, "4.damaged")) }, []string{"4.damaged exists"}},
		"the head": {func(r *chained) error { return os.Remove(filepath.Join(r.dir, ".bivouac.head")) }, []string{".bivouac.head"}},
		"a flipped head": {func(r *chained) error {
			b, err := os.ReadFile(filepath.Join(r.dir, ".bivouac.head"))
			b[20] ^= 1
			return errors.Join(err, os.WriteFile(filepath.Join(r.dir, ".bivouac.head"), b, 0o666))
		}, []string{".bivouac.head"}},
		"another step": {func(r *chained) error {
			other := &chained{T: r.T, dir: filepath.Join(r.T.TempDir(), "other")}
			other.save(training.Options{}, 4)
			return errors.Join(os.RemoveAll(filepath.Join(r.dir, "4")), os.Rename(filepath.Join(other.dir, "4"), filepath.Join(r.dir, "4")))
		}, []string{"another step, signed as"}},
		"an old head": {func(r *chained) error {
			old, err := os.ReadFile(filepath.Join(r.dir, ".bivouac.head"))
			r.save(training.Options{}, 5, 6)
			return errors.Join(err, os.WriteFile(filepath.Join(r.dir, ".bivouac.head"), old, 0o666), os.RemoveAll(filepath.Join(r.dir, "5")))
		}, []string{"5"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &chained{T: t, dir: filepath.Join(t.TempDir(), "run")}
			r.save(training.Options{Preserve: training.LatestN{N: 3}}, 1, 2, 3, 4)
			r.passes()
			if err := c.do(r); err != nil {
				t.Fatal(err)
			}
			r.refuses(c.want...)
			r.save(training.Options{AcceptMissing: true}, 9)
			told := 0
			for _, e := range r.events {
				if e.Kind == training.StepMissing {
					told++
				}
			}
			if told == 0 {
				t.Error("nothing was told when it was accepted")
			}
			r.passes()
		})
	}
}

// TestOwnRemovalsTripNothing: retention, Delete, overwriting, setting aside, StartFresh and
// a crash between the commit and the head.
func TestOwnRemovalsTripNothing(t *testing.T) {
	r := &chained{T: t, dir: filepath.Join(t.TempDir(), "run")}
	ctx := context.Background()
	r.save(training.Options{Preserve: training.LatestN{N: 2}}, 1, 2, 3, 4, 5, 5)
	r.passes()
	c, err := r.open(training.Options{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Save(ctx, 6, layers(1, 64), &training.SaveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(ctx, 6, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Quarantine(ctx, 5, errors.New("a test")); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r.passes()
	// A crash: the step is there, and the head is the old one.
	head := filepath.Join(r.dir, ".bivouac.head")
	old, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	r.save(training.Options{}, 7)
	if err := os.WriteFile(head, old, 0o666); err != nil {
		t.Fatal(err)
	}
	r.passes()
	r.save(training.Options{}, 8)
	r.passes()
	// Damage is told as damage, and set aside.
	if err := os.Truncate(filepath.Join(r.dir, "8/commit_success.txt"), 1); err != nil {
		t.Fatal(err)
	}
	if c, err = r.open(training.Options{Clean: true}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.passes()
	os.RemoveAll(filepath.Join(r.dir, "7"))
	if c, err = r.open(training.Options{StartFresh: true}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.save(training.Options{}, 0)
	r.passes()
}

// TestRunsWithoutHead: a run whose steps are not signed, or were signed before there were
// heads, is read as before; the first signed save begins the chain.
func TestRunsWithoutHead(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "run")
	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Save(ctx, 1, layers(1, 64), &training.SaveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".bivouac.head")); err == nil {
		t.Error("a head of steps that are not signed")
	}
	o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: chainKey(1),
		Label: training.Label(2)}}}
	if err := checkpoint.Save(ctx, filepath.Join(dir, "2"), layers(1, 64), o); err != nil { // as it was signed before
		t.Fatal(err)
	}
	r := &chained{T: t, dir: dir}
	r.passes()
	r.save(training.Options{}, 3)
	r.passes()
	if err := os.RemoveAll(filepath.Join(dir, "3")); err != nil {
		t.Fatal(err)
	}
	r.refuses("3")
	if c, err = training.Open(ctx, dir, nil); err != nil {
		t.Fatalf("without a key: %v", err)
	}
	defer c.Close()
	missing, err := c.MissingSteps(ctx, nil)
	if err != nil || len(missing) != 1 || fmt.Sprint(missing[0].Name) != "3" {
		t.Errorf("%v %v", missing, err)
	}
}

// TestHeadBesideAWriter: a reader that opens a run while the run itself removes a step misses
// nothing.
func TestHeadBesideAWriter(t *testing.T) {
	r := &chained{T: t, dir: filepath.Join(t.TempDir(), "run")}
	r.save(training.Options{}, 1, 2, 3)
	writer, err := training.Open(t.Context(), r.dir,
		&training.Options{Options: options.Options{Bivouac: options.Bivouac{Signing: chainKey(1)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	deleted, reads := false, 0
	fsys := vfstest.Intercept(vfs.OS(), func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpReadAt && strings.HasSuffix(c.Name, ".bivouac.head") {
			err := do()
			if reads++; reads != 2 { // the second read is the list's
				return err
			}
			deleted = true
			if _, derr := writer.Delete(t.Context(), 2, nil); derr != nil {
				t.Error(derr)
			}
			return err
		}
		return do()
	})
	c, err := training.Open(t.Context(), "run", &training.Options{
		Options: options.Options{Bivouac: options.Bivouac{Verification: chainKey(1).Public().(ed25519.PublicKey)}},
		Store:   local.New(fsys, filepath.ToSlash(filepath.Dir(r.dir)), nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !deleted {
		t.Error("the head was not read")
	}
	c.Close()
}

// TestFailedOpenOfSignedRunRenamesNothing: an Open that fails as a signed step is missing
// leaves damaged steps where they are; one that accepts it sets them aside.
func TestFailedOpenOfSignedRunRenamesNothing(t *testing.T) {
	r := &chained{T: t, dir: t.TempDir()}
	r.save(training.Options{}, 1, 2, 3, 4)
	if err := errors.Join(os.Remove(filepath.Join(r.dir, "2/_CHECKPOINT_METADATA")),
		os.RemoveAll(filepath.Join(r.dir, "4"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.open(training.Options{Clean: true}); !errors.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
		for _, e := range r.events {
			if e.Kind == training.Quarantined {
				t.Errorf("%s was set aside by an Open that failed", e.Name)
			}
		}
		if _, err := os.Stat(filepath.Join(r.dir, "2")); err != nil {
			t.Fatal(err)
		}
	}
	c, err := r.open(training.Options{Clean: true, AcceptMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	set := 0
	for _, e := range r.events {
		if e.Kind == training.Quarantined && e.Step == 2 {
			set++
		}
	}
	if got := fmt.Sprint(c.Steps()); got != "[1 3]" || set != 1 {
		t.Fatalf("steps %s, %d set aside: %v", got, set, r.events)
	}
}
