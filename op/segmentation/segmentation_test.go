package segmentation

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func mask(t *rapid.T) tensor.Tensor {
	d := rapid.SampledFrom(maskTypes).Draw(t, "dtype")
	shape := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "shape")
	m := tensor.New(d, shape...)
	for i := 0; i < len(m.Data); i += d.Size() {
		most := 3
		if d == tensor.Bool {
			most = 1
		}
		m.Data[i] = byte(rapid.IntRange(0, most).Draw(t, "label"))
	}
	return m
}

// flood returns the boxes of the blobs of a label in the order of their first pixels. It goes from
// pixel to pixel.
func flood(m tensor.Tensor, label byte) [][]int32 {
	size, axes := m.DType.Size(), len(m.Shape)
	strides := make([]int, axes)
	for axis, s := axes-1, 1; axis >= 0; axis-- {
		strides[axis] = s
		s *= m.Shape[axis]
	}
	seen := make([]bool, m.Len())
	var all [][]int32
	for first := range m.Len() {
		if seen[first] || m.Data[first*size] != label {
			continue
		}
		box := make([]int32, 2*axes)
		for axis := range axes {
			box[axis] = 1 << 30
		}
		todo := []int{first}
		seen[first] = true
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for axis, s := range strides {
				k := at / s % m.Shape[axis]
				box[axis], box[axes+axis] = min(box[axis], int32(k)), max(box[axes+axis], int32(k)+1)
				for _, step := range []int{-1, 1} {
					next := at + step*s
					if k+step >= 0 && k+step < m.Shape[axis] && !seen[next] && m.Data[next*size] == label {
						seen[next] = true
						todo = append(todo, next)
					}
				}
			}
		}
		all = append(all, box)
	}
	return all
}

// Runs that are joined make the same blobs as a search from pixel to pixel.
func TestBlobsAreConnected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mask(t)
		var r runs
		for range 2 { // the second time with memory that was used
			r.read(m)
			for _, label := range r.labels {
				n := r.blobs(m.Shape, func(l int32) bool { return l == label })
				want := flood(m, byte(label))
				if n != len(want) || !slices.Equal(r.boxes, slices.Concat(want...)) {
					t.Fatalf("label %d of %v %v: %v, want %v", label, m, m.Data, r.boxes, want)
				}
			}
		}
	})
}

func sample(d tensor.DType, shape ...int) tensor.Tensor {
	m := tensor.New(d, shape...)
	for i := range m.Data {
		m.Data[i] = byte(i % 7 % 3)
	}
	return m
}

func cases(n int) []optest.Case {
	many := func(t tensor.Tensor) []tensor.Tensor {
		all := make([]tensor.Tensor, n)
		for i := range all {
			all[i] = t
		}
		return all
	}
	m := many(sample(tensor.Uint8, 30, 20))
	ids, polygons := many(tensor.FromSlice([]int32{2, 0}, 2)), many(tensor.FromSlice([]int32{0, 0, 3, 2, 3, 6}, 2, 3))
	vertices := many(tensor.FromSlice([]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 6, 2))
	return []optest.Case{
		{Op: "segmentation.random_mask_pixel", Inputs: [][]tensor.Tensor{m}, Args: op.Args{"foreground": 1, "value": 2}},
		{Op: "segmentation.random_object_bbox", Inputs: [][]tensor.Tensor{m},
			Args: op.Args{"k_largest": 3, "classes": []int{1, 2}, "class_weights": []float64{1, 2}, "threshold": 1, "output_class": true}},
		{Op: "segmentation.random_object_bbox", Inputs: [][]tensor.Tensor{m}, Args: op.Args{"ignore_class": true, "format": "box"}},
		{Op: "segmentation.select_masks", Inputs: [][]tensor.Tensor{ids, polygons, vertices}, Args: op.Args{"reindex_masks": true}},
	}
}

func TestNoAllocations(t *testing.T) { optest.CheckAllocations(t, cases(9)) }

// A sample does not depend on the block that it is in, nor on the samples before it.
func TestBlocksChangeNothing(t *testing.T) {
	for i := range cases(1) {
		whole, single, late := cases(257)[i], cases(257)[i], cases(2)[i]
		single.Block, late.First = 1, 255
		a, b, c := optest.MustRun(t, whole), optest.MustRun(t, single), optest.MustRun(t, late)
		for o := range a.Outputs {
			for s := range a.Outputs[o] {
				if x, y := a.Outputs[o][s], b.Outputs[o][s]; !bytes.Equal(x.Data, y.Data) {
					t.Fatalf("%s: output %d of sample %d is %v, alone %v", whole.Op, o, s, x.Data, y.Data)
				}
			}
			if x, y := a.Outputs[o][255], c.Outputs[o][0]; !bytes.Equal(x.Data, y.Data) {
				t.Fatalf("%s: output %d at position 255 is %v, after a resume %v", whole.Op, o, x.Data, y.Data)
			}
		}
	}
}

