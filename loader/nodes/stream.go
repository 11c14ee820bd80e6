package nodes

import (
	"context"
	"io"

	"github.com/bivouac-ml/bivouac/stream"
)

// FromStream returns the node that yields a stream, such as a loader.Loader, epoch by epoch. If an
// epoch is left before its end, the node calls the stream's method Restart. If there is no such
// method, the stream goes back to where it began.
func FromStream[T any](s stream.Stream[T]) Node[T] { return &streamed[T]{stream: s} }

type streamed[T any] struct {
	stream  stream.Stream[T]
	start   []byte // state of the stream at its first Reset
	reading bool   // an epoch is being read, after its beginning
	ended   bool   // the epoch has ended, until Reset
}

func (n *streamed[T]) Reset(ctx context.Context, state []byte) (err error) {
	if n.start == nil {
		if n.start, err = n.stream.AppendState(nil); err != nil {
			return err
		}
	}
	reading := n.reading && !n.ended
	n.reading, n.ended = false, false
	if state != nil {
		n.reading = true
		return n.stream.SetState(state)
	}
	if !reading {
		return nil
	}
	if s, ok := n.stream.(interface{ Restart(context.Context) error }); ok {
		return s.Restart(ctx)
	}
	return n.stream.SetState(n.start)
}

func (n *streamed[T]) Next(ctx context.Context) (v T, err error) {
	if n.ended {
		return v, io.EOF
	}
	n.reading = true
	if v, err = n.stream.Next(ctx); err == io.EOF {
		n.ended = true
	}
	return v, err
}

func (n *streamed[T]) AppendState(dst []byte) ([]byte, error) { return n.stream.AppendState(dst) }

func (n *streamed[T]) Close() error { return n.stream.Close() }
