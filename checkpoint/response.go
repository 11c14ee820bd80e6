package checkpoint

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/pending"
)

// Response is the pending result of an asynchronous operation. The functions that
// save, load and delete make it. It is safe for concurrent use.
//
// The work goes on even if no caller waits. Every Result returns its error; a Checkpointer also
// returns it from the next save and from Close.
type Response[T any] pending.Response[T]

// inBackground runs fn; see pending.Go.
func inBackground[T any](ctx context.Context, fn func(context.Context) (T, error)) *Response[T] {
	return (*Response[T])(pending.Go(ctx, fn))
}

func (r *Response[T]) pending() *pending.Response[T] { return (*pending.Response[T])(r) }

// Result waits for the operation and returns its value and error. When ctx
// ends first it returns errs.Canceled, and the operation continues.
func (r *Response[T]) Result(ctx context.Context) (T, error) { return r.pending().Result(ctx) }

// Await waits like Result, but cancels the operation when ctx ends and returns its
// outcome.
func (r *Response[T]) Await(ctx context.Context) (T, error) { return r.pending().Await(ctx) }

// Observed reports whether a Result has returned the outcome, or a function given to OnComplete has
// received it.
func (r *Response[T]) Observed() bool { return r.pending().Observed() }

// Done is closed when the operation and its callbacks are over.
func (r *Response[T]) Done() <-chan struct{} { return r.pending().Done() }

// OnComplete calls f when the operation ends, on the goroutine of the operation and before Done
// closes. If the operation has ended already, OnComplete calls f at once, on the goroutine of the
// caller.
func (r *Response[T]) OnComplete(f func(T, error)) { r.pending().OnComplete(f) }

// Cancel asks the operation to stop. A save that is cancelled before its
// commit leaves nothing visible; afterwards Cancel has no effect.
func (r *Response[T]) Cancel() { r.pending().Cancel() }
