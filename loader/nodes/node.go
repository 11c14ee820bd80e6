// Package nodes builds loaders from small parts that are stacked on each other, as torchdata.nodes
// does:
//
//	ids  := nodes.FromSampler(sampler, nodes.SamplerOptions{})
//	read := nodes.Map(ids, dataset.At)
//	b, _ := nodes.Batch(read, 64, order.Short)
//	p, _ := nodes.Prefetch(b, 4, 1)
//	l    := nodes.NewLoader(p, nodes.LoaderOptions{})
//
// A [Node] yields values one by one, and is reset together with everything below it. Its state is a
// small JSON object with the states of its sources in it. The object has the shape of
// torchdata.nodes, so that both can exchange states:
//
//	FromIterable   {"_num_yielded", "iterable"}              "iterable" if it is state.Stateful
//	FromStream     the state of the stream
//	FromSampler    {"_num_yielded", "_epoch", "_sampler"}        "_sampler" likewise
//	Map            {"it_state": {"source"}}
//	ParallelMap    {"it_state": {"snapshot", "steps_since_snapshot"}}
//	Prefetch       {"snapshot", "steps_since_snapshot"}
//	Batch          {"source"}
//	Unbatch        {"source", "batch_idx"}
//	Filter         {"source", "num_filtered", "num_yielded"}
//	Head           {"source", "num_yielded"}
//	Cycle          {"source", "num_cycles", "has_started", "num_yielded"}
//	RoundRobin     {"current_dataset_index", "dataset_keys", "dataset_node_states", "datasets_exhausted"}
//	Weighted       {"dataset_node_states", "datasets_exhausted", "epoch", "num_yielded", "weighted_sampler_state"}
//	Loader         {"root", "num_yielded", "checksum", "ended"}
//
// The checksum covers the whole state; see state.Seal. "ended" says whether the io.EOF of the epoch
// was returned. torchdata ignores both. States of torchdata have neither of them, and are accepted.
//
// A node accepts only its own state. Fields that are missing, unknown or of the wrong type are an
// error of kind errs.Mismatch that names them. A state does not contain the source and the options
// of the nodes. So give it to a loader with the same nodes.
//
// # Running ahead
//
// ParallelMap and Prefetch read ahead in goroutines of their own. The values keep the order of the
// source. Their state covers the delivered values and not the values in progress. It is a snapshot
// of the source, taken every SnapshotEvery values, and the number of values delivered since. To
// resume, the source goes back to the snapshot and drops that number of values.
//
// # Errors
//
// An error of a source or a function surfaces at its position, and the next call of Next continues
// after it. A state taken right after an error of ParallelMap, Batch or Unbatch describes the
// position before the value that failed. A panic of a function counts as such an error.
package nodes

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/bivouac-ml/bivouac/errs"
)

// Node yields the values of an epoch. It owns the nodes below it: no other code may use them. Its
// methods are for one goroutine at a time.
type Node[T any] interface {
	// Reset moves to the beginning of the next epoch if state is nil, else to that state. It does the
	// same to all nodes below. It does not keep state. ctx is used for everything that is read until
	// the next Reset.
	Reset(ctx context.Context, state []byte) error
	// Next returns the next value, or io.EOF at the end of the epoch and at each call after it, or the
	// error of this value. The first Next calls Reset if it was not called before.
	Next(ctx context.Context) (T, error)
	// AppendState appends the state, a JSON object, to dst. The state covers the values that Next has
	// returned. AppendState starts nothing, and may be called before the first Reset.
	AppendState(dst []byte) ([]byte, error)
	// Close ends goroutines and iterators of this node and of the nodes below. It may be called twice.
	Close() error
}

// call calls fn and turns its panic into an error.
func call[S, T any](ctx context.Context, fn func(context.Context, S) (T, error), in S) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &errs.Error{Kind: errs.Other, Op: "nodes", Subject: "function of a node",
				Got: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return fn(ctx, in)
}

// invalid is the error of an option.
func invalid(op, subject, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "nodes." + op, Subject: subject, Want: want, Got: fmt.Sprint(got)}
}
