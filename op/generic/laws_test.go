package generic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawArray draws an array whose elements differ, if their type has enough values.
func drawArray(t *rapid.T, least int) tensor.Tensor {
	shape := rapid.SliceOfN(rapid.IntRange(0, 5), least, 4).Draw(t, "shape")
	d := rapid.SampledFrom(element.Types()).Draw(t, "dtype")
	out := tensor.New(d, shape...)
	numbers := make([]int32, out.Len())
	for i := range numbers {
		numbers[i] = int32(i)
	}
	if err := element.Convert(out, tensor.FromSlice(numbers, shape...)); err != nil {
		t.Fatal(err)
	}
	return out
}

// compute runs an operator on one sample.
func compute(t *rapid.T, name string, args op.Args, in ...tensor.Tensor) tensor.Tensor {
	c := optest.Case{Op: name, Args: args, Static: rapid.Bool().Draw(t, "static")}
	for _, x := range in {
		c.Inputs = append(c.Inputs, []tensor.Tensor{x})
	}
	r, err := optest.Run(c)
	if err != nil || r.Errors[0] != nil {
		t.Fatalf("%s %v of %v: %v %v", name, args, in, err, r.Errors)
	}
	return r.Outputs[0][0]
}

// at returns the bytes of the element at that index.
func at(x tensor.Tensor, index []int) []byte {
	i := 0
	for k, d := range x.Shape {
		i = i*d + index[k]
	}
	n := x.DType.Size()
	return x.Data[i*n : (i+1)*n]
}

// indices calls f for every index of an array of that shape.
func indices(shape []int, f func(index []int)) {
	index := make([]int, len(shape))
	for e := range tensor.Shape(shape).Len() {
		for k := len(shape) - 1; k >= 0; k-- {
			index[k], e = e%shape[k], e/shape[k]
		}
		f(index)
	}
}

func TestTransposeLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawArray(t, 0)
		perm := make([]int, len(in.Shape))
		for i := range perm {
			perm[i] = i
		}
		perm = rapid.Permutation(perm).Draw(t, "perm")
		out := compute(t, "transpose", op.Args{"perm": perm}, in)
		indices(out.Shape, func(index []int) {
			from := make([]int, len(index))
			for i, p := range perm {
				from[p] = index[i]
			}
			if !slices.Equal(at(out, index), at(in, from)) {
				t.Fatalf("perm %v of %v: element %v", perm, in, index)
			}
		})
	})
}

func TestPadLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawArray(t, 1)
		shape, align := make([]int, len(in.Shape)), make([]int, len(in.Shape))
		for i := range shape {
			shape[i], align[i] = rapid.IntRange(-1, 7).Draw(t, "extent"), rapid.IntRange(1, 4).Draw(t, "align")
		}
		out := compute(t, "pad", op.Args{"shape": shape, "align": align, "fill_value": 1.0}, in)
		one := compute(t, "ones_like", nil, tensor.New(in.DType))
		for i, d := range out.Shape {
			if least := max(in.Shape[i], shape[i]); d < least || d >= least+align[i] || d%align[i] != 0 {
				t.Fatalf("axis %d of %v padded to %v and %v: %v", i, in, shape, align, out)
			}
		}
		indices(out.Shape, func(index []int) {
			want := one.Data
			inside := true
			for i, k := range index {
				inside = inside && k < in.Shape[i]
			}
			if inside {
				want = at(in, index)
			}
			if !slices.Equal(at(out, index), want) {
				t.Fatalf("%v padded to %v: element %v", in, out, index)
			}
		})
	})
}

