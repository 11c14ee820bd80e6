// Package stream defines the pull contract between producers of batches and
// their consumers. Pull is the contract; iter.Seq2 is sugar at the faces.
package stream

import "context"

// Stream yields values one by one.
type Stream[T any] interface {
	// Next returns the next value, io.EOF at the end, or an error that keeps
	// the position. The value is valid until the next call of Next or Close.
	Next(ctx context.Context) (T, error)
	// AppendState appends the state of what was delivered so far.
	AppendState(dst []byte) ([]byte, error)
	// SetState moves the stream; it is legal before the first Next and
	// whenever no Next is running. What was prefetched is dropped.
	SetState([]byte) error
	// Close releases everything and waits for all goroutines. It may be called twice.
	Close() error
}
