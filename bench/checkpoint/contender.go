package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
)

// contender is one side of a comparison, in a process of its own. Operations
// time themselves, so that what they prepare does not count.
type contender interface {
	do(ctx context.Context, op, config, path string) (answer, error)
	close() error
}

// serve is the life of a contender's process: it answers the requests that come
// in, one a line, until there are no more.
func serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	var c contender
	defer func() {
		if c != nil {
			if e := c.close(); err == nil {
				err = e
			}
		}
	}()
	return child.Serve(in, out, func(r request) (a answer, err error) {
		if r.Op == "begin" {
			c, err = newContender(r)
			return a, err
		}
		return c.do(ctx, r.Op, r.Config, r.Path)
	})
}

func newContender(r request) (contender, error) {
	state, err := newState(r.Tree, r.MiB<<20)
	if err != nil {
		return nil, err
	}
	switch r.Who {
	case "raw":
		return newRaw(state), nil
	case "bivouac":
		return &bivouac{state: state}, nil
	}
	return nil, fmt.Errorf("no contender %q", r.Who)
}

// fresh makes place for a save, and has the disk at rest.
func fresh(path string) error {
	err := os.RemoveAll(path)
	syscall.Sync()
	return err
}
