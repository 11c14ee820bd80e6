package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// RoundRobin returns the node that yields one value of each source in turn. stop must not be
// [Forever]. The error is of kind errs.Invalid.
func RoundRobin[T any](all []Source[T], stop Stop) (Node[T], error) {
	s, err := newSources("RoundRobin", all, stop, CycleUntilAll, All, First)
	if err != nil {
		return nil, err
	}
	return &roundRobin[T]{sources: s}, nil
}

type roundRobin[T any] struct {
	sources[T]
	current int
	begun   bool
}

func (n *roundRobin[T]) Reset(ctx context.Context, state []byte) error {
	n.begun = false
	if state == nil {
		n.current = 0
		err := n.reset(ctx)
		n.begun = err == nil
		return err
	}
	d := parse(n.op, state, "current_dataset_index", "dataset_keys", "dataset_node_states", "datasets_exhausted")
	keys := read[[]string](d, "dataset_keys", "a list of names", nil)
	current := read(d, "current_dataset_index", "the index of a source",
		func(i int) bool { return i >= 0 && i < len(n.all) })
	exhausted := read(d, "datasets_exhausted", fmt.Sprint("a list of ", len(n.all)),
		func(l []bool) bool { return len(l) == len(n.all) })
	states := read(d, "dataset_node_states", fmt.Sprint("an object of ", len(n.all)),
		func(m map[string]json.RawMessage) bool { return len(m) == len(n.all) })
	if d.err != nil {
		return d.err
	}
	ordered := make([]json.RawMessage, len(n.all))
	for i, source := range n.all {
		if !slices.Contains(keys, source.Name) || len(keys) != len(n.all) || keys[i] != source.Name {
			return &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state: dataset_keys", Want: n.names(), Got: list(keys)}
		}
		var ok bool
		if ordered[i], ok = states[strconv.Itoa(i)]; !ok {
			return &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state: dataset_node_states",
				Want: fmt.Sprintf("a member %q", strconv.Itoa(i)), Got: "no such member"}
		}
	}
	if err := n.resume(ctx, ordered, exhausted); err != nil {
		return err
	}
	n.current, n.begun = current, true
	return nil
}

func (n *roundRobin[T]) Next(ctx context.Context) (v T, err error) {
	if !n.begun {
		if err := n.Reset(ctx, nil); err != nil {
			return v, err
		}
	}
	for !n.over() {
		v, again, err := n.next(ctx, n.current)
		if err != nil {
			return v, err
		}
		n.current = (n.current + 1) % len(n.all)
		if !again {
			return v, nil
		}
	}
	return v, io.EOF
}

func (n *roundRobin[T]) AppendState(dst []byte) ([]byte, error) {
	states, err := n.shelve()
	if err != nil {
		return dst, err
	}
	v := roundRobinState[T]{n, states, n.current}
	if n.above != nil {
		n.above.versions = append(n.above.versions, &v)
		return append(dst, mark), nil
	}
	return v.appendTo(dst), nil
}

// roundRobinState is a version of a round-robin node.
type roundRobinState[T any] struct {
	node    *roundRobin[T] // for the names, which never change
	states  *shelf
	current int
}

func (s *roundRobinState[T]) appendTo(dst []byte) []byte {
	dst = appendCount(append(dst, '{'), "current_dataset_index", int64(s.current))
	dst = append(appendKey(dst, "dataset_keys"), '[')
	for i, source := range s.node.all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, source.Name)
	}
	dst = append(appendKey(append(dst, ']'), "dataset_node_states"), '{')
	i, exhausted := 0, []byte(nil)
	s.states.each(func(one sourceState) {
		dst = append(appendKey(dst, strconv.Itoa(i)), one.text...)
		exhausted = strconv.AppendBool(append(exhausted, ','), one.exhausted)
		i++
	})
	dst = append(appendKey(append(dst, '}'), "datasets_exhausted"), '[')
	return append(append(dst, exhausted[1:]...), "]}"...)
}

func (n *roundRobin[T]) Close() error { return n.close() }
