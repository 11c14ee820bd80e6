package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// ListenOptions are the options of Listen.
type ListenOptions struct {
	Options
	// Linger is how long Listen waits for another client after the last one left, and for the first.
	// Default: 30 seconds.
	Linger time.Duration
}

func (o ListenOptions) withDefaults() ListenOptions {
	o.Options = o.Options.withDefaults()
	if o.Linger == 0 { // the next trainer of a job starts within it
		o.Linger = 30 * time.Second
	}
	return o
}

// Validate returns an error for a Linger below 0.
func (o ListenOptions) Validate() error {
	if o.Linger < 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "serve", Subject: "ListenOptions.Linger", Want: "0 or more",
			Got: o.Linger.String()}
	}
	return nil
}

// Listen serves all clients of the same user that connect to the Unix socket path. It makes the
// directory of path if that does not exist, and refuses one that others can enter. It returns when
// ctx ends, or when there was no client for a while. Before that it finishes the saves that were
// accepted, and removes the socket.
//
// The error is errs.Busy if another server listens there, and errs.Permission for the directory.
func Listen(ctx context.Context, path string, o ListenOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	l, err := listen(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &house{ListenOptions: o, leave: cancel}
	h.idle()
	stop := context.AfterFunc(ctx, func() { l.Close() }) //nolint:errcheck // it ends Accept
	defer stop()
	err = h.accept(ctx, l)
	cancel()
	l.Close() //nolint:errcheck // it is closed already, mostly
	h.guests.Wait()
	return err
}

// listen makes the socket.
func listen(path string) (*net.UnixListener, error) {
	fail := func(kind errs.Kind, want, got, remedy string, err error) (*net.UnixListener, error) {
		return nil, &errs.Error{Kind: kind, Op: "serve.Listen", Subject: path, Want: want, Got: got, Remedy: remedy, Err: err}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(errs.IO, "", "", "", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fail(errs.IO, "", "", "", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 || !ownedByUser(info) {
		return fail(errs.Permission, "a directory that only this user can enter", dir+" with mode "+mode.String(),
			"choose a directory that does not exist, or chmod 700", nil)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close() //nolint:errcheck // nothing was sent
		return fail(errs.Busy, "a path at which no server listens", "one that does", "", nil)
	} else if errors.Is(err, os.ErrNotExist) {
	} else if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return fail(errs.Exists, "a socket of a server that ended, or nothing", "something else", "choose another path", nil)
	} else if err := os.Remove(path); err != nil {
		return fail(errs.IO, "", "", "", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fail(errs.IO, "", "", "", err)
	}
	return l, nil
}

// house counts the clients of a server, and ends it when nobody is there.
type house struct {
	ListenOptions
	leave  context.CancelFunc
	guests sync.WaitGroup

	mu    sync.Mutex
	count int
	timer *time.Timer // runs while nobody is there
}

// idle begins to wait for a client.
func (h *house) idle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.Linger, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.count == 0 {
			h.leave()
		}
	})
}

// enter counts a client.
func (h *house) enter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	h.timer.Stop()
}

// exit counts a client out.
func (h *house) exit() {
	h.mu.Lock()
	h.count--
	last := h.count == 0
	h.mu.Unlock()
	if last {
		h.idle()
	}
}

// accept serves clients until the listener is closed.
func (h *house) accept(ctx context.Context, l *net.UnixListener) error {
	for {
		conn, err := l.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				conn.Close() //nolint:errcheck // the client sees the end
			}
			return nil
		case err != nil && isShortage(err):
			h.Log.Warn("client not accepted", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(shortagePause):
			}
			continue
		case err != nil:
			return &errs.Error{Kind: errs.IO, Op: "serve.Listen", Err: err}
		}
		if err := checkPeer(conn); err != nil {
			h.Log.Warn("client refused", "error", err)
			conn.Close() //nolint:errcheck // the client sees the end
			continue
		}
		h.enter()
		h.guests.Go(func() {
			defer h.exit()
			Serve(ctx, conn, h.Options) //nolint:errcheck // it is in the log
		})
	}
}

// shortagePause is how long accept waits for descriptors.
const shortagePause = 100 * time.Millisecond
