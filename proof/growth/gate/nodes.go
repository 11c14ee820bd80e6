package main

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/proof/growth"
)

// nodesOps are nodes over many sources, of which each value is followed by a snapshot.
func nodesOps() []growth.Op {
	read := func(node nodes.Node[int], err error, values int) error {
		if err != nil {
			return err
		}
		l := nodes.NewLoader(node, nodes.LoaderOptions{})
		ctx := context.Background()
		for range values {
			if _, err := l.Next(ctx); err != nil {
				return err
			}
		}
		if _, err := l.AppendState(nil); err != nil {
			return err
		}
		return l.Close()
	}
	return []growth.Op{
		{Name: "nodes: values of many sources behind Prefetch", N: 200, Prepare: func(_ growth.TB, n int) func() error {
			return func() error {
				all := make([]nodes.Source[int], n)
				for i := range all {
					all[i] = nodes.Source[int]{Name: name(i), Node: nodes.FromSlice([]int{1, 2, 3}), Weight: float64(1 + i%3)}
				}
				w, err := nodes.Weighted(all, nodes.WeightedOptions{Stop: nodes.Forever, Draws: &inTurn{}})
				if err != nil {
					return err
				}
				p, err := nodes.Prefetch(w, 2, 1)
				return read(p, err, n)
			}
		}},
	}
}

// inTurn draws each source in turn: to draw by weights takes as long as there are weights.
type inTurn struct{ next int64 }

func (d *inTurn) Begin(int64) { d.next = 0 }

func (d *inTurn) Draw(weights []float64, dst []int64) error {
	for i := range dst {
		dst[i] = d.next
		d.next = (d.next + 1) % int64(len(weights))
	}
	return nil
}

func (d *inTurn) AppendState(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "%d", d.next), nil }

func (d *inTurn) SetState(state []byte) error {
	_, err := fmt.Sscan(string(state), &d.next)
	return err
}
