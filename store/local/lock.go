package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Locker = (*Store)(nil)

// killedWait is how long Lock waits for the end of a process that was killed: the system may have
// to finish a write for it first, and it holds the lock meanwhile.
const killedWait = 5 * time.Second

// Lock implements store.Locker by flock(2). The system releases the lock when the process ends in
// any way.
func (s *Store) Lock(ctx context.Context, dir string) (io.Closer, error) {
	const op = "store.Lock"
	if dir != "" {
		if err := store.CheckName(op, dir); err != nil {
			return nil, err
		}
	}
	if err := alive(ctx, op, dir); err != nil {
		return nil, err
	}
	if err := s.ensureDir(dir); err != nil {
		return nil, wrap(op, dir, err)
	}
	name := s.path(path.Join(dir, store.LockName))
	l, err := s.fs.Lock(name, s.opt.FileMode, []byte(holder(time.Now())+"\n"))
	var held *vfs.Held
	for began := time.Now(); errors.As(err, &held) && killed(held.Note) && time.Since(began) < killedWait; {
		select {
		case <-ctx.Done():
			return nil, alive(ctx, op, dir)
		case <-time.After(5 * time.Millisecond):
		}
		l, err = s.fs.Lock(name, s.opt.FileMode, []byte(holder(time.Now())+"\n"))
	}
	if errors.As(err, &held) {
		return nil, &errs.Error{
			Kind: errs.Busy, Op: op, Subject: s.path(dir), Want: "no other writer", Got: "a lock held by " + heldBy(held.Note),
			Remedy: "stop the other process or let it finish; a process that has ended holds no lock",
		}
	}
	if err != nil {
		return nil, wrap(op, dir, err)
	}
	return &lock{Closer: l, s: s, name: name}, nil
}

// lock is a lock that is held.
type lock struct {
	io.Closer
	s    *Store
	name string
}

var _ store.HeldLock = (*lock)(nil)

// Check implements store.HeldLock.
func (l *lock) Check(ctx context.Context) error {
	const op = "store.Lock"
	if err := alive(ctx, op, l.name); err != nil {
		return err
	}
	f, ok := l.Closer.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil
	}
	locked, err := f.Stat()
	if err != nil {
		return wrap(op, l.name, err)
	}
	there, err := l.s.fs.Stat(l.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &errs.Error{Kind: errs.NotFound, Op: op, Subject: l.name, Want: "the lock file of this process",
			Got:    "no file (it or its directory was removed)",
			Remedy: "find out which program removes it, and open the run again"}
	case err != nil:
		return wrap(op, l.name, err)
	case !vfs.SameFile(locked, there):
		return &errs.Error{Kind: errs.Busy, Op: op, Subject: l.name, Want: "the lock file of this process",
			Got:    "another file (it or its directory was replaced)",
			Remedy: "find out which program saves there, and open the run again"}
	}
	return nil
}

// holder describes this process for other processes.
func holder(since time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, since.Format(time.RFC3339))
}

// killed reports whether the holder of a lock is a process of this machine that was killed and has
// not ended yet, or has ended.
func killed(note []byte) bool {
	var pid int
	var host string
	if _, err := fmt.Sscanf(string(note), "process %d on %s since", &pid, &host); err != nil {
		return false
	}
	here, err := os.Hostname()
	return err == nil && here == host && ending(pid)
}

// heldBy returns the note of a holder in a form that is fit for a message, because any program may
// have written it.
func heldBy(note []byte) string {
	line, _, _ := strings.Cut(string(note), "\n")
	line = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
	if line = strings.TrimSpace(line); line == "" {
		return "a process that left no note"
	}
	return line[:min(len(line), 200)]
}
