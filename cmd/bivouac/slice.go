package main

import (
	"context"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// part is a part of an array.
type part struct {
	text           string // as it was given
	origin, extent []int
	kept           []bool // axes that are not a single index

	holes *holes // of a damaged array, if they are asked for
}

// parseSlice parses a part in the notation of numpy, without steps: "1:3,:,-1". Axes that it does
// not name are whole. Bounds beyond the array are cut; indices beyond it are an error.
func parseSlice(text string, shape tensor.Shape) (part, error) {
	p := part{text: text, origin: make([]int, len(shape)), extent: slices.Clone(shape), kept: slices.Repeat([]bool{true}, len(shape))}
	if text == "" {
		return p, nil
	}
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "cat", Subject: "--slice " + text, Want: want, Got: got}
	}
	axes := strings.Split(text, ",")
	if len(axes) > len(shape) {
		return p, bad("at most an index or range for each axis of "+shape.String(), text)
	}
	for k, s := range axes {
		s, n := strings.TrimSpace(s), shape[k]
		from, to, ranged := strings.Cut(s, ":")
		lo, ok := number(from, n, 0)
		hi, ok2 := number(to, n, n)
		switch {
		case !ok || !ok2 || s == "":
			return p, bad("an index, or a range such as 0:3, for each axis", s)
		case ranged:
			lo, hi = min(max(lo, 0), n), min(max(hi, 0), n)
			p.origin[k], p.extent[k] = lo, max(0, hi-lo)
		case lo < 0 || lo >= n:
			return p, bad("an index inside of "+shape.String(), s)
		default:
			p.origin[k], p.extent[k], p.kept[k] = lo, 1, false
		}
	}
	return p, nil
}

// shape returns the shape of the part, without the axes of single indices.
func (p part) shape() tensor.Shape {
	out := tensor.Shape{}
	for k, n := range p.extent {
		if p.kept[k] {
			out = append(out, n)
		}
	}
	return out
}

// wholeAxis as a number of elements means the whole axis.
const wholeAxis = -1

// read reads the part. Of an axis longer than show it reads only the edges: show/2 elements from
// the beginning and the same number from the end.
func (p part) read(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, show int) (tensor.Tensor, error) {
	shape := make([]int, len(p.extent))
	for k, n := range p.extent {
		shape[k] = n
		if show != wholeAxis {
			shape[k] = min(n, show)
		}
	}
	t := tensor.New(l.DType, shape...)
	if p.holes != nil {
		p.holes.lost = tensor.New(tensor.Bool, shape...)
	}
	return t, p.readEdges(ctx, r, l, t, slices.Clone(p.origin), slices.Clone(p.extent), make([]int, len(shape)), 0)
}

// readEdges reads the box origin, extent into t at the place at. From axis axis on, it leaves out
// the middle of an axis for which t has no room.
func (p part) readEdges(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, t tensor.Tensor, origin, extent, at []int, axis int) error {
	for ; axis < len(extent); axis++ {
		if room := t.Shape[axis]; extent[axis] > room {
			ends := [2]int{origin[axis], origin[axis] + extent[axis] - (room - room/2)}
			for i, n := range [2]int{room / 2, room - room/2} {
				o, e, a := slices.Clone(origin), slices.Clone(extent), slices.Clone(at)
				o[axis], e[axis], a[axis] = ends[i], n, at[axis]+i*(room/2)
				if err := p.readEdges(ctx, r, l, t, o, e, a, axis+1); err != nil {
					return err
				}
			}
			return nil
		}
	}
	buf := make([]byte, tensor.Shape(extent).Len()*l.DType.Size())
	err := r.ReadBox(ctx, l, origin, extent, buf)
	if p.holes != nil && isLost(err) {
		return p.holes.read(ctx, r, l, t, origin, extent, at)
	}
	if err == nil {
		paste(t, at, extent, buf)
	}
	return err
}

// paste copies a box of elements to its place in t.
func paste(t tensor.Tensor, at, extent []int, buf []byte) {
	size := t.DType.Size()
	if len(extent) == 0 {
		copy(t.Data, buf)
		return
	}
	row := extent[len(extent)-1] * size
	index := make([]int, len(extent)-1)
	for ; len(buf) > 0 && row > 0; buf = buf[row:] {
		offset := 0
		for k, n := range t.Shape {
			i := at[k]
			if k < len(index) {
				i += index[k]
			}
			offset = offset*n + i
		}
		copy(t.Data[offset*size:], buf[:row])
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < extent[k] {
				break
			}
			index[k] = 0
		}
	}
}

// render prints elements in nested brackets, aligned, with the last axis on one line. An axis of
// which t has less than extent is cut in the middle.
func (p part) render(t tensor.Tensor) string {
	words, width := make([]string, t.Len()), 0
	for i := range words {
		if words[i] = t.Element(i); p.holes.at(i) {
			words[i] = "lost"
		}
		width = max(width, len(words[i]))
	}
	w := renderer{words: words, width: width, extent: p.extent, have: t.Shape, kept: p.kept}
	w.axis(0, 0)
	return w.out.String()
}

type renderer struct {
	out    strings.Builder
	words  []string // not yet printed
	width  int
	extent []int
	have   []int
	kept   []bool
}

// axis prints the elements from an axis on; depth is the number of open brackets.
func (w *renderer) axis(k, depth int) {
	if k == len(w.have) {
		w.out.WriteString(strings.Repeat(" ", w.width-len(w.words[0])) + w.words[0])
		w.words = w.words[1:]
		return
	}
	if !w.kept[k] {
		w.axis(k+1, depth)
		return
	}
	gap := " "
	if inner := slices.Index(w.kept[k+1:], true); inner >= 0 {
		gap = "\n" + strings.Repeat(" ", depth+1)
	}
	w.out.WriteByte('[')
	for i := range w.have[k] {
		if i > 0 {
			w.out.WriteString(gap)
		}
		if i == w.have[k]/2 && w.extent[k] > w.have[k] {
			w.out.WriteString("..." + gap)
		}
		w.axis(k+1, depth+1)
	}
	w.out.WriteByte(']')
}
