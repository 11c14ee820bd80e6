package local

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Lock implements store.Locker by flock(2), which the system gives back when the
// process ends, however it does.
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
	lock, err := s.fs.Lock(s.path(path.Join(dir, store.LockName)), s.opt.FileMode, []byte(holder(time.Now())+"\n"))
	var held *vfs.Held
	if errors.As(err, &held) {
		return nil, &errs.Error{
			Kind: errs.Busy, Op: op, Subject: s.path(dir), Want: "to be the only writer", Got: "the lock is held by " + heldBy(held.Note),
			Remedy: "stop the other one or let it finish; one that has died holds no lock",
		}
	}
	return lock, wrap(op, dir, err)
}

// holder says who this process is.
func holder(since time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, since.Format(time.RFC3339))
}

// heldBy is the note of a holder, made fit for a message: anybody may have
// written it.
func heldBy(note []byte) string {
	line, _, _ := strings.Cut(string(note), "\n")
	line = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
	if line = strings.TrimSpace(line); line == "" {
		return "a process that has not said who it is"
	}
	return line[:min(len(line), 200)]
}
