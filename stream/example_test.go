package stream_test

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/bivouac-ml/bivouac/stream"
)

// counter delivers 0, 1, … below end. Its state is the number that comes next.
type counter struct{ next, end int }

func (c *counter) Next(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if c.next == c.end {
		return 0, io.EOF
	}
	c.next++
	return c.next - 1, nil
}

func (c *counter) AppendState(dst []byte) ([]byte, error) {
	return strconv.AppendInt(dst, int64(c.next), 10), nil
}

func (c *counter) SetState(b []byte) (err error) {
	c.next, err = strconv.Atoi(string(b))
	return err
}

func (c *counter) Close() error { return nil }

func Example() {
	var s stream.Stream[int] = &counter{end: 4}
	defer s.Close()
	ctx := context.Background()
	first, _ := s.Next(ctx)
	saved, _ := s.AppendState(nil)
	second, _ := s.Next(ctx)
	if err := s.SetState(saved); err != nil {
		fmt.Println(err)
		return
	}
	again, _ := s.Next(ctx)
	fmt.Println(first, second, again)
	// Output: 0 1 1
}
