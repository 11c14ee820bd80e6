package vfstest

import (
	"errors"
	"fmt"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io"
	"io/fs"
	"regexp"
	"sync"
	"syscall"
)

// Log writes every call to a file system as a line of text, for golden lists:
//
//	create /run/1.tmp-<nonce1>/a
//	write-at /run/1.tmp-<nonce1>/a off=0 len=3
//	rename-no-replace /run/1.tmp-<nonce1> /run/1: EEXIST
//
// Every run of 16 hexadecimal digits is replaced by <nonceK>, K by order of
// appearance.
type Log struct {
	vfs.FS
	mu     sync.Mutex
	w      io.Writer
	nonces map[string]string
	skip   func(Call) bool
}

// NewLog returns fsys with each call written to w, except calls for which skip, if not nil, returns
// true.
func NewLog(fsys vfs.FS, w io.Writer, skip func(Call) bool) *Log {
	l := &Log{w: w, nonces: map[string]string{}, skip: skip}
	l.FS = Intercept(fsys, l.around)
	return l
}

var nonce = regexp.MustCompile(`\b[0-9a-f]{16}\b`)

func (l *Log) around(c *Call, do func() error) error {
	err := do()
	if l.skip != nil && l.skip(*c) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := c.String()
	if err != nil {
		line += ": " + cause(err)
	}
	line = nonce.ReplaceAllStringFunc(line, func(s string) string {
		if l.nonces[s] == "" {
			l.nonces[s] = fmt.Sprintf("<nonce%d>", len(l.nonces)+1)
		}
		return l.nonces[s]
	})
	fmt.Fprintln(l.w, line) //nolint:errcheck // the log is for tests; its writer is memory
	return err
}

// cause is err without the names that the line has already.
func cause(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrExist):
		return "exists"
	case errors.Is(err, fs.ErrNotExist):
		return "not found"
	case errors.Is(err, io.EOF):
		return "EOF"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return err.Error()
}
