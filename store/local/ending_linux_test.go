package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store/local"
)

// lockedFor is a file system whose lock another process has for the first requests.
type lockedFor struct {
	vfs.FS
	note     string
	requests int
}

func (f *lockedFor) Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error) {
	if f.requests--; f.requests >= 0 {
		return nil, &vfs.Held{Name: name, Note: []byte(f.note)}
	}
	return f.FS.Lock(name, perm, note)
}

// A lock of a process that was killed is waited for, because the system may take a moment to end
// it. A lock of any other process is not.
func TestLockOfKilledProcess(t *testing.T) {
	sleeps := exec.Command("sleep", "600")
	if err := sleeps.Start(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	note := func(host string) string {
		return fmt.Sprintf("process %d on %s since 2026-11-29T11:46:47Z\n", sleeps.Process.Pid, host)
	}
	lock := func(ctx context.Context, note string, requests int) (left int, err error) {
		f := &lockedFor{FS: vfs.OS(), note: note, requests: requests}
		l, err := local.New(f, t.TempDir(), nil).Lock(ctx, "run")
		if err == nil {
			err = l.Close()
		}
		return f.requests, err
	}
	if left, err := lock(t.Context(), note(host), 9); !errors.Is(err, errs.Busy) || left != 8 {
		t.Errorf("a process that lives: %v, after %d requests", err, 9-left)
	}
	if err := sleeps.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if left, err := lock(t.Context(), note(host), 9); err != nil || left != -1 {
		t.Errorf("a process that was killed: %v, after %d requests", err, 9-left)
	}
	cut, _, _ := strings.Cut(note(host), " since")
	for _, other := range []string{note("another." + host), "process x on " + host, cut, ""} {
		if left, err := lock(t.Context(), other, 9); !errors.Is(err, errs.Busy) || left != 8 {
			t.Errorf("the note %q: %v, after %d requests", other, err, 9-left)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, note(host), 1e6); !errors.Is(err, errs.Canceled) {
		t.Errorf("a caller that gives up: %v", err)
	}
	sleeps.Wait() //nolint:errcheck // it was killed
	began := time.Now()
	if _, err := lock(t.Context(), note(host), 1e6); !errors.Is(err, errs.Busy) || time.Since(began) < 4*time.Second {
		t.Errorf("a process that has ended, and left the lock to a child: %v after %s", err, time.Since(began))
	}
}

// The status of a process says whether it was killed.
func TestDying(t *testing.T) {
	const before, after = "Name:\tquickstart\nUmask:\t0022\n", "Cpus_allowed:\t3\n"
	for status, want := range map[string]bool{
		"State:\tR (running)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n":    false,
		"State:\tS (sleeping)\nSigPnd:\t0000000000004000\nShdPnd:\t0000000000000200\n":   false, // SIGTERM, SIGUSR1
		"State:\tD (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n": true,
		"State:\tD (disk sleep)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004100\n": true,
		"State:\tZ (zombie)\n":               true,
		"State:\tX (dead)\n":                 true,
		"State:\tT (stopped)\nSigPnd:\tzz\n": false,
		"SigIgn:\t0000000000000100\n":        false,
		"":                                   false,
	} {
		if got := local.Dying([]byte(before + status + after)); got != want {
			t.Errorf("%q: got %v, want %v", status, got, want)
		}
	}
}
