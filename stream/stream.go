// Package stream defines the contract between producers of batches and their consumers: the
// consumer pulls with Next. Iterators (iter.Seq2) are built on it.
//
// # Passes, and the end
//
// A stream delivers its values in passes. A pass of a loader is an epoch; other streams have only
// one pass. io.EOF is the end of a pass. The next call of Next returns the first value of the next
// pass. When it returns io.EOF again the stream has ended: each call returns io.EOF from then on,
// until SetState moves the stream. So a pass without values is the end.
//
//	values      a  b  EOF  c  d  EOF  EOF …
//	            └pass 1    └pass 2    └the stream has ended
//
// A consumer that needs one pass stops at the first io.EOF. A consumer that trains a number of
// steps, such as bivouac.Job, calls Next once more. A stream that never ends need not return io.EOF
// at all. A stream whose next pass begins only when the caller says so is a [Resetter].
//
// # States
//
// A state covers everything that Next returned, io.EOF included. A stream that is set to a state
// returns what it would have returned without the interruption. After the last value of a pass it
// returns io.EOF first, and after io.EOF the values of the next pass. Prefetching changes nothing.
// (A [Resetter] that is set to a state from after io.EOF may have begun the next pass.) So a loop
// over epochs counts them alike, interrupted or not. Package stream/streamtest tests
// implementations against these rules.
package stream

import "context"

// Stream yields values one by one. Its methods are for one goroutine at a time.
type Stream[T any] interface {
	// Next returns the next value, io.EOF at the end of a pass, or an error that keeps
	// the position: the value comes with a later Next. When ctx ends, Next returns soon,
	// with such an error. The value is valid until the next call of Next or Close.
	Next(ctx context.Context) (T, error)
	// AppendState appends the state of what was delivered so far, and changes nothing.
	AppendState(dst []byte) ([]byte, error)
	// SetState moves the stream; it is legal before the first Next and
	// whenever no Next is running. What was prefetched is dropped. A state that it
	// refuses leaves the stream where it is.
	SetState([]byte) error
	// Close releases everything and waits for all goroutines. It may be called twice.
	Close() error
}

// Resetter is a Stream whose next pass begins only when Reset is called: until then Next
// returns io.EOF again and again, and the stream counts as ended.
type Resetter interface {
	// Reset begins the next pass. Before the end of a pass it does nothing.
	Reset() error
}
