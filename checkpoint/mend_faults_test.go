package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/scrub"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// damagedRun is a run with a damaged step 7 that parity can mend, of which a scrub has
// told.
func damagedRun(t *testing.T) *vfstest.Mem {
	t.Helper()
	ctx := t.Context()
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	if err := checkpoint.Save(ctx, "run/7", partOf(1),
		&checkpoint.SaveOptions{Store: st, Options: withParity(5, options.Bivouac{})}); err != nil {
		t.Fatal(err)
	}
	raw, err := store.ReadAll(ctx, st, "run/7/"+manifest.Name)
	if err != nil {
		t.Fatal(err)
	}
	found := scrub.Entry{Step: 7, Directory: "7", Manifest: manifest.HashOf(raw), At: time.Unix(1, 0),
		Damages: []scrub.Damage{{File: "a", What: "b"}}}
	if err := errors.Join(scrub.Write(ctx, st, "run", []scrub.Entry{found}), cutOff(mem, "/run/7", "_METADATA"),
		mem.Remove("/run/7/_CHECKPOINT_METADATA")); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	return mem
}

// repairedRun repairs the run and returns what is still wrong.
func repairedRun(fsys vfs.FS) error {
	r, err := integrity.Repair(context.Background(), "run",
		&integrity.RepairOptions{Store: local.New(fsys, "/", nil), Apply: true})
	if err == nil {
		err = errors.Join(r.Problems...)
	}
	return err
}

// Whichever call fails while a step is mended, the reason is told as it was, or the step is
// mended and no scrub is quoted against it. Only where the parity itself cannot be read, as
// on lost sectors, the step is set aside.
func TestEveryFailureOfAMendIsTold(t *testing.T) {
	failureOfAMend(t, syscall.EIO, false)
	failureOfAMend(t, syscall.EACCES, false)
	failureOfAMend(t, syscall.EACCES, true) // a disk of which nothing can be read is damage, and told as that
}

func failureOfAMend(t *testing.T, errno syscall.Errno, forever bool) {
	whole := damagedRun(t)
	for n := 1; ; n++ {
		mem := whole.Clone()
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Forever: forever, Err: errno,
			Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
		err := repairedRun(f)
		call, hits := f.Hit()
		if errno == syscall.EIO && strings.Contains(call.Name, ".bivouac.parity.") && there("/run/7.damaged")(mem) == nil {
			continue
		}
		st := local.New(mem, "/", nil)
		switch {
		case err == nil:
			if lerr := loads("run/7", partOf(1))(mem); lerr != nil {
				t.Errorf("%v of call %d, %v: nothing was told, and: %v", errno, n, call, lerr)
			}
			if left := scrub.Read(t.Context(), st, "run"); len(left) > 0 {
				t.Errorf("%v of call %d, %v: nothing was told, and the scrub still tells %v", errno, n, call, left)
			}
		case hits == 0:
			t.Fatal(err)
		case !errors.Is(err, errno):
			t.Errorf("%v of call %d, %v, failed, and the error says something else: %v", errno, n, call, err)
		}
		if _, err := mem.Stat("/run/7"); err != nil {
			t.Errorf("%v of call %d, %v: %v", errno, n, call, err)
		}
		if hits == 0 {
			break
		}
	}
}

// A manifest that the disk does not give back, from some call on, is damage: the step is
// mended, or the reason is told.
func TestLostManifestOfAMendIsTold(t *testing.T) {
	whole := damagedRun(t)
	for n := 1; ; n++ {
		mem := whole.Clone()
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Forever: true, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
			return c.Op != vfstest.OpClose && strings.HasSuffix(c.Name, "/"+manifest.Name)
		}})
		err := repairedRun(f)
		call, hits := f.Hit()
		if err == nil {
			if err := loads("run/7", partOf(1))(mem); err != nil {
				t.Errorf("call %d, %v, and later ones failed: nothing was told, and: %v", n, call, err)
			}
		} else if !errors.Is(err, syscall.EIO) && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("call %d, %v, and later ones failed, and the error says something else: %v", n, call, err)
		}
		if hits == 0 {
			break
		}
	}
}

// Whether damage can be mended is told, or why nobody can tell.
func TestEveryFailureOfALookIsTold(t *testing.T) {
	mem := damagedRun(t)
	for n := 1; ; n++ {
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EACCES,
			Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
		r, err := integrity.Verify(t.Context(), "run/7", &integrity.VerifyOptions{Store: local.New(f, "/", nil)})
		call, hits := f.Hit()
		if err == nil && (r.OK() || !r.Mendable) || err != nil && !errors.Is(err, syscall.EACCES) {
			t.Errorf("call %d, %v, failed: %+v, %v", n, call, r, err)
		}
		if hits == 0 {
			break
		}
	}
}

// A step that is damaged again in the moment in which it is mended is told.
func TestMendLooksAgain(t *testing.T) {
	mem := damagedRun(t)
	fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		err := do()
		if c.Op == vfstest.OpExchange && err == nil {
			err = cutOff(mem, "/run/7", "_METADATA")
		}
		return err
	})
	if err := repairedRun(fsys); !errors.Is(err, errs.Corrupt) {
		t.Errorf("the step is damaged again: %v", err)
	}
}

// Checkpoints that share damage are named; those beside without a whole manifest are skipped.
func TestSharersBesideOthers(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	o := checkpoint.SaveOptions{Store: st, Options: withParity(5, options.Bivouac{})}
	for _, name := range []string{"a", "b", "c", "d"} {
		o.Base = "a"
		if err := checkpoint.Save(ctx, name, partOf(1), &o); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(mem.Remove("/c/"+manifest.Name), cutOff(mem, "/d", manifest.Name)); err != nil {
		t.Fatal(err)
	}
	raw, err := store.ReadAll(ctx, st, "a/"+manifest.Name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		if strings.Contains(f.Name, "/d/") {
			b, err := store.ReadAll(ctx, st, "a/"+f.Name)
			if err != nil {
				t.Fatal(err)
			}
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
			if err := errors.Join(mem.Remove("/a/"+f.Name), putFile(mem, "/a/"+f.Name, b)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := integrity.Repair(ctx, "a", &integrity.RepairOptions{Store: st})
	if err != nil || len(r.Actions) != 1 || fmt.Sprint(r.Actions[0].Shared) != "[b]" {
		t.Errorf("%+v, %v", r, err)
	}
}
