package segmentation

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// maskTypes are the dtypes of masks of which objects are drawn.
var maskTypes = []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16,
	tensor.Uint32, tensor.Int32}

// mostAxes is the largest number of axes of a mask.
const mostAxes = 6

// run is a part of a row, along the last axis, whose pixels have one label.
type run struct {
	label    int32
	row      int32 // number of the row
	from, to int32 // first pixel, and the pixel after the last
	root     int32 // an earlier run of the same blob, or this run
}

// runs are the parts of one label in a mask. A worker reuses them.
type runs struct {
	all    []run
	rows   []int32 // of each row the first run; one more at the end
	labels []int32 // sorted, without repetition
	fresh  []int32 // labels that are not in labels yet
	boxes  []int32 // of each blob its starts and its ends along all axes
	number []int32 // of each run that is a root the number of its blob
}

// splitter returns the function that splits a row of a mask of the given dtype.
func splitter(d tensor.DType) func(dst []run, data []byte, row, width int) []run {
	return element.Pick(d, split[uint8], split[int8], split[uint16], split[int16], split[uint32], split[int32],
		nil, nil, nil, nil)
}

// split appends the runs of a row.
func split[T uint8 | int8 | uint16 | int16 | uint32 | int32](dst []run, data []byte, row, width int) []run {
	pixels := element.View[T](data)[row*width:][:width]
	for from := 0; from < width; {
		label, to := pixels[from], from+1
		for to < width && pixels[to] == label {
			to++
		}
		dst = append(dst, run{label: int32(label), row: int32(row), from: int32(from), to: int32(to)})
		from = to
	}
	return dst
}

// read splits a mask with at least one pixel into runs and sets labels.
func (r *runs) read(mask tensor.Tensor) {
	width := mask.Shape[len(mask.Shape)-1]
	height := mask.Len() / width
	next := splitter(mask.DType)
	r.all, r.rows, r.labels = r.all[:0], r.rows[:0], r.labels[:0]
	for row := range height {
		r.rows = append(r.rows, int32(len(r.all)))
		r.all = next(r.all, mask.Data, row, width)
	}
	r.rows = append(r.rows, int32(len(r.all)))
	for i := range r.all {
		if i > 0 && r.all[i].label == r.all[i-1].label {
			continue
		}
		if _, found := slices.BinarySearch(r.labels, r.all[i].label); !found {
			if r.fresh = append(r.fresh, r.all[i].label); len(r.fresh) > len(r.labels)+16 {
				r.merge()
			}
		}
	}
	r.merge()
}

// merge sorts fresh labels into the others.
func (r *runs) merge() {
	r.labels = append(r.labels, r.fresh...)
	slices.Sort(r.labels)
	r.labels, r.fresh = slices.Compact(r.labels), r.fresh[:0]
}

// find returns the earliest run of the blob of run i.
func (r *runs) find(i int32) int32 {
	for r.all[i].root != i {
		r.all[i].root = r.all[r.all[i].root].root
		i = r.all[i].root
	}
	return i
}

// blobs joins the runs for which wanted is true into blobs and sets boxes, a box for each blob.
// Pixels of one label belong together if they are neighbours along an axis. Blobs are in the order
// of their first pixels.
func (r *runs) blobs(shape tensor.Shape, wanted func(label int32) bool) int {
	axes := len(shape)
	last := axes - 1
	for i := range r.all {
		r.all[i].root = int32(i)
	}
	stride := 1 // between a row and its neighbour along an axis
	for axis := last - 1; axis >= 0; axis-- {
		for row := range len(r.rows) - 1 {
			if row/stride%shape[axis] > 0 {
				r.join(row-stride, row, wanted)
			}
		}
		stride *= shape[axis]
	}
	r.boxes = r.boxes[:0]
	r.number = slices.Grow(r.number[:0], len(r.all))[:len(r.all)]
	n := 0
	for i := range r.all {
		x := &r.all[i]
		if !wanted(x.label) {
			continue
		}
		root := r.find(int32(i))
		if root == int32(i) {
			r.number[i] = int32(n)
			n++
			for axis := range 2 * axes {
				if axis < axes {
					r.boxes = append(r.boxes, 1<<31-1)
				} else {
					r.boxes = append(r.boxes, 0)
				}
			}
		}
		box := r.boxes[int(r.number[root])*2*axes:][:2*axes]
		at := int(x.row)
		for axis := last - 1; axis >= 0; axis-- {
			k := int32(at % shape[axis])
			at /= shape[axis]
			box[axis], box[axes+axis] = min(box[axis], k), max(box[axes+axis], k+1)
		}
		box[last], box[axes+last] = min(box[last], x.from), max(box[axes+last], x.to)
	}
	return n
}

// join joins the runs of two rows that touch.
func (r *runs) join(a, b int, wanted func(label int32) bool) {
	i, j := r.rows[a], r.rows[b]
	endA, endB := r.rows[a+1], r.rows[b+1]
	for i < endA && j < endB {
		x, y := &r.all[i], &r.all[j]
		if x.label == y.label && x.from < y.to && y.from < x.to && wanted(x.label) {
			if p, q := r.find(i), r.find(j); p != q {
				r.all[max(p, q)].root = min(p, q)
			}
		}
		if x.to <= y.to {
			i++
		} else {
			j++
		}
	}
}
