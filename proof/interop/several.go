package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// crewSize is how many processes save a checkpoint of several.
const crewSize = 3

// writeSeveral writes a tree as several processes do, each with some slices of its arrays.
func writeSeveral(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (testCase, error) {
	n := t.tree()
	s.leaf = nil // which draws for each process anew
	has := t.dealOut(n)
	barrier := crewtest.NewBarrier(crewSize, nil)
	err := errors.Join(crewtest.Run(crewSize, func(p int) error {
		o := s.options(l)
		o.Multiprocessing = options.Multiprocessing{ProcessIndex: new(options.Host(p)), ProcessCount: crewSize,
			Barrier: barrier.Of(p)}
		return checkpoint.Save(ctx, filepath.Join(dir, "checkpoint"), has[p], &checkpoint.SaveOptions{Options: o})
	})...)
	return testCase{Path: "checkpoint", Leaves: describe(n)}, err
}

// dealOut returns the tree as each process has it: of arrays those slices along the
// first axis that it drew.
func (t *trees) dealOut(n *tree.Node) [crewSize]*tree.Node {
	var has [crewSize]*tree.Node
	if x, ok := n.Tensor(); ok && len(x.Shape) > 0 && x.Len() > 0 {
		for p, s := range t.slices(x) {
			has[p] = &tree.Node{Value: s}
		}
		return has
	}
	for p := range has {
		c := *n
		c.Items = make([]*tree.Node, len(n.Items))
		has[p] = &c
	}
	for i, child := range n.Items {
		for p, part := range t.dealOut(child) {
			has[p].Items[i] = part
		}
	}
	return has
}

func (t *trees) slices(x tensor.Tensor) [crewSize]checkpoint.Shards {
	var out [crewSize]checkpoint.Shards
	for p := range out {
		out[p] = checkpoint.Shards{DType: x.DType, Shape: x.Shape}
	}
	for at := 0; at < x.Shape[0]; {
		box := zarr.WholeBox(x.Shape)
		box.Shape = x.Shape.Clone()
		box.Origin[0], box.Shape[0] = at, 1+t.rnd.IntN(x.Shape[0]-at)
		part := tensor.New(x.DType, box.Shape...)
		zarr.CopyBox(box, part.Data, zarr.WholeBox(x.Shape), x.Data, x.DType.Size())
		to := &out[t.rnd.IntN(crewSize)]
		to.Parts = append(to.Parts, checkpoint.Shard{Origin: box.Origin, Data: part})
		at += box.Shape[0]
	}
	return out
}
