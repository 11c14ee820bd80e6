package training_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// lettered spells step 7 as s7x: the end is not a number.
type lettered struct{}

func (lettered) Name(step int64) string      { return "s" + strconv.FormatInt(step, 10) + "x" }
func (f lettered) Names(step int64) []string { return []string{f.Name(step)} }
func (lettered) Validate() error             { return nil }
func (f lettered) Parse(name string) (int64, bool) {
	step, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(name, "s"), "x"), 10, 64)
	return step, err == nil && f.Name(step) == name
}

// remainsOf opens a run and returns what remains of steps in it, with the kinds.
func remainsOf(t *testing.T, dir string, o *training.Options) []string {
	t.Helper()
	c, err := training.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	remains, err := c.Remains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range remains {
		got = append(got, fmt.Sprint(r.Name, " ", errs.KindOf(r.Err)))
	}
	return got
}

// move renames an entry of a directory.
func move(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

// What has the name of no step in any format is somebody else's, even a whole checkpoint;
// what has the name of a step is told, in the format of the run and in others.
func TestRemainsByName(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 1, 2, 3, 4, 5, 6, 7)
	move(t, dir, "2", "best")
	move(t, dir, "3", "notes_")
	move(t, dir, "4", "step_4")
	move(t, dir, "5", "step_5.damaged")
	move(t, dir, "6", "best.damaged")
	move(t, dir, "7", "step_8")
	for _, name := range []string{"bivouac.manifest", "_CHECKPOINT_METADATA"} {
		if err := os.Truncate(filepath.Join(dir, "step_8", name), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"step_7/data", "8/data", "9"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "0007"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, want := remainsOf(t, dir, nil), []string{"8 invalid", "9 invalid", "step_4 invalid", "step_5.damaged corrupt",
		"step_8 corrupt"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A second checkpoint of a listed step remains as one.
func TestRemainsOfTwoNames(t *testing.T) {
	dir, prefix := t.TempDir(), "step"
	makeRun(t, dir, 5)
	if err := os.CopyFS(filepath.Join(dir, "step_5"), os.DirFS(filepath.Join(dir, "5"))); err != nil {
		t.Fatal(err)
	}
	names := training.CompositeNames{Write: training.StandardNames{},
		Read: []training.NameFormat{training.StandardNames{}, training.StandardNames{Prefix: &prefix}}}
	c, err := training.Open(t.Context(), dir, &training.Options{Names: names})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	remains, err := c.Remains(t.Context())
	if err != nil || len(remains) != 1 || remains[0].Name != "step_5" || errs.KindOf(remains[0].Err) != errs.Exists {
		t.Errorf("%v, %v", remains, err)
	}
}

// Names of the caller's own format count like names of the standard format.
func TestRemainsOfOwnNames(t *testing.T) {
	dir := t.TempDir()
	o := &training.Options{Names: lettered{}}
	c, err := training.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for step := int64(1); step <= 3; step++ {
		if _, err := c.Save(t.Context(), step, model(step), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	move(t, dir, "s2x", "s2x.damaged")
	if err := os.RemoveAll(filepath.Join(dir, "s3x", "state")); err != nil {
		t.Fatal(err)
	}
	if got, want := remainsOf(t, dir, o), []string{"s2x.damaged corrupt", "s3x corrupt"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Where a key is wanted a step without a signature remains; one with a name of another
// format is told for its name.
func TestRemainsWithoutSignature(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 1, 2)
	move(t, dir, "2", "step_2")
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	o := &training.Options{}
	o.Bivouac.Signing, o.Bivouac.Verification = private, private.Public().(ed25519.PublicKey)
	if got, want := remainsOf(t, dir, o), []string{"1 corrupt", "step_2 invalid"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// runInMemory is a run of whole steps, and of remains of each kind.
func runInMemory(t *testing.T) *vfstest.Mem {
	t.Helper()
	mem := vfstest.NewMem()
	if err := prepared(10, 20, 30)(mem); err != nil {
		t.Fatal(err)
	}
	c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(mem, "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Quarantine(t.Context(), 30, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/run/40", "/run/50", "/run/50/data"} {
		if err := mem.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mem.SyncAll()
	return mem
}

// A disk that does not answer is no reason to call a step damaged, or to pass over it.
func TestRemainsOnBadDisk(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.EMFILE} {
		tried := 0
		for n := 1; ; n++ {
			var armed bool
			fault := vfstest.NewFault(runInMemory(t), vfstest.Plan{N: n, Err: errno,
				Only: func(c vfstest.Call) bool { return armed && c.Op != vfstest.OpClose }})
			c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(fault, "/", nil)})
			if err != nil {
				t.Fatal(err)
			}
			armed = true
			remains, err := c.Remains(t.Context())
			call, hits := fault.Hit()
			c.Close() //nolint:errcheck // was read
			if hits == 0 {
				if err != nil || len(remains) != 3 {
					t.Fatalf("%v, %v", remains, err)
				}
				break
			}
			if tried++; err == nil && len(remains) != 3 || err != nil && !errors.Is(err, errno) {
				t.Errorf("%v of call %d, %v: %v, %v", errno, n, call, remains, err)
			}
			for _, r := range remains { // what nothing hangs on failed
				if k := errs.KindOf(r.Err); k != errs.Corrupt && k != errs.Invalid || errors.Is(r.Err, errno) {
					t.Errorf("%v of call %d, %v, is told of %s: %v", errno, n, call, r.Name, r.Err)
				}
			}
		}
		if tried == 0 {
			t.Error("no call was made")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(runInMemory(t), "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if remains, err := c.Remains(ctx); !errors.Is(err, errs.Canceled) {
		t.Errorf("without time: %v, %v", remains, err)
	}
	for _, name := range []string{"/run/40", "/run/50"} { // one of several, and the last
		late, stop := context.WithCancel(t.Context())
		defer stop()
		armed := false
		fsys := vfstest.Intercept(runInMemory(t), func(c *vfstest.Call, do func() error) error {
			if armed && strings.HasPrefix(c.Name, name) {
				stop() // while it is looked at
			}
			return do()
		})
		c, err = training.Open(t.Context(), "run", &training.Options{Store: local.New(fsys, "/", nil)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		armed = true
		if remains, err := c.Remains(late); !errors.Is(err, errs.Canceled) {
			t.Errorf("when time ends at %s: %v, %v", name, remains, err)
		}
	}
}

// What goes while it is looked at does not remain, and fails nothing.
func TestRemainsBesideRemoval(t *testing.T) {
	for n := 1; ; n++ {
		var armed bool
		fault := vfstest.NewFault(runInMemory(t), vfstest.Plan{N: n, Forever: true, Err: syscall.ENOENT,
			Only: func(c vfstest.Call) bool {
				return armed && (c.Name == "/run/50" || strings.HasPrefix(c.Name, "/run/50/"))
			}})
		c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(fault, "/", nil)})
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		remains, err := c.Remains(t.Context())
		call, hits := fault.Hit()
		c.Close() //nolint:errcheck // was read
		if hits == 0 {
			break
		}
		if err != nil || len(remains) != 2 {
			t.Errorf("removed before call %d, %v: %v, %v", n, call, remains, err)
		}
	}
}

// Of a directory that is not there nothing remains.
func TestRemainsOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c, err := training.Open(t.Context(), dir, &training.Options{NoLock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if remains, err := c.Remains(t.Context()); err != nil || len(remains) != 0 {
			t.Errorf("%v, %v", remains, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	below, err := training.Open(t.Context(), "run", &training.Options{NoLock: true,
		Store: local.New(vfstest.NewMem(), "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	if remains, err := below.Remains(t.Context()); err != nil || len(remains) != 0 {
		t.Errorf("below a store: %v, %v", remains, err)
	}
}

// Whichever call fails while steps are moved aside, the caller is told and nothing is
// lost: the next start moves the rest.
func TestStartFreshOnBadDisk(t *testing.T) {
	want := map[string]bool{"20": true, "30.damaged": true, "40": true, "50": true}
	tried := 0
	for n := 2; ; n++ { // once, and from then on
		mem := runInMemory(t)
		fault := vfstest.NewFault(mem, vfstest.Plan{N: n / 2, Forever: n%2 == 1, Err: syscall.EIO,
			Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
		c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(fault, "/", nil), StartFresh: true,
			Clean: true})
		call, hits := fault.Hit()
		if err == nil {
			if len(c.Steps()) > 0 {
				t.Errorf("call %d, %v: begins beside steps %v", n, call, c.Steps())
			}
			c.Close() //nolint:errcheck // nothing was saved
		} else if tried++; !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d, %v: %v", n, call, err)
		}
		c, err = training.Open(t.Context(), "run", &training.Options{Store: local.New(mem, "/", nil), StartFresh: true,
			Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		if remains, err := c.Remains(t.Context()); err != nil || len(remains)+len(c.Steps()) > 0 {
			t.Errorf("call %d, %v: not moved are %v, %v", n, call, remains, err)
		}
		c.Close() //nolint:errcheck // nothing was saved
		got := map[string]bool{}
		asides, err := mem.ReadDir("/run")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range asides {
			if a.IsDir() && strings.HasPrefix(a.Name(), "aside-") {
				list, err := mem.ReadDir("/run/" + a.Name())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range list {
					got[e.Name()] = true
				}
			}
		}
		if len(got) != len(want) {
			t.Errorf("call %d, %v: aside lie %v, want %v", n, call, got, want)
		}
		if hits == 0 {
			break
		}
	}
	if tried == 0 {
		t.Error("no call failed")
	}
}

// A directory in a store is looked at in that store.
func TestWrongLevelInStore(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	save := func(dir string) {
		t.Helper()
		c, err := training.Open(t.Context(), dir, &training.Options{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Save(t.Context(), 640, model(640), nil); err != nil {
			t.Fatal(err)
		}
	}
	save("a/run")
	save("top") // directly below the root, as is what follows
	save("")
	dir := t.TempDir()
	makeRun(t, dir, 640)
	inside, err := local.Open(filepath.Join(dir, "640"), nil) // its root is a checkpoint
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		st        store.Store
		dir, says string
	}{
		{st, "a/run/640", "got a checkpoint (open the directory that holds the checkpoint, a/run)"},
		{st, "a/run/640/state", "inside of the checkpoint a/run/640 ("},
		{st, "a/run/640/state/d", "inside of the checkpoint a/run/640 ("},
		{st, "640/new", "inside of the checkpoint 640 (open the directory that holds the checkpoint)"},
		{inside, "new", "want"},
	} {
		_, err := training.Open(t.Context(), c.dir, &training.Options{Store: c.st})
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.dir, err, c.says)
		}
	}
}

// A step that is missing, or that the disk refuses, gets no lease.
func TestLeaseRefusals(t *testing.T) {
	mem := runInMemory(t)
	fault := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLockDir }})
	c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(fault, "/", nil), NoLock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if l, err := c.Lease(t.Context(), 99); errs.KindOf(err) != errs.NotFound || l != nil {
		t.Errorf("a step that is not there: %v, %v", l, err)
	}
	if l, err := c.Lease(t.Context(), 20); !errors.Is(err, syscall.EIO) || l != nil {
		t.Errorf("a lock that fails: %v, %v", l, err)
	}
	l, err := c.Lease(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
