package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
)

// isLost reports whether an error says that a part of a checkpoint is damaged, and not that the
// whole checkpoint is gone.
func isLost(err error) bool {
	if errors.Is(err, store.ErrRemoved) || errors.Is(err, store.ErrReplaced) {
		return false
	}
	kind := errs.KindOf(err)
	return kind == errs.Corrupt || kind == errs.NotFound
}

// lostLeaf is a damaged leaf, or a damaged item that is not a tree.
type lostLeaf struct {
	Item   string `json:"item"`
	Leaf   string `json:"leaf"` // "" for an item that is not a tree
	Reason string `json:"reason"`
}

// name returns the name of a lost leaf in messages.
func (l lostLeaf) name() string {
	if l.Leaf == "" {
		return "item " + strconv.Quote(l.Item)
	}
	return l.Leaf
}

// printLost names the lost leaves, for people.
func printLost(g *global, lost []lostLeaf) {
	for _, l := range lost {
		g.printf("lost  %s: %s\n", l.name(), l.Reason)
	}
}

// lostError returns the error of a command that left out lost leaves, or nil.
func lostError(op, source string, lost []lostLeaf) error {
	if len(lost) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: source,
		Got: "damaged leaves: " + strconv.Itoa(len(lost)) + ", the first " + lost[0].name()}
}

// salvage returns the whole leaves and the damaged ones.
func salvage(ctx context.Context, r *checkpoint.Reader, leaves []checkpoint.LeafInfo) (whole []checkpoint.LeafInfo, lost []lostLeaf, err error) {
	for _, l := range leaves {
		err := l.Err
		if err == nil && l.DType != tensor.Invalid {
			err = r.Check(ctx, l)
		}
		switch {
		case err == nil:
			whole = append(whole, l)
		case isLost(err):
			lost = append(lost, lostLeaf{r.Info().Name, l.Param, oneLine(err)})
		default:
			return nil, nil, err
		}
	}
	return whole, lost, nil
}

// holes are the unreadable parts of an array; nil if they are not asked for.
type holes struct {
	lost tensor.Tensor // of the elements read: true for each lost element
	list []lostBox
}

// lostBox is a damaged box of an array.
type lostBox struct {
	From   []int  `json:"from"`
	To     []int  `json:"to"` // the first indices after it
	Reason string `json:"reason"`
}

// at reports whether an element that was read is lost.
func (h *holes) at(i int) bool { return h != nil && h.lost.Data[i] != 0 }

func (h *holes) boxes() []lostBox {
	if h == nil {
		return nil
	}
	return h.list
}

// err returns the error of a command that could not read all of an array, or nil.
func (h *holes) err(l checkpoint.LeafInfo) error {
	if h == nil || len(h.list) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "cat", Subject: l.Param, Got: "damaged parts: " + strconv.Itoa(len(h.list))}
}

// read reads a box into t at the place at. It reads each part that can be read by itself, and
// records the lost parts.
func (h *holes) read(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, t tensor.Tensor, origin, extent, at []int) error {
	from := make([]int, len(origin)) // the cell in the grid of parts
	for k := range from {
		from[k] = origin[k] / l.ReadShape[k]
	}
	for cell := slices.Clone(from); ; {
		o, e, a := slices.Clone(origin), slices.Clone(extent), slices.Clone(at)
		for k := range cell {
			o[k] = max(origin[k], cell[k]*l.ReadShape[k])
			e[k] = min(origin[k]+extent[k], (cell[k]+1)*l.ReadShape[k]) - o[k]
			a[k] = at[k] + o[k] - origin[k]
		}
		n := tensor.Shape(e).Len()
		buf := make([]byte, n*l.DType.Size())
		switch err := r.ReadBox(ctx, l, o, e, buf); {
		case isLost(err):
			to := slices.Clone(o)
			for k := range to {
				to[k] += e[k]
			}
			h.list = append(h.list, lostBox{o, to, oneLine(err)})
			paste(h.lost, a, e, bytes.Repeat([]byte{1}, n))
		case err != nil:
			return err
		default:
			paste(t, a, e, buf)
		}
		k := len(cell) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k]*l.ReadShape[k] < origin[k]+extent[k] {
				break
			}
			cell[k] = from[k]
		}
		if k < 0 {
			return nil
		}
	}
}
