package serve

import (
	"context"
	"net"
	"os"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// ServeFile serves the connection that the process has inherited as descriptor fd. See Serve.
func ServeFile(ctx context.Context, fd int, o Options) error {
	conn, err := inherited(fd)
	if err != nil {
		return err
	}
	o.own = true
	return Serve(ctx, conn, o)
}

// inherited returns the socket with a descriptor.
func inherited(fd int) (*net.UnixConn, error) {
	bad := &errs.Error{Kind: errs.Invalid, Op: "serve", Subject: "descriptor " + strconv.Itoa(fd),
		Want: "an open Unix stream socket"}
	if fd < 0 {
		bad.Got = "a negative number"
		return nil, bad
	}
	f := os.NewFile(uintptr(fd), "connection")
	c, err := net.FileConn(f) // a duplicate that children do not inherit
	closeFile(f)
	if err != nil {
		bad.Err = err
		return nil, bad
	}
	conn, ok := c.(*net.UnixConn)
	if !ok || conn.LocalAddr().Network() != "unix" {
		c.Close() //nolint:errcheck // it is not of use
		bad.Got = "a socket of " + c.LocalAddr().Network()
		return nil, bad
	}
	return conn, nil
}
