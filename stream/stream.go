// Package stream defines the contract between producers of batches and their consumers: the
// consumer pulls with Next. Iterators (iter.Seq2) are built on it.
//
// # Passes, and the end
//
// A stream delivers its values in passes. A pass of a loader is an epoch; other streams may have
// only one pass. Next returns io.EOF at the end of a pass, and the call after it returns the first
// value of the next pass. If that call returns io.EOF again, the stream has ended. Then each call
// returns io.EOF until SetState moves the stream. So a pass without values is the end.
//
//	values      a  b  EOF  c  d  EOF  EOF …
//	            └pass 1    └pass 2    └the stream has ended
//
// A consumer that needs one pass stops at the first io.EOF. A consumer that trains a number of
// steps, such as bivouac.Job, calls Next once more. A stream that never ends need not return io.EOF
// at all. A [Resetter] is a stream whose next pass begins only when the caller says so.
//
// # States
//
// A state covers everything that Next returned, io.EOF included. A stream that is set to a state
// returns what it would have returned without the interruption. If the state was taken after the
// last value of a pass, the stream returns io.EOF first. If it was taken after io.EOF, the stream
// returns the values of the next pass. (A [Resetter] that is set to a state from after io.EOF may
// have begun the next pass.) Prefetching changes nothing. So a loop over epochs counts the same
// epochs, interrupted or not. Package stream/streamtest tests implementations against these rules.
package stream

import "context"

// Stream yields values one by one. Its methods are for one goroutine at a time.
type Stream[T any] interface {
	// Next returns the next value, io.EOF at the end of a pass, or another error. Such an error keeps
	// the position: a later Next returns the value. If ctx ends, Next soon returns such an error. The
	// value is valid until the next call of Next or Close.
	Next(ctx context.Context) (T, error)
	// AppendState appends the state after the delivered values to dst. It changes nothing.
	AppendState(dst []byte) ([]byte, error)
	// SetState moves the stream to a state and drops prefetched values. It may be called before the
	// first Next and whenever no Next is running. If it returns an error, the stream stays where it
	// is.
	SetState([]byte) error
	// Close releases everything and waits for all goroutines. It may be called twice.
	Close() error
}

// Resetter is a Stream whose next pass begins only when Reset is called. Until then Next returns
// io.EOF at each call, and the stream counts as ended.
type Resetter interface {
	// Reset begins the next pass. Before the end of a pass it does nothing.
	Reset() error
}