// Each pixel of the foreground is drawn about equally often, and no other pixel is.
func TestPixelsAreEquallyLikely(t *testing.T) {
	const n = 6000
	m := tensor.FromSlice([]int32{0, 5, 0, 5, 5, 1}, 2, 3)
	all := make([]tensor.Tensor, n)
	for i := range all {
		all[i] = m
	}
	r := optest.MustRun(t, optest.Case{Op: "segmentation.random_mask_pixel", Inputs: [][]tensor.Tensor{all},
		Args: op.Args{"foreground": 1, "value": 5}})
	var drawn [6]int
	for _, x := range r.Outputs[0] {
		v, _ := tensor.Of[int64](x)
		drawn[v[0]*3+v[1]]++
	}
	for i, k := range drawn {
		if want := map[int]int{1: n / 3, 3: n / 3, 4: n / 3}[i]; k < want*9/10 || k > want*11/10 {
			t.Errorf("pixel %d was drawn %d times, want about %d", i, k, want)
		}
	}
}

func TestRefused(t *testing.T) {
	none, floats, m := tensor.New(tensor.Uint8, 0, 3), tensor.New(tensor.Float32, 2, 3), sample(tensor.Uint8, 2, 3)
	ids, polygons, vertices := tensor.FromSlice([]int32{0}, 1), tensor.FromSlice([]int32{0, 0, 3}, 1,
		3), tensor.New(tensor.Float32, 2, 2)
	rows := []optest.Row{
		{Op: "segmentation.random_mask_pixel", Inputs: []tensor.Tensor{none}},
		{Op: "segmentation.random_mask_pixel", Inputs: []tensor.Tensor{tensor.New(tensor.Float64, 2)}},
		{Op: "segmentation.random_mask_pixel", Inputs: []tensor.Tensor{m}, Args: op.Args{"value": 1, "threshold": 1.0}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{floats}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{tensor.New(tensor.Uint8)}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{tensor.New(tensor.Uint8, 1, 1, 1, 1, 1, 1, 1)}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{m}, Args: op.Args{"threshold": []int{1, 1, 1}}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{m}, Args: op.Args{"classes": 0, "background": 0}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{m}, Args: op.Args{"format": "corners"}},
		{Op: "segmentation.random_object_bbox", Inputs: []tensor.Tensor{m}, Args: op.Args{"k_largest": -1}},
		{Op: "segmentation.select_masks", Inputs: []tensor.Tensor{ids, polygons, vertices}}, // 3 vertices of 2
		{Op: "segmentation.select_masks", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{7}, 1), polygons, tensor.New(tensor.Float32, 3, 2)}},
		{Op: "segmentation.select_masks", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{0, 0}, 2), polygons, tensor.New(tensor.Float32, 3, 2)}},
		{Op: "segmentation.select_masks", Inputs: []tensor.Tensor{ids, ids, vertices}},
		{Op: "segmentation.select_masks", Inputs: []tensor.Tensor{vertices, polygons, vertices}},
	}
	for i := range rows {
		rows[i].Fails = true
	}
	optest.CheckRows(t, rows, nil)
}

// One pixel that is an object has a box of one pixel. DALI returns an empty box here.
func TestOnePixel(t *testing.T) {
	r := optest.MustRun(t, optest.Case{Op: "segmentation.random_object_bbox",
		Inputs: optest.Inputs(tensor.FromSlice([]int32{2}, 1, 1)),
		Args:   op.Args{"ignore_class": true, "format": "box"}})
	if v, _ := tensor.Of[int32](r.Outputs[0][0]); !slices.Equal(v, []int32{0, 0, 1, 1}) {
		t.Errorf("the box is %v", v)
	}
}

// Eight pixels at a time are counted as one by one, for each value and each threshold.
func TestCountBytes(t *testing.T) {
	data := make([]byte, 1003)
	for i := range data {
		data[i] = byte(i * i)
	}
	for v := -3; v < 260; v++ {
		f := foreground{byValue: true, value: int32(v)}
		g := foreground{threshold: float32(v) + float32(v&1)/2}
		for _, f := range []foreground{f, g} {
			for _, part := range [][]byte{data, data[1:], data[:5]} {
				if got, want := countBytes(part, f), count[uint8](part, f); got != want {
					t.Errorf("%v: %d, want %d", f, got, want)
				}
			}
		}
	}
}

// Many masks of the same vertices have more vertices together than an int32 counts.
func TestTooManyChosenVertices(t *testing.T) {
	const vertices, masks = 1 << 20, 1<<12 + 1
	ids, polygons := make([]int32, masks), make([]int32, 0, 3*masks)
	for i := range ids {
		ids[i] = int32(i)
		polygons = append(polygons, int32(i), 0, vertices)
	}
	table := tensor.FromSlice(polygons, masks, 3)
	r, err := optest.Run(optest.Case{Op: "segmentation.select_masks",
		Inputs: optest.Inputs(tensor.FromSlice(ids, masks), table, tensor.New(tensor.Uint8, vertices, 1))})
	if err == nil {
		err = r.Errors[0]
	}
	if !errors.Is(err, errs.Exhausted) {
		t.Errorf("%v, want an error of kind exhausted", err)
	}
}

// A mask with a label for each pixel is read in time: each new label costs no move of all others.
func TestManyLabels(t *testing.T) {
	const n = 1 << 20
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(n - i/2)
	}
	var r runs
	start := time.Now()
	r.read(tensor.FromSlice(labels, n))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("%v", took)
	}
	if len(r.labels) != n/2 || !slices.IsSorted(r.labels) || r.labels[0] != n/2+1 {
		t.Errorf("%d labels from %d on", len(r.labels), r.labels[0])
	}
}
