package local_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// scanned returns the bytes of an object as a scan visits them.
func scanned(fsys vfs.FS, name string) (got []byte, err error) {
	willing := vfstest.Intercept(fsys, func(c *vfstest.Call, do func() error) error {
		if err := do(); c.Op != vfstest.OpSetDirect || errors.Is(err, syscall.ENOTSUP) {
			return err
		}
		return nil // the file system in memory has no direct reads
	})
	err = local.New(willing, root, nil).Scan(context.Background(), name, func(b []byte) error {
		got = append(got, b...)
		return nil
	})
	return got, err
}

// A scan visits each byte once, in order, also where the file system refuses direct reads
// at once or only when it is asked for bytes; a disk that cannot read, a visitor that gives
// up and a name that is not there end it with their reason.
func TestScan(t *testing.T) {
	mem := vfstest.NewMem()
	want := bytes.Repeat([]byte("0123456789abcdef-"), 150_000)
	if err := local.New(mem, root, nil).Put(t.Context(), "big", want, store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]vfstest.Plan{
		"direct":            {},
		"never direct":      {N: 1, Forever: true, Err: syscall.ENOTSUP, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSetDirect }},
		"direct until read": {N: 1, Err: syscall.EINVAL, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt }},
		"direct for a time": {N: 2, Err: syscall.EINVAL, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt }},
	} {
		if got, err := scanned(vfstest.NewFault(mem, plan), "big"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
	bad := vfstest.Plan{N: 2, Forever: true, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt }}
	if got, err := scanned(vfstest.NewFault(mem, bad), "big"); !errors.Is(err, syscall.EIO) || !bytes.HasPrefix(want, got) || len(got) == len(want) {
		t.Errorf("a disk that cannot read: %d bytes, %v", len(got), err)
	}
	if got, err := scanned(mem, "none"); errs.KindOf(err) != errs.NotFound || len(got) > 0 {
		t.Errorf("no such object: %d bytes, %v", len(got), err)
	}
	visits, enough := 0, errors.New("enough")
	err := local.New(mem, root, nil).Scan(t.Context(), "big", func([]byte) error {
		visits++
		return enough
	})
	if !errors.Is(err, enough) || visits != 1 {
		t.Errorf("a visitor that gives up: %v after %d visits", err, visits)
	}
}

// An object has an identity. A missing or unreadable name has no identity.
func TestIdentity(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	if _, err := local.New(mem, root, nil).Identity(t.Context(), "none"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("no such object: %v", err)
	}
	bad := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpStat }})
	if id, err := local.New(bad, root, nil).Identity(t.Context(), "n"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that does not answer: %q, %v", id, err)
	}
}

// A directory that another writer puts there at the moment of the exchange gets its name back. If
// that fails, nothing of it is lost, and the error says that the outcome is unknown.
func TestExchangedForAnother(t *testing.T) {
	for _, fails := range []bool{false, true} {
		mem := vfstest.NewMem()
		if err := setup(mem); err != nil {
			t.Fatal(err)
		}
		exchanges := 0
		fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
			if c.Op != vfstest.OpExchange {
				return do()
			}
			if exchanges++; exchanges == 1 {
				if err := errors.Join(mem.Rename(root+"/1", root+"/gone"), save(context.Background(), local.New(mem, root, nil), "1", 2)); err != nil {
					t.Error(err)
				}
			} else if fails {
				return syscall.EIO
			}
			return do()
		})
		s := local.New(fsys, root, nil)
		pin, err := s.Pin(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		txn, err := s.Begin(t.Context(), "1", store.TxnOptions{Replaces: pin})
		if err != nil {
			t.Fatal(err)
		}
		err = txn.Commit(t.Context(), store.Blob{Name: "manifest", Data: []byte("new")})
		pin.Close() //nolint:errcheck // nothing was written
		if exchanges != 2 {
			t.Fatalf("%d exchanges: %v", exchanges, err)
		}
		others, names := 0, []string(nil)
		for e, lerr := range local.New(mem, root, nil).List(t.Context(), "") {
			if lerr != nil {
				t.Fatal(lerr)
			}
			names = append(names, e.Name)
			if got, werr := walk(local.New(mem, root, nil), e.Name); werr == nil && matches("1", 2, got) {
				others++
			}
		}
		if others != 1 {
			t.Errorf("fails %v: the other writer's directory is there %d times: %q", fails, others, names)
		}
		if !fails {
			if got, werr := walk(local.New(mem, root, nil), "1"); errs.KindOf(err) != errs.Busy || werr != nil || !matches("1", 2, got) {
				t.Errorf("it did not get its name back: %v, %v", err, werr)
			}
		} else if !errors.Is(err, store.ErrUncertain) || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "could not get its name back") {
			t.Errorf("it could not get its name back: %v", err)
		}
	}
}

// Where directories have no locks, the store does not try again.
func TestTurnWithoutLocks(t *testing.T) {
	mem := vfstest.NewMem()
	if err := setup(mem); err != nil {
		t.Fatal(err)
	}
	asked := 0
	fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpLockDir && c.Name == root {
			asked++
			return syscall.ENOLCK
		}
		return do()
	})
	if err := save(t.Context(), local.New(fsys, root, nil), "1", 3); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("the lock was asked for %d times", asked)
	}
}
