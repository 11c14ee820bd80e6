package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

const testVersion = "test"

// client is a client for tests: the protocol without comfort.
type client struct {
	t    testing.TB
	conn *net.UnixConn
	last int64

	lastCheckpointer int64

	mu  sync.Mutex
	fds []int // that came and were not taken
}

// Read reads bytes, and keeps the descriptors that come with them.
func (c *client) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	n, on, _, _, err := c.conn.ReadMsgUnix(b, oob)
	if on > 0 {
		messages, _ := unix.ParseSocketControlMessage(oob[:on])
		for _, m := range messages {
			fds, _ := unix.ParseUnixRights(&m)
			c.mu.Lock()
			c.fds = append(c.fds, fds...)
			c.mu.Unlock()
		}
	}
	if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
		err = io.EOF // without the words of package net
	}
	return n, err
}

// pair returns two connected sockets.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = c.(*net.UnixConn)
	}
	return out[0], out[1]
}

// served starts a server for one connection. The end of the test waits for it.
func served(t testing.TB) *client {
	t.Helper()
	ours, theirs := pair(t)
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
	t.Cleanup(func() {
		ours.Close()
		<-done
	})
	c := &client{t: t, conn: ours}
	c.greet()
	return c
}

func (c *client) greet() {
	c.t.Helper()
	c.send(kindHello, hello{protocolVersion, testVersion, os.Getpid()})
	kind, body := c.frame()
	if kind != kindHello {
		c.t.Fatalf("kind %d: %s", kind, body)
	}
}

// send sends a frame.
func (c *client) send(kind byte, v any) {
	c.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.Write(appendFrame(nil, kind, func(b []byte) []byte {
		return append(b,
			body...)
	})); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads the next frame.
func (c *client) frame() (kind byte, body []byte) {
	c.t.Helper()
	kind, body, err := c.tryFrame()
	if err != nil {
		c.t.Fatal(err)
	}
	return kind, body
}

func (c *client) tryFrame() (kind byte, body []byte, err error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.LittleEndian.Uint32(head[:])-1)
	_, err = io.ReadFull(c, body)
	return head[4], body, err
}

type object = map[string]any

// start sends a call and returns its number.
func (c *client) start(op string, args object) int64 {
	c.t.Helper()
	c.last++
	c.send(kindCall, object{"id": c.last, "op": op, "args": args})
	return c.last
}

// said is what the server says about a call.
type said struct {
	ID     int64           `json:"id"`
	Value  json.RawMessage `json:"value"`
	Error  *fault          `json:"error"`
	Event  string          `json:"event"`
	Ask    int64           `json:"ask"`
	Op     string          `json:"op"`
	Body   []byte          `json:"-"`
	events []string
}

// wait reads until the last word of a call, and returns it with the names of the events before.
func (c *client) wait(id int64) said {
	c.t.Helper()
	var events []string
	for {
		s := c.next()
		switch {
		case s.ID != id:
			c.t.Fatalf("another call: %s", s.Body)
		case s.Event != "":
			events = append(events, s.Event)
		default:
			s.events = events
			return s
		}
	}
}

func (c *client) next() said {
	c.t.Helper()
	_, body := c.frame()
	var s said
	if err := json.Unmarshal(body, &s); err != nil {
		c.t.Fatal(err)
	}
	s.Body = body
	return s
}

// call makes a call that must succeed.
func (c *client) call(op string, args object) said {
	c.t.Helper()
	s := c.wait(c.start(op, args))
	if s.Error != nil {
		c.t.Fatalf("%s: %s", op, s.Error.Text)
	}
	return s
}

// refused makes a call that must fail, with an error of the kind.
func (c *client) refused(kind errs.Kind, op string, args object) *fault {
	c.t.Helper()
	s := c.wait(c.start(op, args))
	if s.Error == nil || s.Error.Kind != kind.String() {
		c.t.Fatalf("%s: %s, want %v", op, s.Body, kind)
	}
	return s.Error
}

// into decodes the value.
func (s said) into(t testing.TB, dst any) {
	t.Helper()
	if err := json.Unmarshal(s.Value, dst); err != nil {
		t.Fatal(err)
	}
}

// fd takes the descriptor that came.
func (c *client) fd() int {
	c.t.Helper()
	fd := c.nextFD()
	if n := len(c.fds); n != 0 {
		c.t.Fatalf("%d descriptors", n+1)
	}
	return fd
}

// nextFD returns the first of the descriptors that came.
func (c *client) nextFD() int {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fds) == 0 {
		c.t.Fatal("no descriptor")
	}
	fd := c.fds[0]
	c.fds = c.fds[1:]
	return fd
}

// mapped maps the descriptor that came.
func (c *client) mapped(n int64) []byte {
	c.t.Helper()
	fd := c.fd()
	defer unix.Close(fd)
	mem, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { unix.Munmap(mem) })
	return mem
}

// arena makes an arena.
func (c *client) arena(n int64) (id int64, mem []byte) {
	c.t.Helper()
	var v struct{ Arena, Bytes int64 }
	c.call("arena.new", object{"bytes": n}).into(c.t, &v)
	if v.Bytes < n || v.Bytes%4096 != 0 {
		c.t.Fatalf("%d bytes for %d", v.Bytes, n)
	}
	return v.Arena, c.mapped(v.Bytes)
}

type raw = json.RawMessage

func rawf(format string, a ...any) raw { return raw(fmt.Sprintf(format, a...)) }
