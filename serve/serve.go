package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// protocolVersion is the version of the protocol. A client of another version is refused.
const protocolVersion = 1

// Options of Serve and Listen.
type Options struct {
	// Version is the version of this program. A client with another version is refused.
	Version string
	// Log receives the ends of connections that broke the protocol. Default: no log.
	Log *slog.Logger
	// CheckURL returns an error for a URL that this program does not open. If it is nil, the library
	// returns its own error.
	CheckURL func(url string) error

	own bool // the client has started this program, which serves nobody else
}

func (o Options) withDefaults() Options {
	if o.Log == nil { // a library does not write to stderr unasked
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Serve answers the calls of one connection until the client closes it or ctx ends. Then it ends
// the calls in flight, waits until the saves that were accepted are finished, and closes conn.
//
// The error is errs.Invalid if the client broke the protocol, and errs.Mismatch if it has another
// version.
func Serve(ctx context.Context, conn *net.UnixConn, o Options) error {
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{Options: o, conn: conn, out: newOutbox(conn), calls: map[int64]*call{}, ops: ops(),
		dynamics: newDynamics(ctx)}
	stop := context.AfterFunc(ctx, func() { conn.CloseRead() }) //nolint:errcheck // then it is closed already
	err := c.read(ctx)
	stop()
	cancel()
	c.end(err)
	return err
}

// connection is one client.
type connection struct {
	Options
	conn   *net.UnixConn
	out    *outbox
	arenas arenas
	asks   asks

	checkpointers checkpointers
	pipelines     pipelines
	dynamics      *dynamics
	ops           map[string]func(*call) (reply, error)

	working sync.WaitGroup // calls
	mu      sync.Mutex
	calls   map[int64]*call // in flight
}

// end waits for the calls, whose context has ended, and gives everything back.
func (c *connection) end(err error) {
	if err != nil {
		c.Log.Warn("connection ended", "error", err)
		c.sendError(0, err)
	}
	c.asks.end()
	c.working.Wait()
	if err := c.checkpointers.close(); err != nil {
		c.Log.Warn("checkpointer closed with a failure", "error", err)
	}
	if err := c.pipelines.close(); err != nil {
		c.Log.Warn("pipeline closed with a failure", "error", err)
	}
	if err := c.dynamics.close(); err != nil {
		c.Log.Warn("reader closed with a failure", "error", err)
	}
	c.arenas.freeAll()
	c.out.finish()
	c.conn.Close() //nolint:errcheck // all was sent that could be
}

// hello is the first frame of each side.
type hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	PID      int    `json:"pid"`
}

// read takes frames until the end of the connection, which is no error.
func (c *connection) read(ctx context.Context) error {
	c.send(kindHello, hello{protocolVersion, c.Version, os.Getpid()})
	r := bufio.NewReaderSize(c.conn, 64<<10)
	greeted := false
	for {
		kind, body, err := readFrame(r)
		switch {
		case err == io.EOF || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil && errs.KindOf(err) == errs.Other:
			return nil // the peer is gone, whatever the system calls it
		case err != nil:
			return err
		case !greeted:
			err = c.greet(kind, body)
			greeted = true
		default:
			err = c.take(ctx, kind, body)
		}
		if err != nil {
			return err
		}
	}
}

// greet compares the hello of the client with ours.
func (c *connection) greet(kind byte, body []byte) error {
	var h hello
	if err := decodeFrame(kind, kindHello, body, &h); err != nil {
		return err
	}
	e := &errs.Error{Kind: errs.Mismatch, Op: "serve.hello", Remedy: "install client and server from one package"}
	switch {
	case h.Protocol != protocolVersion:
		e.Subject, e.Want, e.Got = "protocol", strconv.Itoa(protocolVersion), strconv.Itoa(h.Protocol)
	case h.Version != c.Version:
		e.Subject, e.Want, e.Got = "version", c.Version, cmp.Or(h.Version, "none")
	default:
		return nil
	}
	return e
}

// take acts on a frame.
func (c *connection) take(ctx context.Context, kind byte, body []byte) error {
	switch kind {
	case kindCall:
		return c.begin(ctx, body)
	case kindCancel:
		return c.cancel(body)
	case kindAnswer:
		return c.asks.answer(body)
	}
	return violation("a call, a cancel or an answer", "kind "+strconv.Itoa(int(kind)))
}

// decodeFrame decodes the body of a frame that must be of a kind.
func decodeFrame(kind, want byte, body []byte, dst any) error {
	if kind != want {
		return violation("kind "+strconv.Itoa(int(want)), "kind "+strconv.Itoa(int(kind)))
	}
	if err := json.Unmarshal(body, dst); err != nil || len(body) == 0 || body[0] != '{' {
		return violation("an object with the members of the protocol", clipped(body))
	}
	return nil
}

// send sends a frame with v as its body.
func (c *connection) send(kind byte, v any) { c.sendFile(kind, v, nil) }

// sendFile sends a frame with v as its body, and a file, which it closes.
func (c *connection) sendFile(kind byte, v any, file *os.File) {
	body, err := json.Marshal(v)
	if err != nil {
		c.Log.Error("frame not sent", "kind", kind, "error", err)
		closeFile(file)
		return
	}
	c.out.send(appendFrame(nil, kind, func(b []byte) []byte { return append(b, body...) }), filesOf(file))
}

func (c *connection) sendError(id int64, err error) {
	c.send(kindError, struct {
		ID    int64  `json:"id"`
		Error *fault `json:"error"`
	}{id, newFault(err)})
}
