package nodes

import (
	"context"
	"fmt"
)

// ParallelOptions say how [ParallelMap] works. The zero value calls the function in the caller's
// goroutine, like [Map].
type ParallelOptions struct {
	// Workers is the number of goroutines that call the function.
	Workers int
	// Prefetch bounds the values in progress, from 1 to Workers. 0 means twice the number of Workers.
	Prefetch int
	// SnapshotEvery is the number of values from one snapshot of the source to the next. 0 means 1.
	// With Never only the first snapshot is taken.
	SnapshotEvery int
	// Prebatch is the number of values that a worker gets at a time. 0 means one by one.
	Prebatch int
}

// Never as SnapshotEvery makes the state the snapshot at the beginning and the number of values
// since.
const Never = -1

// ParallelMap returns the node that yields fn of each value, in the order of the source. Several
// goroutines call fn at once. The error is of kind errs.Invalid.
func ParallelMap[S, T any](source Node[S], fn func(ctx context.Context, v S) (T, error),
	o ParallelOptions) (Node[T], error) {
	const op = "ParallelMap"
	switch {
	case o.Workers < 0:
		return nil, invalid(op, "Workers", "at least 0", o.Workers)
	case o.Prefetch < 0 || o.Workers > 0 && o.Prefetch > o.Workers:
		return nil, invalid(op, "Prefetch", fmt.Sprint("a number from 0 to the number of workers, ", o.Workers), o.Prefetch)
	case o.Prebatch < 0:
		return nil, invalid(op, "Prebatch", "at least 0", o.Prebatch)
	}
	every, err := snapshotEvery(op, o.SnapshotEvery)
	if err != nil {
		return nil, err
	}
	if o.Prebatch == 0 {
		return &enveloped[T]{mapping(source, fn, o, every)}, nil
	}
	batches := &batcher[S]{source: source, size: o.Prebatch}
	return &enveloped[T]{Unbatch(mapping(Node[[]S](batches), overBatch(fn), o, every))}, nil
}

// mapping returns the node that calls fn, in the caller or ahead of it.
func mapping[S, T any](source Node[S], fn func(context.Context, S) (T, error), o ParallelOptions, every int) Node[T] {
	if o.Workers == 0 {
		return &mapper[S, T]{source, fn}
	}
	depth := o.Prefetch
	if depth == 0 {
		depth = 2 * o.Workers
	}
	return &ahead[S, T]{op: "ParallelMap", source: source, fn: fn, workers: o.Workers, depth: depth, every: every}
}

// overBatch turns a function of values into a function of batches.
func overBatch[S, T any](fn func(context.Context, S) (T, error)) func(context.Context, []S) ([]T, error) {
	return func(ctx context.Context, in []S) ([]T, error) {
		out := make([]T, len(in))
		for i, v := range in {
			var err error
			if out[i], err = fn(ctx, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// Prefetch returns the node that yields the values of source and reads up to factor of them ahead,
// in a goroutine of its own. every is the number of values from one snapshot of the source to the
// next. 0 means 1, and with [Never] only the first snapshot is taken. The error is of kind
// errs.Invalid.
func Prefetch[T any](source Node[T], factor, every int) (Node[T], error) {
	if factor < 1 {
		return nil, invalid("Prefetch", "factor", "at least 1", factor)
	}
	every, err := snapshotEvery("Prefetch", every)
	if err != nil {
		return nil, err
	}
	same := func(_ context.Context, v T) (T, error) { return v, nil }
	return &ahead[T, T]{op: "Prefetch", source: source, fn: same, depth: factor, every: every}, nil
}

// snapshotEvery returns the interval of an option, or 0 for never.
func snapshotEvery(op string, every int) (int, error) {
	switch {
	case every < Never:
		return 0, invalid(op, "SnapshotEvery", "at least 0, or Never", every)
	case every == Never:
		return 0, nil
	case every == 0:
		return 1, nil
	}
	return every, nil
}
