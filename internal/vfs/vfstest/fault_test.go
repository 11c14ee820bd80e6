package vfstest_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// little is a workload of seven calls.
func little(fsys vfs.FS) (err error) {
	if err := fsys.Mkdir("/d.0123456789abcdef", 0o777); err != nil {
		return err
	}
	f, err := fsys.Create("/d.0123456789abcdef/a", 0o666)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte("four"), 8); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.RenameNoReplace("/d.0123456789abcdef", "/e.fedcba9876543210"); err != nil {
		return err
	}
	return fsys.SyncDir("/")
}

func TestFaultCounts(t *testing.T) {
	f := vfstest.NewFault(vfstest.NewMem(), vfstest.Plan{})
	if err := little(f); err != nil || f.Calls() != 7 {
		t.Fatalf("%d calls, %v", f.Calls(), err)
	}
	for n := 1; n <= 7; n++ {
		for _, forever := range []bool{false, true} {
			mem := vfstest.NewMem()
			f := vfstest.NewFault(mem, vfstest.Plan{N: n, Forever: forever, Err: syscall.EIO})
			err := little(f)
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("call %d: %v", n, err)
			}
			if call, hits := f.Hit(); hits == 0 || call.Op == vfstest.OpNone {
				t.Errorf("call %d: hit %v %d times", n, call, hits)
			}
			if mem.OpenFiles() != 0 {
				t.Errorf("call %d: a failed close left the file open", n)
			}
		}
	}
}

func TestFaultEffects(t *testing.T) {
	write := func(c vfstest.Call) bool { return c.Op == vfstest.OpWriteAt }
	for _, c := range []struct {
		name string
		plan vfstest.Plan
		n    int
		err  error
		size int64
	}{
		{"nothing", vfstest.Plan{N: 1, Err: syscall.ENOSPC}, 0, syscall.ENOSPC, 0},
		{"short", vfstest.Plan{N: 1, Short: true}, 2, nil, 2},
		{"short with error", vfstest.Plan{N: 1, Short: true, Err: syscall.ENOSPC}, 2, syscall.ENOSPC, 2},
		{"done", vfstest.Plan{N: 1, Done: true, Err: syscall.EIO}, 4, syscall.EIO, 4},
		{"later", vfstest.Plan{N: 2, Err: syscall.EIO}, 4, nil, 4},
	} {
		c.plan.Only = write
		f, err := vfstest.NewFault(vfstest.NewMem(), c.plan).Create("/a", 0o666)
		if err != nil {
			t.Fatal(err)
		}
		n, err := f.WriteAt([]byte("four"), 0)
		info, e := f.Stat()
		if e != nil {
			t.Fatal(e)
		}
		if n != c.n || !errors.Is(err, c.err) || info.Size() != c.size {
			t.Errorf("%s: wrote %d, %v, size %d", c.name, n, err, info.Size())
		}
	}
	mem := vfstest.NewMem()
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Done: true, Err: syscall.EIO})
	if _, err := f.Create("/a", 0o666); !errors.Is(err, syscall.EIO) || mem.OpenFiles() != 0 {
		t.Errorf("create that was done: %v, %d open files", err, mem.OpenFiles())
	}
	if _, err := mem.Stat("/a"); err != nil {
		t.Error(err)
	}
}

func TestFaultReads(t *testing.T) {
	mem := vfstest.NewMem()
	w, err := mem.Create("/a", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt([]byte("four"), 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		plan vfstest.Plan
		n    int
		err  error
	}{
		{"fails", vfstest.Plan{N: 1, Err: syscall.EIO}, 0, syscall.EIO},
		{"short", vfstest.Plan{N: 1, Short: true}, 2, io.EOF},
		{"short with error", vfstest.Plan{N: 1, Short: true, Err: syscall.EIO}, 2, syscall.EIO},
	} {
		c.plan.Only = func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt }
		f, err := vfstest.NewFault(mem, c.plan).Open("/a")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.ReadAt(make([]byte, 4), 0); n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%s: read %d, %v", c.name, n, err)
		}
	}
}

// A call that is slow is slow and does what it does.
func TestFaultDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			forever bool
			want    time.Duration
		}{{false, time.Hour}, {true, 5 * time.Hour}} {
			f := vfstest.NewFault(vfstest.NewMem(), vfstest.Plan{N: 3, Forever: c.forever, Delay: time.Hour})
			start := time.Now()
			if err := little(f); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != c.want {
				t.Errorf("for ever %v: took %v, want %v", c.forever, took, c.want)
			}
			if call, hits := f.Hit(); call.Op != vfstest.OpWriteAt || hits != int(c.want/time.Hour) {
				t.Errorf("%v, %d hits", call, hits)
			}
		}
	})
}

func TestLog(t *testing.T) {
	var b bytes.Buffer
	l := vfstest.NewLog(vfstest.NewMem(), &b, func(c vfstest.Call) bool { return c.Op == vfstest.OpClose })
	if err := little(l); err != nil {
		t.Fatal(err)
	}
	if err := l.Mkdir("/e.fedcba9876543210", 0o777); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := l.Remove("/e.fedcba9876543210"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Fatal(err)
	}
	want := `mkdir /d.<nonce1>
create /d.<nonce1>/a
write-at /d.<nonce1>/a off=8 len=4
sync /d.<nonce1>/a
rename-no-replace /d.<nonce1> /e.<nonce2>
sync-dir /
mkdir /e.<nonce2>: exists
remove /e.<nonce2>: exists
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Fatal(diff)
	}
}
