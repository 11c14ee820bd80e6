// Package pending runs operations in the background and keeps their results.
package pending

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Response implements checkpoint.Response, which documents its methods.
type Response[T any] struct {
	done   chan struct{}
	cancel context.CancelFunc

	mu       sync.Mutex
	finished bool // value and err are final
	value    T
	err      error
	after    []func(T, error)
	observed bool // value and err were returned to a caller
}

// Go runs fn in the background and returns its pending result. The end of ctx does not cancel fn,
// because it must not interrupt a save; only Cancel does. fn gets the values of ctx.
func Go[T any](ctx context.Context, fn func(context.Context) (T, error)) *Response[T] {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &Response[T]{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer cancel()
		v, err := fn(run)
		r.mu.Lock()
		r.value, r.err, r.finished = v, err, true
		after := r.after
		r.after, r.observed = nil, len(after) > 0
		r.mu.Unlock()
		for _, f := range after {
			f(v, err)
		}
		close(r.done)
	}()
	return r
}

// Result implements checkpoint.Response.Result.
func (r *Response[T]) Result(ctx context.Context) (T, error) {
	select {
	case <-r.done:
	default:
		select {
		case <-r.done:
		case <-ctx.Done():
			var zero T
			return zero, &errs.Error{Kind: errs.Canceled, Op: "checkpoint.Result", Err: ctx.Err(),
				Remedy: "the operation continues; call Result again, or Cancel"}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed = true
	return r.value, r.err
}

// Await implements checkpoint.Response.Await.
func (r *Response[T]) Await(ctx context.Context) (T, error) {
	defer context.AfterFunc(ctx, r.Cancel)()
	return r.Result(context.WithoutCancel(ctx))
}

// Observed implements checkpoint.Response.Observed.
func (r *Response[T]) Observed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.observed
}

// Done implements checkpoint.Response.Done.
func (r *Response[T]) Done() <-chan struct{} { return r.done }

// OnComplete implements checkpoint.Response.OnComplete.
func (r *Response[T]) OnComplete(f func(T, error)) {
	r.mu.Lock()
	if !r.finished {
		r.after = append(r.after, f)
		r.mu.Unlock()
		return
	}
	r.observed = true
	r.mu.Unlock()
	f(r.value, r.err)
}

// Cancel implements checkpoint.Response.Cancel.
func (r *Response[T]) Cancel() { r.cancel() }
