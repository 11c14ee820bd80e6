package dcp

import (
	"cmp"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Tiles returns an error unless the chunks with elements tile an array of the shape, which has
// elements too: no two overlap, and none is missing. The chunks lie inside the shape.
func Tiles(shape tensor.Shape, chunks []Chunk) error {
	left := shape.Len()
	boxes := make([]*Chunk, 0, len(chunks))
	for i := range chunks {
		n := tensor.Shape(chunks[i].Shape).Len()
		if n == 0 {
			continue
		}
		left -= n
		boxes = append(boxes, &chunks[i])
		if left < 0 {
			break
		}
	}
	t := tiling{work: workPerChunk*len(boxes) + 1<<12}
	if err := t.apart(boxes, 0, 0); err != nil {
		return err
	}
	if left > 0 {
		return corrupt("", "%d chunks that cover %d of the %d elements of the tensor %s", len(boxes), shape.Len()-left,
			shape.Len(), shape)
	}
	return nil
}

// workPerChunk bounds the steps of a search for overlaps. A grid takes one step for each of its
// axes.
const workPerChunk = 256

// tiling searches overlaps.
type tiling struct{ work int }

// apart returns an error if two boxes overlap. It cuts the boxes along an axis into groups that
// touch no other group, and looks into each group along the next axis. If no axis cuts a group any
// further, it compares all pairs of the group. tried axes in a row have not cut it.
func (t *tiling) apart(boxes []*Chunk, axis, tried int) error {
	if len(boxes) < 2 {
		return nil
	}
	axes := len(boxes[0].Shape)
	if tried == axes {
		return t.pairs(boxes)
	}
	if err := t.spend(len(boxes)); err != nil {
		return err
	}
	slices.SortStableFunc(boxes, func(a, b *Chunk) int { return cmp.Compare(a.Origin[axis], b.Origin[axis]) })
	next := (axis + 1) % axes
	from, end := 0, boxes[0].Origin[axis]+boxes[0].Shape[axis]
	for i, b := range boxes {
		if b.Origin[axis] >= end {
			if err := t.apart(boxes[from:i], next, 0); err != nil {
				return err
			}
			from = i
		}
		end = max(end, b.Origin[axis]+b.Shape[axis])
	}
	if from == 0 {
		return t.apart(boxes, next, tried+1)
	}
	return t.apart(boxes[from:], next, 0)
}

func (t *tiling) pairs(boxes []*Chunk) error {
	for i, a := range boxes {
		for _, b := range boxes[:i] {
			if overlap(a, b) {
				return corrupt("", "the chunks %s and %s, which overlap", boxText(b.Origin, b.Shape), boxText(a.Origin, a.Shape))
			}
		}
		if err := t.spend(i); err != nil {
			return err
		}
	}
	return nil
}

func (t *tiling) spend(n int) error {
	if t.work -= n; t.work < 0 {
		return &errs.Error{Kind: errs.Exhausted, Want: "chunks that lie like a grid", Got: "too many chunks in disorder",
			Remedy: "load it with torch.distributed.checkpoint, and save it again"}
	}
	return nil
}

func overlap(a, b *Chunk) bool {
	for i, o := range a.Origin {
		if o >= b.Origin[i]+b.Shape[i] || b.Origin[i] >= o+a.Shape[i] {
			return false
		}
	}
	return true
}