// TestJoinLaw stacks the elements of an array along an axis, and joins the pieces of a cut array:
// both give the array.
func TestJoinLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawArray(t, 1)
		axis := rapid.IntRange(0, len(in.Shape)-1).Draw(t, "axis")
		perm := []int{axis}
		for i := range in.Shape {
			if i != axis {
				perm = append(perm, i)
			}
		}
		first := compute(t, "transpose", op.Args{"perm": perm}, in) // the axis in front
		if in.Shape[axis] == 0 {
			return
		}
		back := make([]int, len(perm)) // puts it back
		for i, p := range perm {
			back[p] = i
		}
		var elements, parts []tensor.Tensor
		for i := range in.Shape[axis] {
			elements = append(elements, first.Index(i).Clone())
		}
		for rest := first; len(rest.Shape) > 0 && rest.Shape[0] > 0; {
			n := rapid.IntRange(1, rest.Shape[0]).Draw(t, "part")
			row := len(rest.Data) / rest.Shape[0]
			part, after := rest, rest
			part.Shape = append(tensor.Shape{n}, rest.Shape[1:]...)
			after.Shape = append(tensor.Shape{rest.Shape[0] - n}, rest.Shape[1:]...)
			part.Data, after.Data = rest.Data[:n*row], rest.Data[n*row:]
			parts = append(parts, compute(t, "transpose", op.Args{"perm": back}, part).Clone())
			rest = after
		}
		if got := compute(t, "stack", op.Args{"axis": axis}, elements...); !got.Equal(in) {
			t.Fatalf("%v stacked along %d: %v", in, axis, got)
		}
		if got := compute(t, "cat", op.Args{"axis": axis}, parts...); in.Len() > 0 && !got.Equal(in) {
			t.Fatalf("%v joined along %d: %v", in, axis, got)
		}
	})
}

// TestBroadcastLaw repeats arrays whose axes are partly 1.
func TestBroadcastLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawArray(t, 0)
		shape := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 2).Draw(t, "more")
		for _, d := range in.Shape {
			if d == 1 {
				d = rapid.IntRange(0, 3).Draw(t, "repeat")
			}
			shape = append(shape, d)
		}
		out := compute(t, "full", op.Args{"shape": shape}, in)
		indices(out.Shape, func(index []int) {
			from := slices.Clone(index[len(index)-len(in.Shape):])
			for i := range from {
				from[i] = min(from[i], in.Shape[i]-1)
			}
			if !slices.Equal(at(out, index), at(in, from)) {
				t.Fatalf("%v repeated to %v: element %v", in, shape, index)
			}
		})
	})
}

// TestNothingPanics gives operators random arguments; they compute or return an error.
func TestNothingPanics(t *testing.T) {
	list := rapid.SliceOfN(rapid.SampledFrom([]int{-7, -2, -1, 0, 1, 2, 3, 60, 1 << 40, 1<<63 - 1}), 0, 4)
	letters := rapid.SampledFrom([]string{"", "H", "HW", "C", "FHWC", "HWC", "XYZ"})
	params := map[string][]string{
		"reshape": {"shape", "src_dims", "layout"}, "reinterpret": {"shape", "src_dims", "layout"}, "squeeze": {"axes", "axis_names"},
		"expand_dims": {"axes", "new_axis_names"}, "transpose": {"perm", "output_layout"}, "pad": {"axes", "axis_names", "shape", "align"},
		"element_extract": {"element_map"}, "sequence_rearrange": {"new_order"}, "permute_batch": {"indices"}, "full": {"shape", "layout"},
		"one_hot": {"axis_name"}, "cat": {"axis_name"}, "stack": {"axis_name"},
	}
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "op")
		args := op.Args{}
		for _, p := range params[name] {
			if !rapid.Bool().Draw(t, "give "+p) {
				continue
			}
			switch p {
			case "layout", "axis_names", "new_axis_names", "output_layout", "axis_name":
				args[p] = letters.Draw(t, p)
			default:
				args[p] = list.Draw(t, p)
				if name == "full" || name == "pad" { // these make any size they are asked for
					args[p] = rapid.SliceOfN(rapid.IntRange(-2, 9), 0, 4).Draw(t, p)
				}
			}
		}
		in := drawArray(t, 0)
		if l := letters.Draw(t, "layout of input"); len(l) == len(in.Shape) {
			in.Layout = l
		}
		c := optest.Case{Op: name, Args: args, Inputs: [][]tensor.Tensor{{in}}, Static: rapid.Bool().Draw(t, "static")}
		if name == "cat" || name == "stack" || name == "reshape" && rapid.Bool().Draw(t, "two") {
			c.Inputs = append(c.Inputs, []tensor.Tensor{drawArray(t, 0)})
		}
		r, err := optest.Run(c)
		if err == nil && r.Errors[0] == nil {
			if err := r.Outputs[0][0].Check(); err != nil {
				t.Fatalf("%s %v of %v: %v", name, args, in, err)
			}
		}
	})
}
